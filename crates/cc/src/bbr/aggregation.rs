//! ACK aggregation: how much more is acknowledged at once than the bandwidth explains.
//!
//! Source: Linux, `tcp_bbr.c`, bbr_update_ack_aggregation and bbr_ack_aggregation_cwnd. The draft has nothing
//! of the kind.

use ackclock_units::Time;

/// It is the maximum of the last five to ten round trips, and at most 100 ms of the bandwidth.
const ROUNDS: u32 = 5;
const SECONDS: f64 = 0.1;

#[derive(Clone, Default)]
pub(super) struct Aggregation {
    /// The begin of an interval, and the segments acknowledged since.
    since: Time,
    acked: f64,
    /// The maximum of the present period of five round trips, and of the period before.
    extra: [f64; 2],
    rounds: u32,
}

impl Aggregation {
    /// A new interval begins.
    pub(super) fn restart(&mut self, now: Time) {
        (self.since, self.acked) = (now, 0.0);
    }

    /// `acked` segments were acknowledged, where `bw` segments per second were expected. What is more than
    /// that counts up to `cwnd`.
    pub(super) fn on_ack(&mut self, now: Time, bw: f64, acked: f64, cwnd: f64, round_start: bool) {
        if round_start {
            self.rounds += 1;
            if self.rounds >= ROUNDS {
                (self.rounds, self.extra) = (0, [0.0, self.extra[0]]);
            }
        }
        let mut expected = libm::floor(bw * now.since(self.since).as_secs_f64());
        if self.acked <= expected {
            self.restart(now);
            expected = 0.0;
        }
        self.acked += acked;
        self.extra[0] = self.extra[0].max((self.acked - expected).min(cwnd));
    }

    /// Room for it in the window, segments.
    pub(super) fn window(&self, bw: f64) -> f64 {
        let [recent, before] = self.extra;
        recent.max(before).min(libm::floor(bw * SECONDS))
    }
}

//! The path model: bandwidth, round-trip time, aggregation, rounds (sections 5.5.1 to 5.5.9, 5.3.1.2,
//! 5.3.4.3).

use super::{Constants, Seen};
use crate::Path;
use crate::windowed::WindowedMax;
use ackclock_units::{Duration, Time};

/// MaxBwFilterLen = 2 cycles, the present one and the one before; ExtraAckedFilterLen = 10 round trips.
const OLDER_CYCLES: u64 = 1;
const OLDER_ROUNDS: u64 = 9;
/// Section 5.3.1.2: the pipe is full after three round trips without growth by a quarter.
const FULL_GROWTH: f64 = 1.25;
const FULL_ROUNDS: u32 = 3;

#[derive(Clone)]
pub(super) struct Model {
    /// The maximum filter of the bandwidth, segments per second.
    pub max_bw: WindowedMax<2>,
    pub bw: f64,
    /// The clock of `max_bw`, in cycles.
    pub cycles: u64,
    pub min_rtt: Duration,
    min_rtt_at: Time,
    probe_rtt_min: Duration,
    pub probe_rtt_min_at: Time,
    pub probe_rtt_expired: bool,
    pub rounds: u64,
    pub round_start: bool,
    /// The value of `delivered` at which the round trip ends.
    round_end: u64,
    pub rounds_since_probe: u64,
    pub extra_acked: WindowedMax<10>,
    pub extra_acked_since: Time,
    extra_acked_delivered: f64,
    pub full_bw: f64,
    full_rounds: u32,
    pub full_now: bool,
    /// True once the pipe has been full.
    pub full: bool,
}

impl Default for Model {
    fn default() -> Model {
        Model {
            max_bw: WindowedMax::new(),
            bw: 0.0,
            cycles: 0,
            min_rtt: Duration::MAX,
            min_rtt_at: Time::ZERO,
            probe_rtt_min: Duration::MAX,
            probe_rtt_min_at: Time::ZERO,
            probe_rtt_expired: false,
            rounds: 0,
            round_start: false,
            round_end: 0,
            rounds_since_probe: 0,
            extra_acked: WindowedMax::new(),
            extra_acked_since: Time::ZERO,
            extra_acked_delivered: 0.0,
            full_bw: 0.0,
            full_rounds: 0,
            full_now: false,
            full: false,
        }
    }
}

impl Model {
    pub(super) fn begin(&mut self, now: Time) {
        (self.min_rtt_at, self.probe_rtt_min_at, self.extra_acked_since) = (now, now, now);
    }

    pub(super) fn start_round(&mut self, path: &Path) {
        self.round_end = path.delivered;
    }

    /// Sections 5.5.1 and 5.5.5, UpdateRound and UpdateMaxBw.
    pub(super) fn follow_bandwidth(&mut self, seen: &Seen<'_>) {
        self.round_start = seen.rate.prior_delivered >= self.round_end;
        if self.round_start {
            self.start_round(seen.path);
            self.rounds += 1;
            self.rounds_since_probe += 1;
        }
        let bw = seen.delivery_rate;
        if bw > 0.0 && (bw >= self.max_bw.get() || !seen.app_limited) {
            self.max_bw.add(self.cycles, bw, OLDER_CYCLES);
        }
    }

    /// Section 5.5.9, UpdateACKAggregation.
    pub(super) fn follow_aggregation(&mut self, seen: &Seen<'_>, cwnd: f64) {
        let now = seen.path.now;
        let mut expected = self.bw * now.since(self.extra_acked_since).as_secs_f64();
        if self.extra_acked_delivered <= expected {
            (self.extra_acked_delivered, self.extra_acked_since, expected) = (0.0, now, 0.0);
        }
        self.extra_acked_delivered += seen.rate.acked as f64;
        let extra = (self.extra_acked_delivered - expected).min(cwnd);
        self.extra_acked.add(self.rounds, extra, if self.full { OLDER_ROUNDS } else { 0 });
    }

    /// Section 5.3.1.2, ResetFullBW. `base`: the bandwidth to compare with, segments per second.
    pub(super) fn look_anew(&mut self, base: f64) {
        (self.full_bw, self.full_rounds, self.full_now) = (base, 0, false);
    }

    /// Section 5.3.1.2, CheckFullBWReached.
    pub(super) fn look_for_full_pipe(&mut self, seen: &Seen<'_>) {
        if self.full_now || !self.round_start || seen.app_limited {
            return;
        }
        if seen.delivery_rate >= self.full_bw * FULL_GROWTH {
            return self.look_anew(seen.delivery_rate);
        }
        self.full_rounds += 1;
        self.full_now = self.full_rounds >= FULL_ROUNDS;
        self.full |= self.full_now;
    }

    /// Section 5.3.4.3, UpdateMinRTT.
    pub(super) fn follow_round_trip(&mut self, constants: &Constants, seen: &Seen<'_>) {
        let now = seen.path.now;
        self.probe_rtt_expired = now > self.probe_rtt_min_at + constants.probe_rtt_interval;
        if let Some(rtt) = seen.rate.rtt
            && (rtt < self.probe_rtt_min || self.probe_rtt_expired)
        {
            (self.probe_rtt_min, self.probe_rtt_min_at) = (rtt, now);
        }
        let expired = now > self.min_rtt_at + constants.min_rtt_window;
        if self.probe_rtt_min < self.min_rtt || expired {
            (self.min_rtt, self.min_rtt_at) = (self.probe_rtt_min, self.probe_rtt_min_at);
        }
    }
}

//! Detects a token-bucket policer on the path. The policer's rate is then the sending rate.
//!
//! Source: Linux's `tcp_bbr.c`, after T. Flach et al., "An Internet-Wide Analysis of Traffic Policing",
//! SIGCOMM 2016. An interval has four to sixteen round trips, and begins and ends with a loss. A policer is
//! detected if in two intervals in a row a fifth of what they deliver is lost, and both have much the same
//! rate. Its rate is used for 48 round trips.

use ackclock_units::Time;

/// The round trips of an interval: minimum and maximum.
const ROUNDS: (u32, u32) = (4, 16);
/// The least number of lost segments per delivered segment (Linux: 50 / 256).
const LOSSY: f64 = 50.0 / 256.0;
/// Two rates are equal if they differ by at most this share, or by at most this many bits per second.
const SAME: (f64, f64) = (0.125, 4000.0);
/// The round trips at the policer's rate before the detection starts again.
const USE_ROUNDS: u32 = 48;
const MIN_SECONDS: f64 = 0.001;

/// The state at an acknowledgement or a timeout.
pub(super) struct Seen {
    pub now: Time,
    pub delivered: u64,
    pub lost: u64,
    pub newly_lost: bool,
    pub round_start: bool,
    pub probing: bool,
    pub limited: bool,
    pub segment_bits: f64,
}

/// The state of the detection.
#[derive(Clone, Default)]
pub(super) struct Policer {
    sampling: bool,
    /// The start of the interval: time, segments delivered, segments lost.
    since: (Time, u64, u64),
    rounds: u32,
    /// The rate of the interval before, segments per second; zero if there is none.
    rate: f64,
    found: bool,
}

impl Policer {
    /// The policer's rate in segments per second, once one is detected.
    pub(super) fn rate(&self) -> Option<f64> {
        self.found.then_some(self.rate)
    }

    fn begin(&mut self, seen: &Seen) {
        self.since = (seen.now, seen.delivered, seen.lost);
        self.rounds = 0;
    }

    /// Updates the detection. True if the policer's rate expires, so that probing must start again.
    pub(super) fn watch(&mut self, seen: &Seen) -> bool {
        if self.found {
            self.rounds += u32::from(seen.probing && seen.round_start);
            let over = self.rounds >= USE_ROUNDS;
            if over {
                *self = Policer::default();
            }
            return over;
        }
        // The first loss shows that the bucket has no tokens left.
        if !self.sampling {
            if !seen.newly_lost {
                return false;
            }
            self.begin(seen);
            self.sampling = true;
        }
        self.rounds += u32::from(seen.round_start);
        if seen.limited || self.rounds > ROUNDS.1 {
            *self = Policer::default();
        } else if self.rounds >= ROUNDS.0 && seen.newly_lost {
            self.end_interval(seen);
        }
        false
    }

    fn end_interval(&mut self, seen: &Seen) {
        let (since, delivered, lost) = self.since;
        let (delivered, lost) = ((seen.delivered - delivered) as f64, (seen.lost - lost) as f64);
        let seconds = seen.now.since(since).as_secs_f64();
        if delivered <= 0.0 || lost < LOSSY * delivered || seconds < MIN_SECONDS {
            return;
        }
        let rate = delivered / seconds;
        let apart = (rate - self.rate).abs();
        if self.rate > 0.0 && (apart <= SAME.0 * self.rate || apart * seen.segment_bits <= SAME.1) {
            self.rate = 0.5 * (rate + self.rate);
            self.found = true;
            self.rounds = 0;
        } else {
            self.rate = rate;
            self.begin(seen);
        }
    }
}

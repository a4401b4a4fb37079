//! Is the path policed? Then the rate that its token bucket lets through is what to send at.
//!
//! Source: Linux's `tcp_bbr.c`, after T. Flach et al., "An Internet-Wide Analysis of Traffic Policing", SIGCOMM 2016.
//! Two intervals in a row, each of four to sixteen round trips that begin and end with losses, with a fifth of what
//! they deliver lost, and at much the same rate: that is a policer, and its rate holds for 48 round trips.

use ackclock_units::Time;

/// Round trips of an interval: at least, and at most.
const ROUNDS: (u32, u32) = (4, 16);
/// Lost segments for each that is delivered (Linux: 50 / 256).
const LOSSY: f64 = 50.0 / 256.0;
/// Two rates are the same within this part, or within this many bits per second.
const SAME: (f64, f64) = (0.125, 4000.0);
/// Round trips at the policer's rate before it is looked for anew.
const USE_ROUNDS: u32 = 48;
const LEAST_SECONDS: f64 = 0.001;

/// What an acknowledgement, or a timeout, shows.
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

/// How far the looking has come.
#[derive(Default)]
pub(super) struct Policer {
    sampling: bool,
    /// Where the interval began: when, with what delivered and what lost.
    since: (Time, u64, u64),
    rounds: u32,
    /// Segments per second of the interval before; zero without one.
    rate: f64,
    found: bool,
}

impl Policer {
    /// The policer's rate in segments per second, once it is found.
    pub(super) fn rate(&self) -> Option<f64> {
        self.found.then_some(self.rate)
    }

    fn begin(&mut self, seen: &Seen) {
        self.since = (seen.now, seen.delivered, seen.lost);
        self.rounds = 0;
    }

    /// Takes what is seen; is the rate's time over, so that probing has to start again?
    pub(super) fn watch(&mut self, seen: &Seen) -> bool {
        if self.found {
            self.rounds += u32::from(seen.probing && seen.round_start);
            let over = self.rounds >= USE_ROUNDS;
            if over {
                *self = Policer::default();
            }
            return over;
        }
        // The first loss says that the tokens have run out.
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
        if delivered <= 0.0 || lost < LOSSY * delivered || seconds < LEAST_SECONDS {
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

//! HyStart as in Linux: a long train of acknowledgements, or a round-trip time that rises, ends slow start at
//! once.
//!
//! Sources: S. Ha, I. Rhee, "Taming the elephants: New TCP slow start", Computer Networks 55(9), 2011; Linux,
//! `net/ipv4/tcp_cubic.c`, for what the paper leaves open.
//!
//! What differs: Linux enlarges the train by the time of a few large segments (at most 1 ms), because there
//! acknowledgements come in groups. Here segments are not grouped. After a timeout Linux starts it again;
//! here only the first slow start has it.

use super::{Round, Scheme, Settings, SlowStart, threshold};
use crate::{Ack, Path, Window};
use ackclock_registry::{Entry, Parameter};
use ackclock_units::{Duration, Time};

/// The registry's entry.
pub const SCHEME: Scheme = Scheme {
    entry: Entry {
        name: "hystart",
        title: "HyStart",
        source: "Ha and Rhee, Computer Networks 2011; Linux",
        summary: "Leaves slow start at once when a train of acknowledgements is half a round trip long, or \
                  when the round-trip time rises.",
        equations: &[
            "train: acknowledgements at most ack_delta apart, from the start of a round on",
            "end of slow start: train longer than the smallest RTT / 2, or than the smallest RTT if paced",
            "end of slow start: more than min_samples samples in the round, and their smallest > smallest \
             RTT + max(delay_min, min(smallest RTT / 8, delay_max))",
            "both only from low_window on; ssthresh = cwnd",
        ],
        notes: &[
            "HyStart++ differs: it compares a round with the one before, not with the smallest RTT; it has \
             no train; it goes on for five rounds at a quarter of the growth, and may return to slow start",
            "Linux adds the time of a few large segments to the train's limit, at most 1 ms; segments are \
             not grouped here",
            "only the first slow start of a connection; Linux has it after timeouts, too",
        ],
        parameters: &[
            Parameter::choice(
                "detect",
                "both",
                &[
                    ("both", "train and delay"),
                    ("train", "the length of the train"),
                    ("delay", "the round-trip time"),
                ],
                "what ends slow start; Linux: hystart_detect",
            ),
            Parameter::number("low_window", 16.0, "segments", 1.0..=1e6, "Linux: hystart_low_window"),
            Parameter::time(
                "ack_delta",
                Duration::from_millis(2),
                Duration::ZERO,
                "Linux: hystart_ack_delta_us",
            ),
            Parameter::count("min_samples", 8, "samples", 1..=1_000, "Linux: HYSTART_MIN_SAMPLES"),
            Parameter::time(
                "delay_min",
                Duration::from_millis(4),
                Duration::ZERO,
                "Linux: HYSTART_DELAY_MIN",
            ),
            Parameter::time(
                "delay_max",
                Duration::from_millis(16),
                Duration::ZERO,
                "Linux: HYSTART_DELAY_MAX",
            ),
        ],
    },
    build: |settings| Some(Box::new(HyStart::new(settings))),
};

/// The paper: an eighth of the smallest round-trip time is the rise that counts, within bounds.
const RISE_DIVISOR: f64 = 8.0;

/// The state of Linux's `bictcp` as far as it concerns slow start.
#[derive(Clone)]
pub(super) struct HyStart {
    train: bool,
    delay: bool,
    low_window: f64,
    ack_delta: Duration,
    min_samples: u64,
    delay_min: Duration,
    delay_max: Duration,
    /// The current round; `None` before the first acknowledgement.
    round: Option<Train>,
}

/// A round, and the train of acknowledgements at its start.
#[derive(Clone, Copy)]
struct Train {
    round: Round,
    began: Time,
    /// The last acknowledgement of the train.
    last: Time,
}

impl HyStart {
    pub(super) fn new(settings: &Settings) -> HyStart {
        let detect = settings.get::<&str>("detect");
        HyStart {
            train: detect != "delay",
            delay: detect != "train",
            low_window: settings.get("low_window"),
            ack_delta: settings.get("ack_delta"),
            min_samples: settings.get("min_samples"),
            delay_min: settings.get("delay_min"),
            delay_max: settings.get("delay_max"),
            round: None,
        }
    }

    /// True if the acknowledgements since the start of the round show that the path is full.
    fn is_long(&self, train: &Train, path: &Path, paced: bool) -> bool {
        let limit = if paced { path.rtt_min } else { path.rtt_min.mul_f64(0.5) };
        self.train && train.last == path.now && train.last.since(train.began) > limit
    }

    /// True if the round-trip times of the round show a queue.
    fn is_late(&self, round: &Round, path: &Path) -> bool {
        let rise = threshold(path.rtt_min, RISE_DIVISOR, self.delay_min, self.delay_max);
        self.delay && round.samples > self.min_samples && round.least > path.rtt_min + rise
    }
}

impl SlowStart for HyStart {
    fn on_ack(&mut self, path: &Path, ack: &Ack, paced: bool, w: &mut Window) -> f64 {
        let fresh = Train { round: Round::begin(path), began: path.now, last: path.now };
        let mut train = self.round.filter(|train| !train.round.is_over(path)).unwrap_or(fresh);
        if path.now.since(train.last) <= self.ack_delta {
            train.last = path.now;
        }
        train.round.sample(ack.rtt);
        self.round = Some(train);
        let full = self.is_long(&train, path, paced) || self.is_late(&train.round, path);
        if w.cwnd >= self.low_window && full && path.rtt_min != Duration::MAX {
            w.ssthresh = w.cwnd;
        }
        1.0
    }
}

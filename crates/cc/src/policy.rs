//! A learned policy. A small neural network sets the rate once per monitor interval.
//!
//! Source: N. Jay, N. Rotman, B. Godfrey, M. Schapira, A. Tamar, "A Deep Reinforcement Learning Perspective
//! on Internet Congestion Control", ICML 2019 (Aurora), and the program PCC-RL that the authors published:
//! three numbers of each of the last intervals, and a rate that is multiplied by 1 + 0.025 a, or divided by
//! 1 - 0.025 a.
//!
//! What differs: the sender is TCP, so losses are found and repaired as TCP does, and an interval ends with
//! the first acknowledgement after its time. The halves of an interval are halves of its time, not of its
//! samples. A decision takes effect with the acknowledgement after the one that ended the interval.
//!
//! Three can decide: a network from a file, the rule that stands where none is given, and a program outside
//! ([`Desk`]), such as a training loop.

mod desk;
mod interval;
mod network;

pub use desk::{Desk, Question, Steered};
pub use interval::{FEATURES, RANGES, Seen};
pub use network::{
    Activation, Layer, MOST_HISTORY, MOST_LAYERS, MOST_OUTPUTS, MOST_WEIGHTS, Network, NetworkError,
};

use crate::{Ack, Controller, Event, Lost, Needs, Parameter, Path, Scheme, Signal, Window};
use ackclock_units::{Duration, Rate};
use interval::{Interval, NEUTRAL};
use std::sync::Arc;

/// The registry's entry.
pub const SCHEME: Scheme = Scheme {
    name: "policy",
    title: "Learned policy",
    source: "Jay et al., ICML 2019 (Aurora); the program PCC-RL",
    summary: "Once per monitor interval a small neural network, from a file, raises or lowers the sending rate.",
    equations: &[
        "latency inflation = (mean RTT of the second half - of the first half) / length of the interval",
        "latency ratio = mean RTT / smallest mean RTT of an interval so far",
        "send ratio = rate of sending / rate of delivery",
        "action a = network(these three of each of the last `history` intervals, oldest first)",
        "rate *= 1 + scale a if a >= 0, else rate /= 1 - scale a; by a factor of two at most; at most 10 times the rate of delivery",
        "cwnd = 2 * rate * mean RTT + 10: the rate is what limits",
        "start: the rate doubles per round trip, up to 10 times the rate of delivery, until a loss or a latency ratio of 1.25; then the rate of delivery",
    ],
    notes: &[
        "without a file a rule by hand decides: a = 5 - 4 latency ratio - 40 latency inflation, of intervals of one round trip; it is no learned policy",
        "losses, marks and timeouts change nothing but what the network sees",
        "an interval in which the application had nothing to send is not shown",
        "how files look, and how to train one: the page \"Learning\"",
    ],
    parameters: &[Parameter::file("file", "the network, as JSON").otherwise("a rule by hand")],
    endpoint: &[
        ("detection", "\"rack\""),
        ("recovery", "{ sack = { proportional_rate = true } }"),
        ("slow_start", "\"standard\""),
    ],
    needs: |_| Policy::NEEDS,
    build: |settings| match settings.blueprint() {
        Some(blueprint) => Arc::clone(blueprint).build(),
        None => Box::new(Policy::new(Mind::Network(Arc::new(Network::by_hand())), Start::Doubling)),
    },
    response: None,
};

/// The features of so many intervals before the first: nothing changes.
pub fn neutral(history: usize) -> impl Iterator<Item = f64> {
    std::iter::repeat_n(NEUTRAL, history).flatten()
}

/// The largest factor by which one decision changes the rate.
const MOST_FACTOR: f64 = 2.0;
/// The rates in which a network decides, segments per second.
const RATES: (f64, f64) = (0.1, 1e9);
/// The rate is at most so many times that of delivery: a policy that only rises must not flood its host.
const MOST_SENT: f64 = 10.0;
/// The window holds so many round trips of the rate, and so many segments more.
const ROOM: (f64, f64) = (2.0, 10.0);
/// While the rate doubles: a queue is there above this latency ratio.
const QUEUE: f64 = 1.25;

/// Who decides.
#[derive(Clone)]
enum Mind {
    Network(Arc<Network>),
    Outside(Arc<Steered>),
}

/// How a connection begins.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Start {
    /// The rate doubles per round trip, from the initial window, until there is a queue or a loss.
    Doubling,
    /// It begins at this rate. Nothing is asked before so much time has passed.
    At {
        /// Segments per second.
        rate: f64,
        /// The length of the first interval, which is not shown.
        first: Duration,
    },
}

/// The controller.
#[derive(Clone)]
pub struct Policy {
    mind: Mind,
    start: Start,
    /// True until the rate has stopped doubling.
    doubling: bool,
    /// True if the next interval that ends is not shown.
    unshown: bool,
    /// True if an action was asked for and has not taken effect.
    asked: bool,
    /// Segments per second; zero before the first sample.
    rate: f64,
    interval: Interval,
    /// The mean round-trip time of the last interval that had one, and the smallest of all, seconds.
    latency_s: f64,
    least_s: f64,
    /// Segments found lost so far.
    lost: u64,
    /// The features of the last intervals, the oldest first.
    history: Vec<f64>,
    room: Vec<f64>,
    action: f64,
    /// The highest rate that the last interval allows.
    most: f64,
}

impl Policy {
    /// The rate is the scheme; losses are counted one by one.
    const NEEDS: Needs = Needs { rate: true, window: true, pacing: true, ..Needs::NOTHING };

    fn new(mind: Mind, start: Start) -> Policy {
        let (history, room) = match &mind {
            Mind::Network(network) => (network.history, 2 * network.width()),
            Mind::Outside(_) => (0, 0),
        };
        Policy {
            mind,
            start,
            doubling: start == Start::Doubling,
            unshown: false,
            asked: false,
            rate: 0.0,
            interval: Interval::default(),
            latency_s: 0.0,
            least_s: 0.0,
            lost: 0,
            history: neutral(history).collect(),
            room: vec![0.0; room],
            action: 0.0,
            most: RATES.1,
        }
    }

    /// Segments sent so far. Each is delivered, lost, or in flight.
    fn sent(&self, path: &Path) -> f64 {
        path.delivered as f64 + path.in_flight + self.lost as f64
    }

    fn begin_interval(&mut self, path: &Path) {
        let share = match &self.mind {
            _ if self.doubling => 1.0,
            Mind::Network(network) => network.interval,
            Mind::Outside(steered) => steered.interval,
        };
        self.interval =
            Interval::begin(path, self.sent(path), Duration::from_secs_f64(share * self.latency_s));
    }

    /// The first round-trip time: the rate of the initial window.
    fn begin(&mut self, path: &Path, w: &Window) {
        self.latency_s = path.srtt.as_secs_f64();
        self.rate = (w.cwnd / self.latency_s).clamp(RATES.0, RATES.1);
        self.begin_interval(path);
    }

    fn end_interval(&mut self, path: &Path) {
        let seen = self.interval.close(path, self.sent(path));
        if let Some(latency_s) = seen.latency_s {
            self.latency_s = latency_s;
            self.least_s = if self.least_s > 0.0 { self.least_s.min(latency_s) } else { latency_s };
        }
        let features = seen.features(self.least_s);
        // What the application did not send says nothing about the path.
        if !std::mem::take(&mut self.unshown) && !self.interval.was_idle() {
            let delivered = seen.acked / seen.seconds.max(1e-9);
            self.most = if seen.acked > 0.0 { MOST_SENT * delivered } else { self.rate };
            if self.doubling {
                self.double(&seen, features[1]);
            } else {
                self.ask(seen, features);
            }
        }
        self.begin_interval(path);
    }

    /// An interval without a sample of the round-trip time knows nothing of a queue: the rate stays.
    fn double(&mut self, seen: &Seen, ratio: f64) {
        self.doubling = seen.lost == 0.0 && ratio <= QUEUE;
        let next = match (self.doubling, seen.latency_s) {
            (true, Some(_)) => (2.0 * self.rate).min(self.most),
            (true, None) => self.rate,
            (false, _) => seen.throughput().min(self.rate),
        };
        self.rate = next.clamp(RATES.0, RATES.1);
    }

    fn ask(&mut self, seen: Seen, features: [f64; 3]) {
        self.asked = true;
        match &self.mind {
            Mind::Outside(steered) => steered.desk.ask(Question { seen, features, rate: self.rate }),
            Mind::Network(network) => {
                self.history.copy_within(features.len().., 0);
                let newest = self.history.len() - features.len();
                self.history[newest..].copy_from_slice(&features);
                self.action = network.decide(&self.history, &mut self.room);
            }
        }
    }

    /// The decision takes effect.
    fn act(&mut self) {
        let (action, scale, (least, most)) = match &self.mind {
            Mind::Network(network) => (self.action, network.scale, RATES),
            Mind::Outside(steered) => (steered.desk.action(), steered.scale, steered.rates),
        };
        self.action = if action.is_finite() { action } else { 0.0 };
        let factor = (1.0 + scale * self.action.abs()).min(MOST_FACTOR);
        let rate = if self.action >= 0.0 { self.rate * factor } else { self.rate / factor };
        self.rate = rate.min(self.most).clamp(least, most);
    }

    fn set(&self, path: &Path, w: &mut Window) {
        let bits = self.rate * f64::from(path.segment_bytes) * 8.0;
        w.pacing = Some(Rate::from_bps(bits.max(1.0) as u64));
        w.cwnd = ROOM.0 * self.rate * self.latency_s + ROOM.1;
        w.ssthresh = w.cwnd;
    }
}

impl Controller for Policy {
    fn on_sample(&mut self, path: &Path, ack: &Ack, w: &mut Window) {
        if self.rate == 0.0 {
            if path.srtt.is_zero() {
                return;
            }
            self.begin(path, w);
        }
        let rtt = ack.rate.map_or(ack.rtt, |sample| sample.rtt);
        if let Some(rtt) = rtt {
            self.interval.sample(path.now, rtt);
        }
        if ack.rate.is_some_and(|sample| sample.app_limited) {
            self.interval.idles();
        }
        if std::mem::take(&mut self.asked) {
            self.act();
        }
        if path.now >= self.interval.ends {
            self.end_interval(path);
        }
        self.set(path, w);
    }

    fn grow(&mut self, _path: &Path, _ack: &Ack, _w: &mut Window) {}

    fn cut(&mut self, _path: &Path, _w: &Window, _why: Signal) -> Option<f64> {
        None
    }

    fn on_lost(&mut self, _path: &Path, _lost: &Lost, _w: &Window) {
        self.lost += 1;
        self.interval.lose();
    }

    fn on_event(&mut self, path: &Path, event: Event, w: &mut Window) {
        match (event, self.start) {
            (Event::Start, Start::At { rate, first }) => {
                (self.rate, self.unshown) = (rate, true);
                self.interval = Interval::begin(path, self.sent(path), first);
                self.latency_s = first.as_secs_f64();
                self.set(path, w);
            }
            (Event::Idle, _) => self.interval.idles(),
            _ => {}
        }
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("rate_per_s", self.rate);
        see("action", self.action);
        see("latency_ratio", if self.least_s > 0.0 { self.latency_s / self.least_s } else { 1.0 });
    }
}

#[cfg(test)]
mod tests;

//! Google Congestion Control: the rate follows the trend of the queueing delay, and losses beyond a share.
//!
//! Source: draft-ietf-rmcat-gcc-02.
//!
//! What differs: the draft controls media; here data are repaired, so that each is delivered once, and there
//! is always something to send. Where the draft leaves a choice or does not work as printed, libwebrtc
//! decides; the files of the parts say where. Packets leave at the rate, without a pacing gain and without
//! probing.

pub mod aimd;
pub mod delay;
pub mod detector;
pub mod filter;
pub mod groups;
pub mod incoming;
pub mod loss;
mod receiver;
mod sender;

pub use receiver::Receiver;
pub use sender::Sender;

use crate::config::{self, Configured};
use crate::law::Limits;
use crate::scheme::Transport;
use ackclock_registry::{Entry, Parameter};
use ackclock_units::{Duration, Time};
use aimd::Aimd;
use delay::DelayBased;
use detector::Detector;
use filter::{Filter, Kalman, Trendline};
use groups::Groups;
use incoming::Incoming;
use loss::LossBased;

/// The registry's entry.
pub const TRANSPORT: Transport = Transport {
    entry: Entry {
        name: "gcc",
        title: "Google Congestion Control",
        source: "draft-ietf-rmcat-gcc-02",
        summary: "A filter estimates the trend of the queueing delay, and a threshold that adapts tells over-use; \
                  the rate falls to 85 % of what arrives then, and else rises by 8 % per second or by half a \
                  packet per response time. Losses above 10 % lower it, too.",
        equations: &[
            "d = t(i) - t(i-1) - (T(i) - T(i-1)) per group of packets",
            "m(i) = m(i-1) + k z, z = d - m(i-1), k = (e + q) / (var + e + q)",
            "over-use: m > threshold for 10 ms; threshold += dt K (|m| - threshold)",
            "over-use: A = 0.85 R; else A = 1.08^dt A, or A + half a packet per response time; A <= 1.5 R",
            "losses: above 10 % rate (1 - p/2), below 2 % 1.05 rate; the lower of both rates counts",
        ],
        notes: &[
            "m is multiplied by the number of groups, up to gain, as in libwebrtc: 1 is the draft",
            "after a decrease the state is Hold; the next one comes a response time later at the earliest",
            "the trendline filter is libwebrtc's",
            "without feedback the rate halves per timeout; the draft does not say",
            "data are repaired, packets leave at the rate itself, and no probing is done",
        ],
        parameters: PARAMETERS,
    },
    sender: |settings, bytes, opening| Box::new(Sender::new(&Config::new(settings.clone(), bytes), opening)),
    receiver: |settings, bytes| Box::new(Receiver::new(&Config::new(settings.clone(), bytes))),
    on_networks: &[],
};

const PARAMETERS: &[Parameter] = &[
    Parameter::choice(
        "feedback",
        "arrivals",
        &[
            ("arrivals", "the receiver reports arrivals, and the sender decides"),
            ("remb", "the receiver decides and reports the rate"),
        ],
        "where the delay-based controller is: section 3",
    ),
    Parameter::choice(
        "filter",
        "kalman",
        &[("kalman", "the draft's"), ("trendline", "libwebrtc's")],
        "the arrival-time filter: section 5.3",
    ),
    Parameter::time(
        "interval",
        Duration::from_millis(100),
        Duration::from_millis(1),
        "between reports; 50 to 250 ms in libwebrtc",
    ),
    Parameter::time("burst", Duration::from_millis(5), Duration::ZERO, "burst_time: section 5.2"),
    Parameter::count("gain", 60, "groups", 1..=1000, "what m is multiplied by at most; libwebrtc has 60"),
    Parameter::number("chi", 0.01, "", 0.0..=1.0, "kalman: forgets noise; 0.1 to 0.001 in section 5.6"),
    Parameter::number("q", 1e-3, "ms^2", 0.0..=1.0, "kalman: noise of the state: section 5.6"),
    Parameter::number("threshold", 12.5, "ms", 6.0..=600.0, "del_var_th(0): section 5.6"),
    Parameter::number("k_up", 0.01, "1/ms", 0.0..=1.0, "K_u: section 5.6"),
    Parameter::number("k_down", 0.00018, "1/ms", 0.0..=1.0, "K_d: section 5.6; libwebrtc has 0.039"),
    Parameter::number("overuse_time", 10.0, "ms", 0.0..=1000.0, "overuse_time_th: section 5.6"),
    Parameter::time(
        "window",
        Duration::from_millis(500),
        Duration::from_millis(25),
        "T of the incoming rate: section 5.5",
    ),
    Parameter::number("decrease", 0.85, "", 0.5..=1.0, "beta: section 5.5"),
    Parameter::number("increase", 1.08, "per second", 1.0..=10.0, "eta: section 5.5"),
    Parameter::time(
        "loss_interval",
        Duration::from_millis(200),
        Duration::ZERO,
        "between steps of the loss-based rate; not stated",
    ),
    Parameter::number("start", 3e5, "bit/s", 1.0..=1e14, "not stated; libwebrtc has 300 kbit/s"),
    Parameter::number("least_rate", 1e4, "bit/s", 1.0..=1e14, "not stated"),
    Parameter::number("most_rate", 1e11, "bit/s", 1.0..=1e14, "not stated"),
    Parameter::number("rtt_memory", 0.875, "share of the old value", 0.0..=0.999, "srtt; not stated"),
    Parameter::time(
        "timeout",
        Duration::from_secs(1),
        Duration::from_millis(1),
        "without feedback, until the rate halves; not stated",
    ),
    Parameter::number("silence", 2.0, "srtt", 1.0..=100.0, "when a tail is sent again; not in the draft"),
    Parameter::count("reorder", 3, "packets", 0..=1000, "packets that may overtake; not in the draft"),
    Parameter::time(
        "resolution",
        Duration::from_micros(250),
        Duration::from_micros(2),
        "of arrivals in reports; draft-holmer-rmcat-transport-wide-cc-extensions-01",
    ),
    Parameter::count("ack", 40, "bytes", 1..=1400, "a report without arrivals, on the wire; not stated"),
    Parameter::count(
        "ack_every",
        32,
        "packets",
        1..=128,
        "acknowledgements between reports; not in the draft",
    ),
];

/// Google Congestion Control.
#[derive(Clone, Debug)]
pub enum Gcc {}

impl Configured for Gcc {
    const PARAMETERS: &'static [Parameter] = PARAMETERS;
}

/// What both endpoints of a connection need to know: the parameters of [`TRANSPORT`], and the size of
/// packets.
pub type Config = config::Config<Gcc>;

impl Config {
    fn time(&self, name: &str) -> Duration {
        self.settings.get(name)
    }

    fn limits(&self) -> Limits {
        Limits { least: self.number("least_rate"), most: self.number("most_rate") }
    }

    fn delay_based(&self) -> DelayBased {
        let filter = if self.is("filter", "kalman") {
            Filter::Kalman(Kalman::new(self.number("chi"), self.number("q")))
        } else {
            Filter::Trendline(Trendline::default())
        };
        let detector = detector::Settings {
            threshold: self.number("threshold"),
            gains: (self.number("k_up"), self.number("k_down")),
            time: self.number("overuse_time"),
        };
        let (decrease, increase) = (self.number("decrease"), self.number("increase"));
        DelayBased {
            groups: Groups::new(self.time("burst")),
            filter,
            detector: Detector::new(detector),
            incoming: Incoming::new(self.time("window")),
            aimd: Aimd::new(self.number("start"), decrease, increase, self.limits()),
            count: 0,
            most_groups: self.count("gain"),
            trend: 0.0,
        }
    }

    fn loss_based(&self, now: Time) -> LossBased {
        LossBased::new(self.number("start"), self.time("loss_interval"), self.limits(), now)
    }
}

/// The shortest round-trip time that is believed. Timers never stand still.
const MIN_RTT: Duration = Duration::from_micros(1);

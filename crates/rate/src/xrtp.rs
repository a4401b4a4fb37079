//! XRTP, the extended rate-based transport protocol: the receiver measures, labels losses and decides the
//! rate.
//!
//! Source: S. Gaonkar, "Balancing Loss Discrimination and Congestion Control in a Rate-Based Protocol", M.S.
//! thesis, University of Illinois, 2003.
//!
//! What differs: what the source leaves open is a parameter each; the files of the parts say what they
//! correct. The order of a receiver's steps is jitter, pair, positive jitter, loss, acknowledgement.

mod receiver;
mod sender;

pub use receiver::Receiver;
pub use sender::Sender;

use crate::config::{self, Configured};
use crate::jitter::Clock;
use crate::kde::{Estimate, Form, Kde, Kernel, Width};
use crate::law::{JitterLaw, Limits};
use crate::loss::{Biaz, Discriminator, Hybrid, HybridSettings, Spike, ZigZag};
use crate::pair::Pairing;
use crate::scheme::Transport;
use crate::variant::Variant;
use ackclock_registry::{Entry, Given, Parameter};
use ackclock_units::Duration;

/// The registry's entry.
pub const TRANSPORT: Transport = Transport {
    entry: Entry {
        name: "xrtp",
        title: "XRTP",
        source: "Gaonkar, M.S. thesis, University of Illinois, 2003",
        summary: "The receiver estimates the capacity from packet pairs, slows down by jitter, and halves the \
                  rate on losses that it labels congestion.",
        equations: &[
            "per packet pair: sample = S / gap; C = density-weighted mean of the last samples",
            "r = alpha r + (1 - alpha) C",
            "on each positive jitter: r = S / (S/r + mean of the last three positive jitters)",
            "on a loss labelled congestion, at most once per srtt: r = r/2",
        ],
        notes: &[
            "law = \"printed\" is equation 3.13, whose units and direction are wrong",
            "the kernel arguments of Figure 3.2, equation A.7 and the mean of Figure A.1 are corrected",
            "data packets carry the smoothed round-trip time, which the receiver needs",
            "the SACK bitmap is of the 128 packet numbers below the echoed one",
            "a sender with nothing new to send repairs its tail as in a blackout",
        ],
        parameters: PARAMETERS,
    },
    sender: |settings, bytes, opening| Box::new(Sender::new(&Config::new(settings.clone(), bytes), opening)),
    receiver: |settings, bytes| Box::new(Receiver::new(&Config::new(settings.clone(), bytes))),
    on_networks: &[
        // Packets may overtake.
        ("reorder", Given::Number(3.0)),
        // Hosts delay packets by as much as fast links need for one. No longer than most round trips.
        ("spacing", Given::Time(Duration::from_millis(20))),
        // A packet may be lost again when it is repeated: a window of two round trips would be full then.
        ("window", Given::Number(8.0)),
        // RFC 6928.
        ("start", Given::Number(10.0)),
    ],
};

const PARAMETERS: &[Parameter] = &[
    Parameter::number("alpha", 0.8, "share of the old rate", 0.0..=1.0, "section 3.3: 0.8 or below"),
    Parameter::choice(
        "law",
        "interval",
        &[
            ("interval", "the interval grows by the mean jitter"),
            ("arrivals", "the rate is at most that of the last three arrivals with positive jitter"),
            ("capped", "the rate is at most S / mean jitter"),
            ("printed", "the rate is S / mean jitter: equation 3.13"),
        ],
        "what a positive jitter does to the rate",
    ),
    Parameter::choice(
        "pair",
        "within",
        &[
            ("within", "the pair is the last two of every pair_every packets"),
            ("extra", "its second packet is sent in addition to them"),
        ],
        "whether a pair is part of the paced packets",
    ),
    Parameter::choice(
        "obey",
        "twice",
        &[
            ("twice", "at most twice the rate that is acknowledged"),
            ("all", "all of it, however much: section 3.3"),
        ],
        "how much of the receiver's rate the sender obeys",
    ),
    Parameter::count("pair_every", 4, "packets", 2..=1000, "k, section 3.3"),
    Parameter::count("samples", 8, "samples", 1..=256, "n of the kernel density filter, section 4.1"),
    Parameter::choice(
        "kernel",
        "gaussian",
        &[("gaussian", "exp(-u^2/2) / sqrt(2 pi)"), ("triangular", "1 - |u| between -1 and 1")],
        "the kernel of the filter; not stated",
    ),
    Parameter::choice(
        "estimate",
        "weighted",
        &[("weighted", "the mean, weighted by densities"), ("mode", "the sample of the highest density")],
        "how densities become an estimate; not stated",
    ),
    Parameter::choice(
        "kde",
        "linear",
        &[("linear", "Figure 3.2, corrected"), ("quadratic", "equation 3.3")],
        "how densities are computed",
    ),
    Parameter::choice(
        "clock",
        "fine",
        &[("fine", "send times are exact: equation 3.12"), ("coarse", "they are not: equation 5.1")],
        "how jitter is computed",
    ),
    Parameter::flag("skip_pairs", true, "with a fine clock, leave out the jitter of a pair's second packet"),
    Parameter::time(
        "spacing",
        Duration::ZERO,
        Duration::ZERO,
        "jitter is measured between packets sent this far apart; 20 ms on real networks",
    ),
    Parameter::choice(
        "loss",
        "hybrid",
        &[
            ("hybrid", "jitter, then one-way trip time: section 3.5"),
            ("none", "every loss is congestion (XRTP-ND)"),
            ("perfect", "the host tells the cause (XRTP-PD)"),
            ("biaz", "Biaz and Vaidya 1999"),
            ("mbiaz", "the same with the limit 1.25: Cen, Cosman, Voelker 2003"),
            ("spike", "Tobe et al. 2000"),
            ("zigzag", "Cen, Cosman, Voelker 2003"),
        ],
        "who labels losses",
    ),
    Parameter::count("history", 3, "jitters", 0..=100, "hybrid: jitters before a loss; not stated"),
    Parameter::count("positive", 2, "jitters", 0..=100, "hybrid: how many must be positive; not stated"),
    Parameter::number("threshold", 0.9, "", 0.0..=1.0, "hybrid: place of the trip time; not stated"),
    Parameter::count("exceeding", 1, "packets", 0..=100, "hybrid: l1, trip times that exceed; not stated"),
    Parameter::count("trips", 8, "packets", 1..=1000, "hybrid: n, window of trip times; not stated"),
    Parameter::number("deviations", 1.0, "sd", 0.0..=10.0, "hybrid: what exceeds the mean; not stated"),
    Parameter::number("spread", 3.0, "S/C", 0.0..=1000.0, "hybrid: least range of trip times; not stated"),
    Parameter::count("reorder", 0, "packets", 0..=1000, "packets that may overtake; 3 on real networks"),
    Parameter::number("window", 2.0, "r srtt / S", 0.1..=100.0, "section 3.4: about twice"),
    Parameter::count("least_window", 4, "packets", 1..=1000, "the smallest window; not stated"),
    Parameter::number("silence", 2.0, "srtt", 1.0..=100.0, "when a blackout begins; not stated"),
    Parameter::choice(
        "restart",
        "last",
        &[("last", "the last rate"), ("initial", "the rate of the start")],
        "the rate after a blackout; not stated",
    ),
    Parameter::number("start", 2.0, "packets per handshake RTT", 0.1..=1000.0, "not stated"),
    Parameter::choice(
        "variant",
        "n",
        &[("n", "none"), ("a", "alpha changes"), ("c", "the estimate changes"), ("b", "both change")],
        "section 5.4",
    ),
    Parameter::number("alpha_most", 0.99, "", 0.0..=1.0, "variants a and b: b; not stated"),
    Parameter::choice(
        "counted",
        "congestion",
        &[("congestion", "those labelled congestion"), ("all", "all")],
        "variants: which losses count; not stated",
    ),
    Parameter::number("rtt_memory", 0.875, "share of the old value", 0.0..=0.999, "srtt; not stated"),
    Parameter::time("tick", Duration::ZERO, Duration::ZERO, "the sender's clock tick; zero for none"),
    Parameter::count("ack", 40, "bytes", 1..=1500, "an acknowledgement on the wire; not stated"),
    Parameter::number("least_rate", 1.0, "packets/s", 0.001..=1e6, "not stated"),
    Parameter::number("most_rate", 1e11, "bit/s", 1.0..=1e14, "not stated"),
];

/// XRTP.
#[derive(Clone, Debug)]
pub enum Xrtp {}

impl Configured for Xrtp {
    const PARAMETERS: &'static [Parameter] = PARAMETERS;
}

/// What both endpoints of a connection need to know: the parameters of [`TRANSPORT`], and the size of
/// packets.
pub type Config = config::Config<Xrtp>;

impl Config {
    fn limits(&self) -> Limits {
        Limits { least: self.number("least_rate") * self.bits(), most: self.number("most_rate") }
    }

    fn law(&self) -> JitterLaw {
        match self.settings.get("law") {
            "interval" => JitterLaw::Interval,
            "arrivals" => JitterLaw::Arrivals,
            "capped" => JitterLaw::Capped,
            _ => JitterLaw::Printed,
        }
    }

    fn obedience(&self) -> Obedience {
        if self.is("obey", "all") { Obedience::All } else { Obedience::Twice }
    }

    fn pairing(&self) -> Pairing {
        if self.is("pair", "within") { Pairing::Within } else { Pairing::Extra }
    }

    fn clock(&self) -> Clock {
        if self.is("clock", "fine") { Clock::Fine } else { Clock::Coarse }
    }

    fn variant(&self) -> Variant {
        match self.settings.get("variant") {
            "a" => Variant::A,
            "c" => Variant::C,
            "b" => Variant::B,
            _ => Variant::N,
        }
    }

    fn filter(&self) -> Kde {
        let kernel = if self.is("kernel", "gaussian") { Kernel::Gaussian } else { Kernel::Triangular };
        let estimate = if self.is("estimate", "weighted") { Estimate::Weighted } else { Estimate::Mode };
        let form = if self.is("kde", "linear") { Form::Linear } else { Form::Quadratic };
        Kde::new(self.count("samples") as usize, kernel, estimate, Width::Silverman, form)
    }

    fn discriminator(&self) -> Discriminator {
        match self.settings.get("loss") {
            "none" => Discriminator::None,
            "perfect" => Discriminator::Perfect,
            "biaz" => Discriminator::Biaz(Biaz::new(2.0)),
            "mbiaz" => Discriminator::Biaz(Biaz::new(1.25)),
            "spike" => Discriminator::Spike(Spike::default()),
            "zigzag" => Discriminator::ZigZag(ZigZag::default()),
            _ => Discriminator::Hybrid(Hybrid::new(HybridSettings {
                history: self.count("history") as usize,
                positive: self.count("positive") as usize,
                threshold: self.number("threshold"),
                exceeding: self.count("exceeding") as usize,
                window: self.count("trips") as usize,
                deviations: self.number("deviations"),
                spread: self.number("spread"),
            })),
        }
    }
}

/// How much of the receiver's rate the sender obeys.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Obedience {
    /// All of it, as the source has it.
    All,
    /// At most twice the rate that is acknowledged: a receiver that is mistaken cannot flood the path.
    Twice,
}

/// The shortest round-trip time that is believed. Timers never stand still.
const MIN_RTT: Duration = Duration::from_micros(1);

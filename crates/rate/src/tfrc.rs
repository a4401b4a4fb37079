//! TFRC, TCP-friendly rate control: the receiver measures the rate of loss events, and the sender sends at
//! the rate that TCP would have with it.
//!
//! Source: RFC 5348.
//!
//! What differs: the source leaves reliability to others. Here data are repaired, so that each is delivered
//! once: a retransmission is a packet like any other, with a number of its own, and takes the place of new
//! data. So the rate of packets is the same with and without repair. What repair needs and reports are too
//! rare for is acknowledged between them, without a report. The round-trip time is known from a handshake.

pub mod allowed;
pub mod equation;
pub mod history;
pub mod intervals;
pub mod limited;
pub mod meter;
mod receiver;
mod sender;
pub mod timeout;

pub use receiver::Receiver;
pub use sender::Sender;

use crate::config::{self, Configured};
use crate::scheme::Transport;
use ackclock_registry::{Entry, Parameter};
use ackclock_units::Duration;

/// The registry's entry.
pub const TRANSPORT: Transport = Transport {
    entry: Entry {
        name: "tfrc",
        title: "TFRC",
        source: "RFC 5348",
        summary: "The receiver measures the rate of loss events; the sender takes the rate of TCP's throughput \
                  equation, at most twice what is received.",
        equations: &[
            "X = s / (R sqrt(2bp/3) + t_RTO 3 sqrt(3bp/8) p (1 + 32 p^2)), b = 1",
            "1/p = weighted mean of the last eight loss intervals, and of the open one if that is larger",
            "before the first loss: X = min(2X, 2 X_recv) per round trip",
            "without a report for max(4R, 2s/X): X = X/2, at least s/64 s",
        ],
        notes: &[
            "data are repaired: a retransmission is a packet like any other",
            "acknowledgements without a report serve repair: every ack_every packets, and after the last datum",
            "X_recv is measured since the latest report that is at least a round trip old",
            "ns-2's Agent/TFRC: rtt_memory 0.95, tick 0.1 s, header 32, patience 2, reorder 1, discount 0.5, \
             damped, gradual and ramped; its packetSize_ is without the header",
        ],
        parameters: PARAMETERS,
    },
    sender: |settings, bytes, opening| Box::new(Sender::new(&Config::new(settings.clone(), bytes), opening)),
    receiver: |settings, bytes| Box::new(Receiver::new(&Config::new(settings.clone(), bytes))),
    on_networks: &[],
};

const PARAMETERS: &[Parameter] = &[
    Parameter::count(
        "header",
        40,
        "bytes",
        0..=1000,
        "IP and transport headers, which s leaves out: section 3.1; ns-2 has 32",
    ),
    Parameter::number(
        "rtt_memory",
        0.9,
        "share of the old value",
        0.0..=0.999,
        "q, section 4.3; the default of ns-2's df_ is 0.95",
    ),
    Parameter::time(
        "tick",
        Duration::ZERO,
        Duration::ZERO,
        "zero: t_RTO is 4R, section 3.1; else TCP's by a clock of this tick; ns-2's tcp_tick_ is 0.1 s",
    ),
    Parameter::time(
        "least_timeout",
        Duration::ZERO,
        Duration::ZERO,
        "the least t_RTO; section 3.1 allows 1 s; ns-2's minrto_",
    ),
    Parameter::flag("damped", false, "spacing by the root of the round-trip time: section 4.5; ns-2's ca_"),
    Parameter::flag("gradual", false, "after slow start X rises by at most s/R per round trip, as in ns-2"),
    Parameter::flag("ramped", false, "in slow start X rises packet by packet: ns-2's slow_increase_"),
    Parameter::number("patience", 4.0, "R", 1.0..=100.0, "the nofeedback timer: section 4.3; ns-2 has 2"),
    Parameter::count("reorder", 3, "packets", 1..=1000, "NDUPACK, section 5.1; ns-2's numPkts_ is 1"),
    Parameter::number("discount", 0.25, "", 0.0..=1.0, "THRESHOLD, section 5.5; ns-2 has 0.5; 1 for none"),
    Parameter::number("silence", 2.0, "R", 1.0..=100.0, "when a tail is sent again; not in the RFC"),
    Parameter::count("ack", 40, "bytes", 1..=1500, "a report on the wire; ns-2 has 40"),
    Parameter::count("ack_every", 32, "packets", 1..=128, "acknowledgements between reports; not in the RFC"),
    Parameter::number("most_rate", 1e11, "bit/s", 1.0..=1e14, "not in the RFC"),
];

/// TFRC.
#[derive(Clone, Debug)]
pub enum Tfrc {}

impl Configured for Tfrc {
    const PARAMETERS: &'static [Parameter] = PARAMETERS;
}

/// What both endpoints of a connection need to know: the parameters of [`TRANSPORT`], and the size of
/// packets.
pub type Config = config::Config<Tfrc>;

impl Config {
    /// The header, bytes: at most 1000, and smaller than a packet.
    fn header(&self) -> u32 {
        (self.count("header") as u32).min(self.bytes - 1)
    }

    /// s, bytes.
    fn size(&self) -> f64 {
        f64::from(self.bytes - self.header())
    }

    /// Bits on the wire per byte of payload.
    fn wire(&self) -> f64 {
        f64::from(self.bytes) * 8.0 / self.size()
    }

    fn allowed(&self) -> allowed::Settings {
        allowed::Settings {
            size: self.size(),
            memory: self.number("rtt_memory"),
            least_timeout: self.settings.get("least_timeout"),
            tick: self.settings.get("tick"),
            damped: self.settings.get("damped"),
            gradual: self.settings.get("gradual"),
            ramped: self.settings.get("ramped"),
            patience: self.number("patience"),
            most: (self.number("most_rate") / self.wire()).max(self.size()),
        }
    }
}

/// The shortest round-trip time that is believed. Timers never stand still.
const MIN_RTT: Duration = Duration::from_micros(1);

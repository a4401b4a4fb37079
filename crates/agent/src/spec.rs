//! What one end of a connection does: what a script asks for, in the form in which agents are told.
//!
//! Times are whole microseconds and sizes bytes, as in the scripts of the thesis.

use crate::traffic::Draw;
use ackclock_scenario::writing::Bursts;
use ackclock_units::Duration;
use serde::{Deserialize, Serialize};

/// The largest size of a burst, bytes.
pub const MAX_BURST: u64 = 1 << 40;
/// The shortest period, us.
pub const MIN_PERIOD: u64 = 100;
/// The longest duration, us: a day.
pub const MAX_DURATION: u64 = 86_400_000_000;
/// The greatest number of time stamps that one end keeps.
pub const MAX_STAMPS: u32 = 100_000;
/// The largest datagram over IPv4, bytes (RFC 768, RFC 791).
pub const MAX_DATAGRAM: u64 = 65_507;

/// What one end does.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Whether it sends or receives.
    pub role: Role,
    /// The protocol.
    pub protocol: Protocol,
    /// How many time stamps of writes or reads are kept; the first ones.
    pub stamps: u32,
}

/// Whether an end sends or receives.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// It sends.
    Source(Pattern),
    /// It receives, and reads up to this many bytes at once.
    Sink {
        /// The size of a read, bytes.
        blocksize: u64,
        /// How long the sender means to send, us.
        duration: u64,
    },
}

/// When a source writes how much.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// Blocks back to back.
    Full {
        /// The size of a block, bytes.
        blocksize: u64,
        /// How long, us.
        duration: u64,
        /// The capacity of the socket's send buffer, bytes.
        buffer: Option<u64>,
    },
    /// Bursts of blocks by a timer.
    Bursts(BurstPattern),
}

/// Bursts by a timer.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BurstPattern {
    /// The size of a block, bytes.
    pub blocksize: Number,
    /// The number of blocks in a burst.
    pub repeats: Number,
    /// The time from the start of a burst to that of the next one, us.
    pub period: Number,
    /// How long, us.
    pub duration: u64,
    /// What becomes of a burst whose period begins while the one before is still being written.
    pub late: Late,
    /// The capacity of the socket's send buffer, bytes.
    pub buffer: Option<u64>,
    /// What a burst begins with, before its blocks.
    #[serde(default)]
    pub opening: Option<Box<Opening>>,
    /// The time from the start of a block to that of the next one in a burst, us. `None`: back to back.
    #[serde(default)]
    pub apart: Option<Box<Number>>,
    /// True if the period is the time from the end of a burst to the start of the next one. Then no burst
    /// can be late.
    #[serde(default)]
    pub gaps: bool,
}

/// What a burst begins with.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Opening {
    /// Its size, bytes.
    pub size: Number,
    /// The time from its end to the burst's blocks, us.
    pub pause: Number,
}

/// What becomes of a burst whose period begins while the one before is still being written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Late {
    /// It begins with the next period, and all later ones after it. None is left out.
    Delay,
    /// It is left out.
    Skip,
    /// It begins as soon as the one before is written (the queued bursts of the tool).
    Queue,
}

/// A number, or the law that it is drawn from.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Number {
    /// Always the same.
    Fixed(u64),
    /// Drawn anew for each burst; block sizes for each block.
    Drawn(Draw),
}

impl Number {
    /// The number, if it is always the same.
    pub fn fixed(&self) -> Option<u64> {
        match self {
            Number::Fixed(value) => Some(*value),
            Number::Drawn(_) => None,
        }
    }
}

/// The protocol of a connection.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// TCP.
    Tcp {
        /// Both socket buffers, bytes. `None`: the kernel's.
        window: Option<u64>,
        /// The congestion controller by its name in the kernel. `None`: the system's.
        control: Option<String>,
        /// No congestion control: the kernel's controller that never reduces its window.
        no_control: bool,
        /// The greatest rate, bit/s, kept by the kernel's pacing.
        rate: Option<u64>,
    },
    /// UDP.
    Udp {
        /// The socket buffer, bytes.
        window: Option<u64>,
        /// The rate of a full blast, bit/s, evenly spaced.
        rate: Option<u64>,
    },
}

impl Protocol {
    /// True for UDP.
    pub fn is_udp(&self) -> bool {
        matches!(self, Protocol::Udp { .. })
    }

    /// True if it goes without congestion control over TCP.
    pub fn no_control(&self) -> bool {
        matches!(self, Protocol::Tcp { no_control: true, .. })
    }

    /// The rate that is asked for, bit/s.
    pub fn rate(&self) -> Option<u64> {
        match self {
            Protocol::Tcp { rate, .. } | Protocol::Udp { rate, .. } => *rate,
        }
    }

    /// The word of scripts.
    pub fn name(&self) -> &'static str {
        if self.is_udp() { "udp" } else { "tcp" }
    }
}

impl Pattern {
    /// How long it means to send, us. What is late may take longer.
    pub fn duration(&self) -> u64 {
        match self {
            Pattern::Full { duration, .. } => *duration,
            Pattern::Bursts(bursts) => bursts.duration,
        }
    }

    /// The bytes that it sends, if these are fixed beforehand.
    pub fn bytes(&self) -> Option<u64> {
        match self {
            Pattern::Full { .. } => None,
            Pattern::Bursts(bursts) => Some(bursts.fixed()?.bytes()),
        }
    }

    /// The rate that it offers, bit/s, if this is fixed beforehand: 8 BS/BP.
    pub fn offered(&self) -> Option<u64> {
        let Pattern::Bursts(bursts) = self else { return None };
        let fixed = bursts.fixed()?;
        let bits = u128::from(fixed.size) * 8 * 1_000_000_000;
        u64::try_from(bits / u128::from(fixed.every.as_nanos().max(1))).ok()
    }

    /// The capacity of the socket's send buffer that is asked for, bytes.
    pub fn buffer(&self) -> Option<u64> {
        match self {
            Pattern::Full { buffer, .. } => *buffer,
            Pattern::Bursts(bursts) => bursts.buffer,
        }
    }
}

impl BurstPattern {
    /// The bursts, if neither their sizes nor their times are drawn. A duration d gives floor(d / period) + 1
    /// bursts: the thesis's appendices A.2 and A.4 have 401 of 128,000 bytes for 2 s and 5 ms.
    pub fn fixed(&self) -> Option<Bursts> {
        if self.opening.is_some() || self.apart.is_some() || self.gaps {
            return None;
        }
        let (blocksize, repeats) = (self.blocksize.fixed()?, self.repeats.fixed()?);
        let period = self.period.fixed()?;
        Some(Bursts {
            size: blocksize.saturating_mul(repeats),
            every: Duration::from_micros(period),
            count: self.duration / period.max(1) + 1,
            queued: self.late == Late::Queue,
        })
    }
}

impl Spec {
    /// What is wrong with it, if anything: agents believe no controller.
    pub fn fault(&self) -> Option<&'static str> {
        if self.stamps > MAX_STAMPS {
            return Some("too many time stamps");
        }
        let (duration, buffer) = match &self.role {
            Role::Sink { blocksize, duration } => {
                if *blocksize == 0 || *blocksize > MAX_BURST {
                    return Some("a block of this size");
                }
                (*duration, None)
            }
            Role::Source(pattern) => {
                if let Some(fault) = pattern.fault(self.protocol.is_udp(), self.protocol.rate()) {
                    return Some(fault);
                }
                (pattern.duration(), pattern.buffer())
            }
        };
        let (Protocol::Tcp { window, .. } | Protocol::Udp { window, .. }) = &self.protocol;
        if duration > MAX_DURATION {
            Some("a duration of more than a day")
        } else if [*window, buffer].into_iter().flatten().any(|bytes| bytes == 0 || bytes > 1 << 30) {
            Some("a socket buffer of 0 bytes or of more than 1 GiB")
        } else if self.protocol.rate() == Some(0) {
            Some("a rate of zero")
        } else {
            None
        }
    }
}

impl Pattern {
    fn fault(&self, udp: bool, rate: Option<u64>) -> Option<&'static str> {
        match self {
            Pattern::Full { blocksize, .. } => {
                let most = if udp { MAX_DATAGRAM } else { MAX_BURST };
                if *blocksize == 0 || *blocksize > most {
                    Some("a block of this size")
                } else if udp && rate.is_none() {
                    Some("a full blast of UDP without a rate")
                } else {
                    None
                }
            }
            Pattern::Bursts(bursts) => {
                let block = bursts.blocksize.fixed().unwrap_or(1);
                let size = block.checked_mul(bursts.repeats.fixed().unwrap_or(1));
                if block == 0 || size.is_none_or(|size| size == 0 || size > MAX_BURST) {
                    Some("a burst of this size")
                } else if udp && block > MAX_DATAGRAM {
                    Some("a datagram of this size")
                } else if bursts.period.fixed().is_some_and(|us| !(MIN_PERIOD..=MAX_DURATION).contains(&us)) {
                    Some("a period of less than 100 us or more than a day")
                } else {
                    let opening = bursts.opening.iter().flat_map(|opening| [&opening.size, &opening.pause]);
                    let usual = [&bursts.blocksize, &bursts.repeats, &bursts.period];
                    let mut all = usual.into_iter().chain(bursts.apart.as_deref()).chain(opening);
                    let known = |number: &&Number| match number {
                        Number::Fixed(_) => true,
                        Number::Drawn(draw) => draw.law().is_some(),
                    };
                    if all.all(|number| known(&number)) { None } else { Some("an unknown function") }
                }
            }
        }
    }
}

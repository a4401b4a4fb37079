//! How an endpoint behaves where RFCs leave a choice or a user may want another.

use crate::detection::{DUP_THRESH, Delayed, DelayedConfig, Ncr, NcrConfig, Patience, Rack, RackConfig};
use crate::recovery::{
    Hoe, NewReno, NewRenoConfig, Recovery, Reno, Robust, RobustConfig, Sack, SackConfig, Tahoe,
};
use ackclock_units::Duration;

/// How acknowledged segments count towards window growth.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Counting {
    /// Each acknowledgement counts one, whatever it covers (RFC 5681 section 3.1, as ns-2 does).
    Acks,
    /// Each acknowledgement counts what it covers, at most this many (RFC 3465's L; 2 there).
    Segments(u64),
}

impl Counting {
    /// What an acknowledgement of so many segments counts.
    #[inline]
    pub(crate) fn counted(self, acked: u64) -> u64 {
        match self {
            Counting::Acks => acked.min(1),
            Counting::Segments(most) => acked.min(most),
        }
    }
}

/// When is a hole a loss?
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Detection {
    /// After this many duplicate acknowledgements, or with SACK once so many segments above the hole have
    /// arrived (RFC 5681: 3; RFC 6675's IsLost).
    DupAcks(u32),
    /// After one round-trip time, in congestion avoidance (TCP-DCR).
    Delayed(DelayedConfig),
    /// After about a window of segments above it; needs SACK (RFC 4653).
    Ncr(NcrConfig),
    /// Once a segment that was sent sufficiently later has arrived; needs SACK (RFC 8985).
    Rack(RackConfig),
}

impl Detection {
    /// Does it need selective acknowledgements?
    pub fn needs_sack(self) -> bool {
        matches!(self, Detection::Ncr(_) | Detection::Rack(_))
    }

    /// Its word in files.
    pub fn name(self) -> &'static str {
        match self {
            Detection::DupAcks(_) => "dupacks",
            Detection::Delayed(_) => "delayed",
            Detection::Ncr(_) => "ncr",
            Detection::Rack(_) => "rack",
        }
    }

    /// Duplicates that tell of a loss, where nothing waits.
    pub(crate) fn dup_thresh(self) -> u32 {
        match self {
            Detection::DupAcks(threshold) => threshold.max(1),
            Detection::Delayed(_) | Detection::Ncr(_) => DUP_THRESH,
            Detection::Rack(_) => u32::MAX,
        }
    }

    pub(crate) fn patience(self) -> Option<Box<dyn Patience>> {
        match self {
            Detection::DupAcks(_) | Detection::Rack(_) => None,
            Detection::Delayed(config) => Some(Box::new(Delayed::new(config))),
            Detection::Ncr(config) => Some(Box::new(Ncr::new(config))),
        }
    }

    pub(crate) fn rack(self) -> Option<Rack> {
        if let Detection::Rack(config) = self { Some(Rack::new(config)) } else { None }
    }
}

/// How a reduction is found to have been made for nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Undo {
    /// It is not.
    Never,
    /// The receiver reports that every retransmission arrived twice; needs SACK (RFC 3708 with RFC 2883).
    Duplicates,
    /// What was retransmitted first is acknowledged with the time of its original; needs timestamps (RFC 3522).
    Eifel,
}

/// How segments are spaced where the controller sets no rate.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Pacing {
    /// The round-trip time over which a window is spread.
    pub rtt: PacedRtt,
    /// Windows per round-trip time; above 1 the window stays the limit.
    pub gain: f64,
    /// Segments that may leave at once when they are due.
    pub burst: u32,
}

impl Default for Pacing {
    fn default() -> Pacing {
        Pacing { rtt: PacedRtt::Smoothed, gain: 1.0, burst: 1 }
    }
}

/// A round-trip time to pace by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PacedRtt {
    /// The smoothed one (RFC 6298).
    Smoothed,
    /// The smallest one.
    Least,
    /// The last sample.
    Latest,
}

/// Who governs the window while a loss is repaired.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecoveryKind {
    /// Start over from one segment.
    Tahoe,
    /// Fast recovery that ends with the first new acknowledgement (RFC 2581).
    Reno,
    /// Fast recovery over a whole window of losses, one per round trip (RFC 6582).
    NewReno(NewRenoConfig),
    /// Pipe-controlled repair from selective acknowledgements (RFC 6675).
    Sack(SackConfig),
    /// Robust Recovery: new segments in flight are counted and govern the episode (Wang and Shin 2001).
    Robust(RobustConfig),
    /// One new segment for every second duplicate (Hoe 1996).
    Hoe,
    /// One new segment for each duplicate (Balakrishnan et al. 1998).
    RightEdge,
    /// One new segment for each of the first two duplicates, then for every second one (Lin and Kung 1998).
    LinKung,
}

impl RecoveryKind {
    /// Does it need selective acknowledgements?
    pub fn uses_sack(self) -> bool {
        matches!(self, RecoveryKind::Sack(_))
    }

    /// Do the first two duplicates each let out a new segment by its own rules, whatever RFC 3042 is set to?
    pub(crate) fn serves_first_duplicates(self) -> bool {
        matches!(self, RecoveryKind::RightEdge | RecoveryKind::LinKung)
    }

    /// Its word in files.
    pub fn name(self) -> &'static str {
        match self {
            RecoveryKind::Tahoe => "tahoe",
            RecoveryKind::Reno => "reno",
            RecoveryKind::NewReno(_) => "newreno",
            RecoveryKind::Sack(_) => "sack",
            RecoveryKind::Robust(_) => "robust",
            RecoveryKind::Hoe => "hoe",
            RecoveryKind::RightEdge => "right-edge",
            RecoveryKind::LinKung => "lin-kung",
        }
    }

    /// `governed`: the controller sets the window itself, so that nothing reduces it in proportion.
    pub(crate) fn build(self, governed: bool) -> Box<dyn Recovery> {
        match self {
            RecoveryKind::Tahoe => Box::new(Tahoe),
            RecoveryKind::Reno => Box::new(Reno::default()),
            RecoveryKind::NewReno(config) => Box::new(NewReno::new(config)),
            RecoveryKind::Sack(config) => {
                let proportional_rate = config.proportional_rate && !governed;
                Box::new(Sack::new(SackConfig { proportional_rate }))
            }
            RecoveryKind::Robust(config) => Box::new(Robust::new(config)),
            RecoveryKind::Hoe | RecoveryKind::LinKung => Box::new(Hoe::new()),
            RecoveryKind::RightEdge => Box::new(Hoe::right_edge()),
        }
    }
}

/// An endpoint's settings; both ends of a connection share one.
#[derive(Clone, Debug)]
pub struct Config {
    /// Bytes of application data in a full segment; with the header at most 65,535 (RFC 791).
    pub payload: u16,
    /// Bytes of headers in front of it; an acknowledgement is one header.
    pub header: u16,
    /// Segments that the receiver has room for.
    pub peer_window: u32,
    /// Window at the start and after idleness, segments (RFC 6928: 10; RFC 3390: 2 to 4).
    pub initial_window: f64,
    /// Slow-start threshold at the start, segments; infinite unless set.
    pub initial_ssthresh: f64,
    /// When a hole is a loss.
    pub detection: Detection,
    /// How a spurious reduction is found, and then undone (RFC 4015).
    pub undo: Undo,
    /// Who repairs it.
    pub recovery: RecoveryKind,
    /// How acknowledgements count towards growth.
    pub counting: Counting,
    /// Send a new segment on each of the first two duplicates (RFC 3042).
    pub limited_transmit: bool,
    /// Lower bound of the retransmission timeout (RFC 6298 (2.4) says 1 s; deployed stacks and ns-2 use 0.2 s).
    pub rto_min: Duration,
    /// Upper bound of the retransmission timeout (RFC 6298 (2.5): at least 60 s).
    pub rto_max: Duration,
    /// Timeout before the first sample (RFC 6298 (2.1): 1 s).
    pub rto_initial: Duration,
    /// Clock granularity G of RFC 6298 (2.2).
    pub clock_granularity: Duration,
    /// Time every segment (RFC 7323); otherwise one per round trip, never a retransmission (Karn).
    pub timestamps: bool,
    /// Acknowledge every second segment, or after this time (RFC 1122: at most 0.5 s); `None` acknowledges each.
    pub delayed_ack: Option<Duration>,
    /// Negotiate ECN (RFC 3168).
    pub ecn: bool,
    /// With it, echo each mark by itself (RFC 8257) instead of any until the window was reduced. For controllers that
    /// [count marks](ackclock_cc::Controller::counts_marks), which need both.
    pub exact_echo: bool,
    /// With it, say ECT(1) instead of ECT(0): the segments are an L4S sender's (RFC 9331).
    pub l4s: bool,
    /// Space segments by the window over the round-trip time; without it only a controller's own rate spaces them.
    pub pacing: Option<Pacing>,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            payload: 1460,
            header: 40,
            peer_window: 1 << 30,
            initial_window: 10.0,
            initial_ssthresh: f64::INFINITY,
            detection: Detection::DupAcks(3),
            undo: Undo::Never,
            recovery: RecoveryKind::Sack(SackConfig::default()),
            counting: Counting::Segments(2),
            limited_transmit: true,
            rto_min: Duration::from_millis(200),
            rto_max: Duration::from_secs(60),
            rto_initial: Duration::from_secs(1),
            clock_granularity: Duration::from_millis(1),
            timestamps: true,
            delayed_ack: None,
            ecn: false,
            exact_echo: false,
            l4s: false,
            pacing: None,
        }
    }
}

impl Config {
    /// Does the receiver report segments that arrive twice (RFC 2883)?
    pub(crate) fn reports_duplicates(&self) -> bool {
        let wanted = matches!(self.detection, Detection::Rack(_)) || self.undo == Undo::Duplicates;
        wanted && self.recovery.uses_sack()
    }

    /// Bytes of a full segment on the wire.
    pub fn segment_bytes(&self) -> u16 {
        self.payload.saturating_add(self.header)
    }
}

//! How an endpoint behaves where RFCs leave a choice or a user may want another.

use crate::{detection, recovery};
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
    pub detection: detection::Settings,
    /// How a spurious reduction is found, and then undone (RFC 4015).
    pub undo: Undo,
    /// Who repairs it, and governs the window meanwhile.
    pub recovery: recovery::Settings,
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
    /// need exact [marks](ackclock_cc::Needs::marks), and both.
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
            detection: detection::Settings::defaults(&detection::DUPACKS),
            undo: Undo::Never,
            recovery: recovery::Settings::defaults(&recovery::SACK),
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
        let wanted = self.detection.scheme().reads_duplicate_reports || self.undo == Undo::Duplicates;
        wanted && self.recovery.scheme().selective
    }

    /// Bytes of a full segment on the wire.
    pub fn segment_bytes(&self) -> u16 {
        self.payload.saturating_add(self.header)
    }
}

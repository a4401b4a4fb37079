//! The settings of an endpoint: choices that RFCs leave open, and values that a user may change.

use crate::rtt::RtoLaw;
use crate::{detection, recovery};
use ackclock_cc::slow_start;
use ackclock_units::Duration;

/// How acknowledged segments count towards window growth.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Counting {
    /// Each acknowledgement counts as one segment, whatever it covers (RFC 5681 section 3.1, as in ns-2).
    Acks,
    /// Each acknowledgement counts the segments that it covers, at most this many (RFC 3465's L; 2 there).
    Segments(u64),
}

impl Counting {
    /// The count of an acknowledgement of `acked` segments.
    #[inline]
    pub(crate) fn counted(self, acked: u64) -> u64 {
        match self {
            Counting::Acks => acked.min(1),
            Counting::Segments(most) => acked.min(most),
        }
    }
}

/// How a spurious reduction is detected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Undo {
    /// Never.
    Never,
    /// The receiver reports that every retransmission arrived twice (RFC 3708 with RFC 2883). Needs SACK.
    Duplicates,
    /// The first retransmitted segment is acknowledged with the timestamp of its original (RFC 3522). Needs
    /// timestamps.
    Eifel,
}

/// How segments are paced if the controller sets no rate.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Pacing {
    /// The round-trip time over which a window is spread.
    pub rtt: PacedRtt,
    /// The windows per round-trip time. Above 1 the window stays the limit.
    pub gain: f64,
    /// The number of due segments that may leave at once.
    pub burst: u32,
}

impl Default for Pacing {
    fn default() -> Pacing {
        Pacing { rtt: PacedRtt::Smoothed, gain: 1.0, burst: 1 }
    }
}

/// The round-trip time for pacing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PacedRtt {
    /// The smoothed round-trip time (RFC 6298).
    Smoothed,
    /// The smallest round-trip time.
    Least,
    /// The last sample.
    Latest,
}

/// The settings of an endpoint. Both ends of a connection share them.
#[derive(Clone, Debug)]
pub struct Config {
    /// The application data in a full segment, bytes. With the header at most 65,535 (RFC 791).
    pub payload: u16,
    /// The headers of a segment, bytes. An acknowledgement has the size of the headers.
    pub header: u16,
    /// The receive window, segments.
    pub peer_window: u32,
    /// The initial window, also after idle times, segments (RFC 6928: 10; RFC 3390: 2 to 4).
    pub initial_window: f64,
    /// The initial slow-start threshold, segments; infinite unless set.
    pub initial_ssthresh: f64,
    /// When the first slow start ends before a loss ends it. A controller that sets its window in every state
    /// has its own.
    pub slow_start: slow_start::Settings,
    /// When a hole is a loss.
    pub detection: detection::Settings,
    /// How a spurious reduction is detected. It is then undone (RFC 4015).
    pub undo: Undo,
    /// Who repairs it, and governs the window meanwhile.
    pub recovery: recovery::Settings,
    /// How acknowledgements count for growth.
    pub counting: Counting,
    /// True: each of the first two duplicates sends a new segment (RFC 3042).
    pub limited_transmit: bool,
    /// True: a full queue of the sender's own host takes no segment, and says so. The segment stays with the
    /// sender, which [reduces its window](crate::Sender::on_local_congestion), as in Linux since 2.4. False:
    /// the segment is lost.
    pub local_congestion: bool,
    /// How the retransmission timeout follows from the samples.
    pub rto: RtoLaw,
    /// Lower bound of the retransmission timeout (RFC 6298 (2.4) says 1 s; deployed stacks and ns-2 use 0.2
    /// s).
    pub rto_min: Duration,
    /// Upper bound of the retransmission timeout (RFC 6298 (2.5): at least 60 s).
    pub rto_max: Duration,
    /// Timeout before the first sample (RFC 6298 (2.1): 1 s).
    pub rto_initial: Duration,
    /// Clock granularity G of RFC 6298 (2.2).
    pub clock_granularity: Duration,
    /// True: every segment is timed (RFC 7323). False: one segment per round trip, and never a retransmission
    /// (Karn).
    pub timestamps: bool,
    /// Acknowledge every second segment, or after this time (RFC 1122: at most 0.5 s). `None`: acknowledge
    /// every segment.
    pub delayed_ack: Option<Duration>,
    /// So many segments at the start of a connection are acknowledged at once, also with `delayed_ack`, so
    /// that slow start is not held up. 0: none. Linux: up to 16 (`TCP_MAX_QUICKACKS`).
    pub quick_acks: u32,
    /// True: ECN is negotiated (RFC 3168).
    pub ecn: bool,
    /// With it, echo each mark by itself (RFC 8257) instead of any until the window was reduced. For
    /// controllers that need exact [marks](ackclock_cc::Needs::marks), and both.
    pub dctcp_echo: bool,
    /// With ECN, true: segments are ECT(1) instead of ECT(0), as those of an L4S sender (RFC 9331).
    pub l4s: bool,
    /// Pacing by window and round-trip time. `None`: segments are paced only if the controller sets a rate.
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
            slow_start: slow_start::Settings::defaults(&slow_start::STANDARD),
            detection: detection::Settings::defaults(&detection::DUPACKS),
            undo: Undo::Never,
            recovery: recovery::Settings::defaults(&recovery::SACK),
            counting: Counting::Segments(2),
            limited_transmit: true,
            local_congestion: false,
            rto: RtoLaw::Rfc6298,
            rto_min: Duration::from_millis(200),
            rto_max: Duration::from_secs(60),
            rto_initial: Duration::from_secs(1),
            clock_granularity: Duration::from_millis(1),
            timestamps: true,
            delayed_ack: None,
            quick_acks: 0,
            ecn: false,
            dctcp_echo: false,
            l4s: false,
            pacing: None,
        }
    }
}

impl Config {
    /// True if the receiver reports segments that arrive twice (RFC 2883).
    pub(crate) fn reports_duplicates(&self) -> bool {
        let wanted = self.detection.scheme().reads_duplicate_reports || self.undo == Undo::Duplicates;
        wanted && self.recovery.scheme().selective
    }

    /// The size of a full segment on the wire, bytes.
    pub fn segment_bytes(&self) -> u16 {
        self.payload.saturating_add(self.header)
    }
}

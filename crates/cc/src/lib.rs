//! Congestion controllers: one file each, written once, run everywhere.
//!
//! A controller decides how much may be in flight. It has no clock, no I/O and no entropy of its own, and
//! it allocates nothing once it stands: the host (a simulated endpoint, a user-space TCP, a QUIC adapter)
//! tells it what happened through [`Controller`] and reads what it wrote into [`Window`].
//!
//! Windows are in segments as `f64`; times are [`Time`] and [`Duration`]. Raw round-trip times
//! ([`Ack::rtt`]) and smoothed ones ([`Path::srtt`]) never share a name.
//!
//! # A controller in one file
//!
//! ```
//! use ackclock_cc::{Ack, Controller, Path, Signal, Window, slow_start};
//!
//! /// Additive increase by `a`, multiplicative decrease to `b` of the window.
//! struct Aimd { a: f64, b: f64 }
//!
//! impl Controller for Aimd {
//!     fn grow(&mut self, _path: &Path, ack: &Ack, w: &mut Window) {
//!         let acked = slow_start(ack.acked, w);
//!         w.cwnd += self.a * acked / w.cwnd;
//!     }
//!     fn cut(&mut self, _path: &Path, w: &Window, _why: Signal) -> Option<f64> {
//!         Some(w.cwnd * self.b)
//!     }
//! }
//!
//! let mut gentle = Aimd { a: 0.5, b: 0.8 };
//! let mut w = Window::starting_at(10.0);
//! w.ssthresh = 5.0; // past slow start
//! gentle.grow(&Path::default(), &Ack { acked: 10.0, ..Ack::default() }, &mut w);
//! assert_eq!(w.cwnd, 10.5);
//! assert_eq!(gentle.cut(&Path::default(), &w, Signal::Loss), Some(8.4));
//! ```

pub mod analysis;
mod bbr;
mod bbr3;
mod bic;
#[cfg(test)]
mod bottleneck;
mod compound;
mod cubic;
mod dctcp;
mod fast;
mod highspeed;
mod htcp;
mod layered;
mod none;
mod pert;
pub mod predictor;
mod reno;
mod scalable;
mod scheme;
mod vegas;
mod westwood;
mod windowed;

pub use bbr::Bbr;
pub use bbr3::Bbr3;
pub use bic::Bic;
pub use compound::Compound;
pub use cubic::Cubic;
pub use dctcp::Dctcp;
pub use fast::Fast;
pub use highspeed::HighSpeed;
pub use htcp::Htcp;
pub use layered::Layered;
pub use none::Uncontrolled;
pub use pert::Pert;
pub use reno::Reno;
pub use scalable::Scalable;
pub use scheme::{Domain, Given, Parameter, Scheme, Settings, SettingsError, Value, scheme, schemes};
pub use vegas::Vegas;
pub use westwood::Westwood;

use ackclock_units::{Duration, Rate, Time};

/// What the host knows when it calls a controller. Read-only. A kernel host reads the same from `tcp_sock`.
#[derive(Clone, Copy, Debug)]
pub struct Path {
    /// The host's clock.
    pub now: Time,
    /// Smoothed round-trip time (RFC 6298); zero before the first sample.
    pub srtt: Duration,
    /// Smallest raw round-trip time of the connection; [`Duration::MAX`] before the first sample.
    pub rtt_min: Duration,
    /// Segments sent and neither acknowledged, selectively acknowledged nor counted lost.
    pub in_flight: f64,
    /// First unacknowledged segment.
    pub una: u64,
    /// Next new segment to send.
    pub nxt: u64,
    /// Segments delivered so far: acknowledged cumulatively or selectively, each counted once.
    pub delivered: u64,
    /// The receiver's window in segments.
    pub peer_window: f64,
    /// Bytes of one full segment on the wire, headers included; turns a window into a rate.
    pub segment_bytes: u32,
    /// Was it cwnd that last stopped the sender (and not its data or the receiver's window)?
    pub cwnd_limited: bool,
    /// Is a loss episode or a retransmission timeout being repaired? After a timeout the window grows meanwhile.
    pub recovering: bool,
}

impl Default for Path {
    /// A connection before its first segment: no samples, nothing in flight, a boundless receiver.
    fn default() -> Path {
        Path {
            now: Time::ZERO,
            srtt: Duration::ZERO,
            rtt_min: Duration::MAX,
            in_flight: 0.0,
            una: 0,
            nxt: 0,
            delivered: 0,
            peer_window: f64::INFINITY,
            segment_bytes: 1500,
            cwnd_limited: true,
            recovering: false,
        }
    }
}

/// One acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ack {
    /// Segments newly acknowledged, as far as the host lets them count towards growth (RFC 3465).
    pub acked: f64,
    /// Segments newly reported by SACK.
    pub sacked: u64,
    /// Segments newly counted lost.
    pub lost: u64,
    /// Segments newly reported as marked (ECN). With the classic echo (RFC 3168) 1 says that some were.
    pub marked: u64,
    /// Raw round-trip time of this acknowledgement; `None` under Karn's rule or without new data.
    pub rtt: Option<Duration>,
    /// A uniform number in [0, 1) from the host, if the controller [asks](Controller::wants_draw) for one; else 0.
    pub draw: f64,
    /// From the sending of a segment to the sending of the acknowledgement that gave [`Ack::rtt`], each by its own host's
    /// clock, if the controller [asks](Controller::wants_forward): the one-way delay and a constant. `None` where there
    /// is no round-trip time.
    pub forward: Option<Duration>,
    /// How fast the network delivers, if the controller [asks](Controller::wants_rate); `None` without new data.
    pub rate: Option<RateSample>,
}

/// What one acknowledgement says of the rate at which the network delivers (draft-ietf-ccwg-bbr-06 section 4.1).
///
/// Of the segments that it newly acknowledges or SACKs it is the most recently sent one, *the segment*, whose departure
/// and arrival are compared.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct RateSample {
    /// Segments that this acknowledgement newly acknowledges or SACKs.
    pub acked: u64,
    /// Segments delivered since the segment left.
    pub delivered: u64,
    /// The time that this took: the longer of sending and acknowledging them; zero if it cannot be relied upon.
    pub interval: Duration,
    /// [`Path::delivered`] when the segment left; a round trip is over once this has reached its start.
    pub prior_delivered: u64,
    /// Segments in flight when the segment left, itself included.
    pub in_flight: u64,
    /// Segments counted lost since the segment left.
    pub lost: u64,
    /// Had the sender run out of data when the segment left? Then the network may be faster than this.
    pub app_limited: bool,
    /// Raw round-trip time of the segment; `None` if it was sent more than once.
    pub rtt: Option<Duration>,
}

impl RateSample {
    /// Segments per second; zero if the sample cannot be relied upon.
    pub fn per_second(&self) -> f64 {
        if self.interval.is_zero() { 0.0 } else { self.delivered as f64 / self.interval.as_secs_f64() }
    }
}

/// A segment that is newly counted lost, and what was when it left.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Lost {
    /// Its number.
    pub seq: u64,
    /// Segments in flight when it left, itself included.
    pub in_flight: u64,
    /// Segments counted lost since it left, itself included.
    pub lost: u64,
    /// Had the sender run out of data when it left?
    pub app_limited: bool,
}

/// Everything a controller may write.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Window {
    /// Congestion window, segments. Hosts keep it at 1 or above.
    pub cwnd: f64,
    /// Slow-start threshold, segments; infinite before the first loss unless the host sets it.
    pub ssthresh: f64,
    /// Pacing rate; `None` leaves the sending to the ACK clock.
    pub pacing: Option<Rate>,
}

impl Window {
    /// A fresh window of `cwnd` segments with no slow-start threshold yet.
    pub const fn starting_at(cwnd: f64) -> Window {
        Window { cwnd, ssthresh: f64::INFINITY, pacing: None }
    }

    /// Is the window still below the slow-start threshold?
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }
}

/// Why the host asks for a cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Signal {
    /// Segments were lost and the loss was detected from acknowledgements.
    Loss,
    /// The network marked segments (ECN).
    Mark,
    /// The retransmission timer expired.
    Timeout,
}

/// What else happens to a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// The connection is about to send its first segment.
    Start,
    /// A loss episode (or the slow start after a timeout) has been repaired.
    Recovered,
    /// The last cut turned out to be spurious; the host has restored the window.
    Spurious,
    /// Sending resumes after an idle time longer than the retransmission timeout. A controller that
    /// [governs](Controller::governs) its window is told whenever sending resumes for which there were no data.
    Idle,
}

/// A congestion control scheme.
///
/// The host calls `on_sample` for every acknowledgement, in every state; `grow` when new data was
/// acknowledged outside fast recovery (slow start after a timeout included) while the window was what limited
/// the sender; `cut` once per episode. What else it does is asked for with the methods that answer yes or no; the
/// answers may not change, and a host asks but once.
pub trait Controller: Send {
    /// Every acknowledgement, in every state, before `grow`.
    fn on_sample(&mut self, path: &Path, ack: &Ack, w: &mut Window) {
        let _ = (path, ack, w);
    }

    /// New data was acknowledged, the sender was limited by cwnd, and no fast recovery governs the window.
    fn grow(&mut self, path: &Path, ack: &Ack, w: &mut Window);

    /// Once per episode: the new slow-start threshold in segments, or `None` for no reaction.
    ///
    /// After [`Signal::Loss`] and [`Signal::Mark`] the window ends at the threshold; after [`Signal::Timeout`]
    /// it starts again from one segment, unless the answer is `None`.
    fn cut(&mut self, path: &Path, w: &Window, why: Signal) -> Option<f64>;

    /// Start, end of recovery, a spurious cut, idleness.
    fn on_event(&mut self, path: &Path, event: Event, w: &mut Window) {
        let _ = (path, event, w);
    }

    /// Does the controller use [`Ack::draw`]? Hosts draw a number only for those that do.
    fn wants_draw(&self) -> bool {
        false
    }

    /// Does the controller use [`Ack::forward`]? It takes time stamps of the receiver (RFC 7323).
    fn wants_forward(&self) -> bool {
        false
    }

    /// Does the controller use [`Ack::rate`] and [`Controller::on_lost`]? Hosts keep the records that these take for no
    /// other.
    fn wants_rate(&self) -> bool {
        false
    }

    /// A segment is newly counted lost. Told only to those that [want the rate](Controller::wants_rate), before the
    /// `on_sample` of the same acknowledgement.
    fn on_lost(&mut self, path: &Path, lost: &Lost, w: &Window) {
        let _ = (path, lost, w);
    }

    /// Does the controller set the window by itself in every state? (Linux calls that `cong_control`.)
    ///
    /// Then the host calls `on_sample` last, when losses are counted and episodes begun or ended, so that `grow` has nothing
    /// to do. Its recovery chooses what to send, but neither holds nor restores the window, and idleness does not reduce it.
    /// `cut` is asked as ever, and after [`Signal::Timeout`] the window is one segment, unless the answer is `None`.
    fn governs(&self) -> bool {
        false
    }

    /// Does the controller need to know how many segments were marked, and not only that some were? Then the host uses
    /// ECN with the feedback of RFC 8257, and [`Ack::marked`] is the number of segments acknowledged with an echo.
    fn counts_marks(&self) -> bool {
        false
    }

    /// Shows the scheme's own variables (name, value) to a probe; never called on the hot path.
    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        let _ = see;
    }
}

/// Standard slow start (RFC 5681 section 3.1): one segment per segment acknowledged, up to the threshold.
/// Returns what is left of `acked` for congestion avoidance, so that one ACK can span the boundary.
#[inline]
pub fn slow_start(acked: f64, w: &mut Window) -> f64 {
    if !w.in_slow_start() {
        return acked;
    }
    let used = acked.min(w.ssthresh - w.cwnd);
    w.cwnd += used;
    acked - used
}

/// The page "Add a controller" of the book, so that its example is compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/src/add-a-controller.md")]
struct AddAController;

//! Congestion controllers, one file each. The same code runs in the simulator and in the emulator.
//!
//! A controller decides how much data may be in flight. It has no clock, no I/O and no random numbers of its
//! own, and it allocates nothing after it is built. The host (a simulated endpoint, a user-space TCP, a QUIC
//! adapter) tells it what happened through [`Controller`], and reads its decision from [`Window`].
//!
//! Windows are in segments as `f64`. Times are [`Time`] and [`Duration`]. Raw round-trip times ([`Ack::rtt`])
//! and smoothed ones ([`Path::srtt`]) never share a name.
//!
//! # A controller in one file
//!
//! ```
//! use ackclock_cc::{Ack, Controller, Path, Signal, Window, slow_start};
//!
//! /// Additive increase by `a`, multiplicative decrease to `b` of the window.
//! #[derive(Clone)]
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
//! w.ssthresh = 5.0; // congestion avoidance
//! gentle.grow(&Path::default(), &Ack { acked: 10.0, ..Ack::default() }, &mut w);
//! assert_eq!(w.cwnd, 10.5);
//! assert_eq!(gentle.cut(&Path::default(), &w, Signal::Loss), Some(8.4));
//! ```

pub mod analysis;
mod bbr;
mod bbr3;
mod bic;
pub mod blueprint;
#[cfg(test)]
mod bottleneck;
mod compound;
mod copa;
mod cubic;
mod dctcp;
mod fast;
mod highspeed;
mod host;
mod htcp;
mod illinois;
mod layered;
mod ledbat;
mod none;
mod pert;
pub mod policy;
mod prague;
pub mod predictor;
mod reno;
mod scalable;
mod scheme;
pub mod slow_start;
mod vegas;
mod westwood;
mod windowed;

pub use ackclock_registry::{Domain, Parameter, SettingsError, Value};
pub use bbr::Bbr;
pub use bbr3::Bbr3;
pub use bic::Bic;
pub use blueprint::Blueprint;
pub use compound::Compound;
pub use copa::Copa;
pub use cubic::Cubic;
pub use dctcp::Dctcp;
pub use fast::Fast;
pub use highspeed::HighSpeed;
pub use host::{Host, KERNEL, NOQ, OWN_TCP, QUINN, S2N_QUIC, SIMULATOR, hosts};
pub use htcp::Htcp;
pub use illinois::Illinois;
pub use layered::Layered;
pub use ledbat::Ledbat;
pub use none::Uncontrolled;
pub use pert::Pert;
pub use prague::Prague;
pub use reno::Reno;
pub use scalable::Scalable;
pub use scheme::{Given, Needs, Scheme, Settings, scheme, schemes};
pub use vegas::Vegas;
pub use westwood::Westwood;

use ackclock_units::{Duration, Rate, Time};

/// The state of the connection when the host calls a controller. Read-only. A kernel host reads the same from
/// `tcp_sock`.
#[derive(Clone, Copy, Debug)]
pub struct Path {
    /// The host's clock.
    pub now: Time,
    /// The smoothed round-trip time (RFC 6298); zero before the first sample.
    pub srtt: Duration,
    /// The smallest raw round-trip time of the connection; [`Duration::MAX`] before the first sample.
    pub rtt_min: Duration,
    /// Segments that were sent and are neither acknowledged, nor selectively acknowledged, nor marked lost.
    pub in_flight: f64,
    /// The first unacknowledged segment (SND.UNA).
    pub una: u64,
    /// The next new segment to send (SND.NXT).
    pub nxt: u64,
    /// Segments delivered so far: acknowledged cumulatively or by SACK, each counted once.
    pub delivered: u64,
    /// The receiver's advertised window in segments.
    pub peer_window: f64,
    /// The bytes of one full segment on the wire, headers included. They convert a window into a rate.
    pub segment_bytes: u32,
    /// True if cwnd was the last limit of the sender, not its data and not the receiver's window.
    pub cwnd_limited: bool,
    /// True while a loss episode or a retransmission timeout is being repaired. After a timeout the window
    /// grows in the meantime.
    pub recovering: bool,
}

impl Default for Path {
    /// A connection before its first segment: no samples, nothing in flight, an unlimited receiver window.
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
    /// Segments newly acknowledged, as far as the host counts them for growth (RFC 3465).
    pub acked: f64,
    /// Segments newly acknowledged by SACK.
    pub sacked: u64,
    /// Segments newly marked lost.
    pub lost: u64,
    /// Segments newly reported as CE-marked (ECN). With the classic echo (RFC 3168) the value 1 means "at
    /// least one".
    pub marked: u64,
    /// The raw round-trip time of this acknowledgement. `None` if Karn's rule excludes it, or without new
    /// data.
    pub rtt: Option<Duration>,
    /// A uniform random number in [0, 1) from the host, if the controller [wants
    /// one](Needs::draw); else 0.
    pub draw: f64,
    /// The time from the sending of a segment to the sending of the acknowledgement that gave [`Ack::rtt`],
    /// each by the clock of its own host. So it is the one-way delay plus a constant. Set if the controller
    /// [wants it](Needs::forward). `None` where there is no round-trip time.
    pub forward: Option<Duration>,
    /// The delivery rate sample, if the controller [wants it](Needs::rate). `None` without new
    /// data.
    pub rate: Option<RateSample>,
}

/// A delivery rate sample of one acknowledgement (draft-ietf-ccwg-bbr-06 section 4.1).
///
/// An acknowledgement newly acknowledges or SACKs some segments. *The segment* is the one of them that was
/// sent last. The sample covers the time between its departure and its arrival.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct RateSample {
    /// Segments that this acknowledgement newly acknowledges or SACKs.
    pub acked: u64,
    /// Segments delivered since the segment was sent.
    pub delivered: u64,
    /// The length of the sample: the longer of the time to send and the time to acknowledge these segments.
    /// Zero if the sample is not valid.
    pub interval: Duration,
    /// [`Path::delivered`] when the segment was sent. A round trip ends once this reaches the value at the
    /// round's start.
    pub prior_delivered: u64,
    /// Segments in flight when the segment was sent, itself included.
    pub in_flight: u64,
    /// Segments marked lost since the segment was sent.
    pub lost: u64,
    /// True if the sender had run out of data when the segment was sent. Then the network may be faster than
    /// this.
    pub app_limited: bool,
    /// The raw round-trip time of the segment; `None` if the segment was sent more than once.
    pub rtt: Option<Duration>,
}

impl RateSample {
    /// The delivery rate in segments per second; zero if the sample is not valid.
    pub fn per_second(&self) -> f64 {
        if self.interval.is_zero() { 0.0 } else { self.delivered as f64 / self.interval.as_secs_f64() }
    }
}

/// A segment that was newly marked lost, and the state when it was sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Lost {
    /// The number of the segment.
    pub seq: u64,
    /// Segments in flight when it was sent, itself included.
    pub in_flight: u64,
    /// Segments marked lost since it was sent, itself included.
    pub lost: u64,
    /// True if the sender had run out of data when it was sent.
    pub app_limited: bool,
}

/// The output of a controller.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Window {
    /// The congestion window, segments. Hosts keep it at 1 or above.
    pub cwnd: f64,
    /// The slow-start threshold, segments. Infinite before the first loss, unless the host sets it.
    pub ssthresh: f64,
    /// The pacing rate. `None`: no pacing, the ACK clock alone decides when to send.
    pub pacing: Option<Rate>,
}

impl Window {
    /// A window of `cwnd` segments without a slow-start threshold.
    pub const fn starting_at(cwnd: f64) -> Window {
        Window { cwnd, ssthresh: f64::INFINITY, pacing: None }
    }

    /// True if the window is below the slow-start threshold.
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }
}

/// Why the host asks for a reduction of the window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Signal {
    /// Acknowledgements showed that segments were lost.
    Loss,
    /// The network marked segments (ECN).
    Mark,
    /// The retransmission timer expired.
    Timeout,
}

/// Other events of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// The connection is about to send its first segment.
    Start,
    /// A loss episode, or the slow start after a timeout, is repaired.
    Recovered,
    /// The last reduction was spurious. The host has restored the window.
    Spurious,
    /// Sending resumes after an idle time longer than the retransmission timeout. A controller that sets its
    /// [window](Needs::window) in every state is told whenever sending resumes after a time without data.
    Idle,
}

/// A congestion control scheme.
///
/// The host calls `on_sample` for every acknowledgement, in every state. It calls `grow` when new data was
/// acknowledged, the window limited the sender, and fast recovery is over (the slow start after a timeout
/// counts as over). It calls `cut` once per loss episode. The scheme's registry entry says what else the
/// controller needs of its host ([`Needs`]).
///
/// It can be copied with its state, and shared: QUIC stacks copy the controller of a connection to a path
/// that differs only in its port, and look at it from several threads. `#[derive(Clone)]` is all that this
/// needs.
pub trait Controller: CloneBox + Send + Sync {
    /// Called for every acknowledgement, in every state, before `grow`.
    fn on_sample(&mut self, path: &Path, ack: &Ack, w: &mut Window) {
        let _ = (path, ack, w);
    }

    /// Called when new data was acknowledged, cwnd limited the sender, and no fast recovery is in progress.
    fn grow(&mut self, path: &Path, ack: &Ack, w: &mut Window);

    /// Called once per episode. Returns the new slow-start threshold in segments, or `None` for no reaction.
    ///
    /// After [`Signal::Loss`] and [`Signal::Mark`] the window ends at the threshold. After
    /// [`Signal::Timeout`] it starts again from one segment, unless the answer is `None`.
    fn cut(&mut self, path: &Path, w: &Window, why: Signal) -> Option<f64>;

    /// Called at the start, at the end of a recovery, after a spurious reduction, and after idle times.
    fn on_event(&mut self, path: &Path, event: Event, w: &mut Window) {
        let _ = (path, event, w);
    }

    /// Called when a segment is newly marked lost, if the controller needs the
    /// [rate](Needs::rate). Comes before the `on_sample` of the same acknowledgement.
    fn on_lost(&mut self, path: &Path, lost: &Lost, w: &Window) {
        let _ = (path, lost, w);
    }

    /// Shows the internal variables of the scheme (name, value) to a probe. Never called on the hot path.
    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        let _ = see;
    }
}

/// Copies a controller behind a pointer. Every controller that is [`Clone`] has this.
pub trait CloneBox {
    /// A controller in the same state.
    fn clone_box(&self) -> Box<dyn Controller>;
}

impl<T: Controller + Clone + 'static> CloneBox for T {
    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn Controller> {
    fn clone(&self) -> Box<dyn Controller> {
        (**self).clone_box()
    }
}

/// Standard slow start (RFC 5681 section 3.1): one segment per acknowledged segment, up to the threshold.
/// Returns the rest of `acked` for congestion avoidance, so that one ACK can cross the threshold.
#[inline]
pub fn slow_start(acked: f64, w: &mut Window) -> f64 {
    if !w.in_slow_start() {
        return acked;
    }
    let used = acked.min(w.ssthresh - w.cwnd);
    w.cwnd += used;
    acked - used
}

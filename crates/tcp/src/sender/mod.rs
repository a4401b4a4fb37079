//! The sender: sequence numbers, detection, timers. The window belongs to the controller and the recovery.

mod ack;
mod cuts;
mod duplicates;
mod episode;
mod marks;
mod pace;
mod probe;
mod rack;
mod rate;
mod sampling;
mod slow_start;
mod timer;
mod transmit;
mod undo;
mod wait;

pub use marks::Marks;

use crate::config::{Config, Undo};
use crate::detection::{Detector, Rack};
use crate::packet::Flags;
use crate::rtt::RttEstimator;
use crate::scoreboard::Scoreboard;
use ackclock_cc::slow_start::SlowStart;
use ackclock_cc::{Controller, Event, Needs, Path, Window};
use ackclock_units::{Duration, Time};
use cuts::Cuts;
use duplicates::Duplicates;
use episode::Repair;
use pace::Pace;
use probe::Probing;
use rate::Rate;
use sampling::Sampling;
use std::sync::Arc;
use timer::Timer;
use undo::Undoing;
use wait::Waiting;

/// The state of a sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// No repair in progress.
    Open,
    /// A recovery controls the window.
    Recovery,
    /// After a timeout (or Tahoe's fast retransmit): slow start from the first hole.
    Loss,
}

/// The counters of a sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Segments sent, retransmissions included.
    pub sent: u64,
    /// Segments retransmitted.
    pub retransmits: u64,
    /// Episodes that began because of acknowledgements.
    pub fast_retransmits: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Reductions that the controller made, for any signal.
    pub window_cuts: u64,
    /// The reductions among them that turned out to be spurious.
    pub undone: u64,
    /// Raw round-trip time samples taken.
    pub rtt_samples: u64,
    /// The sum of the samples.
    pub rtt_sum: Duration,
}

/// RFC 5681 (4): the threshold is never below two segments.
const MIN_SSTHRESH: f64 = 2.0;
/// RFC 5681 section 3.1: the window after a timeout.
const LOSS_WINDOW: f64 = 1.0;
/// No receiver can advertise more segments.
const MAX_WINDOW: f64 = u32::MAX as f64;

/// A sender.
pub struct Sender {
    config: Arc<Config>,
    /// The flags of packets that say nothing else: the number of the connection.
    epoch: Flags,
    /// Bytes of a full segment on the wire.
    segment_bytes: u16,
    controller: Box<dyn Controller>,
    needs: Needs,
    /// True if nothing but the window can depend on an acknowledgement of the next segments while nothing
    /// is repaired; see [`Sender::is_predicted`].
    predictable: bool,
    /// Does the recovery have selective acknowledgements?
    sack: bool,
    window: Window,
    /// Set in the first slow start, if it may end before a loss.
    slow_start: Option<Box<dyn SlowStart>>,
    board: Scoreboard,
    una: u64,
    nxt: u64,
    /// The segments that the application has supplied.
    limit: u64,
    peer_window: u64,
    delivered: u64,
    cwnd_limited: bool,
    last_sent: Time,
    duplicates: Duplicates,
    repair: Repair,
    cuts: Cuts,
    timer: Timer,
    probing: Probing,
    sampling: Sampling,
    pace: Pace,
    /// Set if the detection leaves holes open for a while.
    waiting: Option<Box<Waiting>>,
    /// Set if the detection decides by time.
    rack: Option<Box<Rack>>,
    /// Set if the controller wants delivery rate samples.
    rate: Option<Box<Rate>>,
    /// Set if spurious reductions are undone.
    undoing: Option<Box<Undoing>>,
    counters: Counters,
}

/// A count of segments as a float. No count is near 2^63, and a signed integer is converted in one
/// instruction.
#[inline(always)]
fn real(count: u64) -> f64 {
    count as i64 as f64
}

/// `window`, limited to at least `least` segments (also for NaN), and to what a receiver can advertise.
#[allow(clippy::manual_clamp, reason = "clamp leaves NaN as it is")]
fn tamed(window: f64, least: f64) -> f64 {
    window.max(least).min(MAX_WINDOW)
}

impl Sender {
    /// The sender of connection number `epoch`, with `limit` segments to send, at `now`.
    pub fn new(
        config: Arc<Config>,
        controller: Box<dyn Controller>,
        needs: Needs,
        epoch: u8,
        limit: u64,
        now: Time,
    ) -> Sender {
        let window =
            Window { ssthresh: config.initial_ssthresh, ..Window::starting_at(config.initial_window) };
        let Detector { threshold, patience, rack } = (config.detection.scheme().build)(&config.detection);
        let mut recovery = (config.recovery.scheme().build)(&config.recovery);
        if needs.window {
            recovery.leave_window();
        }
        let slow_start = (config.slow_start.scheme().build)(&config.slow_start);
        let special = needs.window || needs.rate || needs.forward || rack.is_some() || patience.is_some();
        let mut sender = Sender {
            epoch: Flags::of_epoch(epoch),
            segment_bytes: config.segment_bytes(),
            controller,
            needs,
            predictable: !special && config.undo == Undo::Never && config.pacing.is_none(),
            sack: config.recovery.scheme().selective,
            window,
            slow_start: slow_start.filter(|_| !needs.window),
            board: Scoreboard::default(),
            una: 0,
            nxt: 0,
            limit,
            peer_window: u64::from(config.peer_window),
            delivered: 0,
            cwnd_limited: true,
            last_sent: now,
            duplicates: Duplicates::new(threshold),
            repair: Repair::new(recovery),
            cuts: Cuts::new(),
            timer: Timer::new(&config),
            probing: Probing::default(),
            sampling: Sampling::new(config.timestamps),
            pace: Pace::new(config.pacing),
            waiting: patience.map(|patience| Box::new(Waiting::new(patience))),
            rack,
            rate: needs.rate.then(Box::default),
            undoing: (config.undo != Undo::Never).then(|| Box::new(Undoing::new(config.undo))),
            counters: Counters::default(),
            config,
        };
        sender.all_acknowledged(now);
        sender.tell(now, Event::Start);
        sender
    }

    /// First unacknowledged segment.
    #[inline]
    pub fn una(&self) -> u64 {
        self.una
    }

    /// Next new segment.
    #[inline]
    pub fn nxt(&self) -> u64 {
        self.nxt
    }

    /// The window that controller and recovery have set.
    pub fn window(&self) -> &Window {
        &self.window
    }

    /// The state.
    pub fn state(&self) -> State {
        self.repair.state()
    }

    /// The counters.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The round-trip time estimator.
    pub fn rtt(&self) -> &RttEstimator {
        self.timer.rtt()
    }

    /// The scoreboard.
    pub fn board(&self) -> &Scoreboard {
        &self.board
    }

    /// The controller, for probes.
    pub fn controller(&self) -> &dyn Controller {
        &*self.controller
    }

    /// True if everything is acknowledged.
    #[inline]
    pub fn is_done(&self) -> bool {
        self.una >= self.limit
    }

    /// The application has written more data. There are `limit` segments in all, if that is more than before.
    pub fn supply(&mut self, now: Time, limit: u64) {
        self.limit = self.limit.max(limit);
        if self.nxt == self.una {
            self.all_acknowledged(now); // a closed window must now be probed
        }
    }

    /// The application stops: no more new segments.
    pub fn stop(&mut self) {
        self.limit = self.limit.min(self.nxt + self.probing.uncounted());
        if self.is_done() {
            self.timer.stop();
            self.probing = Probing::default();
        }
    }

    /// Segments in flight: sent, and neither acknowledged, SACKed nor lost.
    #[inline]
    pub fn in_flight(&self) -> u64 {
        self.board.pipe(self.nxt)
    }

    /// Limits the window that the controller has set to a valid number of segments, at least one.
    #[inline]
    fn tame(&mut self) {
        if !(1.0..=MAX_WINDOW).contains(&self.window.cwnd) {
            self.window.cwnd = tamed(self.window.cwnd, 1.0);
        }
    }

    fn tell(&mut self, now: Time, event: Event) {
        let path = self.path(now);
        self.controller.on_event(&path, event, &mut self.window);
        self.tame();
    }

    #[inline]
    fn path(&self, now: Time) -> Path {
        self.path_with(now, self.in_flight(), self.repair.state() != State::Open)
    }

    /// The same with what is known already: the segments in flight, and whether a loss is being repaired.
    #[inline(always)]
    fn path_with(&self, now: Time, in_flight: u64, recovering: bool) -> Path {
        Path {
            now,
            srtt: self.timer.rtt().srtt(),
            rtt_min: self.timer.rtt().rtt_min(),
            in_flight: real(in_flight),
            una: self.una,
            nxt: self.nxt,
            delivered: self.delivered,
            peer_window: real(self.peer_window),
            segment_bytes: u32::from(self.segment_bytes),
            cwnd_limited: self.cwnd_limited,
            recovering,
        }
    }

    /// When to call [`Sender::on_timeout`].
    #[inline]
    pub fn poll_timeout(&self) -> Option<Time> {
        if self.predictable || self.waiting.is_none() && self.rack.is_none() {
            return self.timer.deadline();
        }
        self.earliest_deadline()
    }

    /// Of several timers.
    #[cold]
    fn earliest_deadline(&self) -> Option<Time> {
        let due = |deadline: Option<Time>| deadline.unwrap_or(Time::NEVER);
        let mut earliest = due(self.timer.deadline());
        if let Some(waiting) = &self.waiting {
            earliest = earliest.min(due(waiting.deadline()));
        }
        if let Some(rack) = &self.rack {
            earliest = earliest.min(due(rack.deadline())).min(due(rack.probe_due()));
        }
        (earliest < Time::NEVER).then_some(earliest)
    }

    #[inline]
    fn has_new_data(&self) -> bool {
        self.nxt < self.limit && self.nxt - self.una < self.peer_window
    }

    fn has_something(&self) -> bool {
        self.repair.state() != State::Open || self.has_new_data()
    }
}

//! The sender: sequence numbers, detection, timers. The window belongs to the controller and the recovery.

mod episode;
mod pace;
mod probe;
mod rack;
mod rate;
mod undo;
mod wait;

use crate::config::{Config, Undo};
use crate::detection::{Detector, Rack};
use crate::packet::{Ack, Data, Flags};
use crate::recovery::{AckSummary, Pick, Recovery};
use crate::rtt::RttEstimator;
use crate::scoreboard::Scoreboard;
use ackclock_cc::{self as cc, Controller, Event, Needs, Path, Window};
use ackclock_units::{Duration, Time};
use pace::Pacer;
use probe::Probing;
use rate::Rate;
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
/// RFC 3042: the number of duplicates that may each send one new segment.
const LIMITED_TRANSMITS: u32 = 2;

/// A sender.
pub struct Sender {
    config: Config,
    epoch: u8,
    controller: Box<dyn Controller>,
    needs: Needs,
    /// Does it need no more of a sample than all get, and not the window in every state?
    plain: bool,
    /// True if every departure and arrival must be reported (to `rack` or `rate`).
    observed: bool,
    recovery: Box<dyn Recovery>,
    sack: bool,
    state: State,
    window: Window,
    board: Scoreboard,
    una: u64,
    nxt: u64,
    /// The segments that the application has supplied.
    limit: u64,
    peer_window: u64,
    /// `nxt` when the last episode began: RFC 6582's recover and RFC 6675's RecoveryPoint, plus one.
    recover: u64,
    /// `nxt` when the controller was last asked for a reduction. There is one reaction per window of data.
    answered: u64,
    /// `nxt` at the last reduction without an episode, for a mark or a probe. Losses below it need no other
    /// reaction.
    marked: u64,
    duplicates: u32,
    /// How many of them, or how many SACKed segments above the hole, indicate a loss; at least one.
    threshold: u32,
    /// Set if the detection leaves holes open for a while.
    waiting: Option<Box<Waiting>>,
    /// Set if the detection decides by time.
    rack: Option<Box<Rack>>,
    /// Set if the controller wants delivery rate samples.
    rate: Option<Box<Rate>>,
    /// Set if spurious reductions are undone.
    undoing: Option<Box<Undoing>>,
    rtt: RttEstimator,
    /// When the retransmission timer expires, if any data is outstanding; or when a closed window is probed.
    deadline: Option<Time>,
    probing: Probing,
    /// The first unacknowledged segment when the timer last expired.
    timed_out: Option<u64>,
    /// Without timestamps: the segment that is timed, and when it was sent.
    timed: Option<(u64, Time)>,
    cwnd_limited: bool,
    /// True if the controller reacted to the last timeout. If not, the window does not change.
    collapses: bool,
    /// During an episode to which the controller did not react: cwnd and threshold before it.
    pre_loss_window: Option<(f64, f64)>,
    /// True if the controller reacted to the last mark. If not, an echo does not stop its growth.
    heeds_marks: bool,
    delivered: u64,
    /// ECN: the next new segment carries CWR.
    announce_cut: bool,
    /// With a pacing rate: when the next segment may be sent.
    paced_until: Time,
    /// Set if segments are paced although the controller sets no rate.
    pacer: Option<Box<Pacer>>,
    last_sent: Time,
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
        config: Config,
        controller: Box<dyn Controller>,
        needs: Needs,
        epoch: u8,
        limit: u64,
        now: Time,
    ) -> Sender {
        let rtt =
            RttEstimator::new(config.rto_initial, config.rto_min, config.rto_max, config.clock_granularity);
        let window =
            Window { ssthresh: config.initial_ssthresh, ..Window::starting_at(config.initial_window) };
        let Detector { threshold, patience, rack } = (config.detection.scheme().build)(&config.detection);
        let mut recovery = (config.recovery.scheme().build)(&config.recovery);
        if needs.window {
            recovery.leave_window();
        }
        let mut sender = Sender {
            epoch,
            needs,
            plain: !needs.window && !needs.rate && !needs.forward,
            observed: rack.is_some() || needs.rate,
            rate: needs.rate.then(Box::default),
            recovery,
            controller,
            sack: config.recovery.scheme().selective,
            state: State::Open,
            window,
            board: Scoreboard::default(),
            una: 0,
            nxt: 0,
            limit,
            peer_window: u64::from(config.peer_window),
            recover: 0,
            answered: 0,
            marked: 0,
            duplicates: 0,
            threshold,
            waiting: patience.map(|patience| Box::new(Waiting::new(patience))),
            rack,
            undoing: (config.undo != Undo::Never).then(|| Box::new(Undoing::new(config.undo))),
            rtt,
            deadline: None,
            probing: Probing::default(),
            timed_out: None,
            timed: None,
            cwnd_limited: true,
            collapses: true,
            pre_loss_window: None,
            heeds_marks: true,
            delivered: 0,
            announce_cut: false,
            paced_until: Time::ZERO,
            pacer: config.pacing.map(|pacing| Box::new(Pacer::new(pacing))),
            last_sent: now,
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
        self.state
    }

    /// The counters.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The round-trip time estimator.
    pub fn rtt(&self) -> &RttEstimator {
        &self.rtt
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
        self.limit = self.limit.min(self.nxt + u64::from(self.probing.sent));
        if self.is_done() {
            self.deadline = None;
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
        Path {
            now,
            srtt: self.rtt.srtt(),
            rtt_min: self.rtt.rtt_min(),
            in_flight: real(self.in_flight()),
            una: self.una,
            nxt: self.nxt,
            delivered: self.delivered,
            peer_window: real(self.peer_window),
            segment_bytes: u32::from(self.config.segment_bytes()),
            cwnd_limited: self.cwnd_limited,
            recovering: self.state != State::Open,
        }
    }

    /// Processes an acknowledgement. `draw` returns a uniform number for controllers that want one.
    #[inline]
    pub fn on_ack(&mut self, now: Time, ack: &Ack, draw: impl FnOnce() -> f64) {
        if ack.flags.epoch() != self.epoch || ack.ack < self.una {
            return; // of an earlier connection, or old
        }
        if ack.ack > self.nxt && !self.probe_was_taken(ack.ack) {
            return; // for what was never sent (RFC 9293 section 3.10.7.4)
        }
        let peer_window = std::mem::replace(&mut self.peer_window, u64::from(ack.window));
        let acked = ack.ack - self.una;
        if self.observed {
            self.tell_of_arrivals(now, ack);
        }
        let was_sacked = self.board.advance(ack.ack);
        self.una = ack.ack;
        if self.board.sacked() > 0 && self.board.is_sacked(self.una) {
            self.board.forget(); // RFC 2018 section 8: the receiver has dropped what it had reported
        }
        let sacked = if ack.blocks[0].length > 0 { self.mark_sacked(ack) } else { 0 };
        let delivered = acked - was_sacked + sacked;
        self.delivered += delivered;
        let rtt = if acked > 0 { self.time(now, ack) } else { None };
        if let Some(pacer) = &mut self.pacer {
            pacer.on_sample(rtt);
        }
        let lost = if self.board.sacked() > 0 || self.rack.is_some() { self.detect(now) } else { 0 };

        let counted = match self.state {
            // RFC 3465 section 2.3: L = 1 while slow start repairs a timeout.
            State::Loss => acked.min(1),
            State::Open | State::Recovery => self.config.counting.counted(acked),
        };
        let sample = cc::Ack {
            acked: real(counted),
            sacked,
            lost,
            marked: if ack.flags.has(Flags::ECE) { self.marks(acked) } else { 0 },
            rtt,
            draw: if self.needs.draw { draw() } else { 0.0 },
            rate: None,
            forward: None,
        };
        let path = self.path(now);
        if self.plain {
            self.controller.on_sample(&path, &sample, &mut self.window);
        } else if !self.needs.window {
            self.let_measure(now, ack, &sample, delivered);
        }

        // RFC 6675 section 2: with SACK, a duplicate is an acknowledgement that reports new data. RFC 5681
        // section 2 (e): without SACK, it is one that does not change the window either.
        let duplicate = acked == 0
            && self.nxt > self.una
            && if self.sack { sacked > 0 } else { self.peer_window == peer_window };
        let summary = AckSummary { acked, delivered, lost };
        match self.state {
            State::Open => self.on_ack_open(now, &path, &sample, summary, duplicate),
            State::Recovery => self.on_ack_recovery(now, summary, duplicate),
            State::Loss => self.on_ack_loss(now, &path, &sample, summary),
        }
        if self.undoing.is_some() {
            self.consider_undoing(now, ack, acked);
        }
        if self.needs.window {
            self.let_measure(now, ack, &sample, delivered);
        }
        self.tame();
        if self.nxt == self.una {
            self.all_acknowledged(now);
        }
        if self.rack.is_some() {
            self.follow_probe(now, ack, acked);
        }
    }

    /// Called before the scoreboard is updated for an acknowledgement.
    #[cold]
    fn tell_of_arrivals(&mut self, now: Time, ack: &Ack) {
        if self.rack.is_some() {
            self.tell_rack(now, ack);
        }
        if self.rate.is_some() {
            self.tell_rate(ack);
        }
    }

    /// Segment `seq` is sent. It already counts as in flight.
    #[cold]
    fn tell_of_departure(&mut self, now: Time, seq: u64) {
        if self.rack.is_some() {
            self.tell_rack_of(now, seq);
        }
        if self.rate.is_some() {
            self.tell_rate_of(now, seq);
        }
    }

    /// The marks that an acknowledgement of `acked` segments with an echo reports: at least one, or their
    /// exact number.
    #[cold]
    fn marks(&self, acked: u64) -> u64 {
        match (self.config.ecn, self.config.dctcp_echo) {
            (false, _) => 0,
            (true, false) => 1,
            (true, true) => acked, // RFC 8257 section 3.3 (1), (3): SACK does not count
        }
    }

    /// Calls `on_sample` of a controller with special needs. Losses are already reported, and the state is up
    /// to date.
    #[cold]
    fn let_measure(&mut self, now: Time, ack: &Ack, sample: &cc::Ack, delivered: u64) {
        self.tell_of_losses(now);
        let rate = self.rate_sample(now, delivered);
        // The echo belongs to the segment that advanced the acknowledgement, as for the round-trip time.
        let forward = sample.rtt.filter(|_| self.needs.forward).map(|_| ack.sent_at.since(ack.echo));
        let lost = self.newly_lost().unwrap_or(sample.lost);
        let sample = cc::Ack { lost, rate, forward, ..*sample };
        let path = self.path(now);
        self.controller.on_sample(&path, &sample, &mut self.window);
    }

    /// Detects further losses after the first hole. Returns their number.
    #[inline]
    fn detect(&mut self, now: Time) -> u64 {
        if self.rack.is_some() {
            return self.detect_by_time(now);
        }
        match &self.waiting {
            None => self.board.detect(u64::from(self.threshold), u64::MAX),
            Some(_) if self.state == State::Open => 0,
            Some(waiting) => self.board.detect(waiting.threshold(), self.recover),
        }
    }

    /// When to call [`Sender::on_timeout`].
    #[inline]
    pub fn poll_timeout(&self) -> Option<Time> {
        if self.waiting.is_none() && self.rack.is_none() {
            return self.deadline;
        }
        self.earliest_deadline()
    }

    /// Of several timers.
    #[cold]
    fn earliest_deadline(&self) -> Option<Time> {
        let waiting = self.waiting.as_ref().and_then(|waiting| waiting.deadline());
        let rack = self.rack.as_ref().map(|rack| [rack.deadline(), rack.probe_due()]);
        [self.deadline, waiting].into_iter().chain(rack.into_iter().flatten()).flatten().min()
    }

    /// The next packet to send, if window, data and receiver allow one. Call it until it returns `None`.
    #[inline(always)] // the packet stays in registers
    pub fn poll_transmit(&mut self, now: Time) -> Option<Data> {
        if now < self.paced_until && self.is_held_back() {
            return None;
        }
        if self.una == self.nxt {
            if std::mem::take(&mut self.probing.due) {
                return Some(self.probe(now));
            }
            if (self.needs.window || now.since(self.last_sent) > self.rtt.rto()) && self.has_new_data() {
                self.restart_after_idleness(now);
            }
        }
        let pick = match (self.next_probe(now), self.state) {
            (Some(probe), _) => probe,
            (None, State::Open) => self.next_open()?,
            (None, State::Recovery) => self.next_recovery()?,
            (None, State::Loss) => self.next_loss()?,
        };
        Some(self.send(now, pick))
    }

    /// RFC 5681 section 4.1: the ACK clock has stopped, so the window starts again from its initial value.
    fn restart_after_idleness(&mut self, now: Time) {
        if self.needs.window {
            if self.rate.as_ref().is_some_and(|rate| rate.is_app_limited()) {
                self.tell(now, Event::Idle);
            }
            return;
        }
        self.window.cwnd = self.window.cwnd.min(self.config.initial_window);
        self.last_sent = now;
        self.tell(now, Event::Idle);
    }

    #[inline]
    fn next_open(&mut self) -> Option<Pick> {
        let mut window = self.window.cwnd;
        let mut in_flight = self.in_flight();
        if self.duplicates > 0 || self.board.sacked() > 0 {
            if self.is_waiting() {
                return self.next_waiting();
            }
            (window, in_flight) = self.with_limited_transmit(window, in_flight);
        }
        self.cwnd_limited = real(in_flight) + 1.0 > window;
        (!self.cwnd_limited && self.has_new_data()).then_some(Pick::New)
    }

    /// RFC 3042: each of the first two duplicates sends a new segment beyond the window. With SACK the
    /// reported segments have left the pipe (RFC 6675 section 5 (3)), which has the same effect.
    #[cold]
    fn with_limited_transmit(&self, window: f64, in_flight: u64) -> (f64, u64) {
        let served = self.config.limited_transmit || self.config.recovery.scheme().serves_first_duplicates;
        match (served, self.sack) {
            (false, _) => (window, self.nxt - self.una),
            (true, true) => (window, in_flight),
            (true, false) => (window + f64::from(self.duplicates.min(LIMITED_TRANSMITS)), in_flight),
        }
    }

    #[inline]
    fn next_recovery(&mut self) -> Option<Pick> {
        let episode = self.episode();
        let pick = self.recovery.next(&episode, &mut self.board, &self.window);
        if self.needs.window {
            self.cwnd_limited = pick.is_none() && real(self.in_flight()) + 1.0 > self.window.cwnd;
        }
        pick
    }

    fn next_loss(&mut self) -> Option<Pick> {
        self.cwnd_limited = real(self.board.pipe(self.nxt)) + 1.0 > self.window.cwnd;
        if self.cwnd_limited {
            return None;
        }
        if let Some(seq) = self.board.first_lost_again() {
            self.board.resend_lost_again();
            return Some(Pick::Retransmit(seq));
        }
        let hole = self.board.next_unsacked(self.board.high_rxt());
        if hole < self.recover {
            self.board.resend(hole);
            return Some(Pick::Retransmit(hole));
        }
        self.has_new_data().then_some(Pick::New)
    }

    #[inline(always)] // the packet stays in registers
    fn send(&mut self, now: Time, pick: Pick) -> Data {
        let mut flags = Flags::of_epoch(self.epoch);
        let seq = match pick {
            Pick::Retransmit(seq) => {
                flags = flags.with(Flags::RETRANSMISSION);
                if self.config.dctcp_echo {
                    // As in Linux: a queue with a marking threshold would otherwise drop it.
                    flags = flags.with(if self.config.l4s { Flags::ECT1 } else { Flags::ECT });
                }
                self.counters.retransmits += 1;
                if let Some(undoing) = &mut self.undoing {
                    undoing.on_resent(now, seq);
                }
                if self.timed.is_some_and(|(timed, _)| timed >= seq) {
                    self.timed = None; // Karn
                }
                seq
            }
            Pick::New => {
                if self.config.ecn {
                    let ect = if self.config.l4s { Flags::ECT1 } else { Flags::ECT };
                    flags = flags.with(ect); // RFC 3168 section 6.1.5: not on retransmissions
                    if std::mem::take(&mut self.announce_cut) {
                        flags = flags.with(Flags::CWR);
                    }
                }
                self.nxt += 1;
                if self.timed.is_none() {
                    self.timed = Some((self.nxt - 1, now));
                }
                self.nxt - 1
            }
        };
        if self.observed {
            self.tell_of_departure(now, seq);
        }
        self.counters.sent += 1;
        self.last_sent = now;
        if self.deadline.is_none() {
            self.deadline = Some(now + self.rtt.rto()); // RFC 6298 (5.1)
        }
        if self.window.pacing.is_some() || self.pacer.is_some() {
            self.pace(now);
        }
        Data { seq, sent_at: now, bytes: self.config.segment_bytes(), flags }
    }

    #[inline]
    fn has_new_data(&self) -> bool {
        self.nxt < self.limit && self.nxt - self.una < self.peer_window
    }

    fn has_something(&self) -> bool {
        self.state != State::Open || self.has_new_data()
    }

    fn mark_sacked(&mut self, ack: &Ack) -> u64 {
        if !self.sack {
            return 0;
        }
        let mut newly = 0;
        for block in ack.blocks.iter().take_while(|block| block.length > 0) {
            let start = ack.ack + u64::from(block.offset);
            let end = start + u64::from(block.length);
            // A block must be above the acknowledgement and within the sent data. Other blocks are ignored
            // (RFC 2018).
            if start > self.una && end <= self.nxt {
                newly += self.board.sack(start, end);
            }
        }
        newly
    }

    /// The raw sample of an acknowledgement of new data: RFC 7323 section 4.1, or Karn's rule without
    /// timestamps.
    #[inline]
    fn time(&mut self, now: Time, ack: &Ack) -> Option<Duration> {
        let sent_at = if self.config.timestamps {
            Some(ack.echo)
        } else {
            let (_, sent_at) = self.timed.take_if(|(seq, _)| *seq < ack.ack).unzip();
            sent_at
        };
        let rtt = now.since(sent_at?);
        self.rtt.sample(rtt);
        self.counters.rtt_samples += 1;
        self.counters.rtt_sum = self.counters.rtt_sum + rtt;
        Some(rtt)
    }
}

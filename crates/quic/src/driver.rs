//! What all stacks have in common: drives a controller by what a stack tells of its packets.
//!
//! A stack tells of packets one by one or in batches, in bytes. The driver keeps the state that a controller
//! reads, and applies RFC 9002 section 7: one reduction per recovery period, no growth within it, persistent
//! congestion, the least window. The rules are those of the crate's documentation.

use crate::control::{Control, LEAST_WINDOW, MOST_WINDOW};
use crate::departure::{Departure, Sampler};
use crate::rtt::Rtt;
use ackclock_cc::slow_start::SlowStart;
use ackclock_cc::{Ack, Controller, Event, Needs, Path, Signal, Window};
use ackclock_units::{Duration, Time};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::fmt;
use std::hash::{BuildHasher, RandomState};

/// Segments are sums of quotients: what is this close to a whole number is one.
const ROUNDING: f64 = 1e-6;

/// A period in which nothing more is reduced for what was sent before it (RFC 9002 section 7.3.2). It ends
/// when something is acknowledged that was sent later.
#[derive(Clone, Copy, Debug)]
struct Period {
    since: Time,
    why: Signal,
}

/// The acknowledgement that is being told, packet by packet.
#[derive(Clone, Copy, Debug, Default)]
struct Batch {
    bytes: u64,
    /// When its newest packet was sent.
    newest: Option<Time>,
}

/// A controller on one path of a connection.
#[derive(Clone)]
pub(crate) struct Driver {
    controller: Box<dyn Controller>,
    needs: Needs,
    slow_start: Option<Box<dyn SlowStart>>,
    window: Window,
    initial_window: f64,
    /// The bytes of a full packet.
    mtu: u16,
    rtt: Rtt,
    /// Bytes in flight.
    flight: u64,
    /// Segments acknowledged.
    delivered: f64,
    /// Segments acknowledged or lost.
    settled: f64,
    batch: Batch,
    /// When the newest acknowledged packet was sent, and its number if the stack tells it.
    newest: Option<(Time, u64)>,
    last_sent: Time,
    limited: bool,
    /// The present recovery period.
    period: Option<Period>,
    /// With counted marks: when the controller was last asked because of one.
    asked_for_mark: Option<Time>,
    /// Marks that the next acknowledgement reports.
    marks: u64,
    /// The window before the last reduction for a loss.
    before: Option<Window>,
    sampler: Option<Sampler>,
    random: Xoshiro256PlusPlus,
    /// The next random number, if a test gives it.
    #[cfg(test)]
    recorded: Option<f64>,
}

impl fmt::Debug for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver").field("window", &self.window).field("mtu", &self.mtu).finish_non_exhaustive()
    }
}

impl Driver {
    /// A path at `now`, whose packets have up to `mtu` bytes.
    pub(crate) fn new(control: &Control, mtu: u16, now: Time) -> Driver {
        let needs = control.settings().needs();
        let mut driver = Driver {
            controller: control.settings().build(),
            needs,
            slow_start: control.build_slow_start(),
            window: Window::starting_at(control.first_window()),
            initial_window: control.first_window(),
            mtu: mtu.max(1),
            rtt: Rtt::new(),
            flight: 0,
            delivered: 0.0,
            settled: 0.0,
            batch: Batch::default(),
            newest: None,
            last_sent: now,
            limited: true,
            period: None,
            asked_for_mark: None,
            marks: 0,
            before: None,
            sampler: needs.rate.then(Sampler::default),
            random: Xoshiro256PlusPlus::seed_from_u64(RandomState::new().hash_one(now.as_nanos())),
            #[cfg(test)]
            recorded: None,
        };
        driver.tell(now, Event::Start);
        driver
    }

    /// The window in bytes.
    pub(crate) fn window_bytes(&self) -> u64 {
        self.bytes(self.window.cwnd)
    }

    /// The initial window in bytes.
    pub(crate) fn initial_window_bytes(&self) -> u64 {
        self.bytes(self.initial_window)
    }

    /// The slow-start threshold in bytes, if there is one.
    pub(crate) fn threshold_bytes(&self) -> Option<u64> {
        self.window.ssthresh.is_finite().then(|| self.bytes(self.window.ssthresh))
    }

    /// The pacing rate in bytes per second, if the controller sets one.
    pub(crate) fn pacing_rate(&self) -> Option<u64> {
        self.window.pacing.map(|rate| (rate.bps() / 8).max(1))
    }

    /// The present window, in segments.
    #[cfg(test)]
    pub(crate) fn window(&self) -> &Window {
        &self.window
    }

    /// The smoothed round-trip time; zero before the first sample.
    #[cfg(feature = "s2n-quic")]
    pub(crate) fn smoothed_rtt(&self) -> Duration {
        self.rtt.smoothed()
    }

    /// When the newest acknowledged packet was sent.
    #[cfg(feature = "s2n-quic")]
    pub(crate) fn newest_acknowledged(&self) -> Time {
        self.newest.map_or(Time::ZERO, |(sent, _)| sent)
    }

    /// Bytes in flight.
    #[cfg(any(test, feature = "s2n-quic"))]
    pub(crate) fn flight(&self) -> u64 {
        self.flight
    }

    /// The bytes of a full packet.
    #[cfg(feature = "s2n-quic")]
    pub(crate) fn mtu(&self) -> u16 {
        self.mtu
    }

    /// True in slow start.
    #[cfg(feature = "s2n-quic")]
    pub(crate) fn in_slow_start(&self) -> bool {
        self.window.in_slow_start()
    }

    /// `bytes` are sent. Returns what the packet must keep, if the controller needs the rate.
    pub(crate) fn on_sent(&mut self, now: Time, bytes: u64) -> Departure {
        let alone = self.flight == 0;
        if alone && self.newest.is_some() {
            self.resume(now);
        }
        self.last_sent = now;
        self.flight += bytes;
        let (delivered, in_flight) = (self.delivered, self.segments(self.flight));
        let sampler = self.sampler.as_mut();
        sampler.map(|sampler| sampler.on_sent(now, alone, delivered, in_flight)).unwrap_or_default()
    }

    /// Sending resumes with nothing in flight.
    fn resume(&mut self, now: Time) {
        if self.needs.window {
            if self.sampler.as_ref().is_none_or(Sampler::is_app_limited) {
                self.tell(now, Event::Idle);
            }
        } else if self.rtt.probe_timeout().is_some_and(|timeout| now.since(self.last_sent) > timeout) {
            self.window.cwnd = self.window.cwnd.min(self.initial_window); // RFC 5681 section 4.1
            self.tell(now, Event::Idle);
        }
    }

    /// A packet of `bytes`, sent at `sent`, is acknowledged; [`Driver::on_ack_end`] ends the acknowledgement.
    pub(crate) fn on_acked(&mut self, sent: Time, bytes: u64, packet: Option<&Departure>) {
        self.batch.bytes += bytes;
        self.batch.newest = self.batch.newest.max(Some(sent));
        self.flight = self.flight.saturating_sub(bytes);
        if let (Some(sampler), Some(packet)) = (&mut self.sampler, packet) {
            sampler.on_arrived(packet);
        }
    }

    /// All packets of the acknowledgement have been told. `flight`: bytes in flight, if the stack counts
    /// them. `largest`: the largest packet number acknowledged, if the stack tells it. `limited`: window or
    /// pacing held the sender back. `idle`: there was nothing to send.
    pub(crate) fn on_ack_end(
        &mut self,
        now: Time,
        flight: Option<u64>,
        largest: Option<u64>,
        limited: bool,
        idle: bool,
    ) {
        self.flight = flight.unwrap_or(self.flight);
        let batch = std::mem::take(&mut self.batch);
        let Some(sent) = batch.newest else { return };
        let acked = self.segments(batch.bytes);
        self.delivered += acked;
        self.settled += acked;
        self.limited = limited;
        if idle && let Some(sampler) = &mut self.sampler {
            sampler.on_app_limited(self.delivered + self.flight as f64 / f64::from(self.mtu));
        }
        let rtt = self.time(now, sent, largest.unwrap_or(0));
        let over = self.period.is_some_and(|period| sent > period.since);
        if over && self.needs.window {
            self.end_period(now);
        }
        let ack = self.acknowledgement(now, acked, rtt);
        let path = self.path(now);
        self.controller.on_sample(&path, &ack, &mut self.window);
        let growing = self.period.is_none_or(|period| period.why == Signal::Timeout);
        if over && !self.needs.window {
            self.end_period(now);
        }
        if growing && !(self.needs.marks && ack.marked > 0) {
            self.grow(&path, &ack);
        }
        self.tame();
    }

    fn acknowledgement(&mut self, now: Time, acked: f64, rtt: Option<Duration>) -> Ack {
        let (delivered, least) = (self.delivered, self.rtt.least());
        let sampler = self.sampler.as_mut();
        let (lost, rate) = sampler.map_or((0, None), |sampler| {
            (sampler.take_newly_lost(), sampler.sample(now, delivered, acked, least))
        });
        let draw = if self.needs.draw { self.draw() } else { 0.0 };
        let marked = std::mem::take(&mut self.marks);
        Ack { acked, sacked: 0, lost, marked, rtt, draw, forward: None, rate }
    }

    /// A uniform number in [0, 1), from the upper 53 bits.
    fn draw(&mut self) -> f64 {
        #[cfg(test)]
        if let Some(recorded) = self.recorded.take() {
            return recorded;
        }
        (self.random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// RFC 9002 section 5.1: a sample comes from the newest packet, if it is the newest of all acknowledged.
    fn time(&mut self, now: Time, sent: Time, largest: u64) -> Option<Duration> {
        if self
            .newest
            .is_some_and(|newest| (sent, largest) <= newest && sent <= newest.0 && largest <= newest.1)
        {
            return None;
        }
        self.newest = self.newest.max(Some((sent, largest)));
        let rtt = now.since(sent);
        self.rtt.sample(rtt);
        Some(rtt)
    }

    /// The controller grows the window. Stacks pace, so acknowledgements come over a whole round trip.
    fn grow(&mut self, path: &Path, ack: &Ack) {
        let mut counted = *ack;
        if let Some(slow_start) = &mut self.slow_start {
            counted.acked *= slow_start.on_ack(path, ack, true, &mut self.window);
            if !self.window.in_slow_start() {
                self.slow_start = None;
            }
        }
        if self.limited {
            self.controller.grow(path, &counted, &mut self.window);
        }
    }

    /// A packet that kept `packet` is lost. Comes before [`Driver::on_loss`].
    pub(crate) fn on_packet_lost(&mut self, now: Time, seq: u64, bytes: u64, packet: &Departure) {
        let segments = self.segments(bytes);
        let path = self.path(now);
        if let Some(sampler) = &mut self.sampler {
            let lost = sampler.on_lost(seq, segments, packet);
            self.controller.on_lost(&path, &lost, &self.window);
        }
    }

    /// Packets of `bytes` are lost, the last of them sent at `sent`. `persistent`: with all that was sent for
    /// some probe timeouts (RFC 9002 section 7.6). True if a recovery period begins.
    pub(crate) fn on_loss(&mut self, now: Time, sent: Time, bytes: u64, persistent: bool) -> bool {
        self.flight = self.flight.saturating_sub(bytes);
        self.settled += self.segments(bytes);
        let covered = self.period.filter(|period| sent <= period.since);
        let why = match (covered, persistent) {
            (Some(Period { why: Signal::Timeout, .. }), _) | (Some(_), false) => return false,
            (_, true) => Signal::Timeout,
            (None, false) => Signal::Loss,
        };
        self.reduce(now, why);
        true
    }

    /// `count` packets were marked, or at least one; the newest acknowledged packet was sent at `sent`.
    pub(crate) fn on_marks(&mut self, now: Time, sent: Time, count: u64) {
        self.marks += count;
        if self.needs.marks {
            if self.asked_for_mark.is_none_or(|asked| sent > asked) {
                self.asked_for_mark = Some(now);
                self.ask(now, Signal::Mark); // once per round trip (RFC 8257 section 3.3)
            }
        } else if self.period.is_none_or(|period| sent > period.since) {
            self.reduce(now, Signal::Mark);
        }
    }

    /// All losses of the last reduction were spurious.
    pub(crate) fn on_spurious(&mut self, now: Time) {
        let Some(before) = self.before.take() else { return };
        if !self.needs.window {
            self.window.cwnd = self.window.cwnd.max(before.cwnd);
            self.window.ssthresh = self.window.ssthresh.max(before.ssthresh);
        }
        self.period = None;
        self.tell(now, Event::Spurious);
    }

    /// A new MTU: window and threshold keep their bytes.
    pub(crate) fn on_mtu(&mut self, mtu: u16) {
        let ratio = f64::from(self.mtu) / f64::from(mtu.max(1));
        self.mtu = mtu.max(1);
        self.window.cwnd *= ratio;
        self.window.ssthresh *= ratio;
        self.tame();
    }

    /// Packets of `bytes` will never be acknowledged, and are not lost: their keys are gone.
    #[cfg(feature = "s2n-quic")]
    pub(crate) fn on_discarded(&mut self, bytes: u64) {
        self.flight = self.flight.saturating_sub(bytes);
        self.settled += self.segments(bytes);
    }

    /// A recovery period begins.
    fn reduce(&mut self, now: Time, why: Signal) {
        let before = self.window;
        let was_open = self.period.is_none();
        if self.ask(now, why) && why != Signal::Mark && was_open {
            self.before = Some(before);
        }
        self.period = Some(Period { since: now, why });
    }

    /// Asks the controller for a reduction. True if it reacted.
    fn ask(&mut self, now: Time, why: Signal) -> bool {
        let path = self.path(now);
        let Some(ssthresh) = self.controller.cut(&path, &self.window, why) else { return false };
        self.slow_start = None; // RFC 9406 section 4.2
        self.window.ssthresh = tamed(ssthresh);
        match why {
            Signal::Timeout => self.window.cwnd = LEAST_WINDOW, // RFC 9002 section 7.6.2
            _ if self.needs.window => {}
            Signal::Mark => self.window.cwnd = self.window.cwnd.min(self.window.ssthresh),
            Signal::Loss => self.window.cwnd = self.window.ssthresh,
        }
        self.tame();
        true
    }

    fn end_period(&mut self, now: Time) {
        let ended = self.period.take();
        if ended.is_some_and(|period| period.why != Signal::Mark) {
            self.tell(now, Event::Recovered);
        }
    }

    fn tell(&mut self, now: Time, event: Event) {
        let path = self.path(now);
        self.controller.on_event(&path, event, &mut self.window);
        self.tame();
    }

    fn path(&self, now: Time) -> Path {
        let in_flight = self.segments(self.flight);
        Path {
            now,
            srtt: self.rtt.smoothed(),
            rtt_min: self.rtt.least(),
            in_flight,
            una: (self.settled + ROUNDING) as u64,
            nxt: (self.settled + in_flight + ROUNDING) as u64,
            delivered: (self.delivered + ROUNDING) as u64,
            peer_window: f64::INFINITY,
            segment_bytes: u32::from(self.mtu),
            cwnd_limited: self.limited,
            recovering: self.period.is_some_and(|period| period.why != Signal::Mark),
        }
    }

    fn tame(&mut self) {
        self.window.cwnd = tamed(self.window.cwnd);
    }

    fn segments(&self, bytes: u64) -> f64 {
        bytes as f64 / f64::from(self.mtu)
    }

    fn bytes(&self, segments: f64) -> u64 {
        (segments.min(MOST_WINDOW) * f64::from(self.mtu) + ROUNDING) as u64
    }
}

/// `window`, also if it is NaN, as a stack can use it.
#[allow(clippy::manual_clamp, reason = "clamp leaves NaN as it is")]
fn tamed(window: f64) -> f64 {
    window.max(LEAST_WINDOW).min(MOST_WINDOW)
}

#[cfg(test)]
mod tests;

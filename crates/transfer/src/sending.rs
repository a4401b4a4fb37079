//! The end that sends: a transport's sender in a session.
//!
//! It paces at the least of what the transport wants and what the [governor](Governor) allows. There is no
//! clock and no I/O.

use crate::channel::{Channel, Farewell, Why};
use crate::control::Terms;
use crate::governor::{Breaker, Governor};
use crate::probing::Probing;
use crate::stream::{Extent, Source, Stop};
use crate::wire::{DATA_HEADER, Frame, PROBE_OVERHEAD, SEALED_HEADER, Standing, TAG_BYTES, UDP_IP_BYTES};
use ackclock_rate::packet::{Ack, Report};
use ackclock_rate::pair::Slot;
use ackclock_rate::{Counters, Sender, TimeMean};
use ackclock_units::{Duration, Time};
use std::net::SocketAddr;

/// Data that may leave before the receiver has told how much room it has.
pub const FIRST_ROOM: u64 = 512;
/// A wish above this is absurd, bit/s: no transport has a higher limit.
const MOST_RATE: f64 = 1e14;
/// A sender that is late makes up for at most so much.
const MOST_LATE: Duration = Duration::from_millis(1);

/// Payload of a packet of `bytes` on the wire.
pub fn payload(bytes: u32) -> usize {
    (bytes as usize).saturating_sub(UDP_IP_BYTES + SEALED_HEADER + TAG_BYTES + DATA_HEADER).max(1)
}

/// Why a session has ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum End {
    /// All is done.
    Done,
    /// The other end has closed it.
    Closed(Farewell),
    /// The other end was not heard for as long as silence may last.
    Silent,
    /// This end cannot go on.
    Stopped(Stop),
}

/// A packet that leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Departure {
    /// Where it goes.
    pub to: SocketAddr,
    /// When it should have left.
    pub due: Time,
}

/// The end that sends.
#[derive(Debug)]
pub struct Outgoing {
    /// The session.
    pub channel: Channel,
    terms: Terms,
    chunk: usize,
    extent: Option<Extent>,
    sender: Option<Sender>,
    governor: Governor,
    probing: Probing,
    most: f64,
    silence: Duration,
    /// The last time that the sender was told.
    last: Time,
    /// No departure before this, and whether the next packet is bound to the last one.
    gate: Time,
    paired: bool,
    end: Option<End>,
    standing: Standing,
    absurd: u64,
    payload: Vec<u8>,
}

impl Outgoing {
    /// Sends through `channel` on `terms`, at most at `most` bit/s. It ends after `silence`.
    pub fn new(now: Time, channel: Channel, terms: Terms, most: f64, silence: Duration) -> Outgoing {
        Outgoing {
            governor: Governor::new(now, terms.bytes, most, channel.handshake()),
            probing: Probing::new(now, terms.bytes, terms.bytes, channel.handshake()),
            chunk: payload(terms.bytes),
            channel,
            terms,
            extent: None,
            sender: None,
            most,
            silence,
            last: now,
            gate: now,
            paired: false,
            end: None,
            standing: Standing::default(),
            absurd: 0,
            payload: Vec::new(),
        }
    }

    /// Looks for larger packets that the path carries, up to `most` bytes on the wire, before data leave.
    pub fn probe(&mut self, now: Time, most: u32) {
        self.probing = Probing::new(now, self.terms.bytes, most, self.channel.handshake());
    }

    /// True if data may leave: the size of their packets is known.
    pub fn is_ready(&self, now: Time) -> bool {
        self.probing.is_over(now)
    }

    /// The size of data packets, bytes on the wire; final once it [began](Outgoing::begin).
    pub fn bytes(&self) -> u32 {
        self.terms.bytes
    }

    /// It is known how much there is to send, and of what size packets are.
    pub fn begin(&mut self, now: Time, extent: Extent) {
        if self.extent.is_some() {
            return;
        }
        self.extent = Some(extent);
        self.terms.bytes = self.probing.known();
        self.chunk = payload(self.terms.bytes);
        let total = match extent {
            Extent::Bytes(0) => return,
            Extent::Bytes(bytes) => Some(bytes.div_ceil(self.chunk as u64)),
            Extent::Endless => None,
        };
        let handshake = self.channel.handshake();
        let mut sender = Sender::new(&self.terms.control, self.terms.bytes, total, now, handshake);
        sender.allow(FIRST_ROOM);
        self.governor = Governor::new(now, self.terms.bytes, self.most, handshake);
        (self.last, self.gate) = (now, now);
        self.sender = Some(sender);
    }

    /// True if it began.
    pub fn has_begun(&self) -> bool {
        self.extent.is_some()
    }

    /// True if all data were acknowledged.
    pub fn is_acknowledged(&self) -> bool {
        self.extent.is_some() && self.sender.as_ref().is_none_or(Sender::is_finished)
    }

    /// Ends the session well, and tells the other end.
    pub fn finish(&mut self, now: Time) {
        self.end_as(now, Why::Done, "", End::Done);
    }

    /// Ends the session, and tells the other end why.
    pub fn stop(&mut self, now: Time, stop: Stop) {
        let (why, words) = (stop.why, stop.words.clone());
        self.end_as(now, why, &words, End::Stopped(stop));
    }

    fn end_as(&mut self, now: Time, why: Why, words: &str, end: End) {
        self.channel.close(now, why, words);
        self.end.get_or_insert(end);
    }

    /// Why the session has ended. `None` while it goes on.
    pub fn end(&self) -> Option<&End> {
        self.end.as_ref()
    }

    /// True if nothing is left to be told to the other end either.
    pub fn is_over(&self) -> bool {
        self.end.is_some() && (self.channel.is_closed() || self.channel.farewell().is_some())
    }

    /// A datagram arrived.
    pub fn on_datagram(&mut self, now: Time, from: SocketAddr, datagram: &[u8]) {
        let mut plain = std::mem::take(&mut self.payload);
        match self.channel.on_datagram(now, from, datagram, &mut plain) {
            Some(Frame::Ack(ack, standing)) => self.on_ack(now, ack, standing),
            Some(Frame::Ping(standing)) => self.on_standing(standing),
            Some(Frame::Probed(bytes)) => self.probing.on_answer(bytes),
            _ => {}
        }
        self.payload = plain;
        if let Some(farewell) = self.channel.farewell() {
            self.end.get_or_insert(End::Closed(farewell.clone()));
        }
    }

    fn on_standing(&mut self, standing: Standing) {
        let Standing { room, lost, congestion } = standing;
        let old = self.standing;
        self.standing = Standing {
            room: old.room.max(room),
            lost: old.lost.max(lost),
            congestion: old.congestion.max(congestion),
        };
        if let Some(sender) = &mut self.sender {
            sender.allow(self.standing.room);
        }
    }

    fn on_ack(&mut self, now: Time, mut ack: Ack, standing: Standing) {
        let now = now.max(self.last);
        let Some(sender) = &mut self.sender else { return };
        if let Report::Rate(rate) = ack.report
            && !(rate.is_finite() && rate > 0.0 && rate <= MOST_RATE)
        {
            self.absurd += 1;
            ack.report = Report::Nothing;
        }
        self.last = now;
        let Ok(progress) = sender.on_ack(now, &ack) else {
            let words = "the receiver acknowledged what was never sent";
            return self.stop(now, Stop::broken(words));
        };
        let (sent, srtt) = (sender.counters().sent, sender.srtt());
        self.on_standing(standing);
        let labels = (self.standing.lost, self.standing.congestion);
        self.governor.on_ack(now, srtt, &progress, sent, labels);
        if self.governor.breaker() == Breaker::Open {
            let words = "congestion took over 20 % of the packets for 20 round trips, the last ten at the \
                         rate that TCP would have; try again later, or with --max-rate";
            self.stop(now, Stop::failed(words));
        }
    }

    /// Timers that are due at `now` expire.
    pub fn on_timeout(&mut self, now: Time) {
        let now = now.max(self.last);
        if let Some(sender) = &mut self.sender {
            self.last = now;
            sender.on_timeout(now);
        }
        if self.end.is_none() && now >= self.channel.heard() + self.silence {
            self.end_as(now, Why::Failed, "silence", End::Silent);
        }
    }

    /// Appends the next data packet, if one may leave at `now`. Call again until there is none.
    pub fn poll_data(&mut self, now: Time, source: &mut dyn Source, out: &mut Vec<u8>) -> Option<Departure> {
        if self.end.is_some() {
            return None;
        }
        let gate = if self.paired { Time::ZERO } else { self.gate };
        let sender = self.sender.as_mut()?;
        let due = sender.poll_timeout()?.max(gate).max(self.last);
        if due > now {
            return None;
        }
        // Time that was lost by waking up late is made up for, so the rate is right on average.
        let instant = due.max(Time::from_nanos(now.as_nanos().saturating_sub(MOST_LATE.as_nanos())));
        self.last = instant;
        let mut data = sender.poll_transmit(instant)?;
        data.sent = now;
        self.paired = data.slot == Slot::First;
        let interval = Duration::from_secs_f64(f64::from(data.bytes) * 8.0 / self.governor.cap());
        self.gate = self.gate.max(instant) + interval;
        let offset = (data.datum - 1) * self.chunk as u64;
        let length = match self.extent {
            Some(Extent::Bytes(bytes)) => (bytes - offset).min(self.chunk as u64) as usize,
            _ => self.chunk,
        };
        let mut payload = std::mem::take(&mut self.payload);
        payload.resize(length, 0);
        let read = source.read(offset, &mut payload);
        if let Err(stop) = read {
            self.stop(now, stop);
            return None;
        }
        self.channel.seal_data(now, &Frame::Data(data, &payload), out);
        self.payload = payload;
        Some(Departure { to: self.channel.address(), due })
    }

    /// Appends the next packet of the session itself, and returns where it goes. Call again until there is
    /// none.
    pub fn poll_control(&mut self, now: Time, out: &mut Vec<u8>) -> Option<SocketAddr> {
        if self.extent.is_none()
            && self.end.is_none()
            && let Some(bytes) = self.probing.poll(now)
        {
            let filling = vec![0; (bytes as usize).saturating_sub(PROBE_OVERHEAD)];
            self.channel.seal_control(now, &Frame::Probe(&filling), out);
            return Some(self.channel.address());
        }
        let srtt = self.srtt();
        self.channel.poll_control(now, srtt, Standing::default(), out)
    }

    /// When to call [`Outgoing::on_timeout`] and the polls, if nothing arrives before.
    pub fn poll_timeout(&self) -> Time {
        let gate = if self.paired { Time::ZERO } else { self.gate };
        let sender = self.sender.as_ref().filter(|_| self.end.is_none());
        let departure = sender.and_then(Sender::poll_timeout).map_or(Time::NEVER, |due| due.max(gate));
        let probe =
            if self.extent.is_none() && self.end.is_none() { self.probing.poll_timeout() } else { None };
        let silence = self.channel.heard() + self.silence;
        departure.min(probe.unwrap_or(Time::NEVER)).min(self.channel.poll_timeout()).min(silence)
    }

    /// The rate at which packets leave, bit/s on the wire. 0 before the first.
    pub fn rate(&self) -> f64 {
        self.sender.as_ref().map_or(0.0, |sender| sender.rate().min(self.governor.cap()))
    }

    /// The smoothed round-trip time.
    pub fn srtt(&self) -> Duration {
        self.sender.as_ref().map_or(self.channel.handshake(), Sender::srtt)
    }

    /// What the transport counted.
    pub fn counters(&self) -> Counters {
        self.sender.as_ref().map(Sender::counters).unwrap_or_default()
    }

    /// The mean over time of the loss event rate that the receiver reported. `None` without loss events.
    pub fn loss_event_rate(&self) -> Option<f64> {
        self.sender.as_ref().and_then(Sender::loss_event_rate).and_then(TimeMean::value)
    }

    /// Bytes of payload that were acknowledged in order.
    pub fn acknowledged(&self) -> u64 {
        let bytes = self.counters().acknowledged * self.chunk as u64;
        match self.extent {
            Some(Extent::Bytes(all)) => bytes.min(all),
            _ => bytes,
        }
    }

    /// What the receiver told last.
    pub fn standing(&self) -> Standing {
        self.standing
    }

    /// Wishes of the receiver that were refused, because they are no rates.
    pub fn absurd(&self) -> u64 {
        self.absurd
    }

    /// How it stands with the path.
    pub fn breaker(&self) -> Breaker {
        self.governor.breaker()
    }

    /// The transport's variables, for a probe.
    pub fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        if let Some(sender) = &self.sender {
            sender.inspect(see);
        }
    }
}

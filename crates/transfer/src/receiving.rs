//! The end that receives: a transport's receiver in a session.
//!
//! Data go to the sink in order. What overtakes waits here; a sender is told for how much there is room, and
//! what it sends beyond that is not accepted. There is no clock and no I/O.

use crate::channel::{Channel, Why};
use crate::control::Terms;
use crate::probing::LARGEST;
use crate::sending::{End, FIRST_ROOM, payload};
use crate::stream::{Sink, Stop};
use crate::wire::{Frame, Standing, UDP_IP_BYTES};
use ackclock_rate::loss::{Label, Tally};
use ackclock_rate::packet::{Ack, Data};
use ackclock_rate::reliability::MAX_AHEAD;
use ackclock_rate::{Receiver, Transport};
use ackclock_registry::Chosen;
use ackclock_units::{Duration, Time};
use std::collections::VecDeque;
use std::net::SocketAddr;

/// A sender that waits for room is told of it once there is so much more, data.
const NEWS: u64 = 64;
/// Probes that wait for an answer.
const MAX_PROBES: usize = 8;

/// The end that receives.
#[derive(Debug)]
pub struct Incoming {
    /// The session.
    pub channel: Channel,
    control: Chosen<Transport>,
    receiver: Receiver,
    chunk: usize,
    bytes: u32,
    /// Probes that are to be answered, and the largest that was: bytes on the wire.
    probes: VecDeque<u32>,
    probed: u32,
    silence: Duration,
    /// The last time that the receiver was told.
    last: Time,
    /// Data in order so far, and what is ahead of them.
    delivered: u64,
    ahead: VecDeque<Option<Box<[u8]>>>,
    /// The last datum that was promised room, and that which the sender knows of.
    room: u64,
    told: u64,
    /// The number of the last datum.
    final_datum: Option<u64>,
    srtt: Duration,
    end: Option<End>,
    arrived: u64,
    payload: u64,
    plain: Vec<u8>,
}

impl Incoming {
    /// Receives through `channel` on `terms`. It ends after `silence`.
    pub fn new(now: Time, channel: Channel, terms: &Terms, silence: Duration) -> Incoming {
        Incoming {
            channel,
            control: terms.control.clone(),
            receiver: Receiver::new(&terms.control, terms.bytes),
            chunk: payload(terms.bytes),
            bytes: terms.bytes,
            probes: VecDeque::new(),
            probed: 0,
            silence,
            last: now,
            delivered: 0,
            ahead: VecDeque::new(),
            room: FIRST_ROOM,
            told: FIRST_ROOM,
            final_datum: None,
            srtt: Duration::ZERO,
            end: None,
            arrived: 0,
            payload: 0,
            plain: Vec::new(),
        }
    }

    /// Ends the session well, and tells the other end.
    pub fn finish(&mut self, now: Time) {
        self.channel.close(now, Why::Done, "");
        self.end.get_or_insert(End::Done);
    }

    /// Ends the session, and tells the other end why.
    pub fn stop(&mut self, now: Time, stop: Stop) {
        self.channel.close(now, stop.why, &stop.words);
        self.end.get_or_insert(End::Stopped(stop));
    }

    /// Why the session has ended. `None` while it goes on.
    pub fn end(&self) -> Option<&End> {
        self.end.as_ref()
    }

    /// True if nothing is left to be told to the other end either.
    pub fn is_over(&self) -> bool {
        self.end.is_some() && (self.channel.is_closed() || self.channel.farewell().is_some())
    }

    /// The path has lost data packet `number` for this reason.
    pub fn on_drop(&mut self, number: u64, cause: Label) {
        self.receiver.on_drop(number, cause);
    }

    /// A datagram arrived at `at`, which the kernel may have noted, and is read at `now`. Appends the
    /// acknowledgement, if one is due, and returns where it goes.
    pub fn on_datagram(
        &mut self,
        (now, at): (Time, Time),
        from: SocketAddr,
        datagram: &[u8],
        sink: &mut dyn Sink,
        out: &mut Vec<u8>,
    ) -> Option<SocketAddr> {
        let mut plain = std::mem::take(&mut self.plain);
        let ack = match self.channel.on_datagram(now, from, datagram, &mut plain) {
            Some(Frame::Data(data, payload)) if self.end.is_none() => {
                self.on_data(now, at, &data, payload, sink)
            }
            Some(Frame::Probe(_)) if self.end.is_none() && self.probes.len() < MAX_PROBES => {
                self.probes.push_back((datagram.len() + UDP_IP_BYTES) as u32); // a datagram has at most 65535
                None
            }
            _ => None,
        };
        self.plain = plain;
        if let Some(farewell) = self.channel.farewell() {
            let end = if farewell.why == Why::Done { End::Done } else { End::Closed(farewell.clone()) };
            self.end.get_or_insert(end);
        }
        self.acknowledge(now, ack?, sink, out)
    }

    fn on_data(
        &mut self,
        now: Time,
        at: Time,
        data: &Data,
        payload: &[u8],
        sink: &mut dyn Sink,
    ) -> Option<Ack> {
        if self.arrived == 0 && !self.settle(data) {
            return None;
        }
        let whole = payload.len() == self.chunk || data.last && payload.len() < self.chunk;
        let known =
            self.final_datum.is_none_or(|last| data.datum <= last && data.last == (data.datum == last));
        if data.datum == 0 || data.datum > self.room || !whole || !known || payload.is_empty() {
            return None;
        }
        self.last = self.last.max(at);
        self.srtt = data.srtt;
        // Sizes differ in the last packet only, and no estimator wants to know.
        let ack = self.receiver.on_packet(self.last, &Data { bytes: self.bytes, ..*data });
        self.arrived += 1;
        if data.last {
            self.final_datum = Some(data.datum);
        }
        if let Err(stop) = self.keep(data.datum, payload, sink) {
            self.stop(now, stop);
        }
        ack
    }

    /// The first packet tells how large all are, up to the largest probe that arrived. False if it tells
    /// nothing: the last of several data may be smaller than the others.
    fn settle(&mut self, data: &Data) -> bool {
        if self.probed <= self.bytes {
            return true;
        }
        if data.last && data.datum > 1 {
            return false;
        }
        let bytes = if data.last { self.probed } else { data.bytes };
        if (self.bytes + 1..=self.probed).contains(&bytes) {
            self.receiver = Receiver::new(&self.control, bytes);
            (self.chunk, self.bytes) = (payload(bytes), bytes);
        }
        true
    }

    /// A datum, which may be there already.
    fn keep(&mut self, datum: u64, payload: &[u8], sink: &mut dyn Sink) -> Result<(), Stop> {
        let Some(at) = datum.checked_sub(self.delivered + 1) else { return Ok(()) };
        if at > 0 || !self.ahead.is_empty() {
            let at = at as usize; // below MAX_AHEAD: the room is
            if self.ahead.len() <= at {
                self.ahead.resize(at + 1, None);
            }
            self.ahead[at] = Some(payload.into());
            while let Some(Some(_)) = self.ahead.front() {
                let Some(Some(next)) = self.ahead.pop_front() else { break };
                self.deliver(&next, sink)?;
            }
            return Ok(());
        }
        self.deliver(payload, sink)
    }

    fn deliver(&mut self, payload: &[u8], sink: &mut dyn Sink) -> Result<(), Stop> {
        self.delivered += 1;
        self.payload += payload.len() as u64;
        sink.write(payload)
    }

    fn standing(&mut self, sink: &dyn Sink) -> Standing {
        let more = (sink.room() / self.chunk as u64).min(MAX_AHEAD - 1);
        self.room = self.room.max(self.delivered + more);
        Standing { room: self.room, lost: self.tally().total(), congestion: self.congestion() }
    }

    fn acknowledge(&mut self, now: Time, ack: Ack, sink: &dyn Sink, out: &mut Vec<u8>) -> Option<SocketAddr> {
        let standing = self.standing(sink);
        self.told = standing.room;
        self.channel.seal_control(now, &Frame::Ack(ack, standing), out);
        Some(self.channel.address())
    }

    /// Appends the acknowledgement that is due without a packet, and returns where it goes. Call again until
    /// there is none.
    pub fn poll_ack(&mut self, now: Time, sink: &dyn Sink, out: &mut Vec<u8>) -> Option<SocketAddr> {
        if self.end.is_some() || self.receiver.poll_timeout()? > now {
            return None;
        }
        self.last = self.last.max(now);
        let ack = self.receiver.on_timeout(self.last)?;
        self.acknowledge(now, ack, sink, out)
    }

    /// Timers that are due at `now` expire.
    pub fn on_timeout(&mut self, now: Time) {
        if self.end.is_none() && now >= self.channel.heard() + self.silence {
            self.channel.close(now, Why::Failed, "silence");
            self.end = Some(End::Silent);
        }
    }

    /// Appends the next packet of the session itself, and returns where it goes. Call again until there is
    /// none.
    pub fn poll_control(&mut self, now: Time, sink: &dyn Sink, out: &mut Vec<u8>) -> Option<SocketAddr> {
        if let Some(bytes) = self.probes.pop_front() {
            if bytes <= LARGEST {
                self.probed = self.probed.max(bytes);
            }
            self.channel.seal_control(now, &Frame::Probed(bytes), out);
            return Some(self.channel.address());
        }
        let standing = self.standing(sink);
        let was_full = self.told < self.delivered + NEWS;
        if was_full && standing.room >= self.told + NEWS && self.end.is_none() {
            self.told = standing.room;
            self.channel.seal_control(now, &Frame::Ping(standing), out);
            return Some(self.channel.address());
        }
        self.channel.poll_control(now, self.srtt, standing, out)
    }

    /// When to call [`Incoming::on_timeout`] and the polls, if nothing arrives before.
    pub fn poll_timeout(&self) -> Time {
        let ack = self.receiver.poll_timeout().filter(|_| self.end.is_none()).unwrap_or(Time::NEVER);
        let probe = if self.probes.is_empty() { Time::NEVER } else { Time::ZERO };
        ack.min(probe).min(self.channel.poll_timeout()).min(self.channel.heard() + self.silence)
    }

    /// True if the last datum and all before it were delivered.
    pub fn is_complete(&self) -> bool {
        self.final_datum.is_some_and(|last| self.delivered >= last)
    }

    /// Bytes of payload that were delivered.
    pub fn payload(&self) -> u64 {
        self.payload
    }

    /// Data packets that arrived and were accepted.
    pub fn arrived(&self) -> u64 {
        self.arrived
    }

    /// Packets whose datum had arrived before.
    pub fn duplicates(&self) -> u64 {
        self.receiver.duplicates()
    }

    /// The rate that it asks for, bit/s on the wire.
    pub fn rate(&self) -> Option<f64> {
        self.receiver.rate()
    }

    /// The sender's smoothed round-trip time.
    pub fn srtt(&self) -> Duration {
        self.srtt
    }

    /// Losses by label.
    pub fn tally(&self) -> &Tally {
        self.receiver.tally()
    }

    /// Losses that were labelled congestion.
    pub fn congestion(&self) -> u64 {
        let causes = [None, Some(Label::Congestion), Some(Label::Transmission)];
        let counts = causes.map(|cause| {
            let of = |acted| self.tally().of(Label::Congestion, cause, acted);
            of(true) + of(false)
        });
        counts.iter().sum()
    }

    /// The transport's variables, for a probe.
    pub fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        self.receiver.inspect(see);
    }
}

//! The host of a receiver.

use super::clock::Clock;
use super::socket::Socket;
use super::watch::{Seen, Stage, Watch};
use super::{ENTROPY, Summary, TransferError, failure};
use crate::channel::Why;
use crate::control::Terms;
use crate::handshake::{Heard, Listener};
use crate::noise::{Identity, Key};
use crate::receiving::Incoming;
use crate::sending::End;
use crate::stream::{Sink, Stop};
use crate::ticket::Ticket;
use ackclock_lateness::Lateness;
use ackclock_rate::Counters;
use ackclock_units::{Duration, Time};
use std::net::{SocketAddr, UdpSocket};

/// The longest sleep: sinks may have something new.
const NAP: Duration = Duration::from_millis(5);
/// Between two looks for a [`Watch`].
const LOOK: Duration = Duration::from_millis(10);

/// A sender that was let in.
#[derive(Clone, Copy, Debug)]
pub struct Guest {
    /// Its public key.
    pub key: Key,
    /// Its address.
    pub address: SocketAddr,
}

/// Waits at `socket` for the sender that has `ticket`, and the key `only` if one is given; then receives into
/// the sink that `open` makes for it. Returns when the sender has closed the session.
///
/// # Errors
///
/// [`TransferError`]; nothing that was written is lost.
pub fn receive(
    socket: UdpSocket,
    me: &Identity,
    ticket: &Ticket,
    only: Option<Key>,
    open: &mut dyn FnMut(Guest) -> Box<dyn Sink>,
    silence: Duration,
    watch: &Watch,
) -> Result<Summary, TransferError> {
    let clock = Clock::start();
    let mut socket = Socket::new(socket, clock)?;
    let mut listener = Listener::new(me, ticket, only, ENTROPY);
    let mut found = None;
    // The session's first packet, and what was read with it: data that a busy receiver finds behind it.
    let mut first = Vec::new();
    let (began, address, welcomed) = loop {
        socket.receive(|out, at, from, datagram| {
            if found.is_some() {
                first.push((at, from, datagram.to_vec()));
                return None;
            }
            let mut answer = Vec::new();
            match listener.on_datagram(at, from, datagram, &mut answer) {
                Heard::Nothing => None,
                Heard::Answer => {
                    out.extend(answer);
                    Some(from)
                }
                Heard::Session(welcomed) => {
                    found = Some((at, from, welcomed));
                    first.push((at, from, datagram.to_vec()));
                    None
                }
            }
        })?;
        if let Some(found) = found {
            break found;
        }
        if watch.is_stopped() {
            return Err(TransferError::Interrupted);
        }
        socket.wait(clock.now() + NAP);
    };
    let text = String::from_utf8_lossy(&welcomed.terms).into_owned();
    let terms = Terms::from_text(&text);
    let fallback = Terms { control: crate::control::standard(), bytes: super::PACKET_BYTES };
    let mut sink = open(Guest { key: welcomed.from, address });
    let mut incoming = Incoming::new(began, welcomed.channel, terms.as_ref().unwrap_or(&fallback), silence);
    if terms.is_none() {
        let words = "the receiver does not know this transport or its settings: use the same version";
        incoming.stop(clock.now(), Stop { why: Why::Refused, words: words.to_owned() });
    }
    socket.send(|_| None);
    let mut host = Host { clock, socket, incoming, sink: sink.as_mut(), watch, began: None };
    host.take(first);
    host.run()?;
    host.summary(silence)
}

struct Host<'a> {
    clock: Clock,
    socket: Socket,
    incoming: Incoming,
    sink: &'a mut dyn Sink,
    watch: &'a Watch,
    /// When the first data arrived.
    began: Option<Time>,
}

impl Host<'_> {
    /// What was read together with the first packet of the session, in the order in which it arrived.
    fn take(&mut self, first: Vec<(Time, SocketAddr, Vec<u8>)>) {
        let Host { clock, socket, incoming, sink, watch, .. } = self;
        let mut first = first.into_iter();
        socket.send(|out| {
            first.find_map(|(at, from, datagram)| {
                learn_drops(incoming, watch);
                incoming.on_datagram((clock.now(), at), from, &datagram, *sink, out)
            })
        });
    }

    fn run(&mut self) -> Result<(), TransferError> {
        let mut look = Time::ZERO;
        loop {
            let Host { clock, socket, incoming, sink, watch, .. } = self;
            socket.receive(|out, at, from, datagram| {
                learn_drops(incoming, watch);
                incoming.on_datagram((clock.now(), at), from, datagram, *sink, out)
            })?;
            let now = clock.now();
            incoming.on_timeout(now);
            socket.send(|out| incoming.poll_ack(now, *sink, out));
            self.converse(now);
            let Host { socket, incoming, sink, .. } = self;
            socket.send(|out| incoming.poll_control(now, *sink, out));
            if self.began.is_none() && self.incoming.arrived() > 0 {
                self.began = Some(now);
            }
            if now >= look {
                self.watch.show(self.seen(now));
                look = now + LOOK;
            }
            if self.incoming.is_over() {
                return Ok(());
            }
            self.socket.wait(self.incoming.poll_timeout().min(now + NAP));
        }
    }

    /// Messages, and what follows from them.
    fn converse(&mut self, now: Time) {
        if self.incoming.end().is_some() {
            return;
        }
        if let Err(stop) = self.exchange() {
            return self.incoming.stop(now, stop);
        }
        if self.watch.is_stopped() {
            let words = "the receiver's user has stopped it".to_owned();
            self.incoming.stop(now, Stop { why: Why::Stopped, words });
        }
    }

    fn exchange(&mut self) -> Result<(), Stop> {
        while let Some(message) = self.incoming.channel.mailbox.take() {
            self.sink.on_message(&message)?;
        }
        while let Some(message) = self.sink.poll_message()? {
            self.incoming.channel.mailbox.post(message);
        }
        Ok(())
    }

    fn seen(&self, now: Time) -> Seen {
        let (lost, congestion) = (self.incoming.tally().total(), self.incoming.congestion());
        let stage = match () {
            () if self.incoming.end().is_some() => Stage::Over,
            () if self.incoming.is_complete() => Stage::Ending,
            () if self.began.is_some() => Stage::Moving,
            () => Stage::Agreeing,
        };
        Seen {
            stage,
            elapsed: self.began.map_or(Duration::ZERO, |began| now.since(began)),
            bytes: self.incoming.payload(),
            packets: self.incoming.arrived(),
            repeated: self.incoming.duplicates(),
            rate: self.incoming.rate().unwrap_or(0.0),
            srtt: self.incoming.srtt(),
            lost,
            congestion,
            transmission: lost.saturating_sub(congestion),
            held: false,
            counters: Counters::default(),
            labels: *self.incoming.tally(),
            loss_event_rate: None,
        }
    }

    fn summary(self, silence: Duration) -> Result<Summary, TransferError> {
        let seen = self.seen(self.clock.now());
        self.watch.show(seen);
        // A sender that falls silent when all is done only did not say so.
        let done = self.sink.is_done() && !matches!(self.incoming.end(), Some(End::Stopped(_)));
        let failed = self.incoming.end().and_then(|end| failure(end, silence)).filter(|_| !done);
        if let Some(error) = failed {
            return Err(error);
        }
        Ok(Summary {
            peer: self.incoming.channel.address(),
            elapsed: seen.elapsed,
            bytes: seen.bytes,
            seen,
            counters: Counters::default(),
            lateness: Lateness::default(),
        })
    }
}

/// Whoever tells of a drop does so before a later packet arrives.
fn learn_drops(incoming: &mut Incoming, watch: &Watch) {
    watch.take_drops().into_iter().for_each(|(number, cause)| incoming.on_drop(number, cause));
}

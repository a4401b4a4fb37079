//! The host of a sender.

use super::clock::Clock;
use super::socket::Socket;
use super::watch::{Seen, Stage, Watch};
use super::{ENTROPY, Sending, Summary, TransferError, failure};
use crate::channel::{Channel, Why};
use crate::control::Terms;
use crate::governor::Breaker;
use crate::handshake::Dialer;
use crate::noise::Identity;
use crate::sending::{End, Outgoing};
use crate::stream::{Extent, Source, Stop};
use crate::ticket::Ticket;
use ackclock_lateness::Lateness;
use ackclock_rate::loss::Tally;
use ackclock_units::{Duration, Time};
use std::net::{SocketAddr, UdpSocket};

/// The longest sleep while the source may have something new.
const NAP: Duration = Duration::from_millis(10);
/// Between two looks for a [`Watch`].
const LOOK: Duration = Duration::from_millis(10);

/// Sends `source` through `socket` to the receiver of `ticket` at `to`. Returns when all is done, and the
/// receiver knows that.
///
/// # Errors
///
/// [`TransferError`]; nothing that the receiver has acknowledged is lost.
pub fn send(
    socket: UdpSocket,
    to: SocketAddr,
    me: &Identity,
    ticket: &Ticket,
    source: &mut dyn Source,
    options: &Sending,
    watch: &Watch,
) -> Result<Summary, TransferError> {
    let clock = Clock::start();
    let mut socket = Socket::new(socket, clock)?;
    let terms = Terms { control: options.control.clone(), bytes: options.bytes };
    let channel = dial(&mut socket, clock, to, me, ticket, &terms, options.silence, watch)?;
    let mut outgoing = Outgoing::new(clock.now(), channel, terms, options.most, options.silence);
    outgoing.probe(clock.now(), options.largest);
    let mut host =
        Host { clock, socket, outgoing, source, watch, lateness: Lateness::default(), began: None };
    host.run()?;
    host.summary(options.silence)
}

#[expect(clippy::too_many_arguments, reason = "all of them are its caller's")]
fn dial(
    socket: &mut Socket,
    clock: Clock,
    to: SocketAddr,
    me: &Identity,
    ticket: &Ticket,
    terms: &Terms,
    patience: Duration,
    watch: &Watch,
) -> Result<Channel, TransferError> {
    let terms = terms.to_text();
    let dialer = Dialer::new(clock.now(), to, me, ticket, terms.as_bytes(), ENTROPY);
    let mut dialer = dialer.map_err(|_| TransferError::Ticket)?;
    let deadline = clock.now() + patience;
    let mut channel = None;
    loop {
        socket.receive(|_, at, from, datagram| {
            channel = channel.take().or_else(|| dialer.on_datagram(at, from, datagram));
            None
        })?;
        if let Some(channel) = channel {
            return Ok(channel);
        }
        let now = clock.now();
        if watch.is_stopped() {
            return Err(TransferError::Interrupted);
        }
        if now >= deadline {
            return Err(match socket.trouble() {
                Some(error) => TransferError::Socket("nothing can be sent there", error),
                None => TransferError::NoAnswer(to),
            });
        }
        socket.send(|out| {
            let mut hello = Vec::new();
            dialer.poll_transmit(now, &mut hello).then(|| {
                out.extend(hello);
                to
            })
        });
        socket.wait(dialer.poll_timeout().min(deadline).min(now + NAP));
    }
}

struct Host<'a> {
    clock: Clock,
    socket: Socket,
    outgoing: Outgoing,
    source: &'a mut dyn Source,
    watch: &'a Watch,
    lateness: Lateness,
    /// The begin of the data.
    began: Option<Time>,
}

impl Host<'_> {
    fn run(&mut self) -> Result<(), TransferError> {
        let mut look = Time::ZERO;
        loop {
            // What was due before anything else arrived leaves first, with the times of then.
            self.depart();
            let outgoing = &mut self.outgoing;
            let clock = self.clock;
            self.socket.receive(|_, _, from, datagram| {
                outgoing.on_datagram(clock.now(), from, datagram);
                None
            })?;
            let now = self.clock.now();
            self.outgoing.on_timeout(now);
            self.converse(now);
            self.depart();
            let outgoing = &mut self.outgoing;
            self.socket.send(|out| outgoing.poll_control(now, out));
            if now >= look {
                self.watch.show(self.seen(now));
                look = now + LOOK;
            }
            if self.outgoing.is_over() {
                return Ok(());
            }
            let nap = if self.is_moving() { LOOK } else { NAP };
            self.socket.wait(self.outgoing.poll_timeout().min(now + nap));
        }
    }

    fn is_moving(&self) -> bool {
        self.outgoing.has_begun() && !self.outgoing.is_acknowledged()
    }

    /// Packets of data that may leave now.
    fn depart(&mut self) {
        let Host { clock, socket, outgoing, source, lateness, .. } = self;
        // No more at once than leaves time to read what arrives.
        let mut left = 64;
        socket.send(|out| {
            if left == 0 {
                return None;
            }
            left -= 1;
            let now = clock.now();
            let departure = outgoing.poll_data(now, *source, out)?;
            lateness.note(now.since(departure.due));
            Some(departure.to)
        });
    }

    /// Messages, and what follows from them.
    fn converse(&mut self, now: Time) {
        if self.outgoing.end().is_some() {
            return;
        }
        if let Err(stop) = self.exchange() {
            return self.outgoing.stop(now, stop);
        }
        let is_ready = !self.outgoing.has_begun() && self.outgoing.is_ready(now);
        if let Some(extent) = self.source.extent().filter(|_| is_ready) {
            self.outgoing.begin(now, extent);
            self.began = Some(now);
        }
        let endless = self.source.extent() == Some(Extent::Endless);
        if self.watch.is_stopped() && !endless {
            let stop = Stop { why: Why::Stopped, words: "the sender's user has stopped it".to_owned() };
            return self.outgoing.stop(now, stop);
        }
        let done = self.outgoing.is_acknowledged() && self.source.is_done();
        if done && self.outgoing.channel.mailbox.is_empty() || self.watch.is_stopped() {
            self.outgoing.finish(now);
        }
    }

    fn exchange(&mut self) -> Result<(), Stop> {
        while let Some(message) = self.outgoing.channel.mailbox.take() {
            self.source.on_message(&message)?;
        }
        while let Some(message) = self.source.poll_message()? {
            self.outgoing.channel.mailbox.post(message);
        }
        Ok(())
    }

    fn seen(&self, now: Time) -> Seen {
        let (counters, standing) = (self.outgoing.counters(), self.outgoing.standing());
        let stage = match () {
            () if self.outgoing.end().is_some() => Stage::Over,
            () if !self.outgoing.has_begun() => Stage::Agreeing,
            () if self.outgoing.is_acknowledged() => Stage::Ending,
            () => Stage::Moving,
        };
        Seen {
            stage,
            elapsed: self.began.map_or(Duration::ZERO, |began| now.since(began)),
            bytes: self.outgoing.acknowledged(),
            packets: counters.sent,
            repeated: counters.retransmitted,
            rate: self.outgoing.rate(),
            srtt: self.outgoing.srtt(),
            lost: counters.lost,
            congestion: standing.congestion,
            transmission: standing.lost.saturating_sub(standing.congestion),
            held: self.outgoing.breaker() != Breaker::Closed,
            counters,
            labels: Tally::new(),
            loss_event_rate: self.outgoing.loss_event_rate(),
        }
    }

    fn summary(self, silence: Duration) -> Result<Summary, TransferError> {
        let seen = self.seen(self.clock.now());
        self.watch.show(seen);
        let end = self.outgoing.end().unwrap_or(&End::Done);
        if let Some(error) = failure(end, silence) {
            return Err(error);
        }
        Ok(Summary {
            peer: self.outgoing.channel.address(),
            elapsed: seen.elapsed,
            bytes: seen.bytes,
            seen,
            counters: self.outgoing.counters(),
            lateness: self.lateness,
        })
    }
}

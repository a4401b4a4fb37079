//! The end of a search that counts.

use super::lines::{Lines, Said};
use super::{Cookie, PAYLOAD, PROTOCOL, REFUSED, RENEWAL, hex, round_of};
use ackclock_sockets::is_timeout;
use ackclock_units::Rate;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, TryLockError};
use std::time::{Duration, Instant};

/// The longest search.
const LONGEST: Duration = Duration::from_secs(45);
/// What may still be on its way behind the line that ends a round.
const SETTLE: Duration = Duration::from_millis(100);
/// How often the connection is looked at.
const LOOK: Duration = Duration::from_millis(5);
/// By so much more than it may send a source is tolerated: a share, and bytes.
const TOLERANCE: (f64, f64) = (1.1, 1e6);

/// A round that is being counted.
#[derive(Default)]
struct Round {
    number: u32,
    arrived: u64,
    /// The first and the last arrival.
    span: Option<(Instant, Instant)>,
    /// The number of datagrams that were sent, and when the source said so.
    ended: Option<(u64, Instant)>,
}

/// Takes a search, unless none is allowed or another one goes on.
pub(in super::super) fn take(
    mut stream: TcpStream,
    socket: Option<&Mutex<UdpSocket>>,
    most: Option<Rate>,
    peer: IpAddr,
    stop: &AtomicBool,
) -> io::Result<()> {
    let socket = socket.map(|socket| match socket.try_lock() {
        Ok(socket) => Some(socket),
        Err(TryLockError::Poisoned(socket)) => Some(socket.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    });
    let (Some(Some(socket)), Some(most)) = (socket, most) else {
        return writeln!(stream, "{PROTOCOL} {REFUSED}");
    };
    let mut cookie = Cookie::default();
    getrandom::fill(&mut cookie).map_err(io::Error::other)?;
    writeln!(stream, "{PROTOCOL} {} {}", hex(&cookie), most.bps())?;
    stream.set_nonblocking(true)?;
    Counting { stream, socket: &socket, cookie, peer, most, lines: Lines::default(), bytes: 0 }.run(stop)
}

struct Counting<'a> {
    stream: TcpStream,
    socket: &'a UdpSocket,
    cookie: Cookie,
    peer: IpAddr,
    most: Rate,
    lines: Lines,
    /// What has arrived.
    bytes: u64,
}

impl Counting<'_> {
    /// Counts until the source hangs up.
    fn run(mut self, stop: &AtomicBool) -> io::Result<()> {
        let begun = Instant::now();
        let (mut renewed, mut looked) = (begun, begun);
        let mut round = Round::default();
        self.socket.set_read_timeout(Some(LOOK))?;
        loop {
            if self.exceeds(begun.elapsed()) || stop.load(Ordering::Relaxed) {
                return Err(ErrorKind::QuotaExceeded.into());
            }
            if renewed.elapsed() >= RENEWAL {
                renewed = Instant::now();
                writeln!(self.stream, "{}", Said::Consent)?;
            }
            self.count(&mut round)?;
            if looked.elapsed() >= LOOK {
                looked = Instant::now();
                if !self.listen(&mut round)? {
                    return Ok(());
                }
            }
            if let Some((sent, at)) = round.ended
                && (round.arrived >= sent || at.elapsed() >= SETTLE)
            {
                let us = round.span.map_or(0, |(first, last)| (last - first).as_micros() as u64);
                let report = Said::Arrived { number: round.number.into(), datagrams: round.arrived, us };
                writeln!(self.stream, "{report}")?;
                round = Round { number: round.number + 1, ..Round::default() };
            }
        }
    }

    /// Is this more than was allowed, or longer?
    fn exceeds(&self, elapsed: Duration) -> bool {
        let most = self.most.bps_f64() / 8.0 * elapsed.as_secs_f64() * TOLERANCE.0 + TOLERANCE.1;
        elapsed > LONGEST || self.bytes as f64 > most
    }

    /// Takes one datagram, if one comes soon.
    fn count(&mut self, round: &mut Round) -> io::Result<()> {
        let mut bytes = [0; PAYLOAD + 1];
        let (length, from) = match self.socket.recv_from(&mut bytes) {
            Err(error) if is_timeout(&error) || error.kind() == ErrorKind::ConnectionRefused => return Ok(()),
            other => other?,
        };
        let number = round_of(&self.cookie, &bytes[..length]);
        if number.is_none() || from.ip().to_canonical() != self.peer.to_canonical() {
            return Ok(());
        }
        self.bytes += length as u64;
        if number == Some(round.number) {
            let now = Instant::now();
            round.arrived += 1;
            round.span = Some((round.span.map_or(now, |(first, _)| first), now));
        }
        Ok(())
    }

    /// Reads what the source says. False if it has hung up.
    fn listen(&mut self, round: &mut Round) -> io::Result<bool> {
        let mut bytes = [0; 256];
        match self.stream.read(&mut bytes) {
            Ok(0) => return Ok(false),
            Ok(length) => self.lines.push(&bytes[..length]),
            Err(error) if is_timeout(&error) => return Ok(true),
            Err(error) => return Err(error),
        }
        while let Some(said) = self.lines.next_line()? {
            match said {
                Said::Round { number, sent }
                    if number == u64::from(round.number) && round.ended.is_none() =>
                {
                    round.ended = Some((sent, Instant::now()));
                }
                _ => return Err(ErrorKind::InvalidData.into()),
            }
        }
        Ok(true)
    }
}

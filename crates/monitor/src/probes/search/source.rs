//! The end of a search that sends.

use super::lines::{Lines, Said};
use super::rates::Rates;
use super::{CONSENT, Cookie, HEADER, PAYLOAD, PROTOCOL, REFUSED, datagram, unhex};
use crate::plan::Search;
use crate::probes::sink;
use ackclock_sockets::{Timed, is_timeout, set_send_buffer};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// What a peer may take to answer, and a report to come.
const PATIENCE: Duration = Duration::from_secs(5);
/// The length of a round.
const ROUND: Duration = Duration::from_millis(500);
/// The fewest datagrams of a round: fewer tell nothing of a share.
const FEWEST: u64 = 20;
/// The datagrams of the first round, which only shows that some arrive, and its rate, bit/s.
const FIRST: (u64, f64) = (5, 256_000.0);
/// A sink that offers less offers nothing, bit/s.
const LEAST: u64 = 100_000;
/// What is late by more time and by more datagrams is not made up for: it would be a burst.
const LATE: (Duration, u64) = (Duration::from_millis(2), 16);
/// The longest sleep between two looks at the consent.
const NAP: Duration = Duration::from_millis(1);
/// A smaller share of lost datagrams is not taken for congestion.
const LOSS: f64 = 0.005;
/// Arrivals that take longer than the sending, by this share and this time, fill a queue: it would overflow.
const SLOWER: (f64, Duration) = (1.03, Duration::from_millis(2));
/// A host that sends less than this share of the rate that it should can send no faster.
const REACHED: f64 = 0.95;
/// The memory of the socket, bytes.
const BUFFER: u64 = 1 << 20;

/// Searches a path. What is known at the end is the interval in which losses begin, bit/s with headers.
pub(crate) fn search(host: IpAddr, plan: &Search, stop: &AtomicBool) -> io::Result<Rates> {
    let to = SocketAddr::new(host, plan.port);
    let mut connection = Timed::new(TcpStream::connect_timeout(&to, PATIENCE)?, PATIENCE);
    sink::words(&mut connection, sink::PROTOCOL)?;
    writeln!(connection, "{PROTOCOL}")?;
    let offer = sink::words(&mut connection, PROTOCOL)?;
    if offer.first().is_some_and(|word| word == REFUSED) {
        return Err(io::Error::other("the sink takes no searches, or is busy with another one"));
    }
    let cookie = offer.first().and_then(|word| unhex(word)).ok_or(ErrorKind::InvalidData)?;
    let most: u64 = offer.get(1).and_then(|word| word.parse().ok()).ok_or(ErrorKind::InvalidData)?;
    if most < LEAST {
        return Err(ErrorKind::InvalidData.into());
    }
    let most = plan.most.bps().min(most) as f64;
    let mut sending = Sending::new(connection, to, cookie, stop)?;
    let length = Duration::from_nanos(plan.length.as_nanos());
    let first = sending.round(FIRST.1, FIRST.0)?;
    if first.arrived == 0 {
        return Err(io::Error::other("no datagram arrives at the sink: something on the way drops UDP"));
    }
    let mut rates = Rates::new(most);
    while let Some(rate) = rates.next() {
        let datagrams = (ROUND.as_secs_f64() / sending.interval(rate)).round().max(FEWEST as f64);
        // A round that does not fit is not begun.
        let last = length.as_secs_f64() - datagrams * sending.interval(rate);
        if sending.begun.elapsed().as_secs_f64() > last {
            break;
        }
        let mut shown = sending.round(rate, datagrams as u64)?;
        // A host may be busy for a moment.
        if shown.rate < rate * REACHED && sending.begun.elapsed().as_secs_f64() <= last {
            shown = sending.round(rate, datagrams as u64)?;
        }
        let reached = shown.rate >= rate * REACHED;
        let tried = if reached { rate } else { shown.rate };
        rates.tell(tried, shown.is_clean());
        if !reached {
            rates.limit(tried);
        }
    }
    Ok(rates)
}

/// What a round has shown.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Shown {
    sent: u64,
    arrived: u64,
    /// From the first datagram to the last, at each end.
    sending: Duration,
    arriving: Duration,
    /// bit/s.
    rate: f64,
}

impl Shown {
    fn is_clean(&self) -> bool {
        let lost = self.sent.saturating_sub(self.arrived) as f64;
        lost <= LOSS * self.sent as f64 && self.arriving <= self.sending.mul_f64(SLOWER.0) + SLOWER.1
    }
}

struct Sending<'a> {
    stream: TcpStream,
    socket: UdpSocket,
    cookie: Cookie,
    stop: &'a AtomicBool,
    begun: Instant,
    /// The sink consents until then.
    until: Instant,
    lines: Lines,
    /// The sink's report on a round: its number, datagrams, us.
    report: Option<[u64; 3]>,
    rounds: u32,
    /// A datagram with its headers, bits.
    bits: f64,
}

impl<'a> Sending<'a> {
    fn new(
        connection: Timed<TcpStream>,
        to: SocketAddr,
        cookie: Cookie,
        stop: &'a AtomicBool,
    ) -> io::Result<Sending<'a>> {
        let any: IpAddr =
            if to.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
        let socket = UdpSocket::bind((any, 0))?;
        socket.connect(to)?;
        socket.set_write_timeout(Some(LATE.0))?;
        set_send_buffer(&socket, BUFFER)?;
        let stream = connection.stream().try_clone()?;
        stream.set_nonblocking(true)?;
        let begun = Instant::now();
        let bits = 8.0 * (PAYLOAD + HEADER[usize::from(to.is_ipv6())]) as f64;
        let (until, lines) = (begun + CONSENT, Lines::default());
        Ok(Sending { stream, socket, cookie, stop, begun, until, lines, report: None, rounds: 0, bits })
    }

    /// The time between two datagrams, s.
    fn interval(&self, rate: f64) -> f64 {
        self.bits / rate
    }

    /// Sends so many datagrams at this rate, and waits for the report.
    fn round(&mut self, rate: f64, datagrams: u64) -> io::Result<Shown> {
        let (sent, sending) = self.send(rate, datagrams)?;
        writeln!(self.stream, "{}", Said::Round { number: self.rounds.into(), sent })?;
        let [arrived, us] = self.await_report()?;
        self.rounds += 1;
        let seconds = sending.as_secs_f64() + self.interval(rate);
        let arriving = Duration::from_micros(us);
        Ok(Shown { sent, arrived, sending, arriving, rate: sent as f64 * self.bits / seconds })
    }

    fn send(&mut self, rate: f64, datagrams: u64) -> io::Result<(u64, Duration)> {
        let (bytes, interval) = (datagram(&self.cookie, self.rounds), self.interval(rate));
        let begun = Instant::now();
        let (mut sent, mut slot, mut last) = (0, 0, Duration::ZERO);
        while slot < datagrams {
            self.look()?;
            let due = ((begun.elapsed().as_secs_f64() / interval) as u64 + 1).min(datagrams);
            let late = ((LATE.0.as_secs_f64() / interval).ceil() as u64).max(LATE.1);
            slot = slot.max(due.saturating_sub(late));
            for _ in slot..due {
                match self.socket.send(&bytes) {
                    Ok(_) => sent += 1,
                    // This host's own queue is full: the datagram was not sent.
                    Err(error) if is_timeout(&error) || no_buffers(&error) => {}
                    Err(error) => return Err(error),
                }
            }
            if due > slot {
                (slot, last) = (due, begun.elapsed());
            }
            let next = Duration::from_secs_f64(slot as f64 * interval);
            sleep(next.saturating_sub(begun.elapsed()).min(NAP));
        }
        Ok((sent, last))
    }

    /// Waits for the report on this round: datagrams, us.
    fn await_report(&mut self) -> io::Result<[u64; 2]> {
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            self.look()?;
            if let Some([round, arrived, us]) = self.report.take() {
                return if round == u64::from(self.rounds) {
                    Ok([arrived, us])
                } else {
                    Err(ErrorKind::InvalidData.into())
                };
            }
            sleep(NAP);
        }
        Err(io::Error::new(ErrorKind::TimedOut, "the sink does not report what arrived"))
    }

    /// Reads what the sink says. An error ends the search, and so does a consent that has run out.
    fn look(&mut self) -> io::Result<()> {
        let mut bytes = [0; 256];
        match self.stream.read(&mut bytes) {
            Ok(0) => return Err(io::Error::new(ErrorKind::UnexpectedEof, "the sink has hung up")),
            Ok(length) => self.lines.push(&bytes[..length]),
            Err(error) if is_timeout(&error) => {}
            Err(error) => return Err(error),
        }
        while let Some(said) = self.lines.next_line()? {
            match said {
                Said::Consent => self.until = Instant::now() + CONSENT,
                Said::Arrived { number, datagrams, us } => self.report = Some([number, datagrams, us]),
                Said::Round { .. } => return Err(ErrorKind::InvalidData.into()),
            }
        }
        if self.stop.load(Ordering::Relaxed) {
            return Err(ErrorKind::Interrupted.into());
        }
        if Instant::now() >= self.until {
            return Err(io::Error::new(ErrorKind::TimedOut, "the sink's consent has run out"));
        }
        Ok(())
    }
}

fn no_buffers(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::NOBUFS.raw_os_error())
}

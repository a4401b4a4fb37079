//! A transfer to a sink: throughput, capacity, the closing window, and how long packets wait in queues.

use super::sink::{INTERVAL, PROTOCOL, words};
use crate::plan::Transfer;
use ackclock_sockets::{TcpInfo, Timed, is_timeout, set_controller, set_send_buffer, set_unsent};
use std::io::{self, ErrorKind, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What a peer may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// The memory of the socket for sending, bytes, where the system allows it.
const BUFFER: u64 = 64 << 20;
/// What may wait unsent, bytes: when the time is over, it still has to be sent.
const UNSENT: u32 = 256 << 10;
/// How often the kernel is asked about the connection. The thesis samples what is sent every 50 ms.
const LOOK: Duration = Duration::from_millis(50);
/// Headers of IPv4 or IPv6, and of TCP with timestamps, bytes.
const HEADER: [f64; 2] = [52.0, 72.0];

/// What a transfer has shown.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Shown {
    /// What arrived, bytes.
    pub(crate) bytes: f64,
    /// Payload over the whole time, bit/s.
    pub(crate) throughput: f64,
    /// What the path carried in its best intervals, with headers, bit/s; zero if the transfer was too short.
    pub(crate) capacity: f64,
    /// Segments.
    pub(crate) closing_window: f64,
    /// The longest smoothed round-trip time above the smallest one, s.
    pub(crate) waiting: f64,
}

/// Sends to the sink at this host, within its limits and ours.
pub(crate) fn transfer(host: IpAddr, plan: &Transfer, stop: &AtomicBool) -> io::Result<Shown> {
    let mut stream = TcpStream::connect_timeout(&SocketAddr::new(host, plan.port), PATIENCE)?;
    let (length, most) = limits(&stream, plan)?;
    if let Some(control) = &plan.control {
        let unknown =
            |error| io::Error::other(format!("the kernel's controller {control} cannot be chosen: {error}"));
        set_controller(&stream, control).map_err(unknown)?;
    }
    set_send_buffer(&stream, BUFFER)?;
    set_unsent(&stream, UNSENT)?;
    stream.set_write_timeout(Some(LOOK))?;
    writeln!(stream, "{PROTOCOL}")?;
    let begun = Instant::now();
    let seen = send(&mut stream, begun, length, most, stop)?;
    stream.shutdown(Shutdown::Write)?;
    let arrived = words(&mut Timed::new(&stream, PATIENCE), PROTOCOL)?;
    let seconds = begun.elapsed().as_secs_f64();
    // A sink may be wrong, but it has not got more than was sent.
    let number = |at: usize, most: f64| -> io::Result<f64> {
        let word = arrived.get(at).and_then(|word| word.parse::<f64>().ok());
        word.filter(|it| (0.0..=most).contains(it)).ok_or_else(|| ErrorKind::InvalidData.into())
    };
    let sent = seen.bytes as f64;
    let (bytes, rate) = (number(0, sent)?, number(1, sent * 8.0 / INTERVAL.as_secs_f64())?);
    let payload = f64::from(seen.segment.max(1));
    let header = HEADER[usize::from(host.is_ipv6())];
    Ok(Shown {
        bytes,
        throughput: bytes * 8.0 / seconds,
        capacity: rate * (payload + header) / payload,
        closing_window: f64::from(seen.window),
        waiting: f64::from(seen.longest.saturating_sub(seen.shortest)) * 1e-6,
    })
}

/// How long and how much: the smaller ones of what the sink and what the plan allows.
fn limits(stream: &TcpStream, plan: &Transfer) -> io::Result<(Duration, u64)> {
    let greeting = words(&mut Timed::new(stream, PATIENCE), PROTOCOL)?;
    let theirs: Vec<u64> = greeting.iter().filter_map(|word| word.parse().ok()).collect();
    let [ms, most] = theirs[..] else { return Err(ErrorKind::InvalidData.into()) };
    Ok((Duration::from_nanos(plan.length.as_nanos()).min(Duration::from_millis(ms)), most.min(plan.most.0)))
}

/// What the kernel said during a transfer.
#[derive(Default)]
struct Seen {
    /// Smoothed round-trip times, us.
    longest: u32,
    shortest: u32,
    /// Segments.
    window: u32,
    /// Payload of a segment, bytes.
    segment: u32,
    /// What the socket has accepted.
    bytes: u64,
}

fn send(
    stream: &mut TcpStream,
    begun: Instant,
    length: Duration,
    most: u64,
    stop: &AtomicBool,
) -> io::Result<Seen> {
    let block = vec![0x55; 64 << 10];
    let (mut left, mut seen, mut look) = (most, Seen::default(), Duration::ZERO);
    loop {
        let now = begun.elapsed();
        if now >= look {
            let info = TcpInfo::of(stream.as_fd());
            seen.longest = seen.longest.max(info.rtt);
            seen.shortest = info.min_rtt;
            (seen.window, seen.segment) = (info.snd_cwnd, info.segment());
            look = now + LOOK;
        }
        if now >= length || left == 0 {
            seen.bytes = most - left;
            return Ok(seen);
        }
        if stop.load(Ordering::Relaxed) {
            return Err(ErrorKind::Interrupted.into());
        }
        let next = block.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        match stream.write(&block[..next]) {
            Ok(bytes) => left -= bytes as u64,
            Err(error) if is_timeout(&error) || error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

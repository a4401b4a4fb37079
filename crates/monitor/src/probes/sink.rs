//! A sink: takes the transfers of other monitors, and tells them what arrived.
//!
//! Nothing flows without its consent. Who is not allowed is not even greeted. Everybody else is told how long
//! and how much, and is cut off when that is exceeded. So a monitor cannot be turned against a host that does
//! not want its traffic.

use super::search;
use crate::plan::Sink;
use ackclock_sockets::{covers, read_within, set_receive_buffer};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// The first word of both sides.
pub(super) const PROTOCOL: &str = "ackclock-transfer/1";
/// Arrivals are counted in intervals of this length. They are short against a transfer, and long against the
/// time that a reader may have to wait for the processor.
pub(super) const INTERVAL: Duration = Duration::from_millis(250);
/// How often a sink looks whether it should end.
const LOOK: Duration = Duration::from_millis(50);
/// What a silent peer may take.
const SILENCE: Duration = Duration::from_secs(5);
/// The memory of each socket for receiving, bytes: a window for 1 Gbit/s at 100 ms, where the system allows
/// it.
const BUFFER: u64 = 32 << 20;
/// Transfers at the same time. More would measure each other.
const MOST: usize = 4;

/// A sink that listens.
#[derive(Debug)]
pub(crate) struct Listening {
    listener: TcpListener,
    shared: Arc<Shared>,
}

/// What all transfers and searches share.
#[derive(Debug)]
struct Shared {
    plan: Sink,
    /// Takes the datagrams of a search, one search at a time.
    datagrams: Option<Mutex<UdpSocket>>,
    open: AtomicUsize,
}

impl Listening {
    pub(crate) fn begin(plan: &Sink) -> io::Result<Listening> {
        let listener = TcpListener::bind(plan.listen)?;
        // Before a connection exists: its window scale is chosen with the first segment (RFC 7323).
        set_receive_buffer(&listener, BUFFER)?;
        listener.set_nonblocking(true)?;
        let datagrams = match plan.search {
            Some(_) => {
                let socket = UdpSocket::bind(listener.local_addr()?)?;
                set_receive_buffer(&socket, BUFFER)?;
                Some(Mutex::new(socket))
            }
            None => None,
        };
        let shared = Shared { plan: plan.clone(), datagrams, open: AtomicUsize::new(0) };
        Ok(Listening { listener, shared: Arc::new(shared) })
    }

    /// Serves until `stop` is set. What goes wrong with a peer ends only its transfer.
    pub(crate) fn serve(self, stop: &'static AtomicBool) {
        while !stop.load(Ordering::Relaxed) {
            let Ok((stream, peer)) = self.listener.accept() else {
                thread::sleep(LOOK);
                continue;
            };
            let Some(guest) = Guest::admit(&self.shared, peer.ip()) else { continue };
            // Where there is no thread, the other side sees that its transfer has ended.
            let _ = thread::Builder::new().spawn(move || take(stream, &guest, stop));
        }
    }

    #[cfg(test)]
    pub(super) fn address(&self) -> std::net::SocketAddr {
        self.listener.local_addr().expect("it listens")
    }
}

/// A peer that is served. It counts until it is dropped.
struct Guest {
    shared: Arc<Shared>,
    peer: IpAddr,
}

impl Guest {
    fn admit(shared: &Arc<Shared>, peer: IpAddr) -> Option<Guest> {
        if !covers(&shared.plan.allow, peer) {
            return None;
        }
        let before = shared.open.fetch_add(1, Ordering::Relaxed);
        // One that is not admitted is dropped, and no longer counts.
        let guest = Guest { shared: shared.clone(), peer };
        (before < MOST).then_some(guest)
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        self.shared.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Greets a peer, and takes what it asks for: a transfer, or a search.
fn take(mut stream: TcpStream, guest: &Guest, stop: &AtomicBool) -> io::Result<()> {
    let plan = &guest.shared.plan;
    stream.set_nonblocking(false)?;
    stream.set_nodelay(true)?;
    stream.set_write_timeout(Some(SILENCE))?;
    writeln!(stream, "{PROTOCOL} {} {}", plan.length.as_nanos() / 1_000_000, plan.most.0)?;
    let mut answer = [0; PROTOCOL.len() + 1];
    // All of it within that time: a byte now and then would hold one of the few places for long.
    read_within(&stream, &mut answer, SILENCE)?;
    if answer.strip_suffix(b"\n") == Some(search::PROTOCOL.as_bytes()) {
        return search::sink::take(stream, guest.shared.datagrams.as_ref(), plan.search, guest.peer, stop);
    }
    if answer.strip_suffix(b"\n") != Some(PROTOCOL.as_bytes()) {
        return Err(ErrorKind::InvalidData.into());
    }
    stream.set_read_timeout(Some(SILENCE))?;
    let arrived = count(&mut stream, plan, stop)?;
    writeln!(stream, "{PROTOCOL} {} {}", arrived.bytes, arrived.rate())
}

const _: () = assert!(PROTOCOL.len() == search::PROTOCOL.len());

/// What has arrived.
#[derive(Default)]
struct Arrived {
    bytes: u64,
    /// Bytes of each interval.
    intervals: Vec<u64>,
}

impl Arrived {
    fn add(&mut self, after: Duration, bytes: usize) {
        let interval = (after.as_nanos() / INTERVAL.as_nanos()) as usize;
        self.intervals.resize(self.intervals.len().max(interval + 1), 0);
        self.intervals[interval] += bytes as u64;
        self.bytes += bytes as u64;
    }

    /// The rate that nine tenths of the complete intervals do not exceed, bit/s; zero if there is none.
    fn rate(&self) -> f64 {
        let mut complete = self.intervals[..self.intervals.len().saturating_sub(1)].to_vec();
        complete.sort_unstable();
        let complete: Vec<f64> = complete.iter().map(|&bytes| bytes as f64).collect();
        let bytes = ackclock_scenario::results::percentile(&complete, 90.0);
        if bytes.is_nan() { 0.0 } else { bytes * 8.0 / INTERVAL.as_secs_f64() }
    }
}

fn count(stream: &mut TcpStream, plan: &Sink, stop: &AtomicBool) -> io::Result<Arrived> {
    let mut arrived = Arrived::default();
    let mut buffer = vec![0; 256 << 10];
    let mut begun = None;
    // A round trip more: the peer may end in time, and its last bytes are still on their way.
    let length = Duration::from_nanos(plan.length.as_nanos()) + SILENCE;
    loop {
        let bytes = match stream.read(&mut buffer) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            other => other?,
        };
        if bytes == 0 {
            return Ok(arrived);
        }
        let begun: &mut Instant = begun.get_or_insert_with(Instant::now);
        arrived.add(begun.elapsed(), bytes);
        let over = begun.elapsed() > length || arrived.bytes > plan.most.0;
        if over || stop.load(Ordering::Relaxed) {
            return Err(ErrorKind::QuotaExceeded.into());
        }
    }
}

/// Reads a line of at most 200 bytes, and not a byte of what follows it: its words after the name of the
/// protocol.
pub fn words(stream: &mut impl Read, protocol: &str) -> io::Result<Vec<String>> {
    let (mut line, mut byte) = (Vec::new(), [0]);
    while line.len() < 200 && !line.ends_with(b"\n") {
        stream.read_exact(&mut byte)?;
        line.push(byte[0]);
    }
    let line = String::from_utf8_lossy(&line);
    let mut words = line.split_whitespace();
    if words.next() != Some(protocol) || !line.ends_with('\n') {
        return Err(io::Error::new(
            ErrorKind::InvalidData,
            "the peer is no sink, or does not allow this host",
        ));
    }
    Ok(words.map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_interval_does_not_count() {
        let mut arrived = Arrived::default();
        assert_eq!(arrived.rate(), 0.0);
        for (ms, bytes) in [(0, 10), (249, 20), (250, 500), (600, 40), (800, 9)] {
            arrived.add(Duration::from_millis(ms), bytes);
        }
        assert_eq!((arrived.bytes, &arrived.intervals[..]), (579, &[30, 500, 40, 9][..]));
        // 500 B in 250 ms.
        assert_eq!(arrived.rate(), 16_000.0);
    }
}

//! A stream of a test: a thread that sends or receives, and what it counts.

use super::message::{Parameters, StreamResult, read_header, write_header};
use crate::agent::clock::Clock;
use crate::agent::guard::Guard;
use crate::agent::tcp::ZEROS;
use crate::agent::waking::Waking;
use crate::policy::Grant;
use ackclock_sockets::{TcpInfo, controller, is_timeout, set_controller, set_pacing_rate};
use ackclock_units::{Duration as Span, Rate, Time};
use std::io::{self, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// The longest time until a thread notices that it shall end.
pub(super) const STEP: Duration = Duration::from_millis(50);

/// The connection of a stream.
pub(super) enum Socket {
    Tcp(TcpStream),
    Udp(UdpSocket),
}

/// What all streams of a test share.
pub(super) struct Terms {
    pub(super) asked: Parameters,
    pub(super) clock: Clock,
    grant: Grant,
    /// Who sends shall end.
    stop_sending: AtomicBool,
    /// Who receives shall end.
    stop_receiving: AtomicBool,
    /// Bytes that were begun to be sent, over all streams, since the time that does not count.
    begun: AtomicU64,
    /// A stream has exceeded what the policy grants.
    exceeded: AtomicBool,
}

impl Terms {
    pub(super) fn new(asked: Parameters, grant: Grant) -> Terms {
        Terms {
            asked,
            clock: Clock::start(),
            grant,
            stop_sending: AtomicBool::new(false),
            stop_receiving: AtomicBool::new(false),
            begun: AtomicU64::new(0),
            exceeded: AtomicBool::new(false),
        }
    }

    pub(super) fn stop_sending(&self) {
        self.stop_sending.store(true, Ordering::Relaxed);
    }

    pub(super) fn stop(&self) {
        self.stop_sending();
        self.stop_receiving.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_exceeded(&self) -> bool {
        self.exceeded.load(Ordering::Relaxed)
    }

    /// May another block that counts be begun?
    fn take_block(&self) -> bool {
        let Some(limit) = self.asked.limit() else { return true };
        self.begun.fetch_add(self.asked.len, Ordering::Relaxed) < limit
    }

    /// The rate of each stream that sends, bit/s.
    fn rate(&self) -> Option<u64> {
        [Some(self.asked.bandwidth).filter(|&rate| rate > 0), self.grant.rate].into_iter().flatten().min()
    }
}

/// What a stream has counted so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Counted {
    pub(super) bytes: u64,
    packets: u64,
    lost: i64,
    jitter_us: f64,
    retransmissions: Option<u64>,
    first: Option<Time>,
    last: Option<Time>,
    pub(super) control: Option<String>,
    /// Of all these, what does not count; `None` as long as nothing does.
    omitted: Option<Omitted>,
    /// True if it will not send any more by itself.
    pub(super) ended: bool,
}

/// What had been counted when the time was over that does not count.
#[derive(Clone, Copy, Debug, Default)]
struct Omitted {
    bytes: u64,
    packets: u64,
    lost: i64,
    retransmissions: u64,
}

/// A stream.
pub(super) struct Flow {
    pub(super) id: u32,
    pub(super) sends: bool,
    counted: Arc<Mutex<Counted>>,
    thread: Option<JoinHandle<()>>,
}

impl Flow {
    /// Begins to send or to receive.
    ///
    /// # Errors
    ///
    /// If there is no thread for it, or if the socket refuses its time-outs.
    pub(super) fn start(id: u32, sends: bool, socket: Socket, terms: &Arc<Terms>) -> io::Result<Flow> {
        match &socket {
            Socket::Tcp(stream) => {
                stream.set_nonblocking(false)?;
                stream.set_read_timeout(Some(STEP))?;
                stream.set_write_timeout(Some(STEP))?;
            }
            Socket::Udp(socket) => {
                socket.set_read_timeout(Some(STEP))?;
                socket.set_write_timeout(Some(STEP))?;
            }
        }
        let counted = Arc::new(Mutex::new(Counted::default()));
        let (shared, terms) = (counted.clone(), terms.clone());
        let work = move || {
            let work = Work {
                terms: &terms,
                shared: &shared,
                counted: Counted::default(),
                guard: Guard::new(terms.grant),
                counts_from: terms.clock.now() + Span::from_secs_f64(terms.asked.omit),
            };
            match (sends, socket) {
                (true, Socket::Tcp(stream)) => work.send_tcp(&stream),
                (true, Socket::Udp(socket)) => work.send_udp(&socket),
                (false, Socket::Tcp(stream)) => work.receive_tcp(&stream),
                (false, Socket::Udp(socket)) => work.receive_udp(&socket),
            }
        };
        let thread = std::thread::Builder::new().stack_size(128 << 10).spawn(work)?;
        Ok(Flow { id, sends, counted, thread: Some(thread) })
    }

    /// What it has counted so far.
    pub(super) fn counted(&self) -> Counted {
        self.counted.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until its thread has ended.
    pub(super) fn join(&mut self) {
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has said so.
            let _ = thread.join();
        }
    }

    /// Its results, as iperf3 tells them.
    pub(super) fn result(&self) -> StreamResult {
        let counted = self.counted();
        // Where the time that does not count has never ended, nothing counts.
        let omitted = counted.omitted.unwrap_or(Omitted {
            bytes: counted.bytes,
            packets: counted.packets,
            lost: counted.lost,
            retransmissions: counted.retransmissions.unwrap_or(0),
        });
        let retransmits = counted.retransmissions.map(|count| count.saturating_sub(omitted.retransmissions));
        let span = match (counted.first, counted.last) {
            (Some(first), Some(last)) => last.since(first).as_secs_f64(),
            _ => 0.0,
        };
        StreamResult {
            id: self.id,
            bytes: counted.bytes - omitted.bytes,
            retransmits: retransmits.map_or(-1, |count| count as i64),
            jitter: counted.jitter_us * 1e-6,
            errors: counted.lost,
            omitted_errors: omitted.lost,
            packets: counted.packets as i64,
            omitted_packets: omitted.packets as i64,
            end_time: span,
            ..StreamResult::default()
        }
    }
}

/// A stream at work.
struct Work<'a> {
    terms: &'a Terms,
    shared: &'a Mutex<Counted>,
    counted: Counted,
    guard: Guard,
    /// What flows counts from here on.
    counts_from: Time,
}

impl Work<'_> {
    /// Notes what was counted. False if the policy is exceeded.
    fn add(&mut self, bytes: u64) -> bool {
        let now = self.terms.clock.now();
        self.counted.first.get_or_insert(now);
        self.counted.last = Some(now);
        self.counted.bytes += bytes;
        self.show();
        let within = self.guard.check(now, self.counted.bytes).is_none();
        if !within {
            self.terms.exceeded.store(true, Ordering::Relaxed);
        }
        within
    }

    /// When the time is over that does not count, nothing counts that was counted so far.
    fn omit(&mut self, retransmissions: impl FnOnce() -> u64) {
        let now = self.terms.clock.now();
        if self.counted.omitted.is_some() || now < self.counts_from {
            return;
        }
        let Counted { bytes, packets, lost, .. } = self.counted;
        self.counted.omitted = Some(Omitted { bytes, packets, lost, retransmissions: retransmissions() });
        if bytes > 0 {
            (self.counted.first, self.counted.jitter_us) = (Some(now), 0.0);
        }
    }

    /// May another block be begun? What does not count is not limited.
    fn take_block(&self) -> bool {
        self.counted.omitted.is_none() || self.terms.take_block()
    }

    fn show(&self) {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&self.counted);
    }

    fn ends(&mut self) {
        self.counted.ended = true;
        self.show();
    }

    /// Sleeps until the bytes so far are due at `rate`; false if nobody wants more.
    fn pace(&self, start: Time, rate: Option<u64>) -> bool {
        let Some(rate) = rate else { return !self.terms.stop_sending.load(Ordering::Relaxed) };
        let due = start + Rate::from_bps(rate).time_for(self.counted.bytes);
        loop {
            if self.terms.stop_sending.load(Ordering::Relaxed) {
                return false;
            }
            let left = due.since(self.terms.clock.now()).as_nanos();
            if left == 0 {
                return true;
            }
            std::thread::sleep(Duration::from_nanos(left).min(STEP));
        }
    }

    fn send_tcp(mut self, mut stream: &TcpStream) {
        let start = self.terms.clock.now();
        self.counted.first = Some(start);
        if let Some(rate) = self.terms.grant.rate {
            // Where the kernel does not pace, the loop below does.
            let _ = set_pacing_rate(stream, Rate::from_bps(rate));
        }
        self.counted.control = controller(stream).ok();
        let retransmissions = || u64::from(TcpInfo::of(stream.as_fd()).total_retrans);
        self.omit(retransmissions);
        while self.pace(start, self.terms.rate()) && self.take_block() {
            let mut left = self.terms.asked.len;
            while left > 0 && !self.terms.stop_sending.load(Ordering::Relaxed) {
                self.omit(retransmissions);
                match stream.write(&ZEROS[..left.min(ZEROS.len() as u64) as usize]) {
                    Ok(bytes) if bytes > 0 => {
                        left -= bytes as u64;
                        if !self.add(bytes as u64) {
                            return self.ends();
                        }
                    }
                    Err(error) if is_timeout(&error) => {}
                    _ => return self.ends(),
                }
            }
        }
        // What was sent shall be there before the test ends.
        let begun = self.terms.clock.now();
        loop {
            let info = TcpInfo::of(stream.as_fd());
            self.counted.retransmissions = Some(info.total_retrans.into());
            let waited = self.terms.clock.now().since(begun).as_secs_f64();
            if info.bytes_acked >= self.counted.bytes || waited > 2.0 {
                break;
            }
            std::thread::sleep(STEP / 20);
        }
        self.ends();
    }

    fn send_udp(mut self, socket: &UdpSocket) {
        let start = self.terms.clock.now();
        self.counted.first = Some(start);
        let mut datagram = vec![0; self.terms.asked.len as usize];
        let wide = self.terms.asked.udp_counters_64bit != 0;
        self.omit(|| 0);
        while self.pace(start, self.terms.rate()) && self.take_block() {
            self.omit(|| 0);
            let now = self.terms.clock.now().as_nanos() / 1000;
            write_header(&mut datagram, now, self.counted.packets + 1, wide);
            match socket.send(&datagram) {
                Ok(bytes) => {
                    self.counted.packets += 1;
                    if !self.add(bytes as u64) {
                        break;
                    }
                }
                Err(error) if is_timeout(&error) => {}
                Err(error) if error.raw_os_error() == Some(rustix::io::Errno::NOBUFS.raw_os_error()) => {}
                // The other end is not there any more.
                Err(_) => break,
            }
        }
        self.ends();
    }

    fn receive_tcp(mut self, mut stream: &TcpStream) {
        let mut buffer = vec![0; self.terms.asked.len.clamp(4096, 128 << 10) as usize];
        let mut waking = Waking::new(buffer.len(), STEP, self.terms.clock.now());
        while !self.terms.stop_receiving.load(Ordering::Relaxed) {
            let bytes = match stream.read(&mut buffer) {
                Ok(0) => break,
                Ok(bytes) => bytes as u64,
                Err(error) if is_timeout(&error) => 0,
                Err(_) => break,
            };
            if waking.read(stream, self.terms.clock.now(), bytes).is_err() {
                break;
            }
            if bytes > 0 {
                self.omit(|| 0);
                if !self.add(bytes) {
                    break;
                }
            }
        }
        self.ends();
    }

    fn receive_udp(mut self, socket: &UdpSocket) {
        let mut buffer = vec![0; 65_535];
        let wide = self.terms.asked.udp_counters_64bit != 0;
        let mut transit = None;
        while !self.terms.stop_receiving.load(Ordering::Relaxed) {
            let length = match socket.recv(&mut buffer) {
                Ok(length) => length,
                Err(error) if is_timeout(&error) => continue,
                // A host that says that nobody listens there any more.
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => continue,
                Err(_) => break,
            };
            let Some((left, number)) = read_header(&buffer[..length], wide) else { continue };
            self.omit(|| 0);
            // iperf3 counts what arrives late as not lost after all.
            if number > self.counted.packets {
                self.counted.lost += (number - self.counted.packets - 1).min(i64::MAX as u64 / 2) as i64;
                self.counted.packets = number;
            } else {
                self.counted.lost -= i64::from(self.counted.lost > 0);
            }
            let took = (self.terms.clock.now().as_nanos() / 1000) as f64 - left as f64;
            if let Some(before) = transit.replace(took) {
                let d: f64 = took - before;
                self.counted.jitter_us += (d.abs() - self.counted.jitter_us) / 16.0;
            }
            if !self.add(length as u64) {
                break;
            }
        }
        self.ends();
    }
}

/// Chooses the congestion controller that was asked for.
///
/// # Errors
///
/// If the kernel does not give it.
pub(super) fn choose(stream: &TcpStream, asked: &Parameters) -> io::Result<()> {
    match &asked.congestion {
        Some(name) => set_controller(stream, name),
        None => Ok(()),
    }
}

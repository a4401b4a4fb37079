//! A flow of the scenario as a real TCP connection: bulk data from one host to another, one transfer after
//! the other.

use crate::clock::Clock;
use crate::error::LiveError;
use crate::host::Host;
use crate::schedule;
use crate::tcp_info::{HostCounters, TcpInfo};
use crate::writer::Bursting;
use ackclock_scenario::measured::Transfer;
use ackclock_scenario::plan::FlowPlan;
use ackclock_scenario::writing::BurstTally;
use ackclock_units::{Duration, Time};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, ioctl_fionbio};
use rustix::net::sockopt::{
    Timeout, set_socket_linger, set_socket_recv_buffer_size_force, set_socket_send_buffer_size_force,
    set_socket_timeout, set_tcp_congestion, socket_error,
};
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, ipproto, socket_with};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Mutex, MutexGuard, PoisonError};

const PORT: u16 = 5001;
/// Bytes of one write or read.
pub(crate) const CHUNK: usize = 256 << 10;
/// Bytes that wait in the socket beside those in flight.
const UNSENT: i32 = 2 << 20;
/// A connection never gives up, however much is lost, as a simulated one does not: most segments that a
/// handshake begins with (TCP_SYNCNT), and how long data may stay unacknowledged (TCP_USER_TIMEOUT, ms).
const HANDSHAKES: i32 = 127;
const UNACKNOWLEDGED: i32 = i32::MAX;
/// How soon a blocked thread notices the end of the run.
const PATIENCE: std::time::Duration = std::time::Duration::from_millis(50);

/// A flow while it runs.
pub(crate) struct Flow<'a> {
    pub(crate) plan: &'a FlowPlan,
    pub(crate) sender: &'a Host,
    pub(crate) receiver: &'a Host,
    /// The controller's name in the kernel.
    pub(crate) control: &'a str,
    /// Payload of a real segment, bytes.
    pub(crate) payload: u32,
    pub(crate) clock: Clock,
    pub(crate) stop: &'a AtomicBool,
    tracked: Mutex<Tracked>,
}

/// What is known of the flow's connections.
#[derive(Default)]
pub(crate) struct Tracked {
    sending: Option<TcpStream>,
    receiving: Option<TcpStream>,
    counters: Option<HostCounters>,
    /// Of connections that are over.
    sent: u64,
    received: u64,
    arrived: u64,
    rtt_min_us: Option<u32>,
    transfers: Vec<Transfer>,
    waited: u64,
    pub(crate) bursting: Bursting,
}

impl Tracked {
    /// A new connection takes the place of the one before.
    fn follow(&mut self, sending: Option<TcpStream>) {
        if let Some(before) = std::mem::replace(&mut self.sending, sending) {
            self.sent += u64::from(TcpInfo::of(before.as_fd()).data_segs_out);
        }
    }
}

/// Totals of a flow since it began, and its present state.
#[derive(Clone, Debug, Default)]
pub(crate) struct Snapshot {
    pub(crate) at: Time,
    /// Bytes that the receiving kernel has in order, whether or not the program has read them.
    pub(crate) received: u64,
    pub(crate) sent: u64,
    pub(crate) arrived: u64,
    pub(crate) retransmits: u64,
    pub(crate) fast_retransmits: u64,
    pub(crate) timeouts: u64,
    /// Segments that the receiver reported as having come twice (DSACK).
    pub(crate) duplicates: u64,
    pub(crate) rtt_min: Option<Duration>,
    /// Of the present connection, if there is one.
    pub(crate) info: Option<TcpInfo>,
}

impl<'a> Flow<'a> {
    pub(crate) fn new(
        plan: &'a FlowPlan,
        ends: (&'a Host, &'a Host),
        control: &'a str,
        payload: u32,
        clock: Clock,
        stop: &'a AtomicBool,
    ) -> Flow<'a> {
        let (sender, receiver) = ends;
        Flow { plan, sender, receiver, control, payload, clock, stop, tracked: Mutex::default() }
    }

    pub(crate) fn tracked(&self) -> MutexGuard<'_, Tracked> {
        self.tracked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn over(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Does the application still want to send?
    pub(crate) fn goes_on(&self) -> bool {
        !self.over() && self.plan.stop.is_none_or(|stop| self.clock.now() < stop)
    }

    /// The receiving program: to be run in a thread of its own. Says when it listens, and when each transfer
    /// is complete.
    pub(crate) fn receive(&self, listens: &Sender<()>, complete: &Sender<Time>) -> Result<(), LiveError> {
        let failed = || LiveError::kernel(format!("{} cannot receive", self.receiver.name));
        schedule::ahead();
        self.receiver.enter().map_err(failed())?;
        let listener = TcpListener::bind((self.receiver.address, PORT)).map_err(failed())?;
        set_socket_timeout(&listener, Timeout::Recv, Some(PATIENCE))
            .map_err(|error| failed()(error.into()))?;
        self.limit_window(&listener).map_err(failed())?;
        // A sender that is gone no longer wants to hear of it.
        let _ = listens.send(());
        let mut buffer = vec![0; CHUNK];
        while !self.over() {
            let stream = match listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if is_timeout(&error) => continue,
                Err(error) => return Err(failed()(error)),
            };
            stream.set_read_timeout(Some(PATIENCE)).map_err(failed())?;
            forget_when_over(&stream).map_err(failed())?;
            self.tracked().receiving = stream.try_clone().ok();
            self.drain(stream, &mut buffer, complete);
        }
        Ok(())
    }

    /// The scenario's receive window, where it has one that real TCP can offer (RFC 7323: below 2^30 bytes),
    /// about: Linux offers what the buffer has room for, counted with the memory that packets take, which is
    /// about as much again; the buffer is twice what is asked for. A limit on the window itself it lifts when
    /// it learns how large packets are.
    fn limit_window(&self, listener: &TcpListener) -> io::Result<()> {
        let window = u64::from(self.plan.config.peer_window) * u64::from(self.payload);
        let Some(window) = i32::try_from(window).ok().filter(|&window| window < 1 << 30) else {
            return Ok(());
        };
        Ok(set_socket_recv_buffer_size_force(listener, window as usize)?)
    }

    /// Reads one connection to its end.
    fn drain(&self, mut stream: TcpStream, buffer: &mut [u8], complete: &Sender<Time>) {
        let (mut received, mut reads) = (0, None::<(Time, Time)>);
        let ended = loop {
            match stream.read(buffer) {
                Ok(0) => break true,
                Ok(bytes) => {
                    let now = self.clock.now();
                    received += bytes as u64;
                    reads = Some((reads.map_or(now, |(first, _)| first), now));
                }
                Err(error) if is_timeout(&error) && !self.over() => {}
                Err(_) => break false,
            }
            if self.over() {
                break false;
            }
        };
        let now = self.clock.now();
        let mut tracked = self.tracked();
        tracked.bursting.arrived(received, reads);
        if !ended {
            return;
        }
        let info = TcpInfo::of(stream.as_fd());
        tracked.received += info.bytes_received;
        tracked.arrived += u64::from(info.data_segs_in);
        tracked.receiving = None;
        drop(tracked);
        let _ = complete.send(now);
    }

    /// The sending program: to be run in a thread of its own.
    pub(crate) fn send(&self, listens: &Receiver<()>, complete: &Receiver<Time>) -> Result<(), LiveError> {
        let failed = || LiveError::kernel(format!("{} cannot send", self.sender.name));
        schedule::ahead();
        self.sender.enter().map_err(failed())?;
        self.tracked().counters = Some(HostCounters::open().map_err(failed())?);
        if listens.recv().is_err() {
            return Ok(()); // the receiver says why it does not listen
        }
        self.sleep_until(self.plan.start);
        let mut requests = self.plan.requests.clone();
        for _ in 0..requests.repeat {
            if !self.goes_on() {
                break;
            }
            let begun = self.clock.now();
            let segments = requests.next_size();
            if let Some(bytes) = self.bytes_of(segments) {
                self.tracked().transfers.push(Transfer { begun, bytes, took: None });
            }
            let all = self.transfer(segments)?;
            let done = loop {
                match complete.recv_timeout(PATIENCE) {
                    Ok(done) => break done,
                    Err(_) if self.over() => return Ok(()),
                    Err(_) => {}
                }
            };
            // What the application gave up before its end is no transfer that is complete.
            if let (true, Some(transfer)) = (all, self.tracked().transfers.last_mut()) {
                transfer.took = Some(done.since(begun));
            }
            let next = requests.next_start(begun, self.clock.now());
            self.tracked().waited = requests.waited;
            self.sleep_until(next);
        }
        Ok(())
    }

    /// One connection for so many segments, or for as many as there is time for; true if all of it was
    /// written.
    fn transfer(&self, segments: Option<u64>) -> Result<bool, LiveError> {
        let failed = || LiveError::kernel(format!("{} cannot send", self.sender.name));
        let Some(mut stream) = self.connect()? else { return Ok(false) };
        self.tracked().follow(stream.try_clone().ok());
        let written = match self.plan.writing.and_then(|writing| writing.bursts) {
            Some(bursts) => self.write_bursts(&mut stream, bursts),
            None => self.write_all(&mut stream, segments),
        };
        let ended = written.and_then(|all| {
            if !self.over() {
                stream.shutdown(Shutdown::Write)?;
            }
            Ok(all)
        });
        match ended {
            // At the end of the run either end may close first; then the other one's error says nothing.
            Err(_) if self.over() => Ok(false),
            ended => ended.map_err(failed()),
        }
    }

    /// Connects. `None`: the run was over before the handshake was.
    fn connect(&self) -> Result<Option<TcpStream>, LiveError> {
        let failed = || LiveError::kernel(format!("{} cannot connect", self.sender.name));
        let refused = |error: Errno| failed()(error.into());
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, Some(ipproto::TCP))
            .map_err(refused)?;
        set_tcp_congestion(&socket, self.control)
            .map_err(|error| LiveError::Control { name: self.control.to_owned(), reason: error.into() })?;
        for (option, value) in [
            (libc::TCP_NOTSENT_LOWAT, UNSENT),
            (libc::TCP_SYNCNT, HANDSHAKES),
            (libc::TCP_USER_TIMEOUT, UNACKNOWLEDGED),
        ] {
            set_option(socket.as_fd(), option, value).map_err(failed())?;
        }
        if let Some(buffer) = self.plan.writing.and_then(|writing| writing.buffer) {
            // The kernel doubles what is asked for, and counts little besides the data itself.
            set_socket_send_buffer_size_force(&socket, (buffer / 2) as usize).map_err(refused)?;
        }
        match connect(&socket, &SocketAddrV4::new(self.receiver.address, PORT)) {
            Ok(()) | Err(Errno::INPROGRESS) => {}
            Err(error) => return Err(refused(error)),
        }
        if !self.handshake(&socket).map_err(refused)? {
            return Ok(None);
        }
        ioctl_fionbio(&socket, false).map_err(refused)?;
        let stream = TcpStream::from(socket);
        stream.set_write_timeout(Some(PATIENCE)).map_err(failed())?;
        forget_when_over(&stream).map_err(failed())?;
        Ok(Some(stream))
    }

    /// Waits for the end of a handshake. False: the run was over before.
    fn handshake(&self, socket: &OwnedFd) -> rustix::io::Result<bool> {
        let patience = Timespec { tv_sec: 0, tv_nsec: PATIENCE.as_nanos() as _ };
        while !self.over() {
            match poll(&mut [PollFd::new(socket, PollFlags::OUT)], Some(&patience)) {
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) => match socket_error(socket)? {
                    Ok(()) => return Ok(true),
                    // Over, and the other end has closed already: the next look at the run says so.
                    Err(_) if self.over() => {}
                    Err(error) => return Err(error),
                },
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }

    /// Writes a transfer of so many segments, or for as long as there is time; true if all of it was written.
    fn write_all(&self, stream: &mut TcpStream, segments: Option<u64>) -> io::Result<bool> {
        let chunk = vec![0; CHUNK];
        let mut left = segments.unwrap_or(u64::MAX).saturating_mul(u64::from(self.plan.config.payload));
        while left > 0 && self.goes_on() {
            match stream.write(&chunk[..(CHUNK as u64).min(left) as usize]) {
                Ok(bytes) => left -= bytes as u64,
                Err(error) if is_timeout(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(left == 0)
    }

    pub(crate) fn sleep_until(&self, at: Time) {
        while !self.over() {
            let left = at.since(self.clock.now());
            if left.is_zero() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_nanos(left.as_nanos()).min(PATIENCE));
        }
    }

    /// How far the flow is.
    pub(crate) fn snapshot(&self) -> Snapshot {
        let mut tracked = self.tracked();
        let info = tracked.sending.as_ref().map(|socket| TcpInfo::of(socket.as_fd()));
        let arriving = tracked.receiving.as_ref().map(|socket| TcpInfo::of(socket.as_fd()));
        if let Some(least) = info.map(|info| info.min_rtt).filter(|&rtt| rtt > 0 && rtt < u32::MAX) {
            tracked.rtt_min_us = Some(tracked.rtt_min_us.map_or(least, |known| known.min(least)));
        }
        let counts = tracked.counters.as_mut().and_then(|counters| counters.read().ok()).unwrap_or_default();
        let count = |name: &str| counts.get(name).copied().unwrap_or(0);
        Snapshot {
            at: self.clock.now(),
            received: tracked.received + arriving.map_or(0, |info| info.bytes_received),
            sent: tracked.sent + info.map_or(0, |info| u64::from(info.data_segs_out)),
            arrived: tracked.arrived + arriving.map_or(0, |info| u64::from(info.data_segs_in)),
            retransmits: count("RetransSegs"),
            fast_retransmits: count("TCPSackRecovery") + count("TCPRenoRecovery"),
            timeouts: count("TCPTimeouts"),
            duplicates: count("TCPDSACKRecv"),
            rtt_min: tracked.rtt_min_us.map(|us| Duration::from_micros(us.into())),
            info,
        }
    }

    /// What became of its bursts, if it writes any.
    pub(crate) fn bursts(&self) -> Option<BurstTally> {
        self.tracked().bursting.tally()
    }

    /// Transfers so far that came while the one before was under way.
    pub(crate) fn waited(&self) -> u64 {
        self.tracked().waited
    }

    /// Every transfer of a size so far.
    pub(crate) fn transfers(&self) -> Vec<Transfer> {
        self.tracked().transfers.clone()
    }

    /// Bytes of a transfer of so many segments, or of all bursts; `None` if it has no end of its own.
    fn bytes_of(&self, segments: Option<u64>) -> Option<u64> {
        let bursts = self.plan.writing.and_then(|writing| writing.bursts);
        bursts.map(|bursts| bursts.bytes()).or(segments.map(|segments| self.plan.bytes_of(segments)))
    }
}

/// A connection that is closed in the middle of a transfer ends at once: the kernel does not go on with it
/// for minutes, which would keep its host and its controller.
fn forget_when_over(stream: &TcpStream) -> io::Result<()> {
    Ok(set_socket_linger(stream, Some(std::time::Duration::ZERO))?)
}

pub(crate) fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

#[allow(unsafe_code, reason = "rustix has no wrapper for these options")]
fn set_option(socket: BorrowedFd<'_>, option: i32, value: i32) -> io::Result<()> {
    // SAFETY: the kernel reads an int from where `value` is, whose size is given.
    let status = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            option,
            (&raw const value).cast(),
            size_of::<i32>() as libc::socklen_t,
        )
    };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

//! A flow of the scenario as a real TCP connection: bulk data from one host to another, one transfer after
//! the other.

use crate::clock::{Clock, PATIENCE};
use crate::error::LiveError;
use crate::host::Host;
use crate::schedule;
use crate::window::ReceiveWindow;
use crate::writer::Bursting;
use ackclock_scenario::measured::Transfer;
use ackclock_scenario::plan::FlowPlan;
use ackclock_scenario::writing::BurstTally;
use ackclock_sockets::{
    HostCounters, TcpInfo, is_timeout, set_controller, set_low_water, set_send_buffer, set_tcp_option,
    set_unsent,
};
use ackclock_units::{Duration, Time};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::io::{Errno, ioctl_fionbio};
use rustix::net::sockopt::{
    Timeout, set_socket_linger, set_socket_timeout, socket_error, socket_recv_buffer_size,
};
use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType, connect, ipproto, recv, socket_with};
use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The kernel's value for a threshold that is not set (TCP_INFINITE_SSTHRESH).
const NO_THRESHOLD: u32 = i32::MAX as u32;
pub(crate) const PORT: u16 = 5001;
/// The size of one write or read, bytes.
pub(crate) const CHUNK: usize = 256 << 10;
/// A receiving program is woken when one part in so many of its buffer is full. The buffer is eight times
/// what the path needs, and a small segment takes up to 16 times its bytes.
const UNREAD: u64 = 64;
/// The bytes that may wait in the socket in addition to those in flight.
const UNSENT: u32 = 2 << 20;
/// A simulated connection never gives up, so a real one must not either. This is the largest number of SYN
/// retransmissions (TCP_SYNCNT).
const HANDSHAKES: i32 = 127;
/// The longest time that data may stay unacknowledged, ms (TCP_USER_TIMEOUT).
const UNACKNOWLEDGED: i32 = i32::MAX;

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
    /// What it sends without pauses, as from [`zeros`].
    pub(crate) zeros: &'a OwnedFd,
    /// Set when its server listens, if the receiving host asks for the data.
    pub(crate) listening: AtomicBool,
    tracked: Mutex<Tracked>,
}

/// The state of the flow's connections.
#[derive(Default)]
pub(crate) struct Tracked {
    sending: Option<TcpStream>,
    pub(crate) receiving: Option<TcpStream>,
    pub(crate) counters: Option<HostCounters>,
    /// The sums over closed connections.
    sent: u64,
    received: u64,
    arrived: u64,
    rtt_min_us: Option<u32>,
    pub(crate) transfers: Vec<Transfer>,
    pub(crate) waited: u64,
    pub(crate) bursting: Bursting,
}

impl Tracked {
    /// The receiving program has read a connection to its end.
    pub(crate) fn read(&mut self, stream: &TcpStream) {
        let info = TcpInfo::of(stream.as_fd());
        self.received += info.bytes_received;
        self.arrived += u64::from(info.data_segs_in);
        self.receiving = None;
    }

    /// A new connection takes the place of the one before.
    pub(crate) fn follow(&mut self, sending: Option<TcpStream>) {
        if let Some(before) = std::mem::replace(&mut self.sending, sending) {
            self.sent += u64::from(TcpInfo::of(before.as_fd()).data_segs_out);
        }
    }
}

/// Totals of a flow since it began, and its present state.
#[derive(Clone, Debug, Default)]
pub(crate) struct Snapshot {
    pub(crate) at: Time,
    /// The bytes that the receiving kernel has in order, including those that the program has not read.
    pub(crate) received: u64,
    pub(crate) sent: u64,
    pub(crate) arrived: u64,
    pub(crate) retransmits: u64,
    pub(crate) fast_retransmits: u64,
    pub(crate) timeouts: u64,
    /// The number of segments that the receiver reported as duplicates (DSACK).
    pub(crate) duplicates: u64,
    pub(crate) rtt_min: Option<Duration>,
    /// Reductions of the window, or of the rate.
    pub(crate) cuts: u64,
    /// The state of the present connection, if there is one.
    pub(crate) state: Option<State>,
}

/// The state of a connection: window and threshold in segments, the smoothed round-trip time, 0 before the
/// first sample, and the segments in flight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct State {
    pub(crate) cwnd: f32,
    pub(crate) ssthresh: f32,
    pub(crate) srtt_s: f32,
    pub(crate) in_flight: f32,
}

impl State {
    fn of(info: &TcpInfo) -> State {
        let known = info.snd_ssthresh < NO_THRESHOLD;
        State {
            cwnd: info.snd_cwnd as f32,
            ssthresh: if known { info.snd_ssthresh as f32 } else { f32::INFINITY },
            srtt_s: info.rtt as f32 * 1e-6,
            in_flight: info.in_flight() as f32,
        }
    }
}

impl<'a> Flow<'a> {
    pub(crate) fn new(
        plan: &'a FlowPlan,
        ends: (&'a Host, &'a Host),
        control: &'a str,
        payload: u32,
        clock: Clock,
        stop: &'a AtomicBool,
        zeros: &'a OwnedFd,
    ) -> Flow<'a> {
        let (sender, receiver) = ends;
        let (listening, tracked) = (AtomicBool::new(false), Mutex::default());
        Flow { plan, sender, receiver, control, payload, clock, stop, zeros, listening, tracked }
    }

    pub(crate) fn tracked(&self) -> MutexGuard<'_, Tracked> {
        self.tracked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn over(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// True if the application still wants to send.
    pub(crate) fn goes_on(&self) -> bool {
        !self.over() && self.plan.stop.is_none_or(|stop| self.clock.now() < stop)
    }

    /// The receiving program. It needs a thread of its own. It reports when it listens, and when each
    /// transfer is complete.
    pub(crate) fn receive(&self, listens: &Sender<()>, complete: &Sender<Time>) -> Result<(), LiveError> {
        if let Some(asking) = self.plan.asking {
            return self.ask(asking);
        }
        let failed = || LiveError::kernel(format!("{} cannot receive", self.receiver.name));
        schedule::ahead();
        self.receiver.enter().map_err(failed())?;
        let listener = TcpListener::bind((self.receiver.address, PORT)).map_err(failed())?;
        set_socket_timeout(&listener, Timeout::Recv, Some(PATIENCE))
            .map_err(|error| failed()(error.into()))?;
        self.window().announce(&listener).map_err(failed())?;
        // The sender may have ended. Then nobody needs the report.
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

    /// The window that the receiving end offers.
    pub(crate) fn window(&self) -> ReceiveWindow {
        ReceiveWindow::new(self.plan, self.payload)
    }

    /// Reads one connection to its end.
    fn drain(&self, stream: TcpStream, buffer: &mut [u8], complete: &Sender<Time>) {
        let (mut received, mut reads) = (0, None::<(Time, Time)>);
        let mut window = self.window();
        // To wake the program for every segment costs as much as to carry it. It has to read at once only
        // where its window decides what may be sent, or the last byte of a burst counts.
        if !window.is_limited() && self.plan.writing.is_none() {
            let room = socket_recv_buffer_size(&stream).unwrap_or(0) as u64;
            // If it cannot be set, the program is woken more often.
            let _ = set_low_water(&stream, (room / UNREAD).clamp(1, CHUNK as u64));
        }
        let ended = loop {
            // Nobody looks at the bytes, so the kernel drops them without a copy: TRUNC, tcp(7).
            match recv(&stream, &mut *buffer, RecvFlags::TRUNC) {
                Ok((_, 0)) => break true,
                Ok((_, bytes)) => {
                    let now = self.clock.now();
                    received += bytes as u64;
                    reads = Some((reads.map_or(now, |(first, _)| first), now));
                    if window.hold(&stream, now).is_err() {
                        break false; // the connection is gone
                    }
                }
                Err(Errno::AGAIN | Errno::INTR) if !self.over() => {}
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
        tracked.read(&stream);
        drop(tracked);
        let _ = complete.send(now);
    }

    /// The sending program. It needs a thread of its own.
    pub(crate) fn send(&self, listens: &Receiver<()>, complete: &Receiver<Time>) -> Result<(), LiveError> {
        if self.plan.asking.is_some() {
            return self.answer();
        }
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
            // A transfer that the application gave up is not complete.
            if let (true, Some(transfer)) = (all, self.tracked().transfers.last_mut()) {
                transfer.took = Some(done.since(begun));
            }
            let next = requests.next_start(begun, self.clock.now());
            self.tracked().waited = requests.waited;
            self.sleep_until(next);
        }
        Ok(())
    }

    /// One connection for a transfer of so many segments, or without an end. True if all of it was written.
    fn transfer(&self, segments: Option<u64>) -> Result<bool, LiveError> {
        let failed = || LiveError::kernel(format!("{} cannot send", self.sender.name));
        let Some(stream) = self.connect()? else { return Ok(false) };
        self.tracked().follow(stream.try_clone().ok());
        let written = match self.plan.writing.and_then(|writing| writing.bursts) {
            Some(bursts) => self.write_bursts(&stream, bursts),
            None => self.write_all(&stream, self.bytes_of(segments).unwrap_or(u64::MAX)),
        };
        let ended = written.and_then(|all| {
            if !self.over() {
                stream.shutdown(Shutdown::Write)?;
            }
            Ok(all)
        });
        match ended {
            // At the end of the run either end may close first. The other end's error means nothing then.
            Err(_) if self.over() => Ok(false),
            ended => ended.map_err(failed()),
        }
    }

    /// Connects. `None` if the run ended before the handshake.
    fn connect(&self) -> Result<Option<TcpStream>, LiveError> {
        let failed = || LiveError::kernel(format!("{} cannot connect", self.sender.name));
        let socket = tcp_socket().map_err(failed())?;
        self.equip(&socket)?;
        self.connected(socket, self.receiver.address).map_err(failed())
    }

    /// Sets the options of a socket that will send the flow's data.
    pub(crate) fn equip(&self, socket: impl AsFd) -> Result<(), LiveError> {
        let failed = || LiveError::kernel(format!("{} cannot set its socket's options", self.sender.name));
        let socket = socket.as_fd();
        set_controller(socket, self.control)
            .map_err(|reason| LiveError::Control { name: self.control.to_owned(), reason })?;
        set_unsent(socket, UNSENT).map_err(failed())?;
        for (option, value) in [(libc::TCP_SYNCNT, HANDSHAKES), (libc::TCP_USER_TIMEOUT, UNACKNOWLEDGED)] {
            set_tcp_option(socket, option, value).map_err(failed())?;
        }
        if let Some(buffer) = self.plan.writing.and_then(|writing| writing.buffer) {
            set_send_buffer(socket, buffer).map_err(failed())?;
        }
        Ok(())
    }

    /// Connects a socket to the program at this address. `None` if the run ended before the handshake.
    pub(crate) fn connected(&self, socket: OwnedFd, to: Ipv4Addr) -> io::Result<Option<TcpStream>> {
        match connect(&socket, &SocketAddrV4::new(to, PORT)) {
            Ok(()) | Err(Errno::INPROGRESS) => {}
            Err(error) => return Err(error.into()),
        }
        if !self.handshake(&socket)? {
            return Ok(None);
        }
        ioctl_fionbio(&socket, false)?;
        let stream = TcpStream::from(socket);
        stream.set_write_timeout(Some(PATIENCE))?;
        forget_when_over(&stream)?;
        Ok(Some(stream))
    }

    /// Waits for the end of a handshake. False if the run ended before.
    fn handshake(&self, socket: &OwnedFd) -> rustix::io::Result<bool> {
        let patience = Timespec { tv_sec: 0, tv_nsec: PATIENCE.as_nanos() as _ };
        while !self.over() {
            match poll(&mut [PollFd::new(socket, PollFlags::OUT)], Some(&patience)) {
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) => match socket_error(socket)? {
                    Ok(()) => return Ok(true),
                    // The run is over, and the other end has closed already. The loop notices that next.
                    Err(_) if self.over() => {}
                    Err(error) => return Err(error),
                },
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }

    pub(crate) fn sleep_until(&self, at: Time) {
        self.clock.sleep_until(at, || self.over());
    }

    /// The present progress of the flow.
    pub(crate) fn snapshot(&self) -> Snapshot {
        let mut tracked = self.tracked();
        let info = tracked.sending.as_ref().map(|socket| TcpInfo::of(socket.as_fd()));
        let arriving = tracked.receiving.as_ref().map(|socket| TcpInfo::of(socket.as_fd()));
        if let Some(least) = info.map(|info| info.min_rtt).filter(|&rtt| rtt > 0 && rtt < u32::MAX) {
            tracked.rtt_min_us = Some(tracked.rtt_min_us.map_or(least, |known| known.min(least)));
        }
        let counts = tracked.counters.as_mut().and_then(|counters| counters.read().ok()).unwrap_or_default();
        let count = |name: &str| counts.get(name).copied().unwrap_or(0);
        let (fast_retransmits, timeouts) =
            (count("TCPSackRecovery") + count("TCPRenoRecovery"), count("TCPTimeouts"));
        Snapshot {
            at: self.clock.now(),
            received: tracked.received + arriving.map_or(0, |info| info.bytes_received),
            sent: tracked.sent + info.map_or(0, |info| u64::from(info.data_segs_out)),
            arrived: tracked.arrived + arriving.map_or(0, |info| u64::from(info.data_segs_in)),
            retransmits: count("RetransSegs"),
            fast_retransmits,
            timeouts,
            // The kernel asks the controller for a threshold at the start of both.
            cuts: fast_retransmits + timeouts,
            duplicates: count("TCPDSACKRecv"),
            rtt_min: tracked.rtt_min_us.map(|us| Duration::from_micros(us.into())),
            state: info.as_ref().map(State::of),
        }
    }

    /// The outcome of its bursts, if it writes any.
    pub(crate) fn bursts(&self) -> Option<BurstTally> {
        self.tracked().bursting.tally()
    }

    /// The number of transfers so far that were due before the previous one had ended.
    pub(crate) fn waited(&self) -> u64 {
        self.tracked().waited
    }

    /// All transfers with a size so far.
    pub(crate) fn transfers(&self) -> Vec<Transfer> {
        self.tracked().transfers.clone()
    }

    /// The bytes of a transfer of so many segments, or of all bursts. `None` if it has no end.
    pub(crate) fn bytes_of(&self, segments: Option<u64>) -> Option<u64> {
        let bursts = self.plan.periodic();
        bursts.map(|bursts| bursts.bytes()).or(segments.map(|segments| self.plan.bytes_of(segments)))
    }
}

/// A file of as many zeros as a program writes at once. The kernel sends from it without a copy, as it does
/// for a file server.
pub(crate) fn zeros() -> io::Result<OwnedFd> {
    let file = memfd_create("zeros", MemfdFlags::CLOEXEC)?;
    ftruncate(&file, CHUNK as u64)?;
    Ok(file)
}

/// A TCP socket that does not block.
pub(crate) fn tcp_socket() -> io::Result<OwnedFd> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    Ok(socket_with(AddressFamily::INET, SocketType::STREAM, flags, Some(ipproto::TCP))?)
}

/// Lets a connection that is closed in the middle of a transfer end at once. Otherwise the kernel would keep
/// it for minutes, with its host and its controller.
pub(crate) fn forget_when_over(stream: &TcpStream) -> io::Result<()> {
    Ok(set_socket_linger(stream, Some(std::time::Duration::ZERO))?)
}

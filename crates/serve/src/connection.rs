//! A connection as hyper sees it: a socket that repairs request heads if it should, notes what the socket has
//! accepted and when, and has a deadline for whatever comes next.

use crate::head::Repair;
use crate::log::{Entry, Log};
use ackclock_scenario::writing::Timetable;
use ackclock_sockets::{TcpInfo, controller};
use ackclock_units::{Duration, Time};
use hyper::rt::{Read, ReadBufCursor, Write};
use std::io::{self, ErrorKind, IoSlice};
use std::os::fd::AsFd;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};
use std::time::Instant;
use tokio::net::TcpStream;

/// The time for a request's head, from its first byte; for a new connection, from its start.
const FOR_HEAD: std::time::Duration = std::time::Duration::from_secs(10);
/// The time in which a client that is sent something must take some of it.
const FOR_PROGRESS: std::time::Duration = std::time::Duration::from_secs(60);
/// The bytes that are read at once where heads are repaired.
const PIECE: usize = 4096;

/// What all parts of a connection share. They run in one task, so nobody waits for it.
pub(crate) struct Shared {
    state: Mutex<State>,
    log: Arc<Log>,
}

/// What a connection is doing.
pub(crate) struct State {
    /// When it is given up.
    pub(crate) deadline: Instant,
    /// The time between requests.
    patience: std::time::Duration,
    awaits: Awaits,
    /// Requests so far.
    pub(crate) requests: u64,
    pub(crate) response: Option<Response>,
}

/// What the server waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Awaits {
    /// The first byte of a head.
    Request,
    /// The end of a head.
    Head,
    /// The socket.
    Room,
}

/// The response that is being written.
pub(crate) struct Response {
    pub(crate) entry: Entry,
    pub(crate) begun: Instant,
    /// The number of retransmissions before.
    pub(crate) retransmissions: u32,
    pub(crate) timetable: Option<Timetable>,
    /// Bytes of content that hyper has got.
    pub(crate) given: u64,
    /// What hyper has got ends a burst, or the response.
    pub(crate) ends: Option<End>,
    /// Who waits for the end of a burst, or of the response.
    pub(crate) waiting: Option<Waker>,
    /// When the socket last accepted something.
    pub(crate) accepted: Time,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Burst,
    Response,
}

impl Shared {
    pub(crate) fn new(patience: std::time::Duration, log: Arc<Log>) -> Arc<Shared> {
        let state = State {
            deadline: Instant::now() + FOR_HEAD,
            patience,
            awaits: Awaits::Head,
            requests: 0,
            response: None,
        };
        Arc::new(Shared { state: Mutex::new(state), log })
    }

    /// Ready when the socket has accepted all of the response before. A client may send its next request
    /// earlier.
    pub(crate) fn poll_idle(&self, context: &mut Context<'_>) -> Poll<()> {
        let Some(response) = &mut self.state().response else { return Poll::Ready(()) };
        response.waiting = Some(context.waker().clone());
        Poll::Pending
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// A response begins.
    pub(crate) fn respond(&mut self, response: Response) {
        self.awaits = Awaits::Room;
        self.deadline = Instant::now() + FOR_PROGRESS;
        self.response = Some(response);
    }

    /// Bytes have come.
    fn read(&mut self) {
        if self.awaits == Awaits::Request {
            self.awaits = Awaits::Head;
            self.deadline = Instant::now() + FOR_HEAD;
        }
    }

    /// The socket has accepted something.
    fn wrote(&mut self) {
        if let Some(response) = &mut self.response {
            let now = Instant::now();
            self.deadline = now + FOR_PROGRESS;
            response.accepted = since(response.begun, now);
        }
    }

    /// The socket has accepted all that hyper has got. Returns the response if this was its end.
    fn flushed(&mut self) -> Option<Response> {
        let response = self.response.as_mut()?;
        response.entry.bytes = response.given;
        let end = response.ends.take()?;
        if let Some(timetable) = &mut response.timetable {
            timetable.finished(response.accepted);
        }
        if let Some(waiting) = response.waiting.take() {
            waiting.wake();
        }
        if end == End::Burst {
            return None;
        }
        response.entry.complete = true;
        self.awaits = Awaits::Request;
        self.deadline = Instant::now() + self.patience;
        self.response.take()
    }
}

/// The time on the clock of a response.
pub(crate) fn since(begun: Instant, now: Instant) -> Time {
    let ns = now.saturating_duration_since(begun).as_nanos();
    Time::ZERO + Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX))
}

/// The socket of a connection.
pub(crate) struct Socket {
    stream: Arc<TcpStream>,
    shared: Arc<Shared>,
    repair: Option<Repair>,
    /// Repaired bytes that have not been read yet, from a position on.
    repaired: Vec<u8>,
    read: usize,
}

impl Socket {
    pub(crate) fn new(stream: Arc<TcpStream>, shared: Arc<Shared>, repairs: bool) -> Socket {
        Socket { stream, shared, repair: repairs.then(Repair::default), repaired: Vec::new(), read: 0 }
    }

    /// Reads into `buffer`.
    fn poll_some(&self, context: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.stream.poll_read_ready(context))?;
            match self.stream.try_read(buffer) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Ok(bytes) => {
                    if bytes > 0 {
                        self.shared.state().read();
                    }
                    return Poll::Ready(Ok(bytes));
                }
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }

    /// Reads, and repairs, until something is there or nothing comes any more.
    fn poll_repaired(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut piece = [0; PIECE];
        while self.read == self.repaired.len() {
            let bytes = ready!(self.poll_some(context, &mut piece))?;
            self.repaired.clear();
            self.read = 0;
            let Some(repair) = &mut self.repair else { break };
            repair.pass(&piece[..bytes], &mut self.repaired);
            if bytes == 0 {
                repair.end(&mut self.repaired);
                break;
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Tells of a response that has ended, or that never will.
    fn report(&self, response: Response) {
        let Response { mut entry, begun, retransmissions, timetable, accepted, .. } = response;
        entry.duration = if entry.complete {
            std::time::Duration::from_nanos(accepted.as_nanos())
        } else {
            begun.elapsed()
        };
        entry.retransmissions =
            TcpInfo::of(self.stream.as_fd()).total_retrans.saturating_sub(retransmissions);
        entry.control = controller(self.stream.as_fd()).unwrap_or_default();
        if let Some(timetable) = timetable {
            let tally = timetable.tally(accepted, entry.bytes, 0, None);
            (entry.bursts, entry.failed_cycles) = (tally.ends.len() as u64, tally.failed_cycles);
        }
        (self.shared.log)(entry);
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let unfinished = self.shared.state().response.take();
        if let Some(response) = unfinished {
            self.report(response);
        }
    }
}

impl Read for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        mut cursor: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        if self.repair.is_none() {
            let bytes = ready!(self.poll_some(context, cursor.initialize_unfilled()))?;
            advance(&mut cursor, bytes);
        } else {
            ready!(self.poll_repaired(context))?;
            let waiting = &self.repaired[self.read..];
            let bytes = waiting.len().min(cursor.remaining());
            cursor.put_slice(&waiting[..bytes]);
            self.read += bytes;
        }
        Poll::Ready(Ok(()))
    }
}

/// Tells the cursor that so many bytes of its initialised part are filled.
#[allow(unsafe_code, reason = "hyper has no safe way to fill its buffer by a system call")]
fn advance(cursor: &mut ReadBufCursor<'_>, bytes: usize) {
    // SAFETY: `initialize_unfilled` has initialised all of the buffer, and a read of it returned `bytes`.
    unsafe { cursor.advance(bytes) }
}

impl Write for Socket {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(context, &[IoSlice::new(data)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        data: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.stream.poll_write_ready(context))?;
            match self.stream.try_write_vectored(data) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Ok(bytes) => {
                    self.shared.state().wrote();
                    return Poll::Ready(Ok(bytes));
                }
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    /// hyper flushes when the socket has accepted all that it has got.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        let ended = self.shared.state().flushed();
        if let Some(response) = ended {
            self.report(response);
        }
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(rustix::net::shutdown(self.stream.as_fd(), rustix::net::Shutdown::Write).or_else(gone))
    }
}

/// A connection that the client has closed already needs no end of ours.
fn gone(error: rustix::io::Errno) -> io::Result<()> {
    if error == rustix::io::Errno::NOTCONN { Ok(()) } else { Err(error.into()) }
}

//! A test of an agent: what it does, who waits for it, and whether it goes on.

use super::clock::Clock;
use crate::consent::Secrets;
use crate::policy::Grant;
use crate::protocol::{Change, LEASE, Meeting, Refusal, State};
use crate::report::Report;
use crate::spec::{Role, Spec};
use ackclock_units::{Duration, Time};
use std::collections::VecDeque;
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// What a session's tests share.
pub(super) struct Shared {
    pub(super) clock: Clock,
    /// When the controller was last heard, ns.
    heard: AtomicU64,
    changes: Mutex<VecDeque<Change>>,
    /// The session's sockets; many of them get small buffers.
    pub(super) sockets: AtomicU64,
}

impl Shared {
    pub(super) fn new(clock: Clock) -> Shared {
        let heard = AtomicU64::new(clock.now().as_nanos());
        Shared { clock, heard, changes: Mutex::default(), sockets: AtomicU64::new(0) }
    }

    /// The controller was heard just now.
    pub(super) fn renew(&self) {
        self.heard.store(self.clock.now().as_nanos(), Ordering::Relaxed);
    }

    /// False: the controller was not heard for too long.
    pub(super) fn lives(&self) -> bool {
        self.clock.now().since(Time::from_nanos(self.heard.load(Ordering::Relaxed))) < LEASE
    }

    pub(super) fn tell(&self, change: Change) {
        locked(&self.changes).push_back(change);
    }

    /// Up to `most` changes that were not told yet, and whether there are more.
    pub(super) fn changes(&self, most: usize) -> (Vec<Change>, bool) {
        let mut changes = locked(&self.changes);
        let count = changes.len().min(most);
        let told = changes.drain(..count).collect();
        (told, !changes.is_empty())
    }
}

pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The connection of a test.
#[derive(Default)]
pub(super) enum Connection {
    /// None yet, or none any more, or in use.
    #[default]
    None,
    Tcp(TcpStream),
    Udp(UdpSocket),
}

/// A test.
pub(super) struct Slot {
    pub(super) number: u32,
    pub(super) spec: Spec,
    pub(super) grant: Grant,
    /// The own address; the port is 0 if any will do.
    pub(super) own: Option<SocketAddr>,
    /// Of a source: where its sink is.
    pub(super) to: Option<SocketAddr>,
    pub(super) secrets: Secrets,
    pub(super) shared: std::sync::Arc<Shared>,
    stop: AtomicBool,
    pub(super) inner: Mutex<Inner>,
}

/// What changes.
#[derive(Default)]
pub(super) struct Inner {
    pub(super) connection: Connection,
    pub(super) report: Report,
    pub(super) stamps: Vec<(u64, u64)>,
    pub(super) threads: Vec<JoinHandle<()>>,
    failed: bool,
}

impl Slot {
    pub(super) fn new(
        number: u32,
        spec: Spec,
        grant: Grant,
        own: Option<SocketAddr>,
        meeting: (Option<SocketAddr>, Secrets),
        shared: std::sync::Arc<Shared>,
    ) -> Slot {
        let (to, secrets) = meeting;
        let (stop, inner) = (AtomicBool::new(false), Mutex::default());
        Slot { number, spec, grant, own, to, secrets, shared, stop, inner }
    }

    pub(super) fn inner(&self) -> MutexGuard<'_, Inner> {
        locked(&self.inner)
    }

    pub(super) fn is_source(&self) -> bool {
        matches!(self.spec.role, Role::Source(_))
    }

    /// Should its threads go on?
    pub(super) fn goes_on(&self) -> bool {
        !self.stop.load(Ordering::Relaxed) && self.shared.lives()
    }

    /// Its threads end within a tenth of a second.
    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    pub(super) fn now(&self) -> Time {
        self.shared.clock.now()
    }

    /// The bytes of a buffer for reading at once: with many sockets all buffers together stay small.
    pub(super) fn read_size(&self, blocksize: u64) -> usize {
        const FEW: u64 = 64;
        let most = if self.shared.sockets.load(Ordering::Relaxed) > FEW { 8 << 10 } else { 128 << 10 };
        blocksize.min(most) as usize
    }

    pub(super) fn tell(&self, state: State) {
        self.shared.tell(Change { test: self.number, state });
    }

    /// It cannot go on. Only the first reason counts.
    pub(super) fn fail(&self, why: Refusal) {
        let mut inner = self.inner();
        if !std::mem::replace(&mut inner.failed, true) {
            inner.report.error = Some(why.error.clone());
            drop(inner);
            self.tell(State::Failed(why));
        }
    }

    /// Runs `work` in a thread of its own with a small stack.
    pub(super) fn spawn(
        self: &std::sync::Arc<Self>,
        work: impl FnOnce(&std::sync::Arc<Slot>) + Send + 'static,
    ) {
        /// Nothing here recurses, and 1000 connections shall fit into little memory.
        const STACK: usize = 128 << 10;
        let watched = Watched(self.clone());
        match std::thread::Builder::new().stack_size(STACK).spawn(move || work(&watched.0)) {
            Ok(thread) => self.inner().threads.push(thread),
            Err(error) => self.fail(Refusal::new(
                "no_thread",
                format!("the agent cannot begin a thread: {error}"),
                "raise the system's limit of threads (ulimit -u), or ask for fewer connections",
            )),
        }
    }

    /// How a controller finds this sink.
    pub(super) fn meeting(&self, address: SocketAddr) -> Meeting {
        let Secrets { cookie, key } = self.secrets;
        Meeting { address, cookie: crate::consent::hex(&cookie), key: crate::consent::hex(&key) }
    }

    /// The time after which a wait for the other end is given up.
    pub(super) fn patience() -> Duration {
        Duration::from_secs(5)
    }
}

/// A test that a thread works for. A panic fails the test: its controller shall not wait for it.
struct Watched(std::sync::Arc<Slot>);

impl Drop for Watched {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let help = "this is an error of ackclock: please report it";
            self.0.fail(Refusal::new("broken", "a thread of the agent has panicked", help));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Protocol;

    #[test]
    fn a_thread_that_panics_fails_its_test_and_says_so_once() {
        let shared = std::sync::Arc::new(Shared::new(Clock::start()));
        let spec = Spec {
            role: Role::Sink { blocksize: 1, duration: 1 },
            protocol: Protocol::Udp { window: None, rate: None },
            stamps: 0,
        };
        let grant = Grant { rate: None, bytes: None, duration: 1 };
        let secrets = Secrets { cookie: [0; 16], key: [0; 16] };
        let slot = std::sync::Arc::new(Slot::new(7, spec, grant, None, (None, secrets), shared.clone()));
        // One of them while it holds the lock.
        slot.spawn(|slot| {
            let _inner = slot.inner();
            std::panic::resume_unwind(Box::new("as a bug would"));
        });
        slot.spawn(|_| std::panic::resume_unwind(Box::new("as a bug would")));
        let threads = std::mem::take(&mut slot.inner().threads);
        assert_eq!(threads.len(), 2);
        for thread in threads {
            assert!(thread.join().is_err());
        }
        let (changes, more) = shared.changes(10);
        let failed = |change: &Change| matches!(&change.state, State::Failed(why) if why.error == "broken");
        assert!(changes.len() == 1 && changes.iter().all(failed) && !more, "{changes:?}");
        assert_eq!(slot.inner().report.error.as_deref(), Some("broken"));
    }
}

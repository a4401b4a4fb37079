//! Where sources come in: listeners for TCP, each shared by all sinks at its address. The cookie tells whose
//! source it is.

use super::slot::{Slot, locked};
use super::tcp;
use crate::consent::{Cookies, HELLO, Verdict, read_hello, rejection};
use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

/// The greatest number of connections that have not shown their cookies yet.
const MAX_STRANGERS: usize = 256;
/// So long a connection may take to show its cookie.
const PATIENCE: Duration = Duration::from_secs(3);

/// An address, and the window of its connections.
type Place = (SocketAddr, Option<u64>);

/// All doors of an agent.
#[derive(Default)]
pub(super) struct Doors {
    doors: Mutex<HashMap<Place, Weak<Door>>>,
    cookies: Arc<Mutex<Cookies<Arc<Slot>>>>,
    strangers: Arc<AtomicUsize>,
}

/// A listener. It stays open as long as a sink keeps it.
pub(super) struct Door {
    pub(super) address: SocketAddr,
    closed: Arc<AtomicBool>,
}

impl Drop for Door {
    fn drop(&mut self) {
        self.closed.store(true, Ordering::Relaxed);
    }
}

impl Doors {
    /// The door at this address, with this window. Port 0: a new one at any port.
    ///
    /// # Errors
    ///
    /// If the address is in use, or not this host's.
    pub(super) fn at(&self, own: SocketAddr, window: Option<u64>) -> io::Result<Arc<Door>> {
        let mut doors = locked(&self.doors);
        doors.retain(|_, door| door.strong_count() > 0);
        if let Some(door) = doors.get(&(own, window)).and_then(Weak::upgrade) {
            return Ok(door);
        }
        // A door that closes just now may still have the address for a moment.
        let begun = Instant::now();
        let listener = loop {
            match tcp::listener(own, window) {
                Err(error) if error.kind() == io::ErrorKind::AddrInUse && begun.elapsed() < 3 * tcp::STEP => {
                    std::thread::sleep(tcp::STEP / 4);
                }
                other => break other?,
            }
        };
        let address = listener.local_addr()?;
        let closed = Arc::new(AtomicBool::new(false));
        let door = Arc::new(Door { address, closed: closed.clone() });
        doors.insert((address, window), Arc::downgrade(&door));
        let (cookies, strangers) = (self.cookies.clone(), self.strangers.clone());
        std::thread::Builder::new()
            .stack_size(64 << 10)
            .spawn(move || accept(&listener, &closed, &cookies, &strangers))?;
        Ok(door)
    }

    /// A sink waits for its source.
    pub(super) fn wait(&self, slot: &Arc<Slot>) {
        locked(&self.cookies).wait(slot.secrets.cookie, slot.clone());
    }

    /// A sink waits no longer.
    pub(super) fn spend(&self, slot: &Slot) {
        locked(&self.cookies).spend(slot.secrets.cookie);
    }
}

type Waiting = Arc<Mutex<Cookies<Arc<Slot>>>>;

fn accept(listener: &TcpListener, closed: &AtomicBool, cookies: &Waiting, strangers: &Arc<AtomicUsize>) {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let step = Timespec { tv_sec: 0, tv_nsec: tcp::STEP.as_nanos() as _ };
    while !closed.load(Ordering::Relaxed) {
        let ready = poll(&mut [PollFd::from_borrowed_fd(listener.as_fd(), PollFlags::IN)], Some(&step));
        if !matches!(ready, Ok(1..)) {
            continue;
        }
        let Ok((stream, _)) = listener.accept() else {
            // Too many open files: others will be closed.
            std::thread::sleep(tcp::STEP);
            continue;
        };
        if strangers.fetch_add(1, Ordering::Relaxed) >= MAX_STRANGERS {
            strangers.fetch_sub(1, Ordering::Relaxed);
            continue;
        }
        let (cookies, count) = (cookies.clone(), strangers.clone());
        let begun = std::thread::Builder::new().stack_size(64 << 10).spawn(move || {
            meet(stream, &cookies);
            count.fetch_sub(1, Ordering::Relaxed);
        });
        if begun.is_err() {
            strangers.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// Lets a source in that shows a cookie for which somebody waits.
fn meet(mut stream: TcpStream, cookies: &Waiting) {
    let Some((cookie, nonce)) = hello(&mut stream) else { return };
    let taken = locked(cookies).take(cookie);
    match taken {
        Ok(slot) => {
            if stream.write_all(&slot.secrets.welcome(nonce)).is_ok() {
                slot.spawn(move |slot| tcp::receive(slot, stream));
            }
        }
        Err(verdict @ (Verdict::Replayed | Verdict::Unknown | Verdict::Welcome)) => {
            // Whoever it was may have gone.
            let _ = stream.write_all(&rejection(verdict));
        }
    }
}

/// The cookie and the nonce of a hello that comes in time.
fn hello(stream: &mut TcpStream) -> Option<([u8; 16], [u8; 16])> {
    stream.set_write_timeout(Some(PATIENCE)).ok()?;
    stream.set_nodelay(true).ok()?;
    let (mut bytes, mut filled, begun) = ([0; HELLO], 0, Instant::now());
    while filled < HELLO {
        let left = PATIENCE.checked_sub(begun.elapsed()).filter(|left| !left.is_zero())?;
        stream.set_read_timeout(Some(left)).ok()?;
        match stream.read(&mut bytes[filled..]) {
            Ok(0) | Err(_) => return None,
            Ok(more) => filled += more,
        }
    }
    read_hello(&bytes)
}

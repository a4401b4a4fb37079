//! Where sources come in: listeners for TCP, each shared by all sinks at its address. The cookie tells whose
//! source it is.

use super::slot::{Slot, locked};
use super::tcp;
use crate::consent::{Cookies, HELLO, Verdict, read_hello, rejection};
use crate::listening::{self, Crowd};
use ackclock_sockets::read_within;
use std::collections::HashMap;
use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

/// The greatest number of connections that have not shown their cookies yet, of all hosts and of each.
const MAX_STRANGERS: (usize, usize) = (256, 128);
/// The stack of a thread that lets somebody in, bytes.
const STACK: usize = 64 << 10;
/// So long a connection may take to show its cookie.
const PATIENCE: Duration = Duration::from_secs(3);

/// An address, and the window of its connections.
type Place = (SocketAddr, Option<u64>);

/// All doors of an agent.
pub(super) struct Doors {
    doors: Mutex<HashMap<Place, Weak<Door>>>,
    cookies: Waiting,
    strangers: Crowd,
}

/// The sinks that wait for their sources.
type Waiting = Arc<Mutex<Cookies<Arc<Slot>>>>;

impl Default for Doors {
    fn default() -> Doors {
        let strangers = Crowd::new(MAX_STRANGERS.0).each(MAX_STRANGERS.1);
        Doors { doors: Mutex::default(), cookies: Waiting::default(), strangers }
    }
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
        std::thread::Builder::new().stack_size(STACK).spawn(move || {
            let wanted = || !closed.load(Ordering::Relaxed);
            let meet = move |stream, _, _place| meet(stream, &cookies);
            // Its sinks wait in vain if the listener fails, and their sources say so.
            let _ = listening::accept(&listener, &strangers, STACK, wanted, &drop, meet);
        })?;
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
    let mut bytes = [0; HELLO];
    read_within(stream, &mut bytes, PATIENCE).ok()?;
    read_hello(&bytes)
}

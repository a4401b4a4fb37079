//! The loop: one thread waits for the near sockets, the device of the stack, and timers.

use crate::budget::Budget;
use crate::entry::{End, Entry, Path, Totals};
use crate::error::ProxyError;
use crate::far::{Far, is_itself};
use crate::near;
use crate::pair::{Begin, Failure, PIECE, Pair};
use crate::settings::{Settings, Towards};
use ackclock_stack::{ConnectionId, Event, Why};
use ackclock_units::{Duration, Time};
use rustix::event::Timespec;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// How often the loop looks whether it is to end, and who is idle.
const TICK: Duration = Duration::from_millis(100);
/// The time that connections have to end when the proxy is told to.
const GRACE: Duration = Duration::from_secs(5);
/// Turns of the device before the near sockets are asked again.
const TURNS: usize = 16;
/// Events that are taken from the kernel at once.
const EVENTS: usize = 256;
/// Keys of what is no pair.
const DEVICE: u64 = u64::MAX;
const LISTENER: u64 = u64::MAX - 1;

/// A place for a pair. Its generation tells late events from those of the next pair in it.
#[derive(Default)]
struct Place {
    pair: Option<Pair>,
    generation: u32,
}

/// A proxy that listens.
pub struct Proxy {
    settings: Settings,
    begun: Instant,
    epoll: OwnedFd,
    far: Far,
    /// Towards a server: where clients connect. None when the proxy is to end.
    listener: Option<TcpListener>,
    address: SocketAddr,
    places: Vec<Place>,
    free: Vec<usize>,
    by_far: HashMap<ConnectionId, usize>,
    /// Connections by the addresses of clients that have a limit.
    clients: HashMap<IpAddr, usize>,
    budget: Budget,
    scratch: Vec<u8>,
    /// A connection could not be accepted for want of a place or of a file.
    full: bool,
    /// Nobody is accepted any more.
    closing: bool,
    open: usize,
    entries: Vec<Entry>,
    totals: Totals,
}

impl Proxy {
    /// Makes the device and the rules, and listens.
    ///
    /// # Errors
    ///
    /// Without the rights or parts of the kernel that it needs, or if the address is taken.
    pub fn open(mut settings: Settings) -> Result<Proxy, ProxyError> {
        crate::privilege::check()?;
        if is_itself(settings.listen, settings.to) {
            return Err(ProxyError::Itself { address: settings.listen });
        }
        let files = crate::files::raise();
        let towards_server = settings.towards == Towards::Server;
        settings.connections = crate::files::connections(files, settings.connections, towards_server)
            .ok_or(ProxyError::Files { files })?;
        let budget = Budget::new(settings.memory, settings.connections, settings.buffer);
        let far = Far::open(&settings, files)?;
        let listener = far.address().is_none().then(|| listen(settings.listen)).transpose()?;
        let address = match (&listener, far.address()) {
            (Some(listener), _) => listener.local_addr().map_err(ProxyError::kernel("no address"))?,
            (None, far) => far.unwrap_or(settings.listen),
        };
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(ProxyError::kernel("epoll"))?;
        let watch = |source: BorrowedFd<'_>, key, flags| {
            epoll::add(&epoll, source, EventData::new_u64(key), flags).map_err(ProxyError::kernel("epoll"))
        };
        watch(far.as_fd(), DEVICE, EventFlags::IN | EventFlags::OUT | EventFlags::ET)?;
        if let Some(listener) = &listener {
            watch(listener.as_fd(), LISTENER, EventFlags::IN | EventFlags::ET)?;
        }
        Ok(Proxy {
            settings,
            begun: Instant::now(),
            epoll,
            far,
            listener,
            address,
            places: Vec::new(),
            free: Vec::new(),
            by_far: HashMap::new(),
            clients: HashMap::new(),
            budget,
            scratch: vec![0; PIECE],
            full: false,
            closing: false,
            open: 0,
            entries: Vec::new(),
            totals: Totals::default(),
        })
    }

    /// Where clients connect.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The device of our stack. The table of the packet filter has the same name.
    pub fn device(&self) -> &str {
        self.far.device()
    }

    /// Most connections at the same time: what was asked for, or what the limit of open files allows.
    pub fn connections(&self) -> usize {
        self.settings.connections
    }

    /// Relays until `stop` is set. Connections then have five seconds to end. Each is told to `log` when it
    /// has ended.
    ///
    /// # Errors
    ///
    /// If the kernel takes the device away, or refuses to be waited for.
    pub fn run(mut self, stop: &AtomicBool, mut log: impl FnMut(Entry)) -> Result<Totals, ProxyError> {
        let mut events = Vec::with_capacity(EVENTS);
        let (mut looked, mut until) = (self.now(), None);
        loop {
            let more = self.turn()?;
            self.entries.drain(..).for_each(&mut log);
            let now = self.now();
            if now.since(looked) >= TICK {
                looked = now;
                self.look(now);
            }
            if stop.load(Ordering::Relaxed) && until.is_none() {
                until = Some(now + GRACE);
                (self.listener, self.closing) = (None, true);
                self.far.close_entrance(now);
            }
            if let Some(until) = until
                && (self.open == 0 || now >= until)
            {
                break;
            }
            self.wait(&mut events, if more { Duration::ZERO } else { self.patience(now) })?;
        }
        let now = self.now();
        (0..self.places.len()).for_each(|at| self.end(at, End::Stopped, now));
        let begun = self.begun;
        self.far.turn(|| since(begun))?;
        self.entries.drain(..).for_each(&mut log);
        Ok(self.totals)
    }

    fn now(&self) -> Time {
        since(self.begun)
    }

    /// How long nothing is to be done.
    fn patience(&self, now: Time) -> Duration {
        self.far.stack.poll_timeout().map_or(TICK, |at| at.since(now).min(TICK))
    }

    /// Moves packets, and what has arrived in them. True if there is more to be done at once.
    fn turn(&mut self) -> Result<bool, ProxyError> {
        for _ in 0..TURNS {
            let begun = self.begun;
            let more = self.far.turn(|| since(begun))?;
            let now = self.now();
            let mut told = false;
            while let Some(event) = self.far.stack.poll_event() {
                told = true;
                self.far_told(event, now);
            }
            if !more && !told {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Waits, and hears what the kernel tells of the near sockets.
    fn wait(&mut self, events: &mut Vec<epoll::Event>, patience: Duration) -> Result<(), ProxyError> {
        let ns = patience.as_nanos();
        let timeout = Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 };
        events.clear();
        match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(events), Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(ProxyError::kernel("the kernel cannot be waited for")(error)),
        }
        let now = self.now();
        for event in events.drain(..) {
            match event.data.u64() {
                DEVICE => {}
                LISTENER => self.accept_near(now),
                key => self.near_told(key, event.flags, now),
            }
        }
        Ok(())
    }

    // --- What the kernel and the stack tell ---

    fn near_told(&mut self, key: u64, flags: EventFlags, now: Time) {
        let (at, generation) = ((key & 0xffff_ffff) as usize, (key >> 32) as u32);
        let Some(place) = self.places.get_mut(at).filter(|place| place.generation == generation) else {
            return; // it ended earlier in this batch of events
        };
        let Some(pair) = &mut place.pair else { return };
        let ended = EventFlags::RDHUP | EventFlags::HUP;
        let readable = flags.intersects(EventFlags::IN | ended);
        let told = pair.near_told(readable, flags.contains(EventFlags::OUT), flags.contains(EventFlags::ERR));
        let moved = told.and_then(|()| pair.pump(&mut self.far.stack, now, &mut self.scratch));
        self.judge(at, moved, now);
    }

    fn far_told(&mut self, event: Event, now: Time) {
        match event {
            Event::Incoming(_) => self.accept_far(now),
            Event::Connected(id) | Event::Readable(id) | Event::Writable(id) => {
                let Some(&at) = self.by_far.get(&id) else { return };
                let Some(pair) = &mut self.places[at].pair else { return };
                if matches!(event, Event::Connected(_)) {
                    pair.far_connected();
                }
                let moved = pair.pump(&mut self.far.stack, now, &mut self.scratch);
                self.judge(at, moved, now);
            }
            Event::Ended(id, why) => {
                let Some(&at) = self.by_far.get(&id) else { return };
                let Some(pair) = &mut self.places[at].pair else { return };
                if why == Why::Closed {
                    pair.far_closed();
                    let moved = pair.pump(&mut self.far.stack, now, &mut self.scratch);
                    self.judge(at, moved, now);
                } else {
                    self.end(at, self.end_of(why), now);
                }
            }
        }
    }

    /// Ends a pair that has failed, or is complete.
    fn judge(&mut self, at: usize, moved: Result<(), Failure>, now: Time) {
        let Some(pair) = &self.places[at].pair else { return };
        let near_is_client = self.settings.towards == Towards::Server;
        match moved {
            Ok(()) if pair.is_complete() => self.end(at, End::Closed, now),
            Ok(()) | Err(Failure::Far) => {} // the stack tells why
            Err(Failure::Near(error)) => {
                let end = Pair::near_failed(&error, near_is_client);
                self.end(at, end, now);
            }
        }
    }

    /// Why the far side ended.
    fn end_of(&self, why: Why) -> End {
        match (why, self.settings.towards) {
            (Why::Closed, _) => End::Closed,
            (Why::Refused, _) => End::Refused,
            (Why::TimedOut, _) => End::TimedOut,
            (Why::Reset | Why::Aborted, Towards::Server) => End::ResetByServer,
            (Why::Reset | Why::Aborted, Towards::Clients) => End::ResetByClient,
        }
    }

    /// What time alone changes.
    fn look(&mut self, now: Time) {
        let idle = self.settings.idle;
        for at in 0..self.places.len() {
            if self.places[at].pair.as_ref().is_some_and(|pair| now.since(pair.moved) >= idle) {
                self.end(at, End::Idle, now);
            }
        }
        self.far.forget_gone();
        if self.full {
            self.accept(now);
        }
    }

    // --- Beginnings ---

    fn accept(&mut self, now: Time) {
        match self.settings.towards {
            Towards::Server => self.accept_near(now),
            Towards::Clients => self.accept_far(now),
        }
    }

    /// True if there is a place for a further connection.
    fn has_place(&mut self) -> bool {
        if self.closing {
            return false;
        }
        let full = self.open >= self.settings.connections;
        self.totals.waited += u64::from(full && !self.full);
        self.full = full;
        !full
    }

    fn accept_near(&mut self, now: Time) {
        while self.has_place() {
            let Some(listener) = &self.listener else { return };
            let (stream, client) = match listener.accept() {
                Ok((stream, client)) => (stream, near::plain(client)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // One that ended while it waited; the next one may be well (accept(2)).
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
                Err(_) => {
                    self.full = true; // out of files or memory: again after the next tick
                    return;
                }
            };
            if !self.admits(client.ip()) {
                near::reset(stream);
                self.refuse(client);
                continue;
            }
            let share = self.budget.take();
            // A socket that refuses an option works all the same.
            let _ = near::attend(&stream);
            match self.far.connect(now, share.bytes()) {
                Ok((far, port)) => {
                    let (near, server, port) = (stream, self.settings.to, Some(port));
                    self.begin(Begin { near, far, client, server, port, share, near_first: true }, now);
                }
                Err(_) => {
                    self.budget.give_back(share);
                    near::reset(stream);
                    self.tell(client, End::Unreachable);
                }
            }
        }
    }

    fn accept_far(&mut self, now: Time) {
        while self.has_place() {
            let Some(far) = self.far.accept() else { return };
            let Some((_, client)) = self.far.stack.ends(far) else { continue };
            if !self.admits(client.ip()) {
                self.far.leave(now, far, true, None);
                self.refuse(client);
                continue;
            }
            let share = self.budget.take();
            self.far.enlarge(far, share.bytes());
            match near::connecting(self.settings.to) {
                Ok(near) => {
                    let server = self.settings.to;
                    self.begin(
                        Begin { near, far, client, server, port: None, share, near_first: false },
                        now,
                    );
                }
                Err(_) => {
                    self.budget.give_back(share);
                    self.far.leave(now, far, true, None);
                    self.tell(client, End::Unreachable);
                }
            }
        }
    }

    /// True if this client may have a further connection.
    fn admits(&self, client: IpAddr) -> bool {
        client.is_loopback() || self.clients.get(&client).is_none_or(|&has| has < self.settings.per_client)
    }

    fn refuse(&mut self, client: SocketAddr) {
        self.totals.refused += 1;
        self.tell(client, End::TooMany);
    }

    fn begin(&mut self, begin: Begin, now: Time) {
        let at = self.free.pop().unwrap_or_else(|| {
            self.places.push(Place::default());
            self.places.len() - 1
        });
        let place = &mut self.places[at];
        let key = u64::from(place.generation) << 32 | at as u64;
        let (far, client) = (begin.far, begin.client.ip());
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        let watched = epoll::add(&self.epoll, &begin.near, EventData::new_u64(key), flags);
        place.pair = Some(Pair::new(begin, now));
        self.by_far.insert(far, at);
        *self.clients.entry(client).or_default() += 1;
        self.open += 1;
        self.totals.connections += 1;
        self.totals.most_at_once = self.totals.most_at_once.max(self.open);
        if watched.is_err() {
            self.end(at, End::Unreachable, now); // the kernel is out of memory for it
        }
    }

    // --- Ends ---

    /// Ends a pair, if there is one in this place.
    fn end(&mut self, at: usize, end: End, now: Time) {
        let Some(pair) = self.places[at].pair.take() else { return };
        self.places[at].generation = self.places[at].generation.wrapping_add(1);
        self.free.push(at);
        self.by_far.remove(&pair.far);
        self.open -= 1;
        self.budget.give_back(pair.share);
        if let Some(has) = self.clients.get_mut(&pair.client.ip()) {
            *has -= 1;
            if *has == 0 {
                self.clients.remove(&pair.client.ip());
            }
        }
        self.entries.push(self.entry(&pair, end, now));
        let reset = end != End::Closed;
        if reset {
            near::reset(pair.near);
        }
        self.far.leave(now, pair.far, reset, pair.port);
        if self.full {
            self.accept(now);
        }
    }

    fn entry(&self, pair: &Pair, end: End, now: Time) -> Entry {
        let info = self.far.stack.info(pair.far);
        let taken = info.map_or(0, |info| info.acknowledged);
        let (to_server, to_client) = match self.settings.towards {
            Towards::Server => (taken, pair.to_near),
            Towards::Clients => (pair.to_near, taken),
        };
        let path = info.and_then(|info| info.sender).map(|sender| Path {
            retransmissions: sender.counters.retransmits,
            timeouts: sender.counters.timeouts,
            rtt: sender.rtt_min.map(|_| sender.srtt),
            least_rtt: sender.rtt_min,
            window: sender.cwnd,
        });
        let local = self.far.stack.ends(pair.far).map(|(local, _)| local);
        let duration = now.since(pair.begun);
        Entry { client: pair.client, server: pair.server, local, duration, to_server, to_client, path, end }
    }

    /// Tells of a connection that did not begin.
    fn tell(&mut self, client: SocketAddr, end: End) {
        let (server, duration) = (self.settings.to, Duration::ZERO);
        let entry =
            Entry { client, server, local: None, duration, to_server: 0, to_client: 0, path: None, end };
        self.entries.push(entry);
    }
}

/// The time since then.
fn since(begun: Instant) -> Time {
    Time::from_nanos(u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX))
}

fn listen(address: SocketAddr) -> Result<TcpListener, ProxyError> {
    near::listener(address).map_err(|reason| ProxyError::Listen { address, reason })
}

//! A host without I/O: its connections, who listens, and which packet is for whom.

mod arrivals;
mod departures;
mod info;
mod opening;

pub use departures::Train;
pub use info::{Counts, Info};

use crate::connection::{Connection, Context, Why};
use crate::options::{Limits, Options};
use ackclock_units::{Duration, Time};
use ackclock_wire::endpoint::{Header, MAX_HEAD};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::fmt;
use std::hash::RandomState;
use std::net::SocketAddr;
use std::sync::Arc;

/// A connection of a host. The id of one that has ended and was released is never valid again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ConnectionId {
    index: u32,
    generation: u32,
}

/// Someone who listens.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ListenerId(u32);

/// Something that the application may want to act upon. Each is told once, until it is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// [`Host::accept`] has a connection.
    Incoming(ListenerId),
    /// The handshake is complete.
    Connected(ConnectionId),
    /// Bytes or the peer's end of the stream have arrived.
    Readable(ConnectionId),
    /// There is room to write, after a write that was not complete.
    Writable(ConnectionId),
    /// It has ended. What has arrived can still be read until it is released.
    Ended(ConnectionId, Why),
}

/// Why a connection takes or gives no bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    /// There is no such connection, or it was released.
    Unknown,
    /// Nothing has arrived yet. [`Event::Readable`] will tell.
    Empty,
    /// It was closed for writing.
    Closed,
    /// It has ended.
    Ended(Why),
}

/// Why a host does not open or listen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HostError {
    /// It has as many connections as it may have.
    Full,
    /// Both addresses must be of one family, and the peer's must name a host and a port.
    Address,
    /// Someone listens there, or no port is free.
    InUse,
}

impl fmt::Display for HostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            HostError::Full => "there are as many connections as there may be",
            HostError::Address => "the addresses do not fit together",
            HostError::InUse => "the port is in use",
        })
    }
}

impl std::error::Error for HostError {}

/// Who listens, and what waits for it.
struct Listener {
    at: SocketAddr,
    options: Arc<Options>,
    backlog: usize,
    /// Established connections that nobody has accepted.
    waiting: VecDeque<ConnectionId>,
}

/// A place for a connection.
#[derive(Default)]
struct Slot {
    generation: u32,
    connection: Option<Box<Connection>>,
    /// Set until somebody accepts it.
    listener: Option<ListenerId>,
    /// It is in the queue of those that may have something to send.
    ready: bool,
    /// The earliest entry in the heap of alarms.
    alarm: Option<Time>,
    /// Events that wait to be taken.
    readable: bool,
    writable: bool,
    /// The application was told of the end.
    ended: bool,
    /// It is in the queue of those in TIME-WAIT.
    resting: bool,
}

/// The host.
pub struct Host {
    limits: Limits,
    /// The secret of RFC 6528, and of RFC 6056 for ports.
    secret: RandomState,
    seed: u64,
    opened: u64,
    slots: Vec<Slot>,
    free: Vec<u32>,
    table: HashMap<(SocketAddr, SocketAddr), u32>,
    listeners: Vec<Option<Listener>>,
    /// The oldest first. Entries that are not half open, or not in TIME-WAIT, any more are skipped.
    half_open: VecDeque<ConnectionId>,
    half_open_count: usize,
    resting: VecDeque<ConnectionId>,
    out: VecDeque<Header>,
    ready: VecDeque<u32>,
    alarms: BinaryHeap<Reverse<(Time, u32, u32)>>,
    events: VecDeque<Event>,
    /// The answers that are left in the second that began then (RFC 5961 section 7).
    challenges: u32,
    second: Time,
    identification: u16,
    head: [u8; MAX_HEAD],
    counts: Counts,
}

impl Host {
    /// A host without connections. `seed` is of the random numbers of controllers.
    pub fn new(limits: Limits, seed: u64) -> Host {
        Host {
            challenges: limits.challenges,
            limits,
            secret: RandomState::new(),
            seed,
            opened: 0,
            slots: Vec::new(),
            free: Vec::new(),
            table: HashMap::new(),
            listeners: Vec::new(),
            half_open: VecDeque::new(),
            half_open_count: 0,
            resting: VecDeque::new(),
            out: VecDeque::new(),
            ready: VecDeque::new(),
            alarms: BinaryHeap::new(),
            events: VecDeque::new(),
            second: Time::ZERO,
            identification: 0,
            head: [0; MAX_HEAD],
            counts: Counts::default(),
        }
    }

    /// The next event, if there is one.
    pub fn poll_event(&mut self) -> Option<Event> {
        loop {
            let event = self.events.pop_front()?;
            let known = match event {
                Event::Incoming(listener) => self.listener(listener).is_some(),
                Event::Readable(id) => self.slot_mut(id).map(|slot| slot.readable = false).is_some(),
                Event::Writable(id) => self.slot_mut(id).map(|slot| slot.writable = false).is_some(),
                Event::Connected(id) | Event::Ended(id, _) => self.connection(id).is_some(),
            };
            if known {
                return Some(event);
            }
        }
    }

    /// Adds bytes to those that are to be sent. Returns how many fit into the buffer. If not all do,
    /// [`Event::Writable`] tells when there is room again.
    ///
    /// # Errors
    ///
    /// [`Refused`] if the connection has ended or was closed.
    pub fn write(&mut self, now: Time, id: ConnectionId, bytes: &[u8]) -> Result<usize, Refused> {
        let connection = self.living(id)?;
        if connection.outbound.is_closed() {
            return Err(Refused::Closed);
        }
        if let Some(why) = connection.why() {
            return Err(Refused::Ended(why));
        }
        let taken = connection.write(now, bytes);
        self.settle(now, id);
        Ok(taken)
    }

    /// The bytes that [`Host::write`] would take.
    pub fn room(&self, id: ConnectionId) -> usize {
        self.connection(id).map_or(0, |connection| connection.room())
    }

    /// From now on [`Event::Writable`] tells when there is room, as after a write that was not complete.
    pub fn want_room(&mut self, id: ConnectionId) {
        if let Ok(connection) = self.living(id) {
            connection.wants_room = true;
        }
    }

    /// Gives a connection larger buffers, bytes. Those that it has do not shrink. The receive buffer grows as
    /// far as the handshake has scaled the window: to 8 MiB at least.
    pub fn enlarge_buffers(&mut self, id: ConnectionId, send: usize, receive: usize) {
        if let Ok(connection) = self.living(id) {
            connection.enlarge_buffers(send, receive);
        }
    }

    /// The bytes that have arrived in order, in up to two parts. Both are empty at the end of the stream.
    ///
    /// # Errors
    ///
    /// [`Refused`] if nothing has arrived, or nothing more will.
    pub fn peek(&self, id: ConnectionId) -> Result<[&[u8]; 2], Refused> {
        let connection = self.connection(id).filter(|it| !it.is_released()).ok_or(Refused::Unknown)?;
        if connection.inbound.waiting() > 0 || connection.inbound.is_finished() {
            return Ok(connection.inbound.peek());
        }
        Err(connection.why().map_or(Refused::Empty, Refused::Ended))
    }

    /// Takes bytes that have arrived, which opens the receive window.
    pub fn consume(&mut self, now: Time, id: ConnectionId, bytes: usize) {
        self.with(now, id, |connection, context| connection.consume(context, bytes));
    }

    /// Reads what has arrived. Returns how much; 0 at the end of the stream.
    ///
    /// # Errors
    ///
    /// [`Refused`] if nothing has arrived, or nothing more will.
    pub fn read(&mut self, now: Time, id: ConnectionId, into: &mut [u8]) -> Result<usize, Refused> {
        let mut read = 0;
        for part in self.peek(id)? {
            let length = part.len().min(into.len() - read);
            into[read..read + length].copy_from_slice(&part[..length]);
            read += length;
        }
        self.consume(now, id, read);
        Ok(read)
    }

    /// Ends the stream to the peer behind what is written. The other direction goes on.
    pub fn close(&mut self, now: Time, id: ConnectionId) {
        self.with(now, id, |connection, context| connection.close(context));
    }

    /// Resets the connection.
    pub fn abort(&mut self, now: Time, id: ConnectionId) {
        self.with(now, id, |connection, context| connection.abort(context));
    }

    /// The application needs the connection no more, and forgets its id. What is written is still delivered.
    /// If something that has arrived was not read, the connection is reset.
    pub fn release(&mut self, now: Time, id: ConnectionId) {
        self.with(now, id, |connection, context| connection.release(context));
    }

    /// When to call [`Host::on_timeout`].
    pub fn poll_timeout(&self) -> Option<Time> {
        self.alarms.peek().map(|Reverse((at, ..))| *at)
    }

    /// Does what is due. Then [`Host::transmit`] may have something.
    pub fn on_timeout(&mut self, now: Time) {
        while let Some(&Reverse((at, index, generation))) = self.alarms.peek() {
            if at > now {
                break;
            }
            self.alarms.pop();
            let id = ConnectionId { index, generation };
            let Some(slot) = self.slot_mut(id).filter(|slot| slot.alarm == Some(at)) else { continue };
            slot.alarm = None;
            self.with(now, id, |connection, context| connection.on_timeout(context));
        }
    }

    fn listener(&mut self, id: ListenerId) -> Option<&mut Listener> {
        self.listeners.get_mut(id.0 as usize)?.as_mut()
    }

    fn slot_mut(&mut self, id: ConnectionId) -> Option<&mut Slot> {
        let slot = self.slots.get_mut(id.index as usize)?;
        (slot.generation == id.generation && slot.connection.is_some()).then_some(slot)
    }

    fn connection(&self, id: ConnectionId) -> Option<&Connection> {
        let slot = self.slots.get(id.index as usize)?;
        slot.connection.as_deref().filter(|_| slot.generation == id.generation)
    }

    /// A connection that the application still has.
    fn living(&mut self, id: ConnectionId) -> Result<&mut Connection, Refused> {
        let connection = self.slot_mut(id).and_then(|slot| slot.connection.as_deref_mut());
        connection.filter(|connection| !connection.is_released()).ok_or(Refused::Unknown)
    }

    /// Does something with a connection, and what follows.
    fn with(&mut self, now: Time, id: ConnectionId, act: impl FnOnce(&mut Connection, &mut Context<'_>)) {
        if now.since(self.second) >= Duration::from_secs(1) {
            (self.second, self.challenges) = (now, self.limits.challenges);
        }
        let slot = self.slots.get_mut(id.index as usize).filter(|slot| slot.generation == id.generation);
        if let Some(connection) = slot.and_then(|slot| slot.connection.as_deref_mut()) {
            let mut context = Context { now, out: &mut self.out, challenges: &mut self.challenges };
            act(connection, &mut context);
            self.settle(now, id);
        }
    }

    /// Something has happened to a connection: tells the application, sets the alarm, and forgets it at its
    /// end.
    fn settle(&mut self, now: Time, id: ConnectionId) {
        let Some(slot) = self.slots.get_mut(id.index as usize) else { return };
        let Some(connection) = slot.connection.as_deref_mut() else { return };
        if slot.listener.is_some() {
            if connection.is_half_open() {
                return self.watch(now, id);
            }
            return self.settle_incoming(now, id);
        }
        let rests = connection.is_waiting_for_time() && !std::mem::replace(&mut slot.resting, true);
        self.tell(id);
        if rests {
            self.resting.push_back(id);
            self.limit_resting();
        }
        self.tidy(id);
        self.watch(now, id);
    }

    /// Tells the application what has happened to its connection.
    fn tell(&mut self, id: ConnectionId) {
        let Some(slot) = self.slots.get_mut(id.index as usize) else { return };
        let Some(connection) = slot.connection.as_deref_mut() else { return };
        let news = std::mem::take(&mut connection.news);
        if connection.is_released() {
            return;
        }
        if news.connected {
            self.events.push_back(Event::Connected(id));
        }
        if news.readable && !std::mem::replace(&mut slot.readable, true) {
            self.events.push_back(Event::Readable(id));
        }
        if news.writable && !std::mem::replace(&mut slot.writable, true) {
            self.events.push_back(Event::Writable(id));
        }
        if let Some(why) = connection.why()
            && !std::mem::replace(&mut slot.ended, true)
        {
            self.events.push_back(Event::Ended(id, why));
        }
    }

    /// Gives the place of a connection to others if nobody needs it.
    fn tidy(&mut self, id: ConnectionId) {
        let Some(slot) = self.slots.get_mut(id.index as usize) else { return };
        let over = slot.connection.as_ref().filter(|connection| connection.is_over());
        let Some(connection) = over else { return };
        let ends = (connection.local, connection.remote);
        // Its ends may be used by another connection from now on.
        if self.table.get(&ends) == Some(&id.index) {
            self.table.remove(&ends);
        }
        if connection.is_released() || slot.listener.is_some() {
            self.forget(id);
        }
    }

    /// Frees a place.
    fn forget(&mut self, id: ConnectionId) {
        let slot = &mut self.slots[id.index as usize];
        let ready = slot.ready;
        *slot = Slot { generation: slot.generation.wrapping_add(1), ready, ..Slot::default() };
        self.free.push(id.index);
    }

    /// Sets the alarm, and asks for departures.
    fn watch(&mut self, now: Time, id: ConnectionId) {
        let Some(slot) = self.slots.get_mut(id.index as usize) else { return };
        let Some(connection) = &slot.connection else { return };
        if connection.is_synchronised() && !std::mem::replace(&mut slot.ready, true) {
            self.ready.push_back(id.index);
        }
        // An alarm that is too early is set again when it goes off.
        if let Some(at) = connection.deadline(now)
            && slot.alarm.is_none_or(|alarm| at < alarm)
        {
            slot.alarm = Some(at);
            self.alarms.push(Reverse((at, id.index, id.generation)));
        }
    }
}

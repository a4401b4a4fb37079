//! Connections that are opened, by this host or by others.

use super::{ConnectionId, Event, Host, HostError, Listener, ListenerId, Slot};
use crate::connection::{Connection, Context, Seeds};
use crate::options::Options;
use ackclock_net::Rng;
use ackclock_units::Time;
use ackclock_wire::endpoint::Header;
use std::collections::VecDeque;
use std::hash::BuildHasher;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// The ports from which connections are opened (Linux: ip_local_port_range).
const PORTS: std::ops::Range<u16> = 32_768..61_000;

impl Host {
    /// Accepts connections to this address and port. The unspecified address stands for every address of its
    /// family, port 0 for every port that nobody else listens on. At most `backlog` established connections
    /// wait for [`Host::accept`]; SYNs beyond are ignored.
    ///
    /// # Errors
    ///
    /// [`HostError::InUse`] if somebody listens there.
    pub fn listen(
        &mut self,
        at: SocketAddr,
        options: Arc<Options>,
        backlog: usize,
    ) -> Result<ListenerId, HostError> {
        if self.listeners.iter().flatten().any(|listener| listener.at == at) {
            return Err(HostError::InUse);
        }
        self.listeners.push(Some(Listener { at, options, backlog, waiting: VecDeque::new() }));
        Ok(ListenerId(self.listeners.len() as u32 - 1))
    }

    /// Accepts no more connections. Those that nobody has accepted are reset.
    pub fn stop_listening(&mut self, now: Time, id: ListenerId) {
        let Some(listener) = self.listeners.get_mut(id.0 as usize).and_then(Option::take) else { return };
        for waiting in listener.waiting {
            self.adopt(waiting);
            self.abort(now, waiting);
            self.release(now, waiting);
        }
    }

    /// The next established connection to a listener.
    pub fn accept(&mut self, id: ListenerId) -> Option<ConnectionId> {
        loop {
            let next = self.listener(id)?.waiting.pop_front()?;
            if self.connection(next).is_some() {
                self.adopt(next);
                // What has happened meanwhile is told now.
                if let Some(slot) = self.slot_mut(next)
                    && let Some(connection) = slot.connection.as_deref_mut()
                {
                    connection.news.connected = false;
                    connection.news.readable |= connection.inbound.expected() > 0;
                }
                self.tell(next);
                return Some(next);
            }
        }
    }

    /// From now on the connection is the application's.
    fn adopt(&mut self, id: ConnectionId) {
        if let Some(slot) = self.slot_mut(id) {
            slot.listener = None;
        }
    }

    /// Opens a connection from an address of this host, and from this port. Port 0: any that is free.
    ///
    /// # Errors
    ///
    /// [`HostError`] if the addresses do not fit, the port is in use or all are, or there are too many
    /// connections.
    pub fn connect(
        &mut self,
        now: Time,
        from: SocketAddr,
        to: SocketAddr,
        options: Arc<Options>,
    ) -> Result<ConnectionId, HostError> {
        let valid = from.is_ipv4() == to.is_ipv4() && !from.ip().is_unspecified();
        if !valid || to.ip().is_unspecified() || to.ip().is_multicast() || to.port() == 0 {
            return Err(HostError::Address);
        }
        if self.table.len() >= self.limits.connections {
            return Err(HostError::Full);
        }
        let local = self.free_end(from, to).ok_or(HostError::InUse)?;
        let seeds = self.seeds(now, local, to);
        let mut context = Context { now, out: &mut self.out, challenges: &mut self.challenges };
        let connection = Connection::connect(&mut context, local, to, options, seeds);
        let id = self.place(connection, None);
        self.watch(now, id);
        Ok(id)
    }

    /// This end, or one with a port, if no connection to `to` has it.
    fn free_end(&self, from: SocketAddr, to: SocketAddr) -> Option<SocketAddr> {
        let is_free = |end: &SocketAddr| !self.table.contains_key(&(*end, to));
        if from.port() != 0 {
            return Some(from).filter(is_free);
        }
        // RFC 6056 section 3.3.3: a secret offset for each peer, and a counter.
        let offset = self.secret.hash_one((from.ip(), to)).wrapping_add(self.opened);
        let count = u64::from(PORTS.end - PORTS.start);
        let ports = (0..count).map(|step| PORTS.start + (offset.wrapping_add(step) % count) as u16);
        ports.map(|port| SocketAddr::new(from.ip(), port)).find(is_free)
    }

    /// What a connection between these ends begins with. RFC 6528: a clock that ticks every 4 microseconds,
    /// and a secret for each pair of ends.
    fn seeds(&mut self, now: Time, local: SocketAddr, remote: SocketAddr) -> Seeds {
        self.opened += 1;
        let hash = self.secret.hash_one((local, remote));
        let clock = (now.as_nanos() / 4000) as u32;
        let (initial, stamp_offset) = match self.limits.initial_sequence {
            Some(initial) => (initial, initial),
            None => ((hash as u32).wrapping_add(clock), (hash >> 32) as u32),
        };
        let draws = Rng::new(self.seed.wrapping_add(self.opened), "connection");
        let (linger, abandoned) = (self.limits.linger, self.limits.abandoned);
        Seeds { initial, stamp_offset, draws, linger, abandoned }
    }

    /// Puts a connection into a free place.
    fn place(&mut self, connection: Connection, listener: Option<ListenerId>) -> ConnectionId {
        let ends = (connection.local, connection.remote);
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            self.slots.len() as u32 - 1
        });
        let slot = &mut self.slots[index as usize];
        slot.connection = Some(Box::new(connection));
        slot.listener = listener;
        self.table.insert(ends, index);
        ConnectionId { index, generation: slot.generation }
    }

    /// Who listens where a SYN wants to go. An address counts more than any address, a port more than any
    /// port.
    fn listener_of(&self, to: SocketAddr) -> Option<ListenerId> {
        let any = if to.is_ipv4() { IpAddr::from([0; 4]) } else { IpAddr::from([0; 16]) };
        let wanted = [(to.ip(), to.port()), (any, to.port()), (to.ip(), 0), (any, 0)];
        wanted.into_iter().find_map(|(address, port)| {
            let at = SocketAddr::new(address, port);
            let found = |it: &Option<Listener>| it.as_ref().is_some_and(|listener| listener.at == at);
            self.listeners.iter().position(found).map(|at| ListenerId(at as u32))
        })
    }

    /// A SYN that belongs to no connection. False: nobody listens there.
    pub(super) fn on_syn(&mut self, now: Time, header: &Header) -> bool {
        let Some(id) = self.listener_of(header.to) else { return false };
        let full = self.table.len() >= self.limits.connections;
        let Some(listener) = self.listener(id) else { return false };
        if full || listener.waiting.len() >= listener.backlog {
            self.counts.ignored_syns += 1;
            return true;
        }
        let options = listener.options.clone();
        if self.half_open_count >= self.limits.half_open {
            self.forget_half_open();
        }
        let seeds = self.seeds(now, header.to, header.from);
        let mut context = Context { now, out: &mut self.out, challenges: &mut self.challenges };
        let connection = Connection::answer(&mut context, header, options, seeds);
        let connection = self.place(connection, Some(id));
        if self.half_open.len() > 2 * self.limits.half_open {
            let mut entries = std::mem::take(&mut self.half_open);
            entries.retain(|&id| self.connection(id).is_some_and(|connection| connection.is_half_open()));
            self.half_open = entries;
        }
        self.half_open.push_back(connection);
        self.half_open_count += 1;
        self.watch(now, connection);
        true
    }

    /// RFC 4987 section 3.4: the oldest half-open connection makes room.
    fn forget_half_open(&mut self) {
        while let Some(id) = self.half_open.pop_front() {
            let Some(connection) = self.connection(id).filter(|connection| connection.is_half_open()) else {
                continue;
            };
            let ends = (connection.local, connection.remote);
            self.table.remove(&ends);
            self.forget(id);
            self.half_open_count -= 1;
            self.counts.forgotten_syns += 1;
            return;
        }
    }

    /// A connection to a listener is established or has ended, or something has happened to it since.
    pub(super) fn settle_incoming(&mut self, now: Time, id: ConnectionId) {
        let Some(slot) = self.slot_mut(id) else { return };
        let (Some(at), Some(connection)) = (slot.listener, slot.connection.as_deref_mut()) else { return };
        let (over, established) = (connection.is_over(), std::mem::take(&mut connection.news.connected));
        if established || over && connection.opened_at.is_none() {
            self.half_open_count -= 1;
        }
        if established {
            match self.listener(at) {
                Some(listener) if listener.waiting.len() < listener.backlog => {
                    listener.waiting.push_back(id);
                    self.events.push_back(Event::Incoming(at));
                }
                _ => return self.turn_away(now, id),
            }
        }
        self.tidy(id);
        self.watch(now, id);
    }

    /// There is nobody to accept an established connection.
    fn turn_away(&mut self, now: Time, id: ConnectionId) {
        self.counts.ignored_syns += 1;
        self.adopt(id);
        self.abort(now, id);
        self.release(now, id);
    }

    /// At most so many connections wait for old segments. The oldest make room.
    pub(super) fn limit_resting(&mut self) {
        while self.resting.len() > self.limits.time_wait {
            let Some(id) = self.resting.pop_front() else { return };
            if let Some(connection) = self.connection(id).filter(|it| it.is_waiting_for_time()) {
                let ends = (connection.local, connection.remote);
                self.table.remove(&ends);
                if let Some(connection) = self.slot_mut(id).and_then(|slot| slot.connection.as_deref_mut()) {
                    connection.expire();
                }
                self.tidy(id);
            }
        }
    }
}

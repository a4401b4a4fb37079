//! What a host tells of its connections and of itself.

use super::{ConnectionId, Host};
use crate::accurate::EcnFeedback;
use crate::connection::{State, Why};
use crate::knowledge::SenderInfo;
use ackclock_units::Time;
use std::net::SocketAddr;

/// The counters of a host.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Packets or trains that arrived, and left.
    pub packets_in: u64,
    /// Packets or trains that left.
    pub packets_out: u64,
    /// Segments that arrived.
    pub segments_in: u64,
    /// Segments that left.
    pub segments_out: u64,
    /// Packets that were not read: fragments, other protocols, wrong lengths and checksums.
    pub malformed: u64,
    /// Segments for nobody.
    pub refused: u64,
    /// SYNs that were ignored because a backlog or the host was full.
    pub ignored_syns: u64,
    /// Half-open connections that made room for others.
    pub forgotten_syns: u64,
}

/// The state of a connection.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Info {
    /// The state by the names of RFC 9293.
    pub state: State,
    /// Why it has ended, if it has.
    pub why: Option<Why>,
    /// When its handshake was complete.
    pub opened_at: Option<Time>,
    /// The bytes that the application has written.
    pub written: u64,
    /// The bytes that the peer has acknowledged.
    pub acknowledged: u64,
    /// The bytes that were never sent.
    pub unsent: u64,
    /// The bytes that have arrived in order.
    pub received: u64,
    /// The bytes that wait to be read.
    pub unread: u64,
    /// The memory that its buffers hold, bytes.
    pub memory: usize,
    /// How marks are fed back, once that is agreed on.
    pub feedback: EcnFeedback,
    /// What the sender knows, from the handshake to the end.
    pub sender: Option<SenderInfo>,
}

impl Host {
    /// The counters.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Connections whose ends are in use, in all states.
    pub fn connections(&self) -> usize {
        self.table.len()
    }

    /// The memory that the buffers of all connections hold, bytes.
    pub fn memory(&self) -> usize {
        let held = self.slots.iter().filter_map(|slot| slot.connection.as_ref());
        held.map(|connection| connection.outbound.held() + connection.inbound.held()).sum()
    }

    /// The ends of a connection: this host's, and the peer's.
    pub fn ends(&self, id: ConnectionId) -> Option<(SocketAddr, SocketAddr)> {
        self.connection(id).map(|connection| (connection.local, connection.remote))
    }

    /// The state of a connection; `None` if there is no such connection any more.
    pub fn info(&self, id: ConnectionId) -> Option<Info> {
        let connection = self.connection(id)?;
        let (outbound, inbound) = (&connection.outbound, &connection.inbound);
        Some(Info {
            state: connection.state(),
            why: connection.why(),
            opened_at: connection.opened_at,
            written: outbound.written(),
            acknowledged: outbound.arrived(),
            unsent: outbound.written().saturating_sub(outbound.sent().max(outbound.acked())),
            received: inbound.next(),
            unread: inbound.waiting(),
            memory: outbound.held() + inbound.held(),
            feedback: connection.feedback(),
            sender: outbound.knowledge(),
        })
    }

    /// All connections in words, for messages.
    pub fn describe(&self) -> String {
        let infos = self.slots.iter().enumerate().filter_map(|(index, slot)| {
            let id = ConnectionId { index: index as u32, generation: slot.generation };
            self.info(id).map(|info| format!("{info:?}"))
        });
        infos.collect::<Vec<_>>().join("\n")
    }

    /// Shows the variables of a connection's controller (name, value).
    pub fn inspect(&self, id: ConnectionId, see: &mut dyn FnMut(&'static str, f64)) {
        if let Some(flight) = self.connection(id).and_then(|connection| connection.outbound.flight()) {
            flight.sender.controller().inspect(see);
        }
    }
}

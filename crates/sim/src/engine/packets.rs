//! The two kinds of packets of a run: segments there, acknowledgements back. What happens to them on their
//! way is written once, for both.

use super::Engine;
use super::in_flight::InFlight;
use super::observe::{Observer, PacketRef};
use super::owners::{Owner, Owners};
use super::transmitters::QueuedPacket;
use ackclock_net::{Detour, Ecn, Headers, Link, Packet, PureAck};
use ackclock_tcp::{Ack, Data, Flags};
use ackclock_units::Time;

/// A segment of a flow, or a datagram of a stream.
#[derive(Clone, Copy, Default)]
pub(crate) struct Segment(pub(crate) Data);

/// An acknowledgement of a flow.
#[derive(Clone, Copy, Default)]
pub(crate) struct Acknowledgement(pub(crate) Ack);

impl Packet for Segment {
    #[inline]
    fn bytes(&self) -> u32 {
        u32::from(self.0.bytes)
    }
    #[inline]
    fn ecn(&self) -> Ecn {
        let flags = self.0.flags;
        match (flags.has(Flags::ECT), flags.has(Flags::CE)) {
            (false, _) => Ecn::NotEct,
            (true, true) => Ecn::Ce,
            (true, false) if flags.has(Flags::ECT1) => Ecn::Ect1,
            (true, false) => Ecn::Ect0,
        }
    }
    fn mark(&mut self) {
        self.0.flags = self.0.flags.with(Flags::CE);
    }
}

impl Packet for Acknowledgement {
    #[inline]
    fn bytes(&self) -> u32 {
        u32::from(self.0.bytes)
    }
}

/// What the engine lends to a packet of kind `P` on its way.
pub(super) struct Lent<'a, P, O> {
    pub(super) in_flight: &'a mut InFlight<P>,
    pub(super) links: &'a mut [Link],
    pub(super) observer: &'a mut O,
    pub(super) owners: &'a Owners,
}

/// A kind of packets.
pub(super) trait Kind: Packet + Copy + Default {
    /// What packets of this kind need of the engine.
    fn lent<O: Observer>(engine: &mut Engine<O>) -> Lent<'_, Self, O>;

    /// The packet as observers see it. `owner` is that of its path.
    fn seen(&self, owner: usize, owners: &Owners) -> PacketRef<'_>;

    /// An agent's packet does not reach the next exit once.
    fn detour<O: Observer>(&self, engine: &mut Engine<O>, agent: usize, detour: Detour);

    /// The packet as it waits in a dequeue-driven link.
    fn queued(self) -> QueuedPacket;

    /// What a queue reads in the packet's headers. `key` is that of its owner, and tells its flow from others
    /// as addresses and ports would. Acknowledgements are a flow of their own, and so is each connection.
    fn headers(&self, key: u64) -> Headers;

    /// Forwards the packet to `exit`, where it is due at `due`.
    fn forward<O: Observer>(self, engine: &mut Engine<O>, exit: usize, due: Time);
}

impl Kind for Segment {
    #[inline(always)]
    fn lent<O: Observer>(engine: &mut Engine<O>) -> Lent<'_, Segment, O> {
        let Engine { data, links, observer, owners, .. } = engine;
        Lent { in_flight: data, links, observer, owners }
    }

    #[inline(always)]
    fn seen(&self, owner: usize, owners: &Owners) -> PacketRef<'_> {
        match owners.owner(owner) {
            Owner::Flow(flow) => PacketRef::Data(flow, &self.0),
            Owner::Agent(flow) => PacketRef::Datagram(flow, &self.0),
            Owner::Stream(stream) => PacketRef::CbrPacket(stream, &self.0),
        }
    }

    fn detour<O: Observer>(&self, engine: &mut Engine<O>, agent: usize, detour: Detour) {
        engine.on_agent_detour(agent, true, self.0.seq, detour);
    }

    fn queued(self) -> QueuedPacket {
        QueuedPacket::Segment(self)
    }

    fn headers(&self, key: u64) -> Headers {
        Headers { flow: key.wrapping_add(u64::from(self.0.flags.epoch()) << 1), ack: None }
    }

    #[inline(always)]
    fn forward<O: Observer>(self, engine: &mut Engine<O>, exit: usize, due: Time) {
        engine.forward_segment(exit, due, self);
    }
}

impl Kind for Acknowledgement {
    #[inline(always)]
    fn lent<O: Observer>(engine: &mut Engine<O>) -> Lent<'_, Acknowledgement, O> {
        let Engine { acks, links, observer, owners, .. } = engine;
        Lent { in_flight: acks, links, observer, owners }
    }

    #[inline(always)]
    fn seen(&self, owner: usize, owners: &Owners) -> PacketRef<'_> {
        match owners.owner(owner) {
            Owner::Agent(flow) => PacketRef::Report(flow, &self.0),
            Owner::Flow(flow) | Owner::Stream(flow) => PacketRef::Ack(flow, &self.0),
        }
    }

    fn detour<O: Observer>(&self, engine: &mut Engine<O>, agent: usize, detour: Detour) {
        engine.on_agent_detour(agent, false, self.0.ack, detour);
    }

    fn queued(self) -> QueuedPacket {
        QueuedPacket::Acknowledgement(self)
    }

    fn headers(&self, key: u64) -> Headers {
        // The TCP header has the lower 32 bits.
        let ack = PureAck { number: self.0.ack as u32, ecn: u8::from(self.0.flags.has(Flags::ECE)) };
        Headers { flow: key.wrapping_add(u64::from(self.0.flags.epoch()) << 1 | 1), ack: Some(ack) }
    }

    #[inline(always)]
    fn forward<O: Observer>(self, engine: &mut Engine<O>, exit: usize, due: Time) {
        engine.forward_ack(exit, due, self);
    }
}

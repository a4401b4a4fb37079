//! The first packets at each queue on the ways of followed flows, whosever they are: when each came, when it
//! left, and whether it was dropped.

use crate::engine::PacketRef;
use ackclock_net::Fate;
use ackclock_scenario::flow_trace::{Crossing, FlowTrace, Owner, QueueTrace};
use ackclock_scenario::plan::Plan;
use ackclock_tcp::Data;
use ackclock_units::{Duration, Time};
use std::collections::HashMap;

/// So many packets of a link are kept: some seconds of a fast link, and the whole of a slow one.
const MAX_PACKETS: usize = 10_000;

/// A packet on its way: whose it is, its number, and when it was sent, which tells retransmissions apart.
type Key = (Owner, u64, Time);

/// The queue of a link.
struct Watched {
    packets: Vec<Crossing>,
    /// Packets that wait for a decision, by their places in `packets`.
    waiting: HashMap<Key, usize>,
}

/// The queues that are watched.
pub(super) struct Crossings {
    /// By the number of the link.
    links: HashMap<usize, Watched>,
    /// The links from sender to receiver of each followed flow, by its number.
    ways: Vec<(usize, Vec<usize>)>,
    /// The last link of each flow and of each stream.
    last: [Vec<usize>; 2],
    /// When packets between two links reach the next one.
    between: HashMap<Key, Time>,
}

impl Crossings {
    pub(super) fn new(plan: &Plan, followed: &[usize]) -> Crossings {
        // What belongs to a single flow has no name, and no queue worth looking at.
        let named = |&link: &usize| link < plan.measured;
        let way = |&flow: &usize| (flow, plan.flows[flow].forward.iter().copied().filter(named).collect());
        let ways: Vec<(usize, Vec<usize>)> = followed.iter().map(way).collect();
        let watched = |&link: &usize| (link, Watched { packets: Vec::new(), waiting: HashMap::new() });
        let last = |route: &[usize]| route.last().copied().unwrap_or(usize::MAX);
        Crossings {
            links: ways.iter().flat_map(|(_, links)| links).map(watched).collect(),
            ways,
            last: [
                plan.flows.iter().map(|flow| last(&flow.forward)).collect(),
                plan.streams.iter().map(|stream| last(&stream.route)).collect(),
            ],
            between: HashMap::new(),
        }
    }

    /// True if it matters what becomes of this packet at any link.
    pub(super) fn minds(&self, packet: PacketRef<'_>) -> bool {
        let is_done = |watched: &Watched| watched.is_full() && watched.waiting.is_empty();
        forward(packet).is_some() && !self.links.values().all(is_done)
    }

    /// A packet reached a link.
    pub(super) fn at_link(&mut self, link: usize, delay: Duration, packet: PacketRef<'_>, fate: Fate) {
        let Some((owner, data)) = forward(packet) else { return };
        if self.links.values().all(Watched::is_full) {
            return;
        }
        let key = (owner, data.seq, data.sent_at);
        let came = self.between.remove(&key).unwrap_or(data.sent_at);
        self.goes_on(link, key, came, fate);
        let Some(watched) = self.links.get_mut(&link).filter(|watched| !watched.is_full()) else { return };
        let (ended, dropped) = match fate {
            Fate::LinkRetry(_) => return, // it comes again, and has waited since it came first
            Fate::Queued => {
                watched.waiting.insert(key, watched.packets.len());
                (None, false)
            }
            Fate::Dropped(_) => (Some(came), true),
            Fate::Arrives(at) | Fate::ArrivesTwice(at) => (Some(left(at, delay)), false),
        };
        let ended_ns = ended.map(Time::as_nanos);
        watched.packets.push(Crossing { owner, came_ns: came.as_nanos(), ended_ns, dropped });
    }

    /// What becomes of a packet that waited in a link's own queue was decided.
    pub(super) fn decided(
        &mut self,
        now: Time,
        link: usize,
        delay: Duration,
        packet: PacketRef<'_>,
        fate: Fate,
    ) {
        let Some((owner, data)) = forward(packet) else { return };
        let key = (owner, data.seq, data.sent_at);
        if !self.links.values().all(Watched::is_full) {
            self.goes_on(link, key, now, fate);
        }
        let Some(watched) = self.links.get_mut(&link) else { return };
        let Some(place) = watched.waiting.remove(&key) else { return };
        let crossing = &mut watched.packets[place];
        crossing.dropped = matches!(fate, Fate::Dropped(_));
        crossing.ended_ns = match fate {
            Fate::Arrives(at) | Fate::ArrivesTwice(at) => Some(left(at, delay).as_nanos()),
            Fate::LinkRetry(_) | Fate::Queued | Fate::Dropped(_) => Some(now.as_nanos()),
        };
    }

    /// Notes when a packet reaches its next link. A corrupted one keeps the time at which it came.
    fn goes_on(&mut self, link: usize, key: Key, came: Time, fate: Fate) {
        let last = match key.0 {
            Owner::Flow(flow) => self.last[0][flow as usize],
            Owner::Stream(stream) => self.last[1][stream as usize],
        };
        let next = match fate {
            Fate::LinkRetry(_) => came,
            Fate::Arrives(at) | Fate::ArrivesTwice(at) if link != last => at,
            Fate::Arrives(_) | Fate::ArrivesTwice(_) | Fate::Queued | Fate::Dropped(_) => return,
        };
        self.between.insert(key, next);
    }

    /// Gives each trace the queue in which packets waited longest, in a run that ended at `end`, ns. Two
    /// traces do not share one.
    pub(super) fn give(mut self, courses: &mut [FlowTrace], end: u64) {
        for watched in self.links.values_mut() {
            watched.packets.retain(|packet| packet.came_ns <= end);
            // What is computed may be ahead of the end, and was noted flow by flow.
            watched.packets.sort_by_key(|packet| packet.came_ns);
            for packet in &mut watched.packets {
                packet.ended_ns = packet.ended_ns.filter(|&at| at <= end);
            }
        }
        for (flow, links) in &self.ways {
            let waited = |link: &&usize| self.links.get(*link).map_or(0, |watched| watched.waited(end));
            let Some(&link) = links.iter().max_by_key(waited) else { continue };
            let course = courses.iter_mut().find(|course| course.flow == *flow);
            if let (Some(course), Some(watched)) = (course, self.links.remove(&link)) {
                course.queue = Some(QueueTrace { link, packets: watched.packets });
            }
        }
    }
}

impl Watched {
    fn is_full(&self) -> bool {
        self.packets.len() >= MAX_PACKETS
    }

    /// The time that all packets together waited, ns.
    fn waited(&self, end: u64) -> u64 {
        self.packets.iter().map(|packet| packet.ended_ns.unwrap_or(end) - packet.came_ns).sum()
    }
}

/// When a packet that arrives at `at` left the transmitter.
fn left(at: Time, delay: Duration) -> Time {
    Time::from_nanos(at.as_nanos().saturating_sub(delay.as_nanos()))
}

/// A packet from a sender to a receiver, and whose it is.
fn forward(packet: PacketRef<'_>) -> Option<(Owner, &Data)> {
    match packet {
        PacketRef::Data(flow, data) | PacketRef::Datagram(flow, data) => Some((Owner::Flow(flow), data)),
        PacketRef::CbrPacket(stream, data) => Some((Owner::Stream(stream), data)),
        PacketRef::Ack(..) | PacketRef::Report(..) => None,
    }
}

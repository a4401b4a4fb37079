//! The first packets at the queues on the ways of followed flows, whosever they are: when each came, when it
//! left, and whether it was dropped. The same as in the simulator.

use ackclock_net::Fate;
use ackclock_scenario::flow_trace::{Crossing, Owner, QueueTrace};
use ackclock_units::Time;
use std::collections::BTreeMap;

/// So many packets of a link are kept: some seconds of a fast link, and the whole of a slow one.
const MAX_PACKETS: usize = 10_000;

/// The queue of a link.
#[derive(Default)]
struct Watched {
    packets: Vec<Crossing>,
    /// Packets that wait for a decision, by their tickets: their places in `packets`.
    waiting: BTreeMap<u32, usize>,
}

/// The queues that are watched.
#[derive(Default)]
pub(crate) struct Crossings {
    /// By the number of the link. Each is a gate, where packets come one by one.
    links: BTreeMap<usize, Watched>,
}

impl Crossings {
    pub(crate) fn new(links: &[usize]) -> Crossings {
        Crossings { links: links.iter().map(|&link| (link, Watched::default())).collect() }
    }

    /// A packet reached a link, whose last bit leaves at `leaves` unless something else is its `fate`.
    pub(crate) fn at_link(
        &mut self,
        link: usize,
        owner: Option<Owner>,
        came: Time,
        leaves: Time,
        fate: Fate,
    ) {
        let ended = match fate {
            Fate::Arrives(_) | Fate::ArrivesTwice(_) => (leaves, false),
            Fate::Dropped(_) => (came, true),
            // It comes again, or its ticket is told.
            Fate::LinkRetry(_) | Fate::Queued => return,
        };
        self.note(link, owner, came, Some(ended));
    }

    /// A packet waits in a link's own queue.
    pub(crate) fn waits(&mut self, link: usize, owner: Option<Owner>, came: Time, ticket: u32) {
        if let Some((watched, place)) = self.note(link, owner, came, None) {
            watched.waiting.insert(ticket, place);
        }
    }

    /// What becomes of a packet that waited was decided: it leaves at `leaves`, or is dropped then.
    pub(crate) fn decided(&mut self, link: usize, ticket: u32, leaves: Time, fate: Fate) {
        let Some(watched) = self.links.get_mut(&link) else { return };
        let Some(place) = watched.waiting.remove(&ticket) else { return };
        watched.packets[place].ended_ns = Some(leaves.as_nanos());
        watched.packets[place].dropped = matches!(fate, Fate::Dropped(_));
    }

    fn note(
        &mut self,
        link: usize,
        owner: Option<Owner>,
        came: Time,
        ended: Option<(Time, bool)>,
    ) -> Option<(&mut Watched, usize)> {
        let watched = self.links.get_mut(&link).filter(|watched| watched.packets.len() < MAX_PACKETS)?;
        let (ended_ns, dropped) = ended.map_or((None, false), |(at, dropped)| (Some(at.as_nanos()), dropped));
        let place = watched.packets.len();
        watched.packets.push(Crossing { owner: owner?, came_ns: came.as_nanos(), ended_ns, dropped });
        Some((watched, place))
    }

    /// What passed each link.
    pub(crate) fn finish(self) -> impl Iterator<Item = (usize, Vec<Crossing>)> {
        self.links.into_iter().map(|(link, watched)| (link, watched.packets))
    }
}

/// Of these links the queue in which packets waited longest, in a run that ended at `end`. It is taken: two
/// flows do not share one.
pub(crate) fn longest(
    queues: &mut BTreeMap<usize, Vec<Crossing>>,
    way: &[usize],
    end: Time,
) -> Option<QueueTrace> {
    let end = end.as_nanos();
    let ended = |packet: &Crossing| packet.ended_ns.map_or(end, |at| at.min(end));
    let waited = |link: &&usize| -> u64 {
        let packets = queues.get(*link).into_iter().flatten();
        packets.map(|packet| ended(packet).saturating_sub(packet.came_ns)).sum()
    };
    let link = *way.iter().filter(|link| queues.contains_key(link)).max_by_key(waited)?;
    let mut packets = queues.remove(&link)?;
    packets.retain(|packet| packet.came_ns <= end);
    for packet in &mut packets {
        packet.ended_ns = packet.ended_ns.filter(|&at| at <= end);
    }
    Some(QueueTrace { link, packets })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_net::Cause;

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    const FLOW: Option<Owner> = Some(Owner::Flow(0));

    #[test]
    fn a_queue_has_what_came_and_what_became_of_it() {
        let mut crossings = Crossings::new(&[3]);
        crossings.at_link(3, FLOW, at(1), at(2), Fate::Arrives(at(9)));
        crossings.at_link(3, Some(Owner::Stream(1)), at(2), at(2), Fate::Dropped(Cause::Overflow));
        crossings.at_link(4, FLOW, at(2), at(3), Fate::Arrives(at(9)));
        crossings.at_link(3, None, at(2), at(3), Fate::Arrives(at(9)));
        for ticket in 0..3 {
            crossings.waits(3, FLOW, at(3), ticket);
        }
        crossings.decided(3, 1, at(4), Fate::Arrives(at(9)));
        crossings.decided(3, 0, at(5), Fate::Dropped(Cause::Overflow));
        let mut queues: BTreeMap<usize, Vec<Crossing>> = crossings.finish().collect();
        let queue = longest(&mut queues, &[1, 3], at(10)).expect("a queue");
        let told: Vec<_> = queue.packets.iter().map(|it| (it.came_ns, it.ended_ns, it.dropped)).collect();
        let ms = |ms: u64| ms * 1_000_000;
        assert_eq!(
            told,
            [
                (ms(1), Some(ms(2)), false),
                (ms(2), Some(ms(2)), true),
                (ms(3), Some(ms(5)), true),
                (ms(3), Some(ms(4)), false),
                (ms(3), None, false),
            ]
        );
        assert_eq!((queue.link, queue.packets[1].owner), (3, Owner::Stream(1)));
        assert!(longest(&mut queues, &[3], at(10)).is_none(), "nobody else has it");
    }

    #[test]
    fn its_memory_is_bounded() {
        let mut crossings = Crossings::new(&[0]);
        for ticket in 0..2 * MAX_PACKETS as u32 {
            crossings.waits(0, FLOW, at(1), ticket);
        }
        assert_eq!(crossings.links[&0].waiting.len(), MAX_PACKETS);
        assert_eq!(crossings.finish().map(|(_, packets)| packets.len()).sum::<usize>(), MAX_PACKETS);
    }
}

//! Divides paths into stages: where a path needs events, and where it can be computed ahead of time.
//!
//! Some links can be computed as soon as their feeder is: links with an unlimited queue and a single source.
//! Arrivals come in the order of the source, and no other packet can come between. Every other link is a
//! *gate*. At a gate, packets wait in a lane until the instant at which they reach the link, so that all
//! sources take turns in time. These links are gates, too: a link that is measured, so that nothing is
//! counted before it happens; the link after one that reorders, because a link must be offered its packets in
//! order of time (an endpoint serves as well); a link that retransmits, because a corrupted packet comes back
//! there; and a link with a dequeue-driven queue, because the packets that it sends continue from there.

use crate::{Cause, Fate, Link, Packet};
use ackclock_units::Time;

/// A stage of a path: a gate (or none), then links that are not gates, then a lane.
#[derive(Clone, Debug)]
pub struct Stage {
    /// The link at which packets take turns with those of other sources.
    pub gate: Option<u32>,
    /// The links after the gate, at which no other packet can come between.
    pub along: Box<[u32]>,
}

/// A source of packets for a link.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Feeder {
    Nobody,
    /// An endpoint, by the number of its path.
    Path(usize),
    Link(usize),
    Several,
}

/// How packets enter a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// Together with the link before: no event is needed.
    Open,
    /// Through a gate, but from a single source, and packets of one kind. A packet may pass ahead of time, up
    /// to the next instant at which a probe or a measuring window looks.
    Alone,
    /// Through a gate, in turn with packets from other sources.
    InTurn,
}

/// How packets enter each link. `data` and `acks` are the paths of all segments and acknowledgements. The
/// first `measured` links may be probed or measured.
pub fn accesses(links: &[Link], measured: usize, data: &[&[usize]], acks: &[&[usize]]) -> Vec<Access> {
    let mut feeders = vec![Feeder::Nobody; links.len()];
    let mut kinds = vec![[false; 2]; links.len()];
    for (number, path) in data.iter().chain(acks).enumerate() {
        let mut feeder = Feeder::Path(number);
        for &link in *path {
            feeders[link] = match feeders[link] {
                Feeder::Nobody => feeder,
                known if known == feeder => known,
                _ => Feeder::Several,
            };
            kinds[link][usize::from(number >= data.len())] = true;
            feeder = Feeder::Link(link);
        }
    }
    let accesses = links.iter().zip(feeders.iter().zip(kinds)).enumerate();
    accesses
        .map(|(number, (link, (feeder, kinds)))| {
            // Packets that come at the same instant take turns by their exits. They must not run ahead:
            // those that run ahead go in the order in which they were offered.
            let takes_turns = matches!(*feeder, Feeder::Link(before)
                if !links[before].keeps_order() || links[before].delivers_together());
            if *feeder == Feeder::Several || takes_turns || needs_a_place(link) {
                Access::InTurn
            } else if number >= measured && link.queue().is_unlimited() {
                Access::Open
            } else if kinds == [true, true] {
                Access::InTurn // segments do not know which acknowledgements wait, and vice versa
            } else {
                Access::Alone
            }
        })
        .collect()
}

/// True if the fate of a packet on this link may be decided later.
fn needs_a_place(link: &Link) -> bool {
    link.retransmits() || link.is_stepped()
}

/// Divides a path into stages. The first stage begins at the endpoint, each other stage at a gate.
pub fn stages(path: &[usize], accesses: &[Access], links: &[Link]) -> Vec<Stage> {
    let mut stages = Vec::new();
    let mut gate = None;
    let mut along = Vec::new();
    for (hop, &link) in path.iter().enumerate() {
        if accesses[link] == Access::Open {
            along.push(link as u32);
            continue;
        }
        // A packet passes a gate directly at its endpoint when it is sent, so no stage is needed. But if
        // packets may come back, or continue later, they need a place to do so.
        if hop > 0 || needs_a_place(&links[link]) {
            stages.push(Stage { gate, along: std::mem::take(&mut along).into() });
        }
        gate = Some(link as u32);
    }
    stages.push(Stage { gate, along: along.into() });
    stages
}

/// Why a packet does not reach the end of a stage once, at a known time.
#[derive(Clone, Copy, Debug)]
pub enum Detour {
    /// The packet was dropped, for this reason.
    Gone(Cause),
    /// The packet arrives twice, at this instant.
    Twice(Time),
    /// The packet is back at the gate of the stage at this instant.
    Back(Time),
    /// The packet waits at the gate of the stage, in the link's own queue.
    Waits,
}

impl Stage {
    /// True if packets leave the stage in order. Only its last link can reorder, because the link after such
    /// a link is a gate.
    pub fn keeps_order(&self, links: &[Link]) -> bool {
        let last = self.along.last().copied().or(self.gate);
        last.is_none_or(|link| links[link as usize].keeps_order())
    }

    /// Sends a packet through the stage. Calls `see` with each link and the fate of the packet there. Returns
    /// the time at the end of the stage.
    ///
    /// # Errors
    ///
    /// [`Detour`] if the packet does not reach the end once, at a known time.
    #[inline(always)] // the packet stays in registers
    pub fn pass<P: Packet>(
        &self,
        links: &mut [Link],
        now: Time,
        packet: &mut P,
        mut see: impl FnMut(u32, &Link, &P, Fate),
    ) -> Result<Time, Detour> {
        let mut at = now;
        if let Some(gate) = self.gate {
            at = cross(gate, links, at, packet, &mut see)?;
        }
        if let [link] = *self.along {
            at = follow(link, links, at, packet, &mut see)?;
        } else if !self.along.is_empty() {
            at = self.follow_all(links, at, packet, see)?;
        }
        Ok(at)
    }

    /// Sends a packet along the links after the gate.
    #[inline(never)] // keeps this code away from stages with a single link
    fn follow_all<P: Packet>(
        &self,
        links: &mut [Link],
        mut at: Time,
        packet: &mut P,
        mut see: impl FnMut(u32, &Link, &P, Fate),
    ) -> Result<Time, Detour> {
        for &link in &self.along {
            at = follow(link, links, at, packet, &mut see)?;
        }
        Ok(at)
    }

    /// Sends a packet through the stage that is back at the gate, because the link there corrupted it. Such a
    /// link is the last one of its stage.
    ///
    /// # Errors
    ///
    /// As [`Stage::pass`].
    pub fn pass_again<P>(
        &self,
        links: &mut [Link],
        now: Time,
        packet: &P,
        mut see: impl FnMut(u32, &Link, &P, Fate),
    ) -> Result<Time, Detour> {
        let Some(gate) = self.gate else { return Ok(now) };
        let link = &mut links[gate as usize];
        let fate = link.offer_again(now);
        see(gate, link, packet, fate);
        onward(fate)
    }

    /// Sends a packet through the rest of the stage. It has waited at the gate, and `fate` is the decision
    /// there.
    ///
    /// # Errors
    ///
    /// As [`Stage::pass`].
    pub fn pass_on<P: Packet>(
        &self,
        links: &mut [Link],
        fate: Fate,
        packet: &mut P,
        see: impl FnMut(u32, &Link, &P, Fate),
    ) -> Result<Time, Detour> {
        self.follow_all(links, onward(fate)?, packet, see)
    }
}

#[inline(always)] // the packet stays in registers
fn cross<P: Packet>(
    number: u32,
    links: &mut [Link],
    at: Time,
    packet: &mut P,
    see: &mut impl FnMut(u32, &Link, &P, Fate),
) -> Result<Time, Detour> {
    let link = &mut links[number as usize];
    let fate = link.offer(at, packet);
    see(number, link, packet, fate);
    onward(fate)
}

#[inline(always)] // the packet stays in registers
fn follow<P: Packet>(
    number: u32,
    links: &mut [Link],
    at: Time,
    packet: &mut P,
    see: &mut impl FnMut(u32, &Link, &P, Fate),
) -> Result<Time, Detour> {
    let link = &mut links[number as usize];
    let fate = link.follow(at, packet);
    see(number, link, packet, fate);
    onward(fate)
}

#[inline(always)]
fn onward(fate: Fate) -> Result<Time, Detour> {
    match fate {
        Fate::Arrives(next) => Ok(next),
        Fate::ArrivesTwice(next) => Err(Detour::Twice(next)),
        Fate::LinkRetry(then) => Err(Detour::Back(then)),
        Fate::Dropped(cause) => Err(Detour::Gone(cause)),
        Fate::Queued => Err(Detour::Waits),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Distribution, DropTail, Impairments, Limit, Queue, Reorder, Retransmission, Rng, Share};
    use ackclock_units::{Duration, Rate};

    fn link(queue: Queue) -> Link {
        Link::new(Rate::from_bps(1_000_000), Duration::from_millis(1), queue)
    }

    #[test]
    fn a_dumbbell_has_one_gate_each_way() {
        // 0 and 1: access links of two flows; 2: the bottleneck; 3 and 4: the links behind it.
        let mut links = vec![link(Queue::Unlimited); 5];
        links[2] = link(Queue::DropTail(DropTail::new(Limit::Packets(5))));
        let paths: [&[usize]; 2] = [&[0, 2, 3], &[1, 2, 4]];
        let accesses = accesses(&links, 0, &paths, &[]);
        let open = Access::Open;
        assert_eq!(accesses, [open, open, Access::InTurn, open, open]);
        let stages = stages(paths[0], &accesses, &links);
        assert_eq!(stages.len(), 2);
        assert_eq!((stages[0].gate, &*stages[0].along), (None, &[0][..]));
        assert_eq!((stages[1].gate, &*stages[1].along), (Some(2), &[3][..]));
    }

    #[test]
    fn a_gate_follows_a_link_that_reorders() {
        let late = Distribution::Fixed(Duration::from_millis(5));
        let reorder = Reorder::new(Share::new(0.1, Rng::new(1, "share")), late, Rng::new(1, "delay"));
        let mut links = vec![link(Queue::Unlimited); 4];
        links[1] = links[1]
            .clone()
            .with_impairments(Impairments { reorder: Some(reorder), ..Impairments::default() });
        let path: &[usize] = &[0, 1, 2, 3];
        let open = Access::Open;
        let accesses = accesses(&links, 0, &[path], &[]);
        assert_eq!(accesses, [open, open, Access::InTurn, open]);
        let stages = stages(path, &accesses, &links);
        let order: Vec<_> = stages.iter().map(|stage| (&*stage.along, stage.keeps_order(&links))).collect();
        assert_eq!(order, [(&[0, 1][..], false), (&[3][..], true)]);
    }

    #[test]
    fn what_a_link_corrupts_has_a_place_to_come_back_to() {
        let retransmission = Some(Retransmission::new(Duration::from_millis(2), None));
        let wireless =
            link(Queue::Unlimited).with_impairments(Impairments { retransmission, ..Impairments::default() });
        let links = [wireless, link(Queue::Unlimited)];
        let path: &[usize] = &[0, 1];
        let accesses = accesses(&links, 0, &[path], &[]);
        assert_eq!(accesses, [Access::InTurn, Access::InTurn]);
        let gates: Vec<_> = stages(path, &accesses, &links).iter().map(|stage| stage.gate).collect();
        assert_eq!(gates, [None, Some(0), Some(1)]);
    }

    #[test]
    fn a_shared_link_is_a_gate_even_with_room_for_all() {
        let links = vec![link(Queue::Unlimited); 1];
        let shared = accesses(&links, 0, &[&[0], &[0]], &[]);
        assert_eq!(accesses(&links, 1, &[&[0]], &[]), [Access::Alone]); // measured: a gate
        assert_eq!(shared, [Access::InTurn]);
        assert_eq!(stages(&[0], &shared, &links).len(), 1); // the first gate is passed at once
    }
}

//! Where events are needed on a path, and where the arithmetic can run ahead.
//!
//! A link with unlimited room that only one source feeds can be computed as soon as its feeder is: arrivals
//! come in the feeder's order and nothing can push in. Every other link is a *gate*: packets wait in a lane
//! for the instant at which they reach it, so that all of its feeders take their turns in time. So is every
//! link that is measured, so that nothing is counted before it happens. Behind a link that reorders there is
//! always a gate, or the endpoint, because links want to be offered their packets in order of time. A link that
//! retransmits is a gate too: what it corrupts comes back there. So is a stepped link: what it sends goes on from there.

use crate::{Carried, Fate, Link};
use ackclock_units::Time;

/// One stage of a path: through a gate (unless it has none), along ungated links, into a lane.
#[derive(Clone, Debug)]
pub struct Stage {
    /// The link at which its packets take turns with others.
    pub gate: Option<u32>,
    /// Links behind that, where nothing can push in.
    pub along: Box<[u32]>,
}

/// Who puts packets on a link.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Feeder {
    Nobody,
    /// An endpoint, by the number of its path.
    Path(usize),
    Link(usize),
    Several,
}

/// How packets get onto a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// Along with the link before: no event, and nobody looks.
    Open,
    /// Through a gate, but with a single feeder, and packets of one kind: one may pass ahead of time where nobody looks before it.
    Alone,
    /// Through a gate, in turn with packets from elsewhere.
    InTurn,
}

/// How each link is reached, given every path of segments and of acknowledgements; somebody may look at the
/// first `measured` links.
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
            let out_of_order = matches!(*feeder, Feeder::Link(before) if !links[before].keeps_order());
            if *feeder == Feeder::Several || out_of_order || needs_a_place(link) {
                Access::InTurn
            } else if number >= measured && link.queue().is_unlimited() {
                Access::Open
            } else if kinds == [true, true] {
                Access::InTurn // segments do not know of acknowledgements that wait, nor the other way round
            } else {
                Access::Alone
            }
        })
        .collect()
}

/// Is the fate of packets on this link not always known at once?
fn needs_a_place(link: &Link) -> bool {
    link.retransmits() || link.is_stepped()
}

/// Divides a path into stages: the first begins at its endpoint, each of the others at a gate.
pub fn stages(path: &[usize], accesses: &[Access], links: &[Link]) -> Vec<Stage> {
    let mut stages = Vec::new();
    let mut gate = None;
    let mut along = Vec::new();
    for (hop, &link) in path.iter().enumerate() {
        if accesses[link] == Access::Open {
            along.push(link as u32);
            continue;
        }
        // A gate right at the endpoint is passed when the packet is sent: its time has come already. Only where
        // packets may come back, or go on later, must there be a place from which they do.
        if hop > 0 || needs_a_place(&links[link]) {
            stages.push(Stage { gate, along: std::mem::take(&mut along).into() });
        }
        gate = Some(link as u32);
    }
    stages.push(Stage { gate, along: along.into() });
    stages
}

/// Why a packet is not simply at the end of a stage, once, at a known time.
#[derive(Clone, Copy, Debug)]
pub enum Detour {
    /// It was dropped.
    Gone,
    /// It is there twice, at this instant.
    Twice(Time),
    /// It is back at the stage's gate at this instant.
    Back(Time),
    /// It waits at the stage's gate, in the link's own queue.
    Waits,
}

impl Stage {
    /// Do packets come out of it in order? Only its last link can reorder, because a gate follows one that does.
    pub fn keeps_order(&self, links: &[Link]) -> bool {
        let last = self.along.last().copied().or(self.gate);
        last.is_none_or(|link| links[link as usize].keeps_order())
    }

    /// Takes a packet through; calls `see` with each link and what became of the packet there.
    #[inline]
    pub fn pass<P: Carried>(
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
        for &link in &self.along {
            at = cross(link, links, at, packet, &mut see)?;
        }
        Ok(at)
    }

    /// Takes a packet through that is back at the gate, because the link there has corrupted it. There is nothing
    /// behind such a link in its stage.
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

    /// Takes a packet through that has waited at the gate, where this is what became of it.
    pub fn pass_on<P: Carried>(
        &self,
        links: &mut [Link],
        fate: Fate,
        packet: &mut P,
        mut see: impl FnMut(u32, &Link, &P, Fate),
    ) -> Result<Time, Detour> {
        let mut at = onward(fate)?;
        for &link in &self.along {
            at = cross(link, links, at, packet, &mut see)?;
        }
        Ok(at)
    }
}

#[inline(always)] // the packet stays in registers
fn cross<P: Carried>(
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

#[inline]
fn onward(fate: Fate) -> Result<Time, Detour> {
    match fate {
        Fate::Arrives(next) => Ok(next),
        Fate::ArrivesTwice(next) => Err(Detour::Twice(next)),
        Fate::Returns(then) => Err(Detour::Back(then)),
        Fate::Dropped(_) => Err(Detour::Gone),
        Fate::Waits => Err(Detour::Waits),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DropTail, Impairments, Limit, Queue, Reorder, Retransmission, Share, Stream, Variate};
    use ackclock_units::{Duration, Rate};

    fn link(queue: Queue) -> Link {
        Link::new(Rate::from_bps(1_000_000), Duration::from_millis(1), queue)
    }

    #[test]
    fn a_dumbbell_has_one_gate_each_way() {
        // 0 and 1: access links of two flows; 2: bottleneck; 3 and 4: their links beyond it.
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
        let late = Variate::Fixed(Duration::from_millis(5));
        let reorder = Reorder::new(Share::new(0.1, Stream::new(1, "share")), late, Stream::new(1, "delay"));
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
        assert_eq!(accesses(&links, 1, &[&[0]], &[]), [Access::Alone]); // measured
        assert_eq!(shared, [Access::InTurn]);
        assert_eq!(stages(&[0], &shared, &links).len(), 1); // passed at once, where it stands first
    }
}

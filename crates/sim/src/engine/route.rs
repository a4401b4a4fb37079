//! Where events are needed on a path, and where the arithmetic can run ahead.
//!
//! A link with unlimited room that only one source feeds can be computed as soon as its feeder is: arrivals
//! come in the feeder's order and nothing can push in. Every other link is a *gate*: packets wait in a lane
//! for the instant at which they reach it, so that all of its feeders take their turns in time. So is every
//! link that is measured, so that nothing is counted before it happens.

use ackclock_net::{Carried, Cause, Fate, Link};
use ackclock_units::Time;

/// One stage of a path: through a gate (unless it has none), along ungated links, into a lane.
#[derive(Clone, Debug)]
pub(crate) struct Stage {
    pub(crate) gate: Option<u32>,
    pub(crate) along: Box<[u32]>,
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

/// Which links need a gate, given every path of the run; the first `measured` ones always do.
pub(crate) fn gates(links: &[Link], measured: usize, paths: &[&[usize]]) -> Vec<bool> {
    let mut feeders = vec![Feeder::Nobody; links.len()];
    for (number, path) in paths.iter().enumerate() {
        let mut feeder = Feeder::Path(number);
        for &link in *path {
            feeders[link] = match feeders[link] {
                Feeder::Nobody => feeder,
                known if known == feeder => known,
                _ => Feeder::Several,
            };
            feeder = Feeder::Link(link);
        }
    }
    links
        .iter()
        .zip(feeders)
        .enumerate()
        .map(|(number, (link, feeder))| {
            number < measured || feeder == Feeder::Several || !link.queue().is_unlimited()
        })
        .collect()
}

/// Divides a path into stages: the first begins at its endpoint, each of the others at a gate.
pub(crate) fn stages(path: &[usize], gates: &[bool]) -> Vec<Stage> {
    let mut stages = Vec::new();
    let mut gate = None;
    let mut along = Vec::new();
    for (hop, &link) in path.iter().enumerate() {
        if !gates[link] {
            along.push(link as u32);
            continue;
        }
        // A gate right at the endpoint is passed when the packet is sent: its time has come already.
        if hop > 0 {
            stages.push(Stage { gate, along: std::mem::take(&mut along).into() });
        }
        gate = Some(link as u32);
    }
    stages.push(Stage { gate, along: along.into() });
    stages
}

impl Stage {
    /// Takes a packet through; calls `see` with each link and what became of the packet there.
    #[inline]
    pub(crate) fn pass<P: Carried>(
        &self,
        links: &mut [Link],
        now: Time,
        packet: &mut P,
        mut see: impl FnMut(u32, &Link, &P, Fate),
    ) -> Result<Time, Cause> {
        let mut at = now;
        if let Some(gate) = self.gate {
            at = cross(gate, links, at, packet, &mut see)?;
        }
        for &link in &self.along {
            at = cross(link, links, at, packet, &mut see)?;
        }
        Ok(at)
    }
}

#[inline]
fn cross<P: Carried>(
    number: u32,
    links: &mut [Link],
    at: Time,
    packet: &mut P,
    see: &mut impl FnMut(u32, &Link, &P, Fate),
) -> Result<Time, Cause> {
    let link = &mut links[number as usize];
    let fate = link.offer(at, packet);
    see(number, link, packet, fate);
    match fate {
        Fate::Arrives(next) => Ok(next),
        Fate::Dropped(cause) => Err(cause),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_net::{DropTail, Limit, Queue};
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
        let gates = gates(&links, 0, &paths);
        assert_eq!(gates, [false, false, true, false, false]);
        let stages = stages(paths[0], &gates);
        assert_eq!(stages.len(), 2);
        assert_eq!((stages[0].gate, &*stages[0].along), (None, &[0][..]));
        assert_eq!((stages[1].gate, &*stages[1].along), (Some(2), &[3][..]));
    }

    #[test]
    fn a_shared_link_is_a_gate_even_with_room_for_all() {
        let links = vec![link(Queue::Unlimited); 1];
        let gates = gates(&links, 0, &[&[0], &[0]]);
        assert_eq!(super::gates(&links, 1, &[&[0]]), [true]); // measured
        assert_eq!(gates, [true]);
        assert_eq!(stages(&[0], &gates).len(), 1); // passed at once, where it stands first
    }
}

//! The registry of queue disciplines: what each is, its parameters, and how to build it.

use super::{Limit, Queue};
use crate::Rng;
use ackclock_registry::{Entry, Settings};
use ackclock_units::{Rate, Room};

/// A queue discipline's entry in the registry.
pub struct Discipline {
    /// Its description.
    pub entry: Entry,
    /// How a scenario may write it.
    pub example: &'static str,
    /// True: it decides when the transmitter is free, and not when a packet arrives.
    pub dequeue_driven: bool,
    /// Checks settings against each other and against the link.
    pub check: fn(&Settings, &Scale) -> Result<(), Contradiction>,
    /// Builds a queue from checked settings. Random decisions draw from the stream, which is made if there
    /// are any.
    pub build: fn(&Settings, &Scale, &dyn Fn() -> Rng) -> Queue,
}

/// Settings that contradict each other, or that the link cannot have.
#[derive(Clone, PartialEq, Debug)]
pub struct Contradiction {
    /// What is wrong.
    pub problem: String,
    /// What to do.
    pub remedy: &'static str,
}

/// The link at which a queue is, as far as the queue's parameters depend on it.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// The rate.
    pub rate: Rate,
    /// The bandwidth-delay product, bytes.
    pub bdp: f64,
    /// The size of a full segment on the wire, bytes.
    pub segment: u32,
}

impl Scale {
    /// `room` in packets.
    pub fn packets(&self, room: Room) -> f64 {
        match room {
            Room::Packets(packets) => packets,
            Room::Bytes(bytes) => bytes as f64 / f64::from(self.segment),
            Room::Bdp(times) => times * self.bdp / f64::from(self.segment),
        }
    }

    /// `room` as a limit.
    pub fn limit(&self, room: Room) -> Limit {
        match room {
            Room::Bytes(bytes) => Limit::Bytes(bytes),
            // At least one packet may wait, however small the product.
            Room::Bdp(_) => Limit::Packets((self.packets(room) + 0.5).max(1.0) as u32),
            Room::Packets(packets) => Limit::Packets(packets as u32),
        }
    }
}

/// All queue disciplines, in the order of the documentation.
pub fn disciplines() -> &'static [&'static Discipline] {
    &[
        &super::droptail::DISCIPLINE,
        &super::red::DISCIPLINE,
        &super::rem::DISCIPLINE,
        &super::pi::DISCIPLINE,
        &super::pie::DISCIPLINE,
        &super::policer::DISCIPLINE,
        &super::codel::DISCIPLINE,
        &super::fq_codel::DISCIPLINE,
        &super::dualpi2::DISCIPLINE,
        &super::ack_filter::DISCIPLINE,
        &super::unlimited::DISCIPLINE,
    ]
}

/// The queue discipline with this name.
pub fn discipline(name: &str) -> Option<&'static Discipline> {
    disciplines().iter().copied().find(|discipline| discipline.entry.name == name)
}

/// For disciplines whose settings cannot contradict each other.
pub(super) fn always(_: &Settings, _: &Scale) -> Result<(), Contradiction> {
    Ok(())
}

impl std::fmt::Debug for Discipline {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.entry.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_registry::{Given, Parameter, Value};

    #[test]
    fn every_discipline_builds_from_its_defaults() {
        let scale = Scale { rate: Rate::from_bps(10_000_000), bdp: 50_000.0, segment: 1000 };
        for discipline in disciplines() {
            let Entry { name, parameters, .. } = discipline.entry;
            assert!(parameters.iter().all(Parameter::default_is_allowed), "{name}");
            assert!(discipline.example.contains(name), "{name}: {}", discipline.example);
            let mut settings = Settings::defaults(parameters);
            while let Some(needed) = settings.missing() {
                assert_eq!(needed.name, "limit", "{name}");
                settings.set(needed.name, Given::Room(Room::Bdp(1.0))).expect("room in a queue");
            }
            assert_eq!((discipline.check)(&settings, &scale), Ok(()), "{name}");
            let queue = (discipline.build)(&settings, &scale, &|| Rng::new(1, name));
            assert_eq!(queue.is_dequeue_driven(), discipline.dequeue_driven, "{name}");
            if let Some(Value::Room(room)) = settings.iter().find(|(p, _)| p.name == "limit").map(|(_, v)| v)
            {
                assert_eq!(queue.limit(), Some(scale.limit(room)), "{name}");
            }
        }
    }

    #[test]
    fn names_are_unique() {
        for (at, one) in disciplines().iter().enumerate() {
            let name = one.entry.name;
            assert!(disciplines()[..at].iter().all(|other| other.entry.name != name), "{name}");
            assert!(discipline(name).is_some_and(|found| found.entry.name == name));
        }
    }

    #[test]
    fn room_in_three_units() {
        let scale = Scale { rate: Rate::from_bps(10_000_000), bdp: 50_000.0, segment: 1000 };
        assert_eq!(scale.limit(Room::Bdp(1.0)), Limit::Packets(50));
        assert_eq!(scale.limit(Room::Bdp(1e-9)), Limit::Packets(1));
        assert_eq!(scale.limit(Room::Packets(0.0)), Limit::Packets(0));
        assert_eq!(scale.limit(Room::Bytes(64_000)), Limit::Bytes(64_000));
        assert_eq!(scale.packets(Room::Bytes(64_000)), 64.0);
    }
}

//! Timers: everything that happens at a set time and is rare next to packets.

use ackclock_units::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What a timer is for; the number is the flow's, the source's or the transmitter's. The order settles simultaneous ones.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Timer {
    Transmitter(u32),
    MeasureTo,
    MeasureFrom,
    Probe,
    Start(u32),
    Stop(u32),
    Retransmission(u32),
    Pacing(u32),
    DelayedAck(u32),
    Write(u32),
    Datagram(u32),
}

/// Pending timers.
pub(crate) struct Timers {
    heap: BinaryHeap<Reverse<(Time, Timer)>>,
    /// When the first one is due: asked for at every event.
    earliest: Time,
}

impl Default for Timers {
    fn default() -> Timers {
        Timers { heap: BinaryHeap::new(), earliest: Time::NEVER }
    }
}

impl Timers {
    pub(crate) fn add(&mut self, due: Time, timer: Timer) {
        self.heap.push(Reverse((due, timer)));
        self.earliest = self.earliest.min(due);
    }

    #[inline]
    pub(crate) fn earliest(&self) -> Time {
        self.earliest
    }

    /// Takes the earliest timer.
    ///
    /// # Panics
    /// If there is none; the engine only asks when a timer is due.
    pub(crate) fn pop(&mut self) -> Timer {
        let Reverse((_, timer)) = self.heap.pop().expect("a timer is due");
        self.earliest = self.heap.peek().map_or(Time::NEVER, |Reverse((due, _))| *due);
        timer
    }
}

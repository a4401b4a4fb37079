//! Timers: everything that happens at a set time and is rare next to packets.

use ackclock_units::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What a timer is for; the number is the flow's or the source's. The order settles simultaneous ones.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Timer {
    MeasureTo,
    MeasureFrom,
    Probe,
    Start(u32),
    Stop(u32),
    Retransmission(u32),
    Pacing(u32),
    DelayedAck(u32),
    Datagram(u32),
}

/// Pending timers.
#[derive(Default)]
pub(crate) struct Timers(BinaryHeap<Reverse<(Time, Timer)>>);

impl Timers {
    pub(crate) fn add(&mut self, due: Time, timer: Timer) {
        self.0.push(Reverse((due, timer)));
    }

    pub(crate) fn earliest(&self) -> Time {
        self.0.peek().map_or(Time::NEVER, |Reverse((due, _))| *due)
    }

    /// Takes the earliest timer.
    ///
    /// # Panics
    /// If there is none; the engine only asks when the timers' leaf is due.
    pub(crate) fn pop(&mut self) -> Timer {
        let Reverse((_, timer)) = self.0.pop().expect("a timer is due");
        timer
    }
}

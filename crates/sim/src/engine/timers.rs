//! Timers: all events that have a fixed time and are rare compared with packets.

use ackclock_units::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The purpose of a timer. The number is that of the flow, the stream or the transmitter. The order decides
/// between timers of the same instant.
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
    CbrPacket(u32),
}

/// Pending timers.
pub(crate) struct Timers {
    heap: BinaryHeap<Reverse<(Time, Timer)>>,
    /// The earliest due time. It is read for every event.
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

    /// Removes the earliest timer.
    ///
    /// # Panics
    ///
    /// If there is none. The engine calls this only when a timer is due.
    pub(crate) fn pop(&mut self) -> Timer {
        let Reverse((_, timer)) = self.heap.pop().expect("a timer is due");
        self.earliest = self.heap.peek().map_or(Time::NEVER, |Reverse((due, _))| *due);
        timer
    }
}

//! Timers: all events that have a fixed time and are rare compared with packets. The timers of rate-based
//! flows are not rare: every packet has one. They have a winner tree of their own, with two leaves per flow.

use super::tree::WinnerTree;
use ackclock_units::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The purpose of a timer. The number is that of the flow, the agent, the stream or the transmitter. The
/// order decides between timers of the same instant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Timer {
    Transmitter(u32),
    MeasureTo,
    MeasureFrom,
    Probe,
    Start(u32),
    Stop(u32),
    StartAgent(u32),
    StopAgent(u32),
    Retransmission(u32),
    Pacing(u32),
    DelayedAck(u32),
    Write(u32),
    CbrPacket(u32),
    /// The sender of an agent has a packet or a timeout.
    Departure(u32),
    /// The receiver of an agent has something to report.
    Report(u32),
}

/// Pending timers.
pub(crate) struct Timers {
    heap: BinaryHeap<Reverse<(Time, Timer)>>,
    /// The heads of agents: lane 2n is the sender of agent n, lane 2n + 1 its receiver.
    agents: WinnerTree,
    /// The earliest due time. It is read for every event.
    earliest: Time,
}

impl Timers {
    /// No timers, for so many agents.
    pub(crate) fn new(agents: usize) -> Timers {
        Timers { heap: BinaryHeap::new(), agents: WinnerTree::new(0, 2 * agents), earliest: Time::NEVER }
    }

    pub(crate) fn add(&mut self, due: Time, timer: Timer) {
        self.heap.push(Reverse((due, timer)));
        self.earliest = self.earliest.min(due);
    }

    /// The next timer of an agent's sender, in place of the last one.
    pub(crate) fn departure(&mut self, agent: usize, due: Time) {
        self.set(2 * agent, due);
    }

    /// The next timer of an agent's receiver, in place of the last one.
    pub(crate) fn report(&mut self, agent: usize, due: Time) {
        self.set(2 * agent + 1, due);
    }

    fn set(&mut self, lane: usize, due: Time) {
        self.agents.set(lane, due, 0);
        self.earliest = self.heap_earliest().min(self.agents.earliest().time());
    }

    fn heap_earliest(&self) -> Time {
        self.heap.peek().map_or(Time::NEVER, |Reverse((due, _))| *due)
    }

    #[inline]
    pub(crate) fn earliest(&self) -> Time {
        self.earliest
    }

    /// Removes the earliest timer. Those of agents come after all others of the same instant.
    ///
    /// # Panics
    ///
    /// If there is none. The engine calls this only when a timer is due.
    pub(crate) fn pop(&mut self) -> Timer {
        let agent = self.agents.earliest();
        if agent.time() < self.heap_earliest() {
            self.set(agent.lane() as usize, Time::NEVER);
            let number = agent.lane() / 2;
            return if agent.lane().is_multiple_of(2) {
                Timer::Departure(number)
            } else {
                Timer::Report(number)
            };
        }
        let Reverse((_, timer)) = self.heap.pop().expect("a timer is due");
        self.earliest = self.heap_earliest().min(agent.time());
        timer
    }
}

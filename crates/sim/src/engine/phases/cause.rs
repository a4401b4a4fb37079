//! Turns among what happens at one instant.
//!
//! The engine of events takes timers first, then segments by their exits, then acknowledgements by theirs,
//! and whatever an event sets off at the same instant right after it. So each event has a *cause*, a number
//! that orders those of one instant: what set it off, or its own kind and exit. Packets that meet at a gate
//! at the same instant pass it in the order of their causes.

use crate::engine::timers::Timer;
use ackclock_units::Time;

/// The numbers of flows, streams and exits must be below this.
pub(super) const NUMBERS: u32 = 1 << 27;

/// What set something off. Causes of the same instant are in the order of the engine of events.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Cause(u32);

/// The kinds of causes, in order. Those of timers are in the order of [`Timer`].
const TRANSMITTER: u32 = 0;
const START: u32 = 1;
const STOP: u32 = 2;
const START_AGENT: u32 = 3;
const STOP_AGENT: u32 = 4;
const RETRANSMISSION: u32 = 5;
const PACING: u32 = 6;
const DELAYED_ACK: u32 = 7;
const WRITE: u32 = 8;
const DATAGRAM: u32 = 9;
/// Departures and reports of agents: those of one after those of the other.
const AGENT: u32 = 10;
const SEGMENT: u32 = 11;
const ACK: u32 = 12;

/// How many acknowledgements that are at the same exit at the same instant are told apart.
const TURNS: u32 = 16;

impl Cause {
    const fn new(kind: u32, number: u32) -> Cause {
        Cause(kind * NUMBERS + number)
    }

    /// A timer of a transmitter, a flow, an agent or a stream.
    pub(super) fn timer(timer: Timer) -> Cause {
        match timer {
            Timer::Start(flow) => Cause::new(START, flow),
            Timer::Stop(flow) => Cause::new(STOP, flow),
            Timer::Retransmission(flow) => Cause::new(RETRANSMISSION, flow),
            Timer::Pacing(flow) => Cause::new(PACING, flow),
            Timer::DelayedAck(flow) => Cause::new(DELAYED_ACK, flow),
            Timer::Write(flow) => Cause::new(WRITE, flow),
            Timer::CbrPacket(stream) => Cause::new(DATAGRAM, stream),
            Timer::StartAgent(agent) => Cause::new(START_AGENT, agent),
            Timer::StopAgent(agent) => Cause::new(STOP_AGENT, agent),
            Timer::Departure(agent) => Cause::new(AGENT, 2 * agent),
            Timer::Report(agent) => Cause::new(AGENT, 2 * agent + 1),
            Timer::Transmitter(number) => Cause::new(TRANSMITTER, number),
            // Nobody's packets meet there.
            Timer::MeasureTo | Timer::MeasureFrom | Timer::Probe => Cause::new(START, 0),
        }
    }

    /// A segment that is at an exit.
    #[inline]
    pub(super) const fn segment(exit: u32) -> Cause {
        Cause::new(SEGMENT, exit)
    }

    /// A segment that is at an exit at `due`. `from`: the instant at which it left the last gate or its
    /// endpoint, and the cause. Set off by an acknowledgement at the same instant, it comes right after that,
    /// and not with the segments before.
    #[inline(always)]
    pub(super) fn of_segment(exit: u32, due: Time, from: (Time, Cause)) -> Cause {
        if due == from.0 && from.1.is_ack() { from.1 } else { Cause::segment(exit) }
    }

    /// An acknowledgement that is at an exit.
    #[inline]
    pub(super) const fn ack(exit: u32) -> Cause {
        Cause(ACK * NUMBERS + exit * TURNS)
    }

    /// The same acknowledgement after so many others at the same exit at the same instant. Packets come in
    /// that order anyway. For observers it matters what each of them set off.
    pub(super) fn after(self, others: u32) -> Cause {
        Cause(self.0 + others.min(TURNS - 1))
    }

    /// True if an acknowledgement set it off: all segments of the instant that were due before are gone.
    #[inline]
    pub(super) const fn is_ack(self) -> bool {
        self.0 >= ACK * NUMBERS
    }

    #[inline]
    pub(super) const fn number(self) -> u32 {
        self.0
    }

    #[inline]
    pub(super) const fn of(number: u32) -> Cause {
        Cause(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_are_in_the_order_of_the_engine_of_events() {
        let timers = [
            Timer::Transmitter(3),
            Timer::Start(1),
            Timer::Stop(0),
            Timer::StartAgent(4),
            Timer::StopAgent(3),
            Timer::Retransmission(2),
            Timer::Pacing(1),
            Timer::Pacing(2),
            Timer::DelayedAck(0),
            Timer::Write(0),
            Timer::CbrPacket(0),
        ];
        assert!(timers.is_sorted());
        let causes = timers.map(Cause::timer);
        assert!(causes.is_sorted());
        // All timers of an agent go before all of the next one.
        let agents = [Timer::CbrPacket(9), Timer::Departure(0), Timer::Report(0), Timer::Departure(1)];
        let agents = agents.map(Cause::timer);
        assert!(agents.is_sorted() && agents[3] < Cause::segment(0));
        assert!(Cause::segment(NUMBERS - 1) < Cause::ack(0));
        assert!(Cause::ack(0).is_ack() && !Cause::segment(NUMBERS - 1).is_ack());
        assert_eq!(Cause::ack(3).after(0), Cause::ack(3));
        let acks = [(3, 0), (3, 1), (3, TURNS - 1), (4, 0), (NUMBERS - 1, 0), (NUMBERS - 1, TURNS - 1)];
        let acks = acks.map(|(exit, others)| Cause::ack(exit).after(others));
        assert!(acks.is_sorted_by(|one, next| one < next) && acks[5].is_ack());
        assert!(Cause::ack(3).after(TURNS) < Cause::ack(4));
    }
}

//! What waits at the endpoints of a flow, but for its mail.

use super::cause::Cause;
use super::mail::Mail;
use crate::engine::flow::Flow;
use crate::engine::packets::Segment;
use crate::engine::timers::Timer;
use ackclock_units::Time;

/// Held segments and alarms at the endpoints of a flow.
pub(super) struct Ends {
    /// True if the receiver runs ahead of its sender.
    pub(super) ahead: bool,
    /// Segments for a receiver that runs ahead, and that are due after the next barrier.
    pub(super) held: Mail<Segment>,
    /// Starts, the stop, and bursts with their causes, the earliest one last. There are hardly ever more than
    /// two.
    pub(super) alarms: Vec<(Time, Timer, Cause)>,
    /// The gates in which segments and acknowledgements enter the network, if they share their first links.
    pub(super) out: u32,
    pub(super) back: u32,
    /// The last legs of segments and of acknowledgements.
    pub(super) data_leg: u32,
    pub(super) ack_leg: u32,
}

impl Ends {
    /// Those of the flow with this number. `gates`: where its packets enter. `legs`: its last ones.
    pub(super) fn new(number: u32, flow: &Flow, ahead: bool, gates: (u32, u32), legs: (u32, u32)) -> Ends {
        let mut ends = Ends {
            ahead,
            held: Mail::default(),
            alarms: Vec::new(),
            out: gates.0,
            back: gates.1,
            data_leg: legs.0,
            ack_leg: legs.1,
        };
        ends.add(flow.plan.start + flow.lag(false), Timer::Start(number), None);
        if let Some(stop) = flow.plan.stop {
            ends.add(stop, Timer::Stop(number), None);
        }
        ends
    }

    /// Adds an alarm. `now`: the present instant and its cause. What is due at once comes right after that.
    pub(super) fn add(&mut self, due: Time, timer: Timer, now: Option<(Time, Cause)>) {
        let at_once = now.filter(|&(now, _)| due <= now);
        let cause = at_once.map_or(Cause::timer(timer), |(_, cause)| cause);
        let place = self.alarms.partition_point(|&(other, kind, _)| (other, kind) > (due, timer));
        self.alarms.insert(place, (due, timer, cause));
    }

    #[inline]
    pub(super) fn alarm(&self) -> Time {
        self.alarms.last().map_or(Time::NEVER, |&(due, ..)| due)
    }
}

//! Flows whose receiving host asks for each transfer: a client of HTTP, and its server, which sends responses
//! over one connection or over one for each.
//!
//! The client asks again as soon as it has a response, so it does not wait for the last acknowledgement. Its
//! request is not simulated as a packet; the server has it after the
//! [lag](ackclock_scenario::plan::Asking::lag).

use super::Engine;
use super::observe::Observer;
use super::timers::Timer;
use ackclock_units::Time;

impl<O: Observer> Engine<O> {
    /// The receiving program reads a segment that has arrived at `at`.
    #[cold]
    pub(super) fn read_some(&mut self, number: usize, at: Time) {
        let flow = &mut self.flows[number];
        let delivered = flow.receiver.delivered();
        let complete = flow.writer.as_mut().is_some_and(|writer| writer.arrived(at, delivered));
        if complete && let Some(start) = flow.on_response(number, at, &mut self.tally) {
            self.timers.add(start, Timer::Start(number as u32));
        }
    }
}

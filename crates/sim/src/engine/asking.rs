//! Flows whose receiving host asks for each transfer: a client of HTTP, and its server, which sends responses
//! over one connection or over one for each.
//!
//! The client asks again as soon as it has a response, so it does not wait for the last acknowledgement. Its
//! request is not simulated as a packet; the server has it after the
//! [lag](ackclock_scenario::plan::Asking::lag).

use super::observe::Observer;
use super::timers::Timer;
use super::writer::writer;
use super::{Engine, Flow};
use ackclock_tcp::{Receiver, Sender};
use ackclock_units::{Duration, Time};

impl Flow {
    /// The time from the client's wish until the server has its request. None where nobody asks.
    pub(super) fn lag(&self, connected: bool) -> Duration {
        self.plan.asking.map_or(Duration::ZERO, |asking| asking.lag(connected))
    }
}

impl<O: Observer> Engine<O> {
    /// The receiving program reads a segment that has arrived at `at`.
    #[cold]
    pub(super) fn read_some(&mut self, number: usize, at: Time) {
        let flow = &mut self.flows[number];
        let delivered = flow.receiver.delivered();
        let complete = flow.writer.as_mut().is_some_and(|writer| writer.arrived(at, delivered));
        if complete {
            self.on_response(number, at);
        }
    }

    /// The client has all of a response at `at`. Its next request is on the way.
    fn on_response(&mut self, number: usize, at: Time) {
        self.tally.transfer_done(number, at);
        let flow = &mut self.flows[number];
        if flow.transfers_left == 0 {
            return;
        }
        flow.started_at = flow.plan.requests.next_start(flow.started_at, at);
        self.timers.add(flow.started_at + flow.lag(true), Timer::Start(number as u32));
    }

    /// The server has a request, over the connection of the one before or over a new one.
    pub(super) fn on_request(&mut self, number: usize) {
        let flow = &mut self.flows[number];
        if !flow.active {
            // The first one: its connection and its writer are there.
            flow.writer = writer(&flow.plan, flow.size, self.now, 0);
            return;
        }
        self.tally.before_window_changes(number, self.now, flow);
        let persistent = flow.plan.asking.is_some_and(|asking| asking.persistent);
        let before = if persistent { flow.receiver.delivered() } else { 0 };
        if !persistent {
            self.tally.connection_over(number, flow);
            flow.epoch = flow.epoch.wrapping_add(1);
            let (config, control) = (flow.plan.config.clone(), &flow.control);
            flow.sender = Sender::new(config, control.build(), control.needs(), flow.epoch, 0, self.now);
            flow.receiver = Receiver::new(&flow.plan.config, flow.epoch);
        }
        flow.size = flow.plan.next_size();
        flow.writer = writer(&flow.plan, flow.size, self.now, before);
    }
}

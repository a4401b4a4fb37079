//! What happens when a timer is due: starts and ends of transfers, retransmissions, pacing, datagrams, and
//! samples.

use super::cbr::CbrSource;
use super::observe::Observer;
use super::timers::Timer;
use super::{Engine, counted};
use ackclock_units::{Duration, Time};

impl<O: Observer> Engine<O> {
    pub(super) fn on_timer(&mut self) {
        let timer = self.timers.pop();
        match timer {
            Timer::Transmitter(number) => self.on_transmitter_timer(number as usize),
            Timer::Start(flow) => self.on_start(flow as usize),
            Timer::StartAgent(agent) => self.on_agent_start(agent as usize),
            Timer::StopAgent(agent) => self.on_agent_stop(agent as usize),
            Timer::Departure(agent) => self.on_departure(agent as usize),
            Timer::Report(agent) => self.on_report(agent as usize),
            Timer::Stop(number) => {
                let flow = &mut self.flows[number as usize];
                if flow.stop() {
                    self.tally.before_window_changes(number as usize, self.now, flow);
                    self.on_transfer_done(number as usize);
                }
            }
            Timer::Retransmission(flow) => self.on_retransmission_timer(flow as usize),
            Timer::Pacing(flow) => self.on_pacing_timer(flow as usize),
            Timer::DelayedAck(flow) => self.on_delayed_ack_timer(flow as usize),
            Timer::Write(flow) => self.on_write_timer(flow as usize),
            Timer::CbrPacket(source) => self.on_datagram_timer(source as usize),
            Timer::Probe => {
                let interval = self.probe.unwrap_or(Duration::MAX);
                self.tally.probe(
                    self.now,
                    interval,
                    &mut self.links,
                    counted(&self.flows, &self.agents),
                    self.sources.iter().map(CbrSource::tally),
                );
                self.looks.probe = self.now + interval;
                self.looks.update();
                self.timers.add(self.looks.probe, Timer::Probe);
            }
            Timer::MeasureFrom => {
                self.looks.measure_from = Time::NEVER;
                self.looks.update();
                self.tally.measure_from(
                    self.now,
                    &mut self.links,
                    counted(&self.flows, &self.agents),
                    self.sources.iter().map(CbrSource::tally),
                );
            }
            Timer::MeasureTo => {
                self.looks.measure_to = Time::NEVER;
                self.looks.update();
                self.tally.measure_to(
                    self.now,
                    &self.links,
                    counted(&self.flows, &self.agents),
                    self.sources.iter().map(CbrSource::tally),
                );
            }
        }
    }

    fn on_start(&mut self, number: usize) {
        if self.flows[number].begin(number, self.now, &mut self.tally) {
            self.on_write_timer(number);
        }
    }

    /// A burst is due, or the application starts.
    fn on_write_timer(&mut self, number: usize) {
        if let Some(writer) = &mut self.flows[number].writer {
            writer.begin(self.now);
            self.write_some(number);
        }
        self.transmit(number);
    }

    /// A transfer is completely acknowledged.
    pub(super) fn on_transfer_done(&mut self, number: usize) {
        if let Some(start) = self.flows[number].transfer_done(number, self.now, &mut self.tally) {
            self.timers.add(start, Timer::Start(number as u32));
        }
    }

    // If an earlier deadline has replaced a later one, the later entry is stale. It must not ask for the next
    // deadline. Otherwise every such change would leave one more entry, for good.

    fn on_pacing_timer(&mut self, number: usize) {
        if self.flows[number].pace_entry == self.now {
            self.flows[number].pace_entry = Time::NEVER;
            self.transmit(number);
        }
    }

    fn on_retransmission_timer(&mut self, number: usize) {
        let flow = &mut self.flows[number];
        if flow.rto_entry != self.now {
            return;
        }
        flow.rto_entry = Time::NEVER;
        self.tally.before_window_changes(number, self.now, flow);
        flow.sender.on_timeout(self.now);
        self.transmit(number);
    }

    fn on_delayed_ack_timer(&mut self, number: usize) {
        let flow = &mut self.flows[number];
        if flow.delayed_ack_entry != self.now {
            return;
        }
        flow.delayed_ack_entry = Time::NEVER;
        if let Some(ack) = flow.receiver.on_timeout(self.now) {
            self.acknowledge(number, self.now, ack);
        } else if let Some(deadline) = flow.receiver.poll_timeout() {
            flow.delayed_ack_entry = deadline;
            self.timers.add(deadline, Timer::DelayedAck(number as u32));
        }
    }

    fn on_datagram_timer(&mut self, number: usize) {
        if let Some((packet, next)) = self.sources[number].send(self.now) {
            self.send_datagram(number, packet);
            self.timers.add(next, Timer::CbrPacket(number as u32));
        }
    }
}

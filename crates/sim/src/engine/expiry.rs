//! What happens when a timer is due: starts and ends of transfers, retransmissions, pacing, datagrams, and
//! samples.

use super::observe::Observer;
use super::packets::Segment;
use super::timers::Timer;
use super::writer::writer;
use super::{Engine, counted, sent};
use ackclock_tcp::{Data, Receiver, Sender};
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
                flow.transfers_left = 0;
                flow.sender.stop();
                flow.writer.iter_mut().for_each(|writer| writer.stop());
                if flow.sender.is_done() {
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
                    self.sources.iter().map(sent),
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
                    self.sources.iter().map(sent),
                );
            }
            Timer::MeasureTo => {
                self.looks.measure_to = Time::NEVER;
                self.looks.update();
                self.tally.measure_to(
                    self.now,
                    &self.links,
                    counted(&self.flows, &self.agents),
                    self.sources.iter().map(sent),
                );
            }
        }
    }

    fn on_start(&mut self, number: usize) {
        let flow = &mut self.flows[number];
        if flow.transfers_left == 0 {
            return; // stopped in the meantime
        }
        flow.transfers_left -= 1;
        if flow.plan.asking.is_some() {
            self.on_request(number);
        } else {
            flow.started_at = self.now;
        }
        let flow = &mut self.flows[number];
        flow.active = true;
        self.tally.runs_from(number, self.now);
        if let Some(segments) = flow.size {
            self.tally.transfer_begins(number, flow.started_at, flow.plan.bytes_of(segments));
        }
        self.on_write_timer(number);
    }

    /// A burst is due, or the application starts.
    fn on_write_timer(&mut self, number: usize) {
        if let Some(writer) = &mut self.flows[number].writer {
            writer.begin(self.now);
            self.write_some(number);
        }
        self.transmit(number);
    }

    /// A transfer is completely acknowledged. Its time is recorded, and the next transfer gets a new
    /// connection.
    pub(super) fn on_transfer_done(&mut self, number: usize) {
        let flow = &mut self.flows[number];
        let asked = flow.plan.asking.is_some();
        // A client that has a response decides itself what comes next.
        if !flow.active || asked && flow.transfers_left > 0 {
            return;
        }
        flow.active = false;
        self.tally.runs_to(number);
        // A transfer that the application has stopped is not complete.
        if !asked && flow.size.is_some_and(|size| flow.sender.una() >= size) {
            self.tally.transfer_done(number, self.now);
        }
        if flow.transfers_left == 0 {
            return;
        }
        self.tally.connection_over(number, flow);
        flow.epoch = flow.epoch.wrapping_add(1);
        let start = flow.plan.requests.next_start(flow.started_at, self.now);
        flow.size = flow.plan.next_size();
        let limit = flow.plan.segments_at_once(flow.size);
        let (config, control) = (flow.plan.config.clone(), &flow.control);
        // The new connection must not send before its start. Until then it has no data.
        flow.sender = Sender::new(config, control.build(), control.needs(), flow.epoch, limit, start);
        flow.receiver = Receiver::new(&flow.plan.config, flow.epoch);
        flow.writer = writer(&flow.plan, flow.size, start, 0);
        self.timers.add(start, Timer::Start(number as u32));
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
        let source = &mut self.sources[number];
        if source.plan.stop.is_some_and(|stop| self.now >= stop) {
            return;
        }
        let data =
            Data { seq: source.next_seq, sent_at: self.now, bytes: source.plan.bytes, ..Data::default() };
        source.next_seq += 1;
        let next = source.plan.next_departure(source.next_seq, self.now);
        self.send_datagram(number, Segment(data));
        self.timers.add(next, Timer::CbrPacket(number as u32));
    }
}

//! The engine: virtual time jumps from one packet's arrival to the next.
//!
//! Packets in flight wait in lanes; only the head of each lane takes part in the search for what
//! comes next, in winner trees. Timers wait in a heap, because they are rare: a retransmission timer
//! that is put off keeps its old entry and is re-armed when it fires early.

mod lanes;
mod observe;
mod route;
mod series;
mod tally;
mod timers;
mod traffic;
mod tree;

pub use observe::{Carrying, Nobody, Observer};
pub use series::{Sample, Series};
pub use tally::{FlowTally, LinkTally, Measured, StreamTally};

use crate::plan::{FlowPlan, Plan, StreamPlan};
use ackclock_net::{Carried, Link, Stream as Draws};
use ackclock_tcp::{Ack, Data, Flags, Receiver, Sender};
use ackclock_units::{Duration, Time};
use tally::Tally;
use timers::{Timer, Timers};
use traffic::{Entrance, Tagged, Traffic};

#[derive(Clone, Copy, Default)]
struct Segment(Data);

impl Carried for Segment {
    fn bytes(&self) -> u32 {
        u32::from(self.0.bytes)
    }
    fn markable(&self) -> bool {
        self.0.flags.has(Flags::ECT)
    }
    fn mark(&mut self) {
        self.0.flags = self.0.flags.with(Flags::CE);
    }
}

#[derive(Clone, Copy, Default)]
struct Acknowledgement(Ack);

impl Carried for Acknowledgement {
    fn bytes(&self) -> u32 {
        u32::from(self.0.bytes)
    }
}

impl Tagged for Segment {
    fn tag(&self) -> usize {
        self.0.tag as usize
    }
    fn set_tag(&mut self, tag: usize) {
        self.0.tag = tag as u32;
    }
}

impl Tagged for Acknowledgement {
    fn tag(&self) -> usize {
        self.0.tag as usize
    }
    fn set_tag(&mut self, tag: usize) {
        self.0.tag = tag as u32;
    }
}

struct Flow {
    plan: FlowPlan,
    sender: Sender,
    receiver: Receiver,
    draws: Draws,
    out: Entrance,
    back: Entrance,
    /// Earliest entry of each kind in the timers, so that putting a timer off costs nothing.
    rto_entry: Time,
    pace_entry: Time,
    delayed_ack_entry: Time,
    epoch: u8,
    active: bool,
    transfers_left: u64,
    started_at: Time,
}

struct Source {
    plan: StreamPlan,
    out: Entrance,
    next_seq: u64,
    delivered: u64,
    delivered_bytes: u64,
}

/// A run.
pub struct Engine<O: Observer = Nobody> {
    now: Time,
    duration: Time,
    probe: Option<Duration>,
    links: Vec<Link>,
    flows: Vec<Flow>,
    sources: Vec<Source>,
    data: Traffic<Segment>,
    acks: Traffic<Acknowledgement>,
    timers: Timers,
    tally: Tally,
    observer: O,
}

impl<O: Observer> Engine<O> {
    /// Prepares `plan` to be run under the eyes of `observer`.
    pub fn new(plan: Plan, observer: O) -> Engine<O> {
        let forward: Vec<&[usize]> = plan.flows.iter().map(|flow| &*flow.forward).collect();
        let streams: Vec<&[usize]> = plan.streams.iter().map(|stream| &*stream.route).collect();
        let reverse: Vec<&[usize]> = plan.flows.iter().map(|flow| &*flow.reverse).collect();
        let data_paths = [forward, streams].concat();
        let gates = route::gates(&plan.links, plan.measured, &[&data_paths[..], &reverse[..]].concat());
        let (data, data_entrances) = Traffic::new(&data_paths, &gates, &plan.links);
        let (acks, ack_entrances) = Traffic::new(&reverse, &gates, &plan.links);
        let mut data_entrances = data_entrances.into_iter();
        let mut timers = Timers::default();

        let flows: Vec<Flow> = plan
            .flows
            .iter()
            .enumerate()
            .zip(data_entrances.by_ref().take(plan.flows.len()).zip(ack_entrances))
            .map(|((number, flow), (out, back))| {
                timers.add(flow.start, Timer::Start(number as u32));
                if let Some(stop) = flow.stop {
                    timers.add(stop, Timer::Stop(number as u32));
                }
                let limit = flow.transfer.unwrap_or(u64::MAX);
                Flow {
                    sender: Sender::new(flow.config.clone(), flow.control.build(), 0, limit, flow.start),
                    receiver: Receiver::new(&flow.config, 0),
                    draws: flow.draws.clone(),
                    out,
                    back,
                    rto_entry: Time::NEVER,
                    pace_entry: Time::NEVER,
                    delayed_ack_entry: Time::NEVER,
                    epoch: 0,
                    active: false,
                    transfers_left: flow.repeat,
                    started_at: flow.start,
                    plan: flow.clone(),
                }
            })
            .collect();
        let sources: Vec<Source> = plan
            .streams
            .iter()
            .enumerate()
            .zip(data_entrances)
            .map(|((number, stream), out)| {
                timers.add(stream.start, Timer::Datagram(number as u32));
                Source { plan: stream.clone(), out, next_seq: 0, delivered: 0, delivered_bytes: 0 }
            })
            .collect();
        timers.add(plan.measure.0, Timer::MeasureFrom);
        timers.add(plan.measure.1, Timer::MeasureTo);
        if plan.probe.is_some() {
            timers.add(Time::ZERO, Timer::Probe);
        }
        Engine {
            now: Time::ZERO,
            duration: plan.duration,
            probe: plan.probe,
            tally: Tally::new(flows.len(), sources.len(), plan.links.len(), plan.probe.is_some()),
            links: plan.links,
            flows,
            sources,
            data,
            acks,
            timers,
            observer,
        }
    }

    /// Runs to the end and returns what was measured, and the observer.
    pub fn run(mut self) -> (Measured, O) {
        while self.advance() {}
        self.now = self.duration;
        self.finish()
    }

    /// Runs up to `until`, then hands back; false when the run is over. For progress displays and interruption.
    pub fn run_until(&mut self, until: Time) -> bool {
        while self.earliest() <= until {
            if !self.advance() {
                return false;
            }
        }
        until < self.duration
    }

    /// Where virtual time stands.
    pub fn now(&self) -> Time {
        self.now
    }

    /// When the next event is due.
    #[inline]
    fn earliest(&self) -> Time {
        self.timers.earliest().min(self.data.earliest()).min(self.acks.earliest())
    }

    /// The next event; false when there is none before the end. Among simultaneous events timers go first, then
    /// segments, then acknowledgements.
    #[inline]
    fn advance(&mut self) -> bool {
        let (timer, segment, ack) = (self.timers.earliest(), self.data.earliest(), self.acks.earliest());
        let now = timer.min(segment).min(ack);
        if now > self.duration || now == Time::NEVER {
            return false;
        }
        self.now = now;
        if timer == now {
            self.on_timer();
        } else if segment == now {
            self.on_segment();
        } else {
            self.on_acknowledgement();
        }
        true
    }

    /// A segment has reached a gate or its receiver.
    #[inline]
    fn on_segment(&mut self) {
        let mut packet = self.data.pop();
        let exit = self.data.exit(&packet);
        let owner = exit.owner as usize;
        if let Some(stage) = &exit.stage {
            let is_flow = owner < self.flows.len();
            let number = if is_flow { owner } else { owner - self.flows.len() };
            let observer = &mut self.observer;
            let passed = stage.pass(&mut self.links, self.now, &mut packet, |link, at, packet, fate| {
                observer.at_link(link as usize, at.delay(), carrying(number, is_flow, packet), fate);
            });
            if let Ok(due) = passed {
                self.data.push(packet.tag() + 1, due, packet);
            }
        } else if owner < self.flows.len() {
            let flow = &mut self.flows[owner];
            if let Some(ack) = flow.receiver.on_data(self.now, &packet.0) {
                self.acknowledge(owner, ack);
            } else if let Some(deadline) = flow.receiver.poll_timeout()
                && deadline < flow.delayed_ack_entry
            {
                flow.delayed_ack_entry = deadline;
                self.timers.add(deadline, Timer::DelayedAck(owner as u32));
            }
        } else {
            let source = &mut self.sources[owner - self.flows.len()];
            source.delivered += 1;
            source.delivered_bytes += u64::from(packet.0.bytes);
        }
    }

    /// An acknowledgement has reached a gate or its sender.
    #[inline]
    fn on_acknowledgement(&mut self) {
        let mut packet = self.acks.pop();
        let exit = self.acks.exit(&packet);
        let owner = exit.owner as usize;
        if let Some(stage) = &exit.stage {
            let observer = &mut self.observer;
            let passed = stage.pass(&mut self.links, self.now, &mut packet, |link, at, packet, fate| {
                observer.at_link(link as usize, at.delay(), Carrying::Ack(owner as u32, &packet.0), fate);
            });
            if let Ok(due) = passed {
                self.acks.push(packet.tag() + 1, due, packet);
            }
            return;
        }
        let flow = &mut self.flows[owner];
        self.tally.before_window_changes(owner, self.now, &flow.sender);
        let draws = &mut flow.draws;
        flow.sender.on_ack(self.now, &packet.0, || draws.uniform());
        if flow.sender.is_done() {
            self.on_transfer_done(owner);
        }
        self.transmit(owner);
    }

    /// Sends what a flow's sender has to send, and sees to its timers.
    #[inline]
    fn transmit(&mut self, owner: usize) {
        let flow = &mut self.flows[owner];
        if !flow.active {
            return; // between two transfers
        }
        let Entrance { stage, exit } = &flow.out;
        let observer = &mut self.observer;
        while let Some(data) = flow.sender.poll_transmit(self.now) {
            let mut packet = Segment(data);
            let passed = stage.pass(&mut self.links, self.now, &mut packet, |link, at, packet, fate| {
                observer.at_link(link as usize, at.delay(), carrying(owner, true, packet), fate);
            });
            if let Ok(due) = passed {
                self.data.push(*exit, due, packet);
            }
        }
        observer.at_sender(self.now, owner, &flow.sender);
        let deadline = flow.sender.poll_timeout();
        let pacing = flow.sender.poll_pacing(self.now);
        if let Some(deadline) = deadline
            && deadline < flow.rto_entry
        {
            flow.rto_entry = deadline;
            self.timers.add(deadline, Timer::Retransmission(owner as u32));
        }
        let flow = &mut self.flows[owner];
        if let Some(due) = pacing
            && due < flow.pace_entry
        {
            flow.pace_entry = due;
            self.timers.add(due, Timer::Pacing(owner as u32));
        }
    }

    /// Sends an acknowledgement.
    #[inline]
    fn acknowledge(&mut self, owner: usize, ack: Ack) {
        let Entrance { stage, exit } = &self.flows[owner].back;
        let mut packet = Acknowledgement(ack);
        let observer = &mut self.observer;
        let passed = stage.pass(&mut self.links, self.now, &mut packet, |link, at, packet, fate| {
            observer.at_link(link as usize, at.delay(), Carrying::Ack(owner as u32, &packet.0), fate);
        });
        if let Ok(due) = passed {
            self.acks.push(*exit, due, packet);
        }
    }

    fn on_timer(&mut self) {
        let timer = self.timers.pop();
        match timer {
            Timer::Start(flow) => self.on_start(flow as usize),
            Timer::Stop(number) => {
                let flow = &mut self.flows[number as usize];
                flow.transfers_left = 0;
                flow.sender.stop();
                if flow.sender.is_done() {
                    self.tally.before_window_changes(number as usize, self.now, &flow.sender);
                    self.on_transfer_done(number as usize);
                }
            }
            Timer::Retransmission(flow) => self.on_retransmission_timer(flow as usize),
            Timer::Pacing(flow) => {
                self.flows[flow as usize].pace_entry = Time::NEVER;
                self.transmit(flow as usize);
            }
            Timer::DelayedAck(flow) => self.on_delayed_ack_timer(flow as usize),
            Timer::Datagram(source) => self.on_datagram_timer(source as usize),
            Timer::Probe => {
                let interval = self.probe.unwrap_or(Duration::MAX);
                self.tally.probe(
                    self.now,
                    interval,
                    &mut self.links,
                    self.flows.iter().map(seen),
                    &self.sources,
                );
                self.timers.add(self.now + interval, Timer::Probe);
            }
            Timer::MeasureFrom => {
                self.tally.measure_from(
                    self.now,
                    &mut self.links,
                    self.flows.iter().map(seen),
                    &self.sources,
                );
            }
            Timer::MeasureTo => {
                self.tally.measure_to(self.now, &self.links, self.flows.iter().map(seen), &self.sources);
            }
        }
    }

    fn on_start(&mut self, number: usize) {
        let flow = &mut self.flows[number];
        if flow.transfers_left == 0 {
            return; // stopped in the meantime
        }
        flow.transfers_left -= 1;
        flow.active = true;
        flow.started_at = self.now;
        self.tally.runs_from(number, self.now);
        self.transmit(number);
    }

    /// Everything of a transfer was acknowledged: its time is noted, and the next one gets a new connection.
    fn on_transfer_done(&mut self, number: usize) {
        let flow = &mut self.flows[number];
        if !flow.active {
            return;
        }
        flow.active = false;
        self.tally.runs_to(number);
        // What the application gave up before its end is no transfer that is complete.
        if flow.plan.transfer.is_some_and(|size| flow.sender.una() >= size) {
            self.tally.transfer_done(number, self.now.since(flow.started_at));
        }
        if flow.transfers_left == 0 {
            return;
        }
        self.tally.connection_over(number, &flow.sender, &flow.receiver);
        flow.epoch = flow.epoch.wrapping_add(1);
        let limit = flow.plan.transfer.unwrap_or(u64::MAX);
        let start = self.now + flow.plan.pause;
        let (config, control) = (flow.plan.config.clone(), flow.plan.control.build());
        // The new connection must not send before its time: it has nothing to send until it is started.
        flow.sender = Sender::new(config, control, flow.epoch, limit, start);
        flow.receiver = Receiver::new(&flow.plan.config, flow.epoch);
        self.timers.add(start, Timer::Start(number as u32));
    }

    fn on_retransmission_timer(&mut self, number: usize) {
        let flow = &mut self.flows[number];
        flow.rto_entry = Time::NEVER;
        self.tally.before_window_changes(number, self.now, &flow.sender);
        flow.sender.on_timeout(self.now);
        self.transmit(number);
    }

    fn on_delayed_ack_timer(&mut self, number: usize) {
        let flow = &mut self.flows[number];
        flow.delayed_ack_entry = Time::NEVER;
        if let Some(ack) = flow.receiver.on_timeout(self.now) {
            self.acknowledge(number, ack);
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
        let next = source.plan.departure(source.next_seq);
        let mut packet = Segment(data);
        let Entrance { stage, exit } = &source.out;
        let observer = &mut self.observer;
        let passed = stage.pass(&mut self.links, self.now, &mut packet, |link, at, packet, fate| {
            observer.at_link(link as usize, at.delay(), Carrying::Datagram(number as u32, &packet.0), fate);
        });
        if let Ok(due) = passed {
            self.data.push(*exit, due, packet);
        }
        self.timers.add(next, Timer::Datagram(number as u32));
    }

    fn finish(self) -> (Measured, O) {
        let mut in_flight = vec![0_u64; self.flows.len()];
        self.data.count(|owner| {
            if let Some(count) = in_flight.get_mut(owner) {
                *count += 1;
            }
        });
        let delivered = self.tally.delivered_segments(self.flows.iter().map(seen));
        (self.tally.into_measured(delivered, in_flight, self.flows.iter().map(seen)), self.observer)
    }
}

fn seen(flow: &Flow) -> (&Sender, &Receiver) {
    (&flow.sender, &flow.receiver)
}

fn carrying(number: usize, is_flow: bool, packet: &Segment) -> Carrying<'_> {
    if is_flow {
        Carrying::Data(number as u32, &packet.0)
    } else {
        Carrying::Datagram(number as u32, &packet.0)
    }
}

//! The engine: virtual time jumps from one packet's arrival to the next.
//!
//! Packets in flight wait in lanes; only the head of each lane takes part in the search for what
//! comes next, in winner trees. Behind links that reorder they wait in a heap instead. Timers wait in a heap, because they are rare: a retransmission timer
//! that is put off keeps its old entry and is re-armed when it fires early.
//!
//! What depends on one stream of packets alone need not wait for its instant: a link with a single feeder, or
//! a receiver, takes a packet as soon as the packet's arrival is known, unless somebody looks at the run's
//! state before that arrival. One flow alone on its path then needs one event per segment.

mod disorder;
mod lanes;
mod observe;
mod route;
mod series;
mod step;
mod tally;
mod timers;
mod traffic;
mod transmitters;
mod tree;
mod writer;

pub use observe::{Carrying, Nobody, Observer};
pub use route::{Access, Detour, Stage, accesses, stages};
pub use series::{Sample, Series};
pub use tally::{FlowTally, LinkTally, Measured, StreamTally};
#[doc(hidden)] // for the benches
pub use tree::{Head, WinnerTree};

use crate::plan::{FlowPlan, Plan, StreamPlan};
use ackclock_net::{Carried, Ecn, Fate, Link, Stream as Draws};
use ackclock_tcp::{Ack, Data, Flags, Receiver, Sender};
use ackclock_units::{Duration, Time};
use tally::Tally;
use timers::{Timer, Timers};
use traffic::{Entrance, Exit, Traffic};
use transmitters::{Packet, Transmitters};
use writer::Writer;

#[derive(Clone, Copy, Default)]
struct Segment(Data);

impl Carried for Segment {
    #[inline]
    fn bytes(&self) -> u32 {
        u32::from(self.0.bytes)
    }
    #[inline]
    fn ecn(&self) -> Ecn {
        let flags = self.0.flags;
        match (flags.has(Flags::ECT), flags.has(Flags::CE)) {
            (false, _) => Ecn::NotEct,
            (true, true) => Ecn::Ce,
            (true, false) if flags.has(Flags::ECT1) => Ecn::Ect1,
            (true, false) => Ecn::Ect0,
        }
    }
    fn mark(&mut self) {
        self.0.flags = self.0.flags.with(Flags::CE);
    }
}

#[derive(Clone, Copy, Default)]
struct Acknowledgement(Ack);

impl Carried for Acknowledgement {
    #[inline]
    fn bytes(&self) -> u32 {
        u32::from(self.0.bytes)
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
    /// Segments of the transfer; `None` is unlimited.
    size: Option<u64>,
    started_at: Time,
    /// The application, if its writing takes time.
    writer: Option<Box<Writer>>,
    /// Segments on their way that will not arrive within the run: they are counted, and need no room.
    beyond_the_end: u64,
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
    transmitters: Transmitters,
    looks: Looks,
    tally: Tally,
    observer: O,
}

/// The instants at which somebody will look at links and receivers, so that nothing may run ahead of them.
struct Looks {
    probe: Time,
    measure_from: Time,
    measure_to: Time,
    /// One past the run's last instant.
    over: Time,
    /// The earliest of these: asked for at every packet.
    next: Time,
}

impl Looks {
    fn update(&mut self) {
        self.next = self.probe.min(self.measure_from).min(self.measure_to).min(self.over);
    }
}

impl<O: Observer> Engine<O> {
    /// Prepares `plan` to be run under the eyes of `observer`.
    pub fn new(plan: Plan, observer: O) -> Engine<O> {
        let forward: Vec<&[usize]> = plan.flows.iter().map(|flow| &*flow.forward).collect();
        let streams: Vec<&[usize]> = plan.streams.iter().map(|stream| &*stream.route).collect();
        let reverse: Vec<&[usize]> = plan.flows.iter().map(|flow| &*flow.reverse).collect();
        let data_paths = [forward, streams].concat();
        let accesses = route::accesses(&plan.links, plan.measured, &data_paths, &reverse);
        let (data, data_entrances) = Traffic::new(&data_paths, &accesses, &plan.links, true);
        let (acks, ack_entrances) = Traffic::new(&reverse, &accesses, &plan.links, false);
        let mut data_entrances = data_entrances.into_iter();
        let mut timers = Timers::default();

        let flows: Vec<Flow> = plan
            .flows
            .iter()
            .enumerate()
            .zip(data_entrances.by_ref().take(plan.flows.len()).zip(ack_entrances))
            .map(|((number, flow), (out, back))| {
                let mut plan = flow.clone();
                let size = plan.next_size();
                timers.add(flow.start, Timer::Start(number as u32));
                if let Some(stop) = flow.stop {
                    timers.add(stop, Timer::Stop(number as u32));
                }
                Flow {
                    sender: Sender::new(
                        flow.config.clone(),
                        flow.control.build(),
                        0,
                        plan.segments_at_once(size),
                        flow.start,
                    ),
                    writer: plan.writer(size, flow.start),
                    receiver: Receiver::new(&flow.config, 0),
                    draws: flow.draws.clone(),
                    out,
                    back,
                    rto_entry: Time::NEVER,
                    pace_entry: Time::NEVER,
                    delayed_ack_entry: Time::NEVER,
                    epoch: 0,
                    active: false,
                    transfers_left: flow.requests.repeat,
                    size,
                    started_at: flow.start,
                    beyond_the_end: 0,
                    plan,
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
        let mut looks = Looks {
            probe: if plan.probe.is_some() { Time::ZERO } else { Time::NEVER },
            measure_from: plan.measure.0,
            measure_to: plan.measure.1,
            over: plan.duration + Duration::from_nanos(1),
            next: Time::ZERO,
        };
        looks.update();
        Engine {
            now: Time::ZERO,
            duration: plan.duration,
            probe: plan.probe,
            tally: Tally::new(flows.len(), sources.len(), plan.links.len(), plan.probe.is_some()),
            transmitters: Transmitters::new(&plan.links),
            links: plan.links,
            flows,
            sources,
            data,
            acks,
            timers,
            looks,
            observer,
        }
    }

    /// Runs to the end and returns what was measured, and the observer.
    pub fn run(mut self) -> (Measured, O) {
        while self.advance(self.duration) {}
        self.now = self.duration;
        self.finish()
    }

    /// Runs up to `until`, then hands back; false when the run is over. For progress displays and interruption.
    pub fn run_until(&mut self, until: Time) -> bool {
        let last = until.min(self.duration);
        while self.advance(last) {}
        until < self.duration
    }

    /// Where virtual time stands.
    pub fn now(&self) -> Time {
        self.now
    }

    /// The next event, if there is one until `last`. Among simultaneous events timers go first, then segments, then
    /// acknowledgements.
    #[inline]
    fn advance(&mut self, last: Time) -> bool {
        let (timer, segment, ack) = (self.timers.earliest(), self.data.earliest(), self.acks.earliest());
        let now = timer.min(segment).min(ack);
        if now > last {
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
        let (exit, packet) = self.data.first();
        let mut packet = *packet;
        if self.data.pop() {
            return self.on_segment_back(exit, packet);
        }
        if let Some(due) = self.take_segment(exit, self.now, &mut packet) {
            self.forward_segment(exit + 1, due, packet);
        }
    }

    /// A segment is back at the gate behind `exit`, where the link has corrupted it.
    #[cold]
    fn on_segment_back(&mut self, exit: usize, packet: Segment) {
        let Exit { owner, stage: Some(stage), .. } = self.data.exit(exit) else { return };
        let owner = *owner as usize;
        let is_flow = owner < self.flows.len();
        let number = if is_flow { owner } else { owner - self.flows.len() };
        let observer = &mut self.observer;
        let passed = stage.pass_again(&mut self.links, self.now, &packet, |link, over, packet, fate| {
            observer.at_link(link as usize, on_the_way(over, fate), carrying(number, is_flow, packet), fate);
        });
        match passed {
            Ok(due) => self.forward_segment(exit + 1, due, packet),
            Err(detour) => self.divert_segment(exit + 1, detour, packet),
        }
    }

    /// Sends a segment on its way to `exit`, where it is due at `due`.
    #[inline]
    fn forward_segment(&mut self, mut exit: usize, mut due: Time, mut packet: Segment) {
        while self.data.runs_ahead(exit) && due < self.looks.next && self.is_undisturbed(exit, due) {
            match self.take_segment(exit, due, &mut packet) {
                Some(later) => (exit, due) = (exit + 1, later),
                None => return,
            }
        }
        if due < self.looks.over {
            self.data.push(exit, due, packet);
        } else if let Some(flow) = self.flows.get_mut(self.data.exit(exit).owner as usize) {
            flow.beyond_the_end += 1;
        }
    }

    /// Will nothing but segments act on the receiver behind `exit` until `due`, and nobody else on its first link?
    #[inline]
    fn is_undisturbed(&self, exit: usize, due: Time) -> bool {
        let Exit { owner, stage, .. } = self.data.exit(exit);
        if stage.is_some() {
            return true;
        }
        self.flows.get(*owner as usize).is_none_or(|flow| {
            // Between transfers the receiver is replaced.
            flow.back.alone
                && flow.transfers_left == 0
                && flow.receiver.poll_timeout().is_none_or(|deadline| due < deadline)
        })
    }

    /// A segment is at `exit` at this instant: says when it is at the next one, if there is one and it gets there.
    #[inline]
    fn take_segment(&mut self, exit: usize, at: Time, packet: &mut Segment) -> Option<Time> {
        let Exit { owner, stage, .. } = self.data.exit(exit);
        let owner = *owner as usize;
        if let Some(stage) = stage {
            let is_flow = owner < self.flows.len();
            let number = if is_flow { owner } else { owner - self.flows.len() };
            let observer = &mut self.observer;
            let passed = stage.pass(&mut self.links, at, packet, |link, over, packet, fate| {
                observer.at_link(
                    link as usize,
                    on_the_way(over, fate),
                    carrying(number, is_flow, packet),
                    fate,
                );
            });
            return match passed {
                Ok(due) => Some(due),
                Err(detour) => {
                    self.divert_segment(exit + 1, detour, *packet);
                    None
                }
            };
        }
        if owner < self.flows.len() {
            let flow = &mut self.flows[owner];
            let ack = flow.receiver.on_data(at, &packet.0);
            if let Some(writer) = &mut flow.writer {
                writer.arrived(at, flow.receiver.delivered());
            }
            if let Some(ack) = ack {
                self.acknowledge(owner, at, ack);
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
        None
    }

    /// An acknowledgement has reached a gate or its sender.
    #[inline]
    fn on_acknowledgement(&mut self) {
        let (exit, packet) = self.acks.first();
        let Exit { owner, stage, .. } = self.acks.exit(exit);
        if stage.is_some() {
            let packet = *packet;
            return self.on_acknowledgement_at_gate(exit, packet);
        }
        let owner = *owner as usize;
        let flow = &mut self.flows[owner];
        self.tally.before_window_changes(owner, self.now, &flow.sender);
        let draws = &mut flow.draws;
        flow.sender.on_ack(self.now, &packet.0, || draws.uniform());
        self.acks.pop();
        if self.write(owner) {
            self.on_transfer_done(owner);
        }
        self.transmit(owner);
    }

    /// An acknowledgement has reached the gate behind `exit`, or is back there.
    #[inline]
    fn on_acknowledgement_at_gate(&mut self, exit: usize, mut packet: Acknowledgement) {
        let back = self.acks.pop();
        let Exit { owner, stage: Some(stage), .. } = self.acks.exit(exit) else { return };
        let (links, observer) = (&mut self.links, &mut self.observer);
        let passed = if back {
            stage.pass_again(links, self.now, &packet, |link, over, packet, fate| {
                observer.at_link(
                    link as usize,
                    on_the_way(over, fate),
                    Carrying::Ack(*owner, &packet.0),
                    fate,
                );
            })
        } else {
            pass_ack(*owner, stage, links, observer, self.now, &mut packet)
        };
        match passed {
            Ok(due) => self.forward_ack(exit + 1, due, packet),
            Err(detour) => self.divert_ack(exit + 1, detour, packet),
        }
    }

    /// Sends an acknowledgement on its way to `exit`, where it is due at `due`.
    #[inline(always)] // the packet stays in registers
    fn forward_ack(&mut self, mut exit: usize, mut due: Time, mut packet: Acknowledgement) {
        while self.acks.runs_ahead(exit) && due < self.looks.next {
            let Exit { owner, stage: Some(stage), .. } = self.acks.exit(exit) else { break };
            match pass_ack(*owner, stage, &mut self.links, &mut self.observer, due, &mut packet) {
                Ok(later) => (exit, due) = (exit + 1, later),
                Err(detour) => return self.divert_ack(exit + 1, detour, packet),
            }
        }
        if due < self.looks.over {
            self.acks.push(exit, due, packet);
        }
    }

    /// Lets a flow's application write what its socket has room for. Is everything written and acknowledged?
    #[inline]
    fn write(&mut self, owner: usize) -> bool {
        let flow = &self.flows[owner];
        if flow.writer.is_none() { flow.sender.is_done() } else { self.write_some(owner) }
    }

    #[cold]
    fn write_some(&mut self, owner: usize) -> bool {
        let Flow { writer: Some(writer), sender, .. } = &mut self.flows[owner] else { return false };
        if let Some(due) = writer.write(self.now, sender.una()) {
            self.timers.add(due, Timer::Write(owner as u32));
        }
        sender.supply(self.now, writer.segments());
        writer.is_over() && sender.is_done()
    }

    /// Sends what a flow's sender has to send, and sees to its timers.
    #[inline]
    fn transmit(&mut self, owner: usize) {
        if !self.flows[owner].active {
            return; // between two transfers
        }
        loop {
            let flow = &mut self.flows[owner];
            let Some(data) = flow.sender.poll_transmit(self.now) else { break };
            let Entrance { stage, exit, .. } = &flow.out;
            let mut packet = Segment(data);
            let observer = &mut self.observer;
            let passed = stage.pass(&mut self.links, self.now, &mut packet, |link, at, packet, fate| {
                observer.at_link(link as usize, on_the_way(at, fate), carrying(owner, true, packet), fate);
            });
            let exit = *exit;
            match passed {
                Ok(due) => self.forward_segment(exit, due, packet),
                Err(detour) => self.data.divert(exit, detour, packet),
            }
        }
        let flow = &mut self.flows[owner];
        self.observer.at_sender(self.now, owner, &flow.sender);
        let deadline = flow.sender.poll_timeout();
        let pacing = flow.sender.poll_pacing(self.now);
        if let Some(deadline) = deadline
            && deadline < flow.rto_entry
        {
            flow.rto_entry = deadline;
            self.timers.add(deadline, Timer::Retransmission(owner as u32));
        }
        if let Some(due) = pacing
            && due < flow.pace_entry
        {
            flow.pace_entry = due;
            self.timers.add(due, Timer::Pacing(owner as u32));
        }
    }

    /// A receiver sends an acknowledgement at `at`.
    #[inline(always)] // the packet stays in registers
    fn acknowledge(&mut self, owner: usize, at: Time, ack: Ack) {
        let Entrance { stage, exit, .. } = &self.flows[owner].back;
        let mut packet = Acknowledgement(ack);
        let due = pass_ack(owner as u32, stage, &mut self.links, &mut self.observer, at, &mut packet);
        let exit = *exit;
        match due {
            Ok(due) => self.forward_ack(exit, due, packet),
            Err(detour) => self.acks.divert(exit, detour, packet),
        }
    }

    fn on_timer(&mut self) {
        let timer = self.timers.pop();
        match timer {
            Timer::Transmitter(number) => self.on_transmitter_timer(number as usize),
            Timer::Start(flow) => self.on_start(flow as usize),
            Timer::Stop(number) => {
                let flow = &mut self.flows[number as usize];
                flow.transfers_left = 0;
                flow.sender.stop();
                flow.writer.iter_mut().for_each(|writer| writer.stop());
                if flow.sender.is_done() {
                    self.tally.before_window_changes(number as usize, self.now, &flow.sender);
                    self.on_transfer_done(number as usize);
                }
            }
            Timer::Retransmission(flow) => self.on_retransmission_timer(flow as usize),
            Timer::Pacing(flow) => self.on_pacing_timer(flow as usize),
            Timer::DelayedAck(flow) => self.on_delayed_ack_timer(flow as usize),
            Timer::Write(flow) => self.on_write_timer(flow as usize),
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
                    self.flows.iter().map(seen),
                    &self.sources,
                );
            }
            Timer::MeasureTo => {
                self.looks.measure_to = Time::NEVER;
                self.looks.update();
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
        self.on_write_timer(number);
    }

    /// A burst is due, or the application begins.
    fn on_write_timer(&mut self, number: usize) {
        if let Some(writer) = &mut self.flows[number].writer {
            writer.begin(self.now);
            self.write_some(number);
        }
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
        if flow.size.is_some_and(|size| flow.sender.una() >= size) {
            self.tally.transfer_done(number, self.now.since(flow.started_at));
        }
        if flow.transfers_left == 0 {
            return;
        }
        self.tally.connection_over(number, &flow.sender, &flow.receiver);
        flow.epoch = flow.epoch.wrapping_add(1);
        let start = flow.plan.requests.next_start(flow.started_at, self.now);
        flow.size = flow.plan.next_size();
        let limit = flow.plan.segments_at_once(flow.size);
        let (config, control) = (flow.plan.config.clone(), flow.plan.control.build());
        // The new connection must not send before its time: it has nothing to send until it is started.
        flow.sender = Sender::new(config, control, flow.epoch, limit, start);
        flow.receiver = Receiver::new(&flow.plan.config, flow.epoch);
        flow.writer = flow.plan.writer(flow.size, start);
        self.timers.add(start, Timer::Start(number as u32));
    }

    // Where an earlier deadline has taken the place of a later one, the later one's entry comes to nothing: were it to ask
    // for the next deadline, too, there would be one more entry for each such change, for good.

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
        self.tally.before_window_changes(number, self.now, &flow.sender);
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
        let next = source.plan.departure(source.next_seq);
        let mut packet = Segment(data);
        let Entrance { stage, exit, .. } = &source.out;
        let observer = &mut self.observer;
        let passed = stage.pass(&mut self.links, self.now, &mut packet, |link, at, packet, fate| {
            let carried = Carrying::Datagram(number as u32, &packet.0);
            observer.at_link(link as usize, on_the_way(at, fate), carried, fate);
        });
        let exit = *exit;
        match passed {
            Ok(due) => self.forward_segment(exit, due, packet),
            Err(detour) => self.data.divert(exit, detour, packet),
        }
        self.timers.add(next, Timer::Datagram(number as u32));
    }

    fn finish(self) -> (Measured, O) {
        let mut in_flight: Vec<u64> = self.flows.iter().map(|flow| flow.beyond_the_end).collect();
        self.data.count(|owner| {
            if let Some(count) = in_flight.get_mut(owner) {
                *count += 1;
            }
        });
        for held in self.transmitters.held() {
            if let Packet::Segment(_) = held.packet
                && let Some(count) = in_flight.get_mut(self.data.exit(held.exit).owner as usize)
            {
                *count += 1;
            }
        }
        let delivered = self.tally.delivered_segments(self.flows.iter().map(seen));
        let mut measured = self.tally.into_measured(delivered, in_flight, self.flows.iter().map(seen));
        for (tally, flow) in measured.flows.iter_mut().zip(&self.flows) {
            tally.bursts = flow.writer.as_ref().and_then(|writer| writer.tally(self.now));
        }
        (measured, self.observer)
    }
}

impl FlowPlan {
    /// Segments of the next transfer; `None` is unlimited. To be asked once for each.
    fn next_size(&mut self) -> Option<u64> {
        let payload = u64::from(self.config.payload);
        let bursts = self.writing.and_then(|writing| writing.bursts);
        bursts.map(|bursts| bursts.bytes().div_ceil(payload)).or_else(|| self.requests.next_size())
    }

    /// Segments that the application has written when it begins with a transfer.
    fn segments_at_once(&self, size: Option<u64>) -> u64 {
        if self.writing.is_some() { 0 } else { size.unwrap_or(u64::MAX) }
    }

    /// Who writes them, if that takes time.
    fn writer(&self, size: Option<u64>, start: Time) -> Option<Box<Writer>> {
        self.writing.map(|writing| Box::new(Writer::new(writing, self.config.payload, size, start)))
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

/// How long the packet that was just offered to this link is under way behind the transmitter, if it gets there.
#[inline]
fn on_the_way(link: &Link, fate: Fate) -> Duration {
    match fate {
        Fate::Arrives(at) | Fate::ArrivesTwice(at) => at.since(link.departure()),
        Fate::Returns(_) | Fate::Waits | Fate::Dropped(_) => link.delay(),
    }
}

/// Takes an acknowledgement through a stage: says when it is at the end, if it gets there.
#[inline(always)] // the packet stays in registers
fn pass_ack<O: Observer>(
    owner: u32,
    stage: &Stage,
    links: &mut [Link],
    observer: &mut O,
    at: Time,
    packet: &mut Acknowledgement,
) -> Result<Time, Detour> {
    stage.pass(links, at, packet, |link, over, packet, fate| {
        observer.at_link(link as usize, on_the_way(over, fate), Carrying::Ack(owner, &packet.0), fate);
    })
}

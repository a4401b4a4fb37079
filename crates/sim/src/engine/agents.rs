//! Rate-based flows in the engine: endpoints of [`ackclock_rate`] over the same links and lanes as TCP's.
//!
//! Their packets are larger than TCP's, and there are few of them. So a packet on its way is a segment or an
//! acknowledgement of TCP's form that has a number and a size. What it carries is kept until it arrives or is
//! lost. TCP's packets stay as small as they are, and links, lanes and queues treat all flows alike.

use super::carried::Carried;
use super::in_flight::Entrance;
use super::observe::Observer;
use super::packets::{Acknowledgement, Segment};
use super::tally::{Counted, Tally, Totals};
use super::timers::Timer;
use super::{Engine, forwarding::enter};
use ackclock_net::{Cause, Detour, Link};
use ackclock_rate::loss::Label;
use ackclock_rate::packet::{Ack, Data};
use ackclock_rate::{Receiver, Sender, TimeMean, Transport};
use ackclock_registry::Chosen;
use ackclock_scenario::measured::RateTally;
use ackclock_scenario::plan::FlowPlan;
use ackclock_scenario::series::Sample;
use ackclock_tcp as tcp;
use ackclock_units::{Duration, Time};

/// A rate-based flow.
pub(super) struct Agent {
    pub(super) plan: FlowPlan,
    transport: Chosen<Transport>,
    /// The size of a packet on the wire.
    bytes: u32,
    pub(super) sender: Sender,
    pub(super) receiver: Receiver,
    pub(super) out: Entrance,
    pub(super) back: Entrance,
    /// Each packet with the number of its connection.
    data: Carried<(u32, Data)>,
    acks: Carried<(u32, Ack)>,
    connection: u32,
    active: bool,
    pub(super) transfers_left: u64,
    size: Option<u64>,
    started_at: Time,
    handshake: Duration,
    arrived: u64,
    /// Packets that senders of finished connections found lost.
    lost: u64,
    /// The loss event rate of finished connections.
    loss_events: Option<TimeMean>,
    /// Packets in flight that will not arrive before the run ends. They are counted, but not forwarded.
    pub(super) beyond_the_end: u64,
}

impl Agent {
    /// A rate-based flow over these links. `None` if it is TCP.
    pub(super) fn new(
        mut plan: FlowPlan,
        links: &[Link],
        (out, back): (Entrance, Entrance),
    ) -> Option<Agent> {
        let transport = plan.control.transport()?.clone();
        let header = u32::from(plan.config.header);
        let bytes = u32::from(plan.config.segment_bytes());
        // A handshake is an empty packet there and one back.
        let handshake = plan.forward.iter().chain(&plan.reverse).fold(Duration::ZERO, |sum, &link| {
            sum + links[link].delay() + links[link].rate().time_for(u64::from(header))
        });
        let size = plan.next_size();
        Some(Agent {
            sender: Sender::new(&transport, bytes, size, plan.start, handshake),
            receiver: Receiver::new(&transport, bytes),
            transport,
            bytes,
            out,
            back,
            data: Carried::default(),
            acks: Carried::default(),
            connection: 0,
            active: false,
            transfers_left: plan.requests.repeat,
            size,
            started_at: plan.start,
            handshake,
            arrived: 0,
            lost: 0,
            loss_events: None,
            beyond_the_end: 0,
            plan,
        })
    }

    /// The packets that its rate keeps on the way: what a congestion window would be.
    fn window(&self) -> f64 {
        self.sender.rate() * self.sender.srtt().as_secs_f64() / (f64::from(self.bytes) * 8.0)
    }

    /// What it did over the whole run, beside what TCP flows do, too.
    pub(super) fn tally(&self) -> RateTally {
        RateTally {
            rate: self.sender.rate(),
            lost: self.lost + self.sender.counters().lost,
            loss_event_rate: self.loss_event_rate().and_then(TimeMean::value),
            labels: *self.receiver.tally(),
        }
    }

    /// The loss event rate of all connections so far.
    fn loss_event_rate(&self) -> Option<TimeMean> {
        match (self.loss_events, self.sender.loss_event_rate()) {
            (Some(before), Some(now)) => Some(before.and(now)),
            (before, now) => before.or(now),
        }
    }

    /// True if only packets act on the receiver until `due`.
    pub(super) fn is_undisturbed(&self, due: Time) -> bool {
        // Between transfers the receiver is replaced.
        self.back.alone
            && self.transfers_left == 0
            && self.receiver.poll_timeout().is_none_or(|deadline| due < deadline)
    }
}

impl Counted for Agent {
    fn totals(&self) -> Totals {
        let sent = self.sender.counters();
        Totals {
            delivered: self.receiver.delivered(),
            arrived: self.arrived,
            duplicates: self.receiver.duplicates(),
            counters: tcp::Counters {
                sent: sent.sent,
                retransmits: sent.retransmitted,
                timeouts: sent.timeouts,
                window_cuts: sent.rate_cuts,
                rtt_samples: sent.rtt_samples,
                rtt_sum: sent.rtt_sum,
                ..tcp::Counters::default()
            },
        }
    }

    fn cwnd(&self) -> f64 {
        self.window()
    }

    fn rtt_min(&self) -> Option<Duration> {
        self.sender.counters().rtt_min()
    }

    fn sample(&self) -> Sample {
        Sample {
            cwnd: self.window() as f32,
            ssthresh: f32::INFINITY,
            srtt_s: self.sender.srtt().as_secs_f64() as f32,
            in_flight: self.data.on_the_way() as f32,
            ..Sample::default()
        }
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        self.sender.inspect(see);
        self.receiver.inspect(see);
    }
}

/// What an acknowledgement sets off.
pub(super) enum Acted {
    /// Nothing: it is of an earlier connection, or the application has stopped.
    Nothing,
    /// The sender may send.
    Sends,
    /// The transfer is complete.
    Done,
}

/// What both engines do with an agent. `counted`: its number in the tally.
impl Agent {
    /// The application starts. False if it was stopped in the meantime.
    pub(super) fn begin(&mut self, counted: usize, now: Time, tally: &mut Tally) -> bool {
        if self.transfers_left == 0 {
            return false;
        }
        self.transfers_left -= 1;
        self.active = true;
        self.started_at = now;
        tally.runs_from(counted, now);
        if let Some(packets) = self.size {
            tally.transfer_begins(counted, now, self.plan.bytes_of(packets));
        }
        true
    }

    /// The application stops: nothing more is sent, and no timer is set any more.
    pub(super) fn stop(&mut self, counted: usize, now: Time, tally: &mut Tally) {
        self.transfers_left = 0;
        if self.active {
            tally.before_window_changes(counted, now, self);
            tally.runs_to(counted);
            self.active = false;
        }
    }

    /// A departure or a timeout of the sender is due.
    pub(super) fn on_departure(&mut self, counted: usize, now: Time, tally: &mut Tally) {
        tally.before_window_changes(counted, now, self);
        self.sender.on_timeout(now);
    }

    /// A packet is at the receiver. Returns what it answers; `None`: the packet is of an earlier connection.
    pub(super) fn receive(&mut self, at: Time, packet: u64) -> Option<Option<Ack>> {
        let (connection, data) = self.data.take(packet)?;
        self.arrived += 1;
        // What was sent before the application stopped is received after that.
        (connection == self.connection).then(|| self.receiver.on_packet(at, &data))
    }

    /// An acknowledgement is back at the sender.
    pub(super) fn take_ack(&mut self, counted: usize, now: Time, packet: u64, tally: &mut Tally) -> Acted {
        let Some((connection, ack)) = self.acks.take(packet) else { return Acted::Nothing };
        if connection != self.connection || !self.active {
            return Acted::Nothing;
        }
        tally.before_window_changes(counted, now, self);
        if self.sender.on_ack(now, &ack).is_err() {
            debug_assert!(false, "no path invents acknowledgements");
        }
        if self.sender.is_finished() { Acted::Done } else { Acted::Sends }
    }

    /// A transfer is completely acknowledged. Returns when the next one starts, on a new connection, if there
    /// is one.
    pub(super) fn on_done(&mut self, counted: usize, now: Time, tally: &mut Tally) -> Option<Time> {
        self.active = false;
        tally.runs_to(counted);
        tally.transfer_done(counted, now);
        if self.transfers_left == 0 {
            return None;
        }
        tally.connection_over(counted, self);
        let start = self.plan.requests.next_start(self.started_at, now);
        self.size = self.plan.next_size();
        self.connection = self.connection.wrapping_add(1);
        self.restart(start);
        Some(start)
    }

    /// A packet was lost, or copied, on its way.
    pub(super) fn detour(&mut self, is_data: bool, packet: u64, detour: Detour) {
        match (detour, is_data) {
            (Detour::Twice(_), true) => self.data.double(packet),
            (Detour::Twice(_), false) => self.acks.double(packet),
            (Detour::Gone(cause), true) => {
                if let Some((connection, data)) = self.data.take(packet)
                    && connection == self.connection
                {
                    self.receiver.on_drop(data.number, label(cause));
                }
            }
            (Detour::Gone(_), false) => drop(self.acks.take(packet)),
            (Detour::Back(_) | Detour::Waits, _) => {}
        }
    }

    /// The next packet that may leave now.
    pub(super) fn next_packet(&mut self, now: Time) -> Option<Segment> {
        if !self.active {
            return None;
        }
        let data = self.sender.poll_transmit(now)?;
        let seq = self.data.send((self.connection, data));
        let bytes = u16::try_from(data.bytes).unwrap_or(u16::MAX);
        Some(Segment(tcp::Data { seq, sent_at: now, bytes, ..tcp::Data::default() }))
    }

    /// When the sender has a departure or a timeout. `None`: it is not running.
    pub(super) fn departure(&self, now: Time) -> Option<Time> {
        let due = self.sender.poll_timeout().unwrap_or(Time::NEVER);
        // A deadline of the past would be asked for again at once.
        self.active.then(|| due.max(now + Duration::from_nanos(1)))
    }

    /// When the receiver has something to report without a packet.
    pub(super) fn report_due(&self, now: Time) -> Time {
        let due = if self.active { self.receiver.poll_timeout() } else { None }.unwrap_or(Time::NEVER);
        due.max(now + Duration::from_nanos(1))
    }

    /// An acknowledgement as it goes over the path.
    pub(super) fn wrap(&mut self, at: Time, ack: Ack) -> Acknowledgement {
        let serial = self.acks.send((self.connection, ack));
        let bytes = u16::try_from(ack.bytes).unwrap_or(u16::MAX);
        Acknowledgement(tcp::Ack { ack: serial, sent_at: at, bytes, ..tcp::Ack::default() })
    }

    /// New endpoints, whose counters begin at zero.
    fn restart(&mut self, now: Time) {
        self.lost += self.sender.counters().lost;
        self.loss_events = self.loss_event_rate();
        self.sender = Sender::new(&self.transport, self.bytes, self.size, now, self.handshake);
        self.receiver = Receiver::new(&self.transport, self.bytes);
        self.arrived = 0;
    }
}

impl<O: Observer> Engine<O> {
    /// The tally's number of an agent: agents come after TCP flows.
    fn counted(&self, agent: usize) -> usize {
        self.flows.len() + agent
    }

    pub(super) fn on_agent_start(&mut self, number: usize) {
        let counted = self.counted(number);
        if self.agents[number].begin(counted, self.now, &mut self.tally) {
            self.transmit_agent(number);
        }
    }

    /// The application stops: nothing more is sent.
    pub(super) fn on_agent_stop(&mut self, number: usize) {
        let counted = self.counted(number);
        self.agents[number].stop(counted, self.now, &mut self.tally);
        self.timers.departure(number, Time::NEVER);
        self.timers.report(number, Time::NEVER);
    }

    /// A departure or a timeout of the sender is due.
    pub(super) fn on_departure(&mut self, number: usize) {
        let counted = self.counted(number);
        self.agents[number].on_departure(counted, self.now, &mut self.tally);
        self.transmit_agent(number);
    }

    /// The receiver has something to report without a packet.
    pub(super) fn on_report(&mut self, number: usize) {
        if let Some(ack) = self.agents[number].receiver.on_timeout(self.now) {
            self.agent_acknowledges(number, self.now, ack);
        }
        self.timers.report(number, self.agents[number].report_due(self.now));
    }

    /// A packet of an agent is at its receiver.
    pub(super) fn on_agent_data(&mut self, number: usize, at: Time, packet: u64) {
        let Some(arrived) = self.agents[number].receive(at, packet) else { return };
        if let Some(ack) = arrived {
            self.agent_acknowledges(number, at, ack);
        }
        self.timers.report(number, self.agents[number].report_due(self.now));
    }

    /// An acknowledgement is back at the sender of an agent.
    pub(super) fn on_agent_ack(&mut self, number: usize, packet: u64) {
        let counted = self.counted(number);
        match self.agents[number].take_ack(counted, self.now, packet, &mut self.tally) {
            Acted::Nothing => {}
            Acted::Sends => self.transmit_agent(number),
            Acted::Done => self.on_agent_done(number),
        }
    }

    /// A packet of an agent was lost, or copied, on its way.
    pub(super) fn on_agent_detour(&mut self, number: usize, is_data: bool, packet: u64, detour: Detour) {
        if let Some(agent) = self.agents.get_mut(number) {
            agent.detour(is_data, packet, detour);
        }
    }

    /// Sends what an agent's sender may send, and updates its timer.
    fn transmit_agent(&mut self, number: usize) {
        while let Some(mut packet) = self.agents[number].next_packet(self.now) {
            let Entrance { stage, exit, .. } = &self.agents[number].out;
            let exit = *exit;
            let whose = (self.owners.agent(number), &self.owners);
            match enter(stage, &mut self.links, &mut self.observer, self.now, whose, &mut packet) {
                Ok(due) => self.forward_segment(exit, due, packet),
                Err(detour) => self.divert(exit, detour, packet),
            }
        }
        if let Some(due) = self.agents[number].departure(self.now) {
            self.timers.departure(number, due);
        }
    }

    fn agent_acknowledges(&mut self, number: usize, at: Time, ack: Ack) {
        let agent = &mut self.agents[number];
        let mut packet = agent.wrap(at, ack);
        let Entrance { stage, exit, .. } = &agent.back;
        let exit = *exit;
        let whose = (self.owners.agent(number), &self.owners);
        match enter(stage, &mut self.links, &mut self.observer, at, whose, &mut packet) {
            Ok(due) => self.forward_ack(exit, due, packet),
            Err(detour) => self.divert(exit, detour, packet),
        }
    }

    /// A transfer is completely acknowledged. The next one gets a new connection.
    fn on_agent_done(&mut self, number: usize) {
        let counted = self.counted(number);
        self.timers.departure(number, Time::NEVER);
        self.timers.report(number, Time::NEVER);
        if let Some(start) = self.agents[number].on_done(counted, self.now, &mut self.tally) {
            self.timers.add(start, Timer::StartAgent(number as u32));
        }
    }
}

/// The label that a perfect discriminator would give.
fn label(cause: Cause) -> Label {
    match cause {
        Cause::Overflow | Cause::Early | Cause::Filtered => Label::Congestion,
        Cause::Error | Cause::Outage => Label::Transmission,
    }
}

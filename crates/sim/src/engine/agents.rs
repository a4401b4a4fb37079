//! Rate-based flows in the engine: endpoints of [`ackclock_rate`] over the same links and lanes as TCP's.
//!
//! Their packets are larger than TCP's, and there are few of them. So a packet on its way is a segment or an
//! acknowledgement of TCP's form that has a number and a size. What it carries is kept until it arrives or is
//! lost. TCP's packets stay as small as they are, and links, lanes and queues treat all flows alike.

use super::carried::Carried;
use super::in_flight::Entrance;
use super::observe::Observer;
use super::packets::{Acknowledgement, Segment};
use super::tally::{Counted, Totals};
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

impl<O: Observer> Engine<O> {
    /// The tally's number of an agent: agents come after TCP flows.
    fn counted(&self, agent: usize) -> usize {
        self.flows.len() + agent
    }

    pub(super) fn on_agent_start(&mut self, number: usize) {
        let counted = self.counted(number);
        let agent = &mut self.agents[number];
        if agent.transfers_left == 0 {
            return; // stopped in the meantime
        }
        agent.transfers_left -= 1;
        agent.active = true;
        agent.started_at = self.now;
        self.tally.runs_from(counted, self.now);
        if let Some(packets) = agent.size {
            self.tally.transfer_begins(counted, self.now, agent.plan.bytes_of(packets));
        }
        self.transmit_agent(number);
    }

    /// The application stops: nothing more is sent.
    pub(super) fn on_agent_stop(&mut self, number: usize) {
        let counted = self.counted(number);
        let agent = &mut self.agents[number];
        agent.transfers_left = 0;
        if agent.active {
            self.tally.before_window_changes(counted, self.now, agent);
            self.tally.runs_to(counted);
            agent.active = false;
        }
        self.timers.departure(number, Time::NEVER);
        self.timers.report(number, Time::NEVER);
    }

    /// A departure or a timeout of the sender is due.
    pub(super) fn on_departure(&mut self, number: usize) {
        let counted = self.counted(number);
        let agent = &mut self.agents[number];
        self.tally.before_window_changes(counted, self.now, agent);
        agent.sender.on_timeout(self.now);
        self.transmit_agent(number);
    }

    /// The receiver has something to report without a packet.
    pub(super) fn on_report(&mut self, number: usize) {
        if let Some(ack) = self.agents[number].receiver.on_timeout(self.now) {
            self.agent_acknowledges(number, self.now, ack);
        }
        self.await_report(number);
    }

    /// A packet of an agent is at its receiver.
    pub(super) fn on_agent_data(&mut self, number: usize, at: Time, packet: u64) {
        let agent = &mut self.agents[number];
        let Some((connection, data)) = agent.data.take(packet) else { return };
        agent.arrived += 1;
        // What was sent before the application stopped is received after that.
        if connection != agent.connection {
            return;
        }
        if let Some(ack) = agent.receiver.on_packet(at, &data) {
            self.agent_acknowledges(number, at, ack);
        }
        self.await_report(number);
    }

    /// An acknowledgement is back at the sender of an agent.
    pub(super) fn on_agent_ack(&mut self, number: usize, packet: u64) {
        let counted = self.counted(number);
        let agent = &mut self.agents[number];
        let Some((connection, ack)) = agent.acks.take(packet) else { return };
        if connection != agent.connection || !agent.active {
            return;
        }
        self.tally.before_window_changes(counted, self.now, agent);
        if agent.sender.on_ack(self.now, &ack).is_err() {
            debug_assert!(false, "no path invents acknowledgements");
        }
        if agent.sender.is_finished() {
            return self.on_agent_done(number);
        }
        self.transmit_agent(number);
    }

    /// A packet of an agent was lost, or copied, on its way.
    pub(super) fn on_agent_detour(&mut self, number: usize, is_data: bool, packet: u64, detour: Detour) {
        let Some(agent) = self.agents.get_mut(number) else { return };
        match (detour, is_data) {
            (Detour::Twice(_), true) => agent.data.double(packet),
            (Detour::Twice(_), false) => agent.acks.double(packet),
            (Detour::Gone(cause), true) => {
                if let Some((connection, data)) = agent.data.take(packet)
                    && connection == agent.connection
                {
                    agent.receiver.on_drop(data.number, label(cause));
                }
            }
            (Detour::Gone(_), false) => drop(agent.acks.take(packet)),
            (Detour::Back(_) | Detour::Waits, _) => {}
        }
    }

    /// Sends what an agent's sender may send, and updates its timer.
    fn transmit_agent(&mut self, number: usize) {
        if !self.agents[number].active {
            return;
        }
        while let Some(data) = self.agents[number].sender.poll_transmit(self.now) {
            let agent = &mut self.agents[number];
            let seq = agent.data.send((agent.connection, data));
            let bytes = u16::try_from(data.bytes).unwrap_or(u16::MAX);
            let mut packet = Segment(tcp::Data { seq, sent_at: self.now, bytes, ..tcp::Data::default() });
            let Entrance { stage, exit, .. } = &agent.out;
            let exit = *exit;
            let whose = (self.owners.agent(number), &self.owners);
            match enter(stage, &mut self.links, &mut self.observer, self.now, whose, &mut packet) {
                Ok(due) => self.forward_segment(exit, due, packet),
                Err(detour) => self.divert(exit, detour, packet),
            }
        }
        let due = self.agents[number].sender.poll_timeout().unwrap_or(Time::NEVER);
        // A deadline of the past would be asked for again at once.
        self.timers.departure(number, due.max(self.now + Duration::from_nanos(1)));
    }

    fn agent_acknowledges(&mut self, number: usize, at: Time, ack: Ack) {
        let agent = &mut self.agents[number];
        let serial = agent.acks.send((agent.connection, ack));
        let bytes = u16::try_from(ack.bytes).unwrap_or(u16::MAX);
        let mut packet = Acknowledgement(tcp::Ack { ack: serial, sent_at: at, bytes, ..tcp::Ack::default() });
        let Entrance { stage, exit, .. } = &agent.back;
        let exit = *exit;
        let whose = (self.owners.agent(number), &self.owners);
        match enter(stage, &mut self.links, &mut self.observer, at, whose, &mut packet) {
            Ok(due) => self.forward_ack(exit, due, packet),
            Err(detour) => self.divert(exit, detour, packet),
        }
    }

    fn await_report(&mut self, number: usize) {
        let agent = &self.agents[number];
        let due = if agent.active { agent.receiver.poll_timeout() } else { None }.unwrap_or(Time::NEVER);
        self.timers.report(number, due.max(self.now + Duration::from_nanos(1)));
    }

    /// A transfer is completely acknowledged. The next one gets a new connection.
    fn on_agent_done(&mut self, number: usize) {
        let counted = self.counted(number);
        let agent = &mut self.agents[number];
        agent.active = false;
        self.tally.runs_to(counted);
        self.tally.transfer_done(counted, self.now);
        self.timers.departure(number, Time::NEVER);
        self.timers.report(number, Time::NEVER);
        if agent.transfers_left == 0 {
            return;
        }
        self.tally.connection_over(counted, agent);
        let start = agent.plan.requests.next_start(agent.started_at, self.now);
        agent.size = agent.plan.next_size();
        agent.connection = agent.connection.wrapping_add(1);
        agent.restart(start);
        self.timers.add(start, Timer::StartAgent(number as u32));
    }
}

impl Agent {
    /// New endpoints, whose counters begin at zero.
    fn restart(&mut self, now: Time) {
        self.lost += self.sender.counters().lost;
        self.loss_events = self.loss_event_rate();
        self.sender = Sender::new(&self.transport, self.bytes, self.size, now, self.handshake);
        self.receiver = Receiver::new(&self.transport, self.bytes);
        self.arrived = 0;
    }
}

/// The label that a perfect discriminator would give.
fn label(cause: Cause) -> Label {
    match cause {
        Cause::Overflow | Cause::Early | Cause::Filtered => Label::Congestion,
        Cause::Error | Cause::Outage => Label::Transmission,
    }
}

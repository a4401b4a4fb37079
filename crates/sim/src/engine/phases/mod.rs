//! The engine in phases: one part of a run after the other, each up to the instant that nothing unknown can
//! reach it before.
//!
//! A path is a loop: sender, gates, receiver, gates, sender. What a sender does now reaches it again after a
//! round-trip time at the earliest. So each sender takes all acknowledgements of a window of time in
//! sequence, then each gate all packets of that window, sorted by time, with the receivers behind it, and so
//! on. There is no search for the next event, and the state of one part at a time is at hand.
//!
//! The results are those of the engine of events, to the last bit: parts share no state, their random numbers
//! are their own, and packets of the same instant pass a gate in the same order. Where that cannot be shown,
//! a run is [`Unfit`].
//!
//! A measuring window or a probe looks at all parts at one instant. So no part runs beyond the next one, and
//! at such a barrier all of them stand at the same time.

mod agenda;
mod agents;
mod cause;
mod crew;
mod endpoints;
mod ends;
mod gates;
mod inbox;
mod layout;
mod mail;
mod post;
mod returning;
mod slots;
mod stepped;
mod watch;
mod worker;

pub(crate) use crew::Crew;
pub(crate) use layout::Layout;
pub use layout::Unfit;
pub(crate) use watch::{Unwatched, Watched};

use super::agents::Agent;
use super::cbr::CbrSource;
use super::flow::Flow;
use super::in_flight::Entrance;
use super::owners::Owners;
use super::packets::Segment;
use super::tally::Tally;
use super::transmitters::{QueuedPacket, Transmitters};
use super::{SampleBarriers, counted, measured};
use ackclock_net::Link;
use ackclock_scenario::measured::Measured;
use ackclock_scenario::plan::Plan;
use ackclock_scenario::series::Series;
use ackclock_units::{Duration, Rate, Time};
use agents::AgentEnds;
use cause::Cause;
use ends::Ends;
use inbox::{Gate, Room};
use layout::{ENDPOINT, FLOWS, GATES, Leg, RECEIVERS};
use mail::Mail;
use post::Post;
use returning::Back;
use watch::Watch;

/// A full packet, bytes: what an Ethernet carries.
const FULL: u64 = 1500;

/// The senders go no further at once than a link needs for so many full packets. All packets of a step are in
/// memory, and on a long path with a high rate a round has hundreds of thousands. Measured with ten thousand
/// flows: four times as many take 12 MB and 5 % of the time more, half as many save 1 MB.
const MANY: u64 = 1 << 13;

/// Empty mailboxes together keep room for so many packets, which is 4 MB, and each of them for the least.
const KEPT: usize = 1 << 16;

/// A run in phases, and who watches it.
pub(crate) struct Phases<W: Watch = Unwatched> {
    duration: Time,
    probe: Option<Duration>,
    links: Vec<Link>,
    flows: Vec<Flow>,
    /// What waits at the endpoints of each flow.
    ends: Vec<Ends>,
    /// The mail of each flow, and when its sender has something to do.
    post: Post,
    /// Rate-based flows, and what waits at their endpoints.
    agents: Vec<Agent>,
    agent_ends: Vec<AgentEnds>,
    sources: Vec<Source>,
    owners: Owners,
    /// The legs of segments and of acknowledgements.
    data: Vec<Leg>,
    acks: Vec<Leg>,
    gates: Vec<Gate>,
    /// What comes back to each gate, at links that retransmit.
    back: Vec<Back>,
    /// The link of each gate.
    gate_links: Vec<u32>,
    transmitters: Transmitters,
    /// All parts, in the order of a round.
    order: Vec<usize>,
    /// The parts that feed each part, and the least time from there.
    feeders: Vec<Vec<(usize, Duration)>>,
    /// The instant before which each part has done everything.
    clocks: Vec<Time>,
    /// The flows whose receivers run ahead and may delay acknowledgements.
    delaying: Vec<u32>,
    /// The owners whose receivers run ahead, and have segments that are due after the next barrier.
    held_back: Vec<u32>,
    room: Room,
    looks: SampleBarriers,
    tally: Tally,
    /// The least time from the senders back to them.
    round: Duration,
    /// The cause of what an endpoint does now.
    cause: Cause,
    /// Packets taken by parts so far, and rounds without any.
    taken: u64,
    /// The packets for which a mailbox keeps room.
    keep: usize,
    watch: W,
}

/// A stream, when it sends next, and its datagrams that arrive after the next barrier.
struct Source {
    stream: CbrSource,
    /// The gate in which its datagrams enter the network, if they share their first link.
    gate: u32,
    next: Time,
    held: Mail<Segment>,
}

impl<W: Watch> Phases<W> {
    /// Prepares a run of `plan`, whose layout is this.
    pub(super) fn new(plan: &Plan, layout: Layout, watch: W) -> Phases<W> {
        let Layout { owners, data, acks, out, back, gates, order, mut feeders, ahead, round } = layout;
        if let Some(step) = fastest(plan).map(|rate| rate.time_for(FULL * MANY)).filter(|&step| step < round)
        {
            feeders[FLOWS].push((FLOWS, step));
        }
        let entry = |end: &Entrance| {
            let gate = end.stage.gate.and_then(|link| gates.iter().position(|&other| other == link));
            gate.map_or(ENDPOINT, |gate| gate as u32)
        };
        let mut links = plan.links.clone();
        links.iter_mut().skip(plan.measured).for_each(Link::leave_uncounted);
        let (mut out, mut back) = (out.into_iter(), back.into_iter());
        let tcp = owners.tcp().iter().zip(out.by_ref().take(owners.tcp().len()).zip(back.by_ref()));
        let made =
            tcp.filter_map(|(&number, ends)| Flow::new(number, plan.flows[number as usize].clone(), ends));
        let mut flows: Vec<Flow> = Vec::with_capacity(owners.tcp().len());
        flows.extend(made);
        let (last_data, last_acks) = (last_legs(&data), last_legs(&acks));
        let rate = owners.rate().iter().zip(out.by_ref().take(owners.rate().len()).zip(back));
        let agents = rate
            .filter_map(|(&number, ends)| Agent::new(plan.flows[number as usize].clone(), &plan.links, ends));
        let agents: Vec<Agent> = agents.collect();
        let agent_ends = agents.iter().enumerate().map(|(number, agent)| {
            let path = owners.agent(number);
            let gates = (entry(&agent.out), entry(&agent.back));
            AgentEnds::new(number as u32, agent, gates, (last_data[path], last_acks[path]))
        });
        let agent_ends: Vec<AgentEnds> = agent_ends.collect();
        let sources = plan.streams.iter().zip(out).map(|(stream, out)| Source {
            gate: entry(&out),
            next: stream.start,
            stream: CbrSource::new(stream.clone(), out),
            held: Mail::default(),
        });
        let sources: Vec<Source> = sources.collect();
        let ends = flows.iter().zip(ahead).enumerate().map(|(number, (flow, ahead))| {
            let gates = (entry(&flow.out), entry(&flow.back));
            Ends::new(number as u32, flow, ahead, gates, (last_data[number], last_acks[number]))
        });
        let ends: Vec<Ends> = ends.collect();
        let is_delaying =
            |&(flow, ends): &(&Flow, &Ends)| ends.ahead && flow.plan.config.delayed_ack.is_some();
        let delaying = flows.iter().zip(&ends).enumerate().filter(|(_, both)| is_delaying(both));
        Phases {
            duration: plan.duration,
            probe: plan.probe,
            tally: Tally::new(plan.flows.len(), plan.streams.len(), plan.measured, plan.probe.is_some()),
            looks: SampleBarriers::new(plan, true),
            post: Post::new(flows.len(), Time::ZERO),
            delaying: delaying.map(|(number, _)| number as u32).collect(),
            held_back: Vec::new(),
            gates: gates.iter().map(|_| Gate::default()).collect(),
            back: gates.iter().map(|_| Back::default()).collect(),
            gate_links: gates,
            transmitters: Transmitters::new(&links),
            clocks: vec![Time::ZERO; feeders.len()],
            room: Room::default(),
            agents,
            agent_ends,
            sources,
            taken: 0,
            keep: (KEPT / plan.flows.len().max(1)).max(slots::LEAST),
            round,
            cause: Cause::of(0),
            links,
            flows,
            ends,
            owners,
            data,
            acks,
            order,
            feeders,
            watch,
        }
    }

    /// Takes so many packets and the rest of their round, then returns. False when the run is over.
    pub(super) fn run_some(&mut self, packets: u32) -> bool {
        let enough = self.taken + u64::from(packets);
        while self.taken < enough {
            if !self.round() {
                return false;
            }
        }
        true
    }

    /// The virtual time up to which everything is done.
    pub(super) fn now(&self) -> Time {
        self.clocks.iter().copied().fold(self.duration, Time::min)
    }

    /// The probes' samples so far, if probes are on.
    pub(super) fn series(&self) -> Option<Series> {
        let series = self.tally.series().cloned()?;
        Some(series.in_order(self.owners.numbers()))
    }

    /// Runs to the end. Returns the measurements.
    pub(super) fn run(mut self) -> Measured {
        while self.round() {}
        self.into_measured()
    }

    /// The measurements of a run that is over.
    fn into_measured(self) -> Measured {
        let of_agents = self.agents.iter().map(|agent| agent.beyond_the_end);
        let mut in_flight: Vec<u64> =
            self.flows.iter().map(|flow| flow.beyond_the_end).chain(of_agents).collect();
        for held in self.transmitters.held() {
            let owner = self.data.get(held.exit).map_or(usize::MAX, |leg| leg.end.owner as usize);
            if let (QueuedPacket::Segment(_), Some(count)) = (held.packet, in_flight.get_mut(owner)) {
                *count += 1;
            }
        }
        for exit in self.back.iter().flat_map(|back| back.data.exits()) {
            if let Some(count) = in_flight.get_mut(self.data[exit as usize].end.owner as usize) {
                *count += 1;
            }
        }
        measured(self.tally, &self.flows, &self.agents, in_flight, self.owners.numbers(), self.duration)
    }

    /// A round of all parts. False when the run is over.
    fn round(&mut self) -> bool {
        let (barrier, before) = (self.looks.next, self.taken);
        self.turn(barrier);
        if self.taken == before {
            self.go_on(self.due().min(barrier));
            self.taken += 1; // a round without packets takes time, too
        }
        self.watch.tell(self.clocks.iter().copied().fold(Time::NEVER, Time::min));
        if self.clocks.iter().any(|&clock| clock < barrier) {
            return true;
        }
        if barrier == self.looks.over {
            return false;
        }
        self.look(barrier);
        true
    }

    /// Each part does what it can before `limit`.
    fn turn(&mut self, limit: Time) {
        for turn in 0..self.order.len() {
            let part = self.order[turn];
            let feeders = self.feeders[part].iter();
            let until = feeders.fold(limit, |until, &(from, lag)| until.min(self.clocks[from] + lag));
            if until <= self.clocks[part] {
                continue;
            }
            match part {
                FLOWS => self.run_flows(until),
                RECEIVERS => self.run_receivers(until),
                gate => self.run_gate(gate - GATES, until),
            }
            self.clocks[part] = until;
        }
    }

    /// When something happens next. Between two rounds.
    fn due(&self) -> Time {
        let timeouts =
            self.delaying.iter().filter_map(|&flow| self.flows[flow as usize].receiver.poll_timeout());
        let decisions = self.gate_links.iter().filter_map(|&link| self.links[link as usize].due());
        let datagrams = self.sources.iter().map(|source| source.next);
        let gates = self.gates.iter().map(|gate| gate.data.due().min(gate.acks.due()));
        let agents = self.agent_ends.iter().map(AgentEnds::due);
        let back = self.back.iter().map(Back::due);
        let due = timeouts.chain(agents).chain(back).chain(decisions).chain(datagrams).chain(gates);
        due.fold(self.post.agenda.due(), Time::min)
    }

    /// Nothing happens before `due`: all parts go on to there.
    fn go_on(&mut self, due: Time) {
        self.clocks.iter_mut().for_each(|clock| *clock = due.max(*clock));
    }

    /// All parts stand at a barrier. Its timers go before everything else at this instant.
    fn look(&mut self, now: Time) {
        self.settle_all(now);
        let Phases { tally, links, flows, agents, sources, looks, .. } = self;
        let streams = || sources.iter().map(|source| source.stream.tally());
        if looks.measure_to == now {
            looks.measure_to = Time::NEVER;
            tally.measure_to(now, links, counted(flows, agents), streams());
        }
        if looks.measure_from == now {
            looks.measure_from = Time::NEVER;
            tally.measure_from(now, links, counted(flows, agents), streams());
        }
        if let Some(interval) = self.probe.filter(|_| looks.probe == now) {
            tally.probe(now, interval, links, counted(flows, agents), streams());
            looks.probe = now + interval;
        }
        looks.update();
        self.release();
    }
}

/// The rate of the fastest link of the scenario.
fn fastest(plan: &Plan) -> Option<Rate> {
    plan.links[..plan.measured].iter().map(Link::rate).max()
}

/// The last leg of each owner's path.
fn last_legs(legs: &[Leg]) -> Vec<u32> {
    let is_last = |&(_, leg): &(usize, &Leg)| leg.end.gate == ENDPOINT;
    legs.iter().enumerate().filter(is_last).map(|(number, _)| number as u32).collect()
}

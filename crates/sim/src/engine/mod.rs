//! The engine: virtual time jumps from one packet's arrival to the next.
//!
//! Flows are TCP, or agents: rate-based flows. Packets in flight wait in lanes. Only the first packet of each
//! lane takes part in the search for the next event, in winner trees. Behind links that reorder, packets wait
//! in a heap instead. Timers wait in a heap, because they are rare. A retransmission timer that is postponed
//! keeps its old entry, and is re-armed when that entry fires early.
//!
//! Some steps depend on a single stream of packets: a link with a single feeder, or a receiver. They run
//! ahead of time: they take a packet as soon as its arrival is known. They do so only up to the next instant
//! at which a probe or a measuring window reads the state. A flow that is alone on its path then costs one
//! event per segment. If somebody observes the run, nothing runs ahead: observers see it in order of time.

mod agents;
mod asking;
mod carried;
mod cbr;
mod dequeue;
mod expiry;
mod flow;
mod forwarding;
mod in_flight;
mod lanes;
mod observe;
mod owners;
mod packets;
mod phases;
mod reorder_heap;
mod simulation;
mod tally;
mod timers;
mod transmitters;
mod tree;
mod writer;

pub use observe::{NoObserver, Observer, PacketRef, SenderView};
pub use phases::Unfit;
pub use simulation::Simulation;
#[doc(hidden)] // for the benches
pub use tree::{Head, WinnerTree};

use ackclock_net::{Link, accesses};
use ackclock_scenario::measured::Measured;
use ackclock_scenario::plan::Plan;
use ackclock_scenario::series::Series;
use ackclock_units::{Duration, Time};
use agents::Agent;
use cbr::CbrSource;
use flow::Flow;
use in_flight::InFlight;
use owners::Owners;
use packets::{Acknowledgement, Segment};
use tally::{Counted, Tally};
use timers::{Timer, Timers};
use transmitters::{QueuedPacket, Transmitters};

/// A run.
pub struct Engine<O: Observer = NoObserver> {
    now: Time,
    duration: Time,
    probe: Option<Duration>,
    links: Vec<Link>,
    flows: Vec<Flow>,
    agents: Vec<Agent>,
    sources: Vec<CbrSource>,
    owners: Owners,
    data: InFlight<Segment>,
    acks: InFlight<Acknowledgement>,
    timers: Timers,
    transmitters: Transmitters,
    looks: SampleBarriers,
    tally: Tally,
    observer: O,
}

/// The instants at which links and receivers are read. Nothing may run ahead of them.
#[derive(Clone, Copy)]
struct SampleBarriers {
    probe: Time,
    measure_from: Time,
    measure_to: Time,
    /// The first instant after the run.
    over: Time,
    /// The earliest of these instants, or the beginning, if nothing may run ahead at all. It is read for
    /// every packet.
    next: Time,
    /// True if something may run ahead.
    ahead: bool,
}

impl SampleBarriers {
    fn new(plan: &Plan, ahead: bool) -> SampleBarriers {
        let mut barriers = SampleBarriers {
            probe: if plan.probe.is_some() { Time::ZERO } else { Time::NEVER },
            measure_from: plan.measure.0,
            measure_to: plan.measure.1,
            over: plan.duration + Duration::from_nanos(1),
            next: Time::ZERO,
            ahead,
        };
        barriers.update();
        barriers
    }

    fn update(&mut self) {
        if self.ahead {
            self.next = self.probe.min(self.measure_from).min(self.measure_to).min(self.over);
        }
    }
}

impl<O: Observer> Engine<O> {
    /// Prepares a run of `plan` with `observer`.
    pub fn new(mut plan: Plan, observer: O) -> Engine<O> {
        plan.links.iter_mut().skip(plan.measured).for_each(Link::leave_uncounted);
        let owners = Owners::of(&plan);
        let (tcp, rate) = (owners.tcp(), owners.rate());
        let (data_paths, reverse) = owners.paths(&plan);
        let accesses = accesses(&plan.links, plan.measured, &data_paths, &reverse);
        let (data, out) = InFlight::new(&data_paths, &accesses, &plan.links, true);
        let (acks, back) = InFlight::new(&reverse, &accesses, &plan.links, false);
        let (mut out, mut back) = (out.into_iter(), back.into_iter());
        let mut timers = Timers::new(rate.len());

        let flows = tcp.iter().zip(out.by_ref().take(tcp.len()).zip(back.by_ref())).enumerate();
        let made = flows.filter_map(|(place, (&number, ends))| {
            let flow = Flow::new(number, plan.flows[number as usize].clone(), ends)?;
            timers.add(flow.plan.start + flow.lag(false), Timer::Start(place as u32));
            if let Some(stop) = flow.plan.stop {
                timers.add(stop, Timer::Stop(place as u32));
            }
            Some(flow)
        });
        let mut flows: Vec<Flow> = Vec::with_capacity(tcp.len());
        flows.extend(made);
        let agents = rate.iter().zip(out.by_ref().take(rate.len()).zip(back)).enumerate();
        let agents: Vec<Agent> = agents
            .filter_map(|(place, (&number, ends))| {
                let agent = Agent::new(plan.flows[number as usize].clone(), &plan.links, ends)?;
                timers.add(agent.plan.start, Timer::StartAgent(place as u32));
                if let Some(stop) = agent.plan.stop {
                    timers.add(stop, Timer::StopAgent(place as u32));
                }
                Some(agent)
            })
            .collect();
        let sources: Vec<CbrSource> = plan
            .streams
            .iter()
            .enumerate()
            .zip(out)
            .map(|((number, stream), out)| {
                timers.add(stream.start, Timer::CbrPacket(number as u32));
                CbrSource::new(stream.clone(), out)
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
            tally: Tally::new(plan.flows.len(), sources.len(), plan.measured, plan.probe.is_some()),
            transmitters: Transmitters::new(&plan.links),
            looks: SampleBarriers::new(&plan, !observer.is_there()),
            links: plan.links,
            flows,
            agents,
            sources,
            owners,
            data,
            acks,
            timers,
            observer,
        }
    }

    /// Runs to the end. Returns the measurements, and the observer.
    pub fn run(mut self) -> (Measured, O) {
        while self.advance(self.duration) {}
        self.now = self.duration;
        self.finish()
    }

    /// Processes so many events, then returns. False when the run is over. For progress displays and
    /// interruption: a number of events takes about the same wall time however busy the scenario is.
    pub fn run_some(&mut self, events: u32) -> bool {
        (0..events).all(|_| self.advance(self.duration))
    }

    /// Processes events until `stop` is true after one of them. False when the run is over. For a run that
    /// somebody steers.
    pub fn run_until(&mut self, stop: impl Fn() -> bool) -> bool {
        while self.advance(self.duration) {
            if stop() {
                return true;
            }
        }
        false
    }

    /// The present virtual time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// The probes' samples so far, if probes are on.
    pub fn series(&self) -> Option<Series> {
        let series = self.tally.series().cloned()?;
        Some(series.in_order(self.owners.numbers()))
    }

    /// Processes the next event, if there is one until `last`. Of events at the same instant, timers go
    /// first, then segments, then acknowledgements.
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

    fn finish(self) -> (Measured, O) {
        let of_flows = self.flows.iter().map(|flow| flow.beyond_the_end);
        let mut in_flight: Vec<u64> =
            of_flows.chain(self.agents.iter().map(|agent| agent.beyond_the_end)).collect();
        let mut count = |owner: usize| {
            if let Some(count) = in_flight.get_mut(owner) {
                *count += 1;
            }
        };
        self.data.count(&mut count);
        for held in self.transmitters.held() {
            if let QueuedPacket::Segment(_) = held.packet {
                count(self.data.exit(held.exit).owner as usize);
            }
        }
        let measured =
            measured(self.tally, &self.flows, &self.agents, in_flight, self.owners.numbers(), self.now);
        (measured, self.observer)
    }
}

/// What a run measured that ends at `now` with so many packets of each flow in flight. `numbers`: those of
/// the flows in the plan, in the order of their paths.
fn measured(
    tally: Tally,
    flows: &[Flow],
    agents: &[Agent],
    in_flight: Vec<u64>,
    numbers: &[u32],
    now: Time,
) -> Measured {
    let mut measured = tally.into_measured(in_flight, counted(flows, agents));
    for (tally, flow) in measured.flows.iter_mut().zip(flows) {
        tally.waited = flow.plan.requests.waited;
        tally.bursts = flow.writer.as_ref().and_then(|writer| writer.tally(now));
    }
    for (tally, agent) in measured.flows.iter_mut().skip(flows.len()).zip(agents) {
        tally.waited = agent.plan.requests.waited;
        tally.rate = Some(agent.tally());
    }
    measured.in_order(numbers)
}

/// All flows in the order of their paths.
fn counted<'a>(flows: &'a [Flow], agents: &'a [Agent]) -> impl Iterator<Item = &'a dyn Counted> {
    let agents = agents.iter().map(|agent| agent as &dyn Counted);
    flows.iter().map(|flow| flow as &dyn Counted).chain(agents)
}

//! The engine: virtual time jumps from one packet's arrival to the next.
//!
//! Packets in flight wait in lanes. Only the first packet of each lane takes part in the search for the next
//! event, in winner trees. Behind links that reorder, packets wait in a heap instead. Timers wait in a heap,
//! because they are rare. A retransmission timer that is postponed keeps its old entry, and is re-armed when
//! that entry fires early.
//!
//! Some steps depend on a single stream of packets: a link with a single feeder, or a receiver. They run
//! ahead of time: they take a packet as soon as its arrival is known. They do so only up to the next instant
//! at which a probe or a measuring window reads the state. A flow that is alone on its path then costs one
//! event per segment.

mod dequeue;
mod expiry;
mod forwarding;
mod in_flight;
mod lanes;
mod observe;
mod packets;
mod reorder_heap;
mod tally;
mod timers;
mod transmitters;
mod tree;
mod writer;

pub use observe::{NoObserver, Observer, PacketRef};
#[doc(hidden)] // for the benches
pub use tree::{Head, WinnerTree};

use ackclock_net::{Link, Rng as Draws, accesses};
use ackclock_scenario::measured::{CbrTally, Measured};
use ackclock_scenario::plan::{CbrPlan, FlowPlan, Plan};
use ackclock_tcp::{Receiver, Sender};
use ackclock_units::{Duration, Time};
use in_flight::{Entrance, InFlight};
use packets::{Acknowledgement, Segment};
use tally::Tally;
use timers::{Timer, Timers};
use transmitters::{QueuedPacket, Transmitters};
use writer::{Writer, writer};

struct Flow {
    plan: FlowPlan,
    sender: Sender,
    receiver: Receiver,
    draws: Draws,
    out: Entrance,
    back: Entrance,
    /// The earliest entry of each kind in the timers. With it, postponing a timer costs nothing.
    rto_entry: Time,
    pace_entry: Time,
    delayed_ack_entry: Time,
    epoch: u8,
    active: bool,
    transfers_left: u64,
    /// The segments of the transfer; `None`: unlimited.
    size: Option<u64>,
    started_at: Time,
    /// The application, if it does not write everything at once.
    writer: Option<Box<Writer>>,
    /// Segments in flight that will not arrive before the run ends. They are counted, but not stored.
    beyond_the_end: u64,
}

struct CbrSource {
    plan: CbrPlan,
    out: Entrance,
    next_seq: u64,
    delivered: u64,
    delivered_bytes: u64,
}

/// A run.
pub struct Engine<O: Observer = NoObserver> {
    now: Time,
    duration: Time,
    probe: Option<Duration>,
    links: Vec<Link>,
    flows: Vec<Flow>,
    sources: Vec<CbrSource>,
    data: InFlight<Segment>,
    acks: InFlight<Acknowledgement>,
    timers: Timers,
    transmitters: Transmitters,
    looks: SampleBarriers,
    tally: Tally,
    observer: O,
}

/// The instants at which links and receivers are read. Nothing may run ahead of them.
struct SampleBarriers {
    probe: Time,
    measure_from: Time,
    measure_to: Time,
    /// The first instant after the run.
    over: Time,
    /// The earliest of these instants. It is read for every packet.
    next: Time,
}

impl SampleBarriers {
    fn update(&mut self) {
        self.next = self.probe.min(self.measure_from).min(self.measure_to).min(self.over);
    }
}

impl<O: Observer> Engine<O> {
    /// Prepares a run of `plan` with `observer`.
    pub fn new(mut plan: Plan, observer: O) -> Engine<O> {
        plan.links.iter_mut().skip(plan.measured).for_each(Link::leave_uncounted);
        let forward: Vec<&[usize]> = plan.flows.iter().map(|flow| &*flow.forward).collect();
        let streams: Vec<&[usize]> = plan.streams.iter().map(|stream| &*stream.route).collect();
        let reverse: Vec<&[usize]> = plan.flows.iter().map(|flow| &*flow.reverse).collect();
        let data_paths = [forward, streams].concat();
        let accesses = accesses(&plan.links, plan.measured, &data_paths, &reverse);
        let (data, data_entrances) = InFlight::new(&data_paths, &accesses, &plan.links, true);
        let (acks, ack_entrances) = InFlight::new(&reverse, &accesses, &plan.links, false);
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
                        flow.control.needs(),
                        0,
                        plan.segments_at_once(size),
                        flow.start,
                    ),
                    writer: writer(&plan, size, flow.start),
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
        let sources: Vec<CbrSource> = plan
            .streams
            .iter()
            .enumerate()
            .zip(data_entrances)
            .map(|((number, stream), out)| {
                timers.add(stream.start, Timer::CbrPacket(number as u32));
                CbrSource { plan: stream.clone(), out, next_seq: 0, delivered: 0, delivered_bytes: 0 }
            })
            .collect();
        timers.add(plan.measure.0, Timer::MeasureFrom);
        timers.add(plan.measure.1, Timer::MeasureTo);
        if plan.probe.is_some() {
            timers.add(Time::ZERO, Timer::Probe);
        }
        let mut looks = SampleBarriers {
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
            tally: Tally::new(flows.len(), sources.len(), plan.measured, plan.probe.is_some()),
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

    /// The present virtual time.
    pub fn now(&self) -> Time {
        self.now
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
        let mut in_flight: Vec<u64> = self.flows.iter().map(|flow| flow.beyond_the_end).collect();
        self.data.count(|owner| {
            if let Some(count) = in_flight.get_mut(owner) {
                *count += 1;
            }
        });
        for held in self.transmitters.held() {
            if let QueuedPacket::Segment(_) = held.packet
                && let Some(count) = in_flight.get_mut(self.data.exit(held.exit).owner as usize)
            {
                *count += 1;
            }
        }
        let delivered = self.tally.delivered_segments(self.flows.iter().map(seen));
        let mut measured = self.tally.into_measured(delivered, in_flight, self.flows.iter().map(seen));
        for (tally, flow) in measured.flows.iter_mut().zip(&self.flows) {
            tally.waited = flow.plan.requests.waited;
            tally.bursts = flow.writer.as_ref().and_then(|writer| writer.tally(self.now));
        }
        (measured, self.observer)
    }
}

fn seen(flow: &Flow) -> (&Sender, &Receiver) {
    (&flow.sender, &flow.receiver)
}

fn sent(source: &CbrSource) -> CbrTally {
    CbrTally { sent: source.next_seq, delivered: source.delivered, delivered_bytes: source.delivered_bytes }
}

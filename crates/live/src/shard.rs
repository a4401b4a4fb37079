//! A part of the network in real time: one thread that reads packets from the devices of hosts, carries them
//! over links, and delivers each to its destination when it is due.
//!
//! Parts share neither links nor the hosts from which they read, so they need no locks. As in the simulator,
//! a packet's times are computed as ideal times: first the instant at which it was read, then the answers of
//! the links. If the thread is late, no link's computation changes. Only the delivery is late, and that is
//! measured.

mod delivery;
mod routes;

pub(crate) use routes::{Route, Source, Stream};

use crate::capture::Captured;
use crate::clock::Clock;
use crate::crossings::Crossings;
use crate::error::LiveError;
use crate::host::Host;
use crate::lanes::{Lanes, NO_TRAIN, Parcel};
use crate::looks::{LinkSeries, Looks, Seen, StreamSeries};
use crate::schedule;
use crate::share::Share;
use crate::trains::Trains;
use ackclock_lateness::Lateness;
use ackclock_net::LinkTally;
use ackclock_net::{Detour, Stage};
use ackclock_net::{Ecn, Fate, Headers, Link, Packet, Settled};
use ackclock_scenario::flow_trace::Crossing;
use ackclock_scenario::measured::CbrTally;
use ackclock_units::{Duration, Time};
use ackclock_wire::packet;
use ackclock_wire::{BEGIN_BYTES, GsoBatch, MAX_BYTES};
use delivery::Delivery;
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;

/// The number of packets read from a device before due packets are delivered again.
const READ_AT_ONCE: usize = 64;
/// Deliveries that are closer together than this may share a wake-up, as with a network card that moderates
/// its interrupts.
const MODERATION: Duration = Duration::from_micros(30);
/// The same for a thread that is busy, at most: a wake-up costs more than what it delivers.
const BUSY_MODERATION: Duration = Duration::from_micros(50);
/// By that, a busy thread adds at most one part in so many to the time that packets take from host to host.
/// On the average it is half of that, a quarter of the mean lateness that raises doubts.
const ONE_IN: u64 = 200;
/// The longest sleep. It decides how soon the end of a run is noticed.
const LONGEST_SLEEP: Duration = Duration::from_millis(10);

/// Everything that the thread needs.
pub(crate) struct Shard<'a> {
    pub(crate) clock: Clock,
    pub(crate) hosts: &'a [Host],
    /// All links of the scenario. Those of other parts are not used here.
    pub(crate) links: Vec<Link>,
    pub(crate) ways: Vec<Route>,
    pub(crate) sources: Vec<Source>,
    pub(crate) streams: Vec<Stream>,
    pub(crate) looks: Looks<'a>,
    /// What passes the links on the ways of followed flows.
    pub(crate) crossings: Crossings,
    /// The links that are captured.
    pub(crate) captured: Vec<usize>,
    pub(crate) capture: Option<Sender<Captured>>,
    pub(crate) stop: &'a AtomicBool,
}

/// The report of a part at the end of the run.
pub(crate) struct ShardReport {
    pub(crate) links: Vec<(usize, LinkTally, LinkSeries)>,
    /// The number of each source, its figures in the measuring window, and its samples.
    pub(crate) streams: Vec<(usize, CbrTally, StreamSeries)>,
    /// What passed the links that were watched.
    pub(crate) queues: Vec<(usize, Vec<Crossing>)>,
    pub(crate) lateness: Lateness,
    /// The share of a processor that the thread used.
    pub(crate) busy: f64,
    /// Packets without a path, such as those of neighbour discovery.
    pub(crate) unroutable: u64,
    /// Packets that the receiving kernel did not accept.
    pub(crate) refused: u64,
    pub(crate) real_time: bool,
    /// How late the thread was when the run ended. What was due before that is missing in the result.
    pub(crate) behind: Duration,
}

/// The place of a lane: its packets have passed `stage` of `way`. `again`: they come back to the gate of that
/// stage.
#[derive(Clone, Copy)]
struct Place {
    way: usize,
    stage: usize,
    again: bool,
}

/// A packet that waits in the queue of a dequeue-driven link, at the gate of `stage` of `way`.
#[derive(Clone, Copy)]
struct Held {
    way: usize,
    stage: usize,
    parcel: Parcel,
}

/// The emulator gives up when it is this late: it cannot carry what the scenario sends.
const MAX_LAG: Duration = Duration::from_secs(2);
/// Events between two looks at the clock while the thread is late.
const EVENTS_PER_LOOK: u32 = 256;

/// The state of the thread.
struct Carrier<'a> {
    part: Shard<'a>,
    lanes: Lanes,
    places: Vec<Place>,
    /// The lanes of each path: behind each stage, and for packets that come back to it.
    lanes_of: Vec<Vec<(usize, usize)>>,
    /// What a packet in each lane takes at least to the end of its path.
    left: Vec<Duration>,
    /// The dequeue-driven links, and the waiting packets of each, by ticket.
    stepped: Vec<(usize, Vec<Option<Held>>)>,
    trains: Trains,
    delivery: Delivery,
    /// As [`MODERATION`], for a busy thread.
    busy_moderation: Duration,
    sent: Vec<CbrTally>,
    unroutable: u64,
    share: Share,
}

impl Shard<'_> {
    /// Carries packets until the run is stopped.
    pub(crate) fn run(self) -> Result<ShardReport, LiveError> {
        let began = (self.clock.now(), schedule::thread_time());
        let epoll = self.watch().map_err(LiveError::kernel("the hosts' devices cannot be watched"))?;
        let mut carrier = Carrier::new(self);
        carrier.carry(&epoll)?;
        let now = carrier.part.clock.now();
        let wall = now.since(began.0).as_secs_f64();
        let busy = (schedule::thread_time() - began.1).as_secs_f64() / wall.max(1e-9);
        let behind = now.since(carrier.next_effect());
        let Carrier { part, delivery, sent, unroutable, share, .. } = carrier;
        let (lateness, refused) = delivery.outcome();
        let Shard { looks, mut links, streams, crossings, .. } = part;
        let Seen { links, streams: passed } = looks.finish(now, &mut links, &sent);
        let passed = streams.iter().zip(passed);
        Ok(ShardReport {
            links,
            streams: passed.map(|(stream, (tally, series))| (stream.number, tally, series)).collect(),
            queues: crossings.finish().collect(),
            lateness,
            busy,
            unroutable,
            refused,
            real_time: share.always(),
            behind,
        })
    }

    fn watch(&self) -> std::io::Result<OwnedFd> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        for (number, source) in self.sources.iter().enumerate() {
            let data = epoll::EventData::new_u64(number as u64);
            epoll::add(&epoll, &self.hosts[source.host].tun, data, epoll::EventFlags::IN)?;
        }
        Ok(epoll)
    }
}

impl<'a> Carrier<'a> {
    fn new(part: Shard<'a>) -> Carrier<'a> {
        let (mut lanes, mut places, mut lanes_of) = (Lanes::default(), Vec::new(), Vec::new());
        let mut left = Vec::new();
        for (way, it) in part.ways.iter().enumerate() {
            let of_stage = |(stage, passed): (usize, &Stage)| {
                let through = lanes.add(passed.keeps_order(&part.links));
                places.push(Place { way, stage, again: false });
                left.push(it.takes(stage + 1, &part.links));
                // A packet that comes back may be told of after one that comes back later: the link computes
                // retransmissions ahead of time.
                let back = lanes.add(false);
                places.push(Place { way, stage, again: true });
                left.push(it.takes(stage, &part.links));
                (through, back)
            };
            lanes_of.push(it.stages.iter().enumerate().map(of_stage).collect());
        }
        let shortest = part.ways.iter().map(|way| way.takes(0, &part.links)).min().unwrap_or(Duration::ZERO);
        Carrier {
            busy_moderation: Duration::from_nanos(shortest.as_nanos() / ONE_IN)
                .min(BUSY_MODERATION)
                .max(MODERATION),
            share: Share::begin(part.clock.now()),
            sent: vec![CbrTally::default(); part.streams.len()],
            stepped: (0..part.links.len())
                .filter(|&link| part.links[link].is_stepped())
                .map(|link| (link, Vec::new()))
                .collect(),
            delivery: Delivery::to(part.hosts.len()),
            part,
            lanes,
            places,
            lanes_of,
            left,
            trains: Trains::new(),
            unroutable: 0,
        }
    }

    fn carry(&mut self, epoll: &OwnedFd) -> Result<(), LiveError> {
        let mut events = [MaybeUninit::<epoll::Event>::uninit(); 32];
        let mut buffer = vec![0; MAX_BYTES];
        while !self.part.stop.load(Ordering::Relaxed) {
            let now = self.part.clock.now();
            self.share.look(now);
            self.advance(now)?;
            let wait = self.wait(if self.share.is_busy() { self.rest() } else { MODERATION });
            let ready = match epoll::wait(epoll, &mut events, Some(&wait)) {
                Ok((ready, _)) => ready,
                Err(Errno::INTR) => continue,
                Err(error) => {
                    return Err(LiveError::kernel("the hosts' devices cannot be watched")(error.into()));
                }
            };
            if !ready.is_empty() {
                // What was due on the way comes before what is read now.
                self.advance(self.part.clock.now())?;
            }
            for event in ready.iter() {
                self.take(event.data.u64() as usize, &mut buffer)?;
            }
        }
        self.advance(self.part.clock.now())
    }

    /// A busy thread rests. Whatever comes meanwhile does not wake it, and is read together. What is due then
    /// need not wait any longer.
    fn rest(&self) -> Duration {
        std::thread::sleep(std::time::Duration::from_nanos(self.busy_moderation.as_nanos()));
        Duration::ZERO
    }

    /// The longest time to sleep, at least this.
    fn wait(&self, least: Duration) -> Timespec {
        let ahead = self.next_effect().since(self.part.clock.now());
        let sleep = ahead.max(least).min(LONGEST_SLEEP);
        Timespec { tv_sec: 0, tv_nsec: sleep.as_nanos() as _ }
    }

    /// The earliest instant at which something that is under way can reach a host, or is looked at. What
    /// happens on the way may be computed later, up to then: its times stay as they are, and nobody can tell.
    /// So a packet wakes the thread once, and not at each queue that it passes.
    fn next_effect(&self) -> Time {
        let Shard { ways, links, streams, looks, .. } = &self.part;
        let departures = streams.iter().map(|stream| stream.next + ways[stream.way].takes(0, links));
        // What a link decides about is behind its delay before it is anywhere.
        let stepped = self.stepped.iter().map(|&(link, _)| &links[link]);
        let decisions = stepped.filter_map(|link| Some(link.due()? + link.delay()));
        let onward = departures.chain(decisions);
        onward.fold(self.lanes.next_end(&self.left).min(looks.next()), Time::min)
    }

    /// The next decision of a dequeue-driven link, and the link.
    fn transmits(&self) -> Option<(Time, usize)> {
        let due = |(number, (link, _)): (usize, &(usize, _))| Some((self.part.links[*link].due()?, number));
        self.stepped.iter().enumerate().filter_map(due).min()
    }

    /// Processes everything that is due by `now`, in order of time. A thread that is late looks at the end of
    /// the run meanwhile.
    ///
    /// # Errors
    ///
    /// [`LiveError::Overloaded`] if it is later than [`MAX_LAG`].
    fn advance(&mut self, now: Time) -> Result<(), LiveError> {
        let mut events = 0_u32;
        loop {
            let (packet, look) = (self.lanes.next(), self.part.looks.next());
            let stream = (0..self.part.streams.len()).map(|it| (self.part.streams[it].next, it)).min();
            let departs = stream.map_or(Time::NEVER, |(at, _)| at);
            let transmits = self.transmits();
            let decides = transmits.map_or(Time::NEVER, |(at, _)| at);
            let first = packet.min(look).min(departs).min(decides);
            if first > now || first == Time::NEVER {
                break;
            }
            events += 1;
            if events.is_multiple_of(EVENTS_PER_LOOK) && !self.keeps_up(first)? {
                break;
            }
            if let Some((_, number)) = transmits.filter(|_| decides == first) {
                self.settle(number, first);
            } else if look == first {
                self.part.looks.look(first, &mut self.part.links, &self.sent);
            } else if packet == first {
                if let Some((lane, at, parcel)) = self.lanes.pop(now) {
                    self.arrived(self.places[lane], at, parcel);
                }
            } else if let Some((at, it)) = stream {
                self.sent[it].sent += 1;
                let stream = &mut self.part.streams[it];
                let next = stream.plan.next_departure(self.sent[it].sent, at);
                stream.goes_on(next);
                let bytes = u32::from(self.part.streams[it].plan.bytes);
                let parcel = Parcel { train: NO_TRAIN, segment: 0, ecn: Ecn::NotEct, marked: false, bytes };
                self.pass(self.part.streams[it].way, 0, at, parcel, false);
            }
        }
        self.delivery.hand_over(&mut self.trains, &self.part);
        Ok(())
    }

    /// True if the thread, which is at the instant `at`, is to go on. False: the run is over.
    fn keeps_up(&mut self, at: Time) -> Result<bool, LiveError> {
        let now = self.part.clock.now();
        self.share.look(now);
        let behind = now.since(at);
        if behind > MAX_LAG {
            return Err(LiveError::Overloaded { behind_s: behind.as_secs_f64() });
        }
        Ok(!self.part.stop.load(Ordering::Relaxed))
    }

    /// Reads packets from the device of a source.
    fn take(&mut self, source: usize, buffer: &mut Vec<u8>) -> Result<(), LiveError> {
        let Source { host, zeros, .. } = self.part.sources[source];
        let room = if zeros { BEGIN_BYTES } else { buffer.len() };
        for _ in 0..READ_AT_ONCE {
            let read = self.part.hosts[host].tun.read(&mut buffer[..room]);
            let name = &self.part.hosts[host].name;
            let Some(bytes) =
                read.map_err(LiveError::kernel(format!("the device of {name} cannot be read")))?
            else {
                break;
            };
            let now = self.part.clock.now();
            let bytes = self.trains.taken(buffer, bytes);
            match if zeros { GsoBatch::of_zeros(bytes) } else { GsoBatch::new(bytes) } {
                Ok(train) => self.depart(source, now, train),
                Err(buffer) => {
                    self.unroutable += 1;
                    self.trains.give_back(buffer);
                }
            }
        }
        Ok(())
    }

    /// Puts the packets of a train on their paths.
    fn depart(&mut self, source: usize, now: Time, train: GsoBatch) {
        let destination = packet::destination(train.packet());
        let ways = &self.part.sources[source].ways;
        let Some(&(_, way)) = ways.iter().find(|(address, _)| *address == destination) else {
            self.unroutable += 1;
            self.trains.give_back(train.into_bytes());
            return;
        };
        let (segments, ecn) = (train.segments(), packet::ecn(train.packet()));
        let sizes = (train.wire_bytes(0), train.wire_bytes(segments - 1));
        let number = self.trains.insert(train);
        for segment in 0..segments {
            let bytes = if segment + 1 < segments { sizes.0 } else { sizes.1 };
            self.trains.keep(number);
            self.pass(way, 0, now, Parcel { train: number, segment, ecn, marked: false, bytes }, false);
        }
        self.trains.release(number);
    }

    /// A packet is at the end of a stage, or back at its gate.
    fn arrived(&mut self, place: Place, at: Time, parcel: Parcel) {
        if place.again {
            self.pass(place.way, place.stage, at, parcel, true);
        } else if place.stage + 1 < self.part.ways[place.way].stages.len() {
            self.pass(place.way, place.stage + 1, at, parcel, false);
        } else {
            self.deliver(place.way, at, parcel);
        }
    }

    /// Sends a packet through a stage.
    fn pass(&mut self, way: usize, stage: usize, at: Time, mut parcel: Parcel, again: bool) {
        let Shard { ways, links, captured, capture, crossings, .. } = &mut self.part;
        let (trains, owner) = (&self.trains, ways[way].owner);
        let see = |link: u32, it: &Link, parcel: &Parcel, fate: Fate| {
            crossings.at_link(link as usize, owner, at, it.departure(), fate);
            if let (false, Some(capture)) = (captured.is_empty(), &*capture) {
                see(captured, capture, trains, link as usize, it.departure(), parcel, fate);
            }
        };
        let through = &ways[way].stages[stage];
        let outcome = if again {
            through.pass_again(links, at, &parcel, see)
        } else {
            through.pass(links, at, &mut parcel, see)
        };
        self.go_on(way, stage, at, parcel, outcome);
    }

    /// Continues with a packet after a stage, according to the `outcome` there.
    fn go_on(&mut self, way: usize, stage: usize, at: Time, parcel: Parcel, outcome: Result<Time, Detour>) {
        let (onward, back) = self.lanes_of[way][stage];
        match outcome {
            Ok(then) => self.lanes.push(onward, then, parcel),
            Err(Detour::Twice(then)) => {
                self.trains.keep(parcel.train);
                self.lanes.push(onward, then, parcel);
                self.lanes.push(onward, then, parcel);
            }
            Err(Detour::Back(then)) => self.lanes.push(back, then, parcel),
            Err(Detour::Waits) => self.hold(at, Held { way, stage, parcel }),
            Err(Detour::Gone(cause)) => {
                if let Some(told) = &self.part.ways[way].told
                    && let Some(train) = self.trains.get(parcel.train)
                {
                    told.lost(&train.on_the_wire(parcel.segment, parcel.marked), cause);
                }
                self.trains.release(parcel.train);
            }
        }
    }

    /// Holds a packet that waits at the gate of a stage.
    fn hold(&mut self, at: Time, held: Held) {
        let Held { way, stage, parcel } = held;
        let gate = self.part.ways[way].stages[stage].gate.map(|gate| gate as usize);
        let Some(number) = self.stepped.iter().position(|(link, _)| Some(*link) == gate) else { return };
        // Unresponsive traffic has no headers. Each path of it is a flow.
        let headers =
            self.trains.get(parcel.train).map_or(Headers { flow: way as u64, ack: None }, |train| Headers {
                flow: packet::flow(train.packet()),
                ack: packet::pure_ack(train.packet()),
            });
        let owner = self.part.ways[way].owner;
        let (link, waiting) = &mut self.stepped[number];
        let ticket = self.part.links[*link].hold(at, headers, &parcel) as usize;
        if ticket >= waiting.len() {
            waiting.resize(ticket + 1, None);
        }
        waiting[ticket] = Some(held);
        self.part.crossings.waits(*link, owner, at, ticket as u32);
        self.settle(number, at);
    }

    /// Forwards the packets that a dequeue-driven link has decided about by `now`.
    fn settle(&mut self, number: usize, now: Time) {
        let link = self.stepped[number].0;
        while let Some(settled) = self.part.links[link].settle(now) {
            if let Some(held) = self.stepped[number].1[settled.ticket as usize].take() {
                self.take_on(link, settled, held);
            }
        }
    }

    /// A packet has left the queue of a dequeue-driven link, or was dropped there.
    fn take_on(&mut self, link: usize, settled: Settled, held: Held) {
        let Held { way, stage, mut parcel } = held;
        if settled.marked {
            parcel.mark();
        }
        self.part.crossings.decided(link, settled.ticket, settled.departure, settled.fate);
        let Shard { ways, links, captured, capture, .. } = &mut self.part;
        let trains = &self.trains;
        let tell = |link: usize, leaves: Time, parcel: &Parcel, fate: Fate| {
            if let (false, Some(capture)) = (captured.is_empty(), &*capture) {
                see(captured, capture, trains, link, leaves, parcel, fate);
            }
        };
        tell(link, settled.departure, &parcel, settled.fate);
        let outcome =
            ways[way].stages[stage].pass_on(links, settled.fate, &mut parcel, |link, it, parcel, fate| {
                tell(link as usize, it.departure(), parcel, fate);
            });
        self.go_on(way, stage, settled.at, parcel, outcome);
    }

    /// A packet is due at its destination.
    fn deliver(&mut self, way: usize, at: Time, parcel: Parcel) {
        let Some(to) = self.part.ways[way].to else {
            if let Some(it) = self.part.streams.iter().position(|stream| stream.way == way) {
                self.sent[it].delivered += 1;
                self.sent[it].delivered_bytes += u64::from(parcel.bytes);
            }
            return;
        };
        self.delivery.add(to, at, parcel, &mut self.trains, &self.part);
    }
}

/// Reports a packet that passes the transmitter of a captured link.
fn see(
    captured: &[usize],
    capture: &Sender<Captured>,
    trains: &Trains,
    link: usize,
    leaves: Time,
    parcel: &Parcel,
    fate: Fate,
) {
    let arrives = match fate {
        Fate::Arrives(at) | Fate::ArrivesTwice(at) => at,
        Fate::LinkRetry(_) | Fate::Queued | Fate::Dropped(_) => return,
    };
    if !captured.contains(&link) {
        return;
    }
    let Some(train) = trains.get(parcel.train) else { return };
    let packet = train.on_the_wire(parcel.segment, parcel.marked);
    // A capture that ended early has already reported why.
    let _ = capture.send(Captured { link, leaves, arrives, packet });
}

#[cfg(test)]
mod tests;

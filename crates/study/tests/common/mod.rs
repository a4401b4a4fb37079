//! Running scenarios under the eyes of a watcher that keeps its own books.
#![allow(dead_code)]

pub mod random;

use ackclock_net::{Fate, Limit, Link, Queue};
use ackclock_scenario::measured::Measured;
use ackclock_scenario::requests::{Count, Size};
use ackclock_scenario::results::PointResult;
use ackclock_scenario::{Built, Point, Sweep};
use ackclock_sim::engine::{Engine, NoObserver, Observer, PacketRef, SenderView};
use ackclock_study::run::run_point;
use ackclock_study::runner::Runner;
use ackclock_tcp::Flags;
use ackclock_units::{Duration, Time};
use std::sync::atomic::AtomicBool;

/// The points of a scenario that is right.
pub fn points(text: &str) -> Vec<Point> {
    let sweep = Sweep::read("test.toml", text, &[]);
    sweep.unwrap_or_else(|error| panic!("{error}\n{text}")).points
}

/// The only point of a scenario, laid out.
pub fn built(text: &str) -> Built {
    points(text)[0].scenario.build().unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The result of a scenario with one point.
pub fn result(text: &str) -> PointResult {
    run_point(&points(text)[0], false, &AtomicBool::new(false))
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The results of all points, on so many threads; on all cores if it is not said.
pub fn run_all(points: &[Point], threads: Option<usize>) -> Vec<PointResult> {
    let stop = AtomicBool::new(false);
    let runner = Runner { probes: false, threads, stop: &stop, store: None, progress: &|_, _| {} };
    runner.run(points, &NoObserver).unwrap_or_else(|error| panic!("{error}"))
}

/// A result without what the machine's speed decides.
pub fn bytes(result: &PointResult) -> String {
    let mut json = serde_json::to_value(result).expect("a result is JSON");
    let object = json.as_object_mut().expect("an object");
    object.remove("wall_s");
    object.remove("segments_per_wall_s");
    object.remove("engine");
    json.to_string()
}

/// A dumbbell scenario with these bottleneck keys and further text.
pub fn dumbbell(bottleneck: &str, rest: &str) -> String {
    format!("[topology.dumbbell]\nbottleneck = {{ {bottleneck} }}\n{rest}").replacen(
        "[topology",
        "\n[topology",
        1,
    )
}

/// Runs a plan to its end under a watcher.
pub fn watched(built: &Built) -> (Measured, Watch) {
    Engine::new(built.plan.clone(), Watch::new(built)).run()
}

/// What a watcher notes about a flow.
#[derive(Clone, Default, Debug)]
pub struct Noted {
    /// Data packets offered to the first link of the route.
    pub sent: u64,
    /// Of these, those that were sent before.
    pub retransmitted: u64,
    /// Data packets dropped anywhere.
    pub dropped: u64,
    /// Data packets that arrived somewhere twice.
    pub copies: u64,
    /// Those that a link has corrupted and will be offered again: link, number and time of sending.
    pub kept: Vec<(usize, u64, Time)>,
    /// Acknowledgements offered to the first link of the way back.
    pub acks: u64,
    /// When data that was never sent before left, first and last.
    pub new_data: Option<(Time, Time)>,
    /// When each data packet left.
    pub left: Vec<Time>,
    /// Links that data passed, in order, of the first data packet.
    pub route: Vec<usize>,
    pub cwnd_min: f64,
}

/// Keeps its own books and checks what must hold at every moment.
#[derive(Default)]
pub struct Watch {
    first: Vec<(usize, usize)>,
    first_of_streams: Vec<usize>,
    pub flows: Vec<Noted>,
    /// Datagrams of each stream: when they left.
    pub datagrams: Vec<Vec<Time>>,
    now: Time,
    last_arrival: Vec<Time>,
    /// Links that keep the order of their packets.
    ordered: Vec<bool>,
    /// What must not be, if it was.
    pub wrong: Option<String>,
}

impl Watch {
    pub fn new(built: &Built) -> Watch {
        let plan = &built.plan;
        Watch {
            first: plan.flows.iter().map(|flow| (flow.forward[0], flow.reverse[0])).collect(),
            first_of_streams: plan.streams.iter().map(|stream| stream.route[0]).collect(),
            flows: vec![Noted { cwnd_min: f64::INFINITY, ..Noted::default() }; plan.flows.len()],
            datagrams: vec![Vec::new(); plan.streams.len()],
            last_arrival: vec![Time::ZERO; plan.links.len()],
            ordered: plan.links.iter().map(Link::keeps_order).collect(),
            ..Watch::default()
        }
    }
}

impl Observer for Watch {
    fn is_there(&self) -> bool {
        true
    }

    fn minds(&self, _: usize, _: PacketRef<'_>) -> bool {
        true
    }

    fn minds_sender(&self, _: usize) -> bool {
        true
    }

    fn at_link(&mut self, link: usize, delay: Duration, packet: PacketRef<'_>, fate: Fate) {
        if let Fate::Arrives(at) = fate {
            if self.ordered[link] && at < self.last_arrival[link] || at < Time::ZERO + delay {
                self.wrong = Some(format!("link {link} reorders at {at}"));
            }
            self.last_arrival[link] = at;
        }
        match packet {
            PacketRef::Data(flow, data) | PacketRef::Datagram(flow, data) => {
                let noted = &mut self.flows[flow as usize];
                let key = (link, data.seq, data.sent_at);
                let again = noted.kept.iter().position(|kept| *kept == key);
                again.map(|again| noted.kept.swap_remove(again));
                if matches!(fate, Fate::LinkRetry(_) | Fate::Queued) {
                    noted.kept.push(key);
                }
                noted.copies += u64::from(matches!(fate, Fate::ArrivesTwice(_)));
                if link == self.first[flow as usize].0 && again.is_none() {
                    noted.sent += 1;
                    noted.left.push(data.sent_at);
                    if data.flags.has(Flags::RETRANSMISSION) {
                        noted.retransmitted += 1;
                    } else {
                        let first = noted.new_data.map_or(data.sent_at, |(first, _)| first);
                        noted.new_data = Some((first, data.sent_at));
                    }
                }
                if data.seq == 0 && noted.retransmitted == 0 && again.is_none() {
                    noted.route.push(link);
                }
                noted.dropped += u64::from(matches!(fate, Fate::Dropped(_)));
            }
            _ if fate == Fate::Queued => {} // it comes again
            PacketRef::Ack(flow, _) | PacketRef::Report(flow, _) => {
                self.flows[flow as usize].acks += u64::from(link == self.first[flow as usize].1);
            }
            PacketRef::CbrPacket(stream, data) => {
                if link == self.first_of_streams[stream as usize] {
                    self.datagrams[stream as usize].push(data.sent_at);
                }
            }
        }
    }

    fn at_transmitter(&mut self, _: Time, link: usize, delay: Duration, packet: PacketRef<'_>, fate: Fate) {
        self.at_link(link, delay, packet, fate);
    }

    fn at_sender(&mut self, now: Time, flow: usize, sender: &SenderView) {
        if now < self.now {
            self.wrong = Some(format!("time goes back from {} to {now}", self.now));
        }
        self.now = now;
        let cwnd = sender.cwnd;
        let noted = &mut self.flows[flow];
        noted.cwnd_min = noted.cwnd_min.min(cwnd);
        if cwnd.is_nan() || cwnd < 1.0 {
            self.wrong = Some(format!("flow {flow} has a window of {cwnd} at {now}"));
        }
    }
}

/// Checks a finished run against the watcher's books and against what links can do.
pub fn audit(built: &Built, measured: &Measured, watch: &Watch) -> Result<(), String> {
    if let Some(wrong) = &watch.wrong {
        return Err(wrong.clone());
    }
    let window = built.plan.measure.1.since(built.plan.measure.0);
    for (id, (tally, noted)) in measured.flows.iter().zip(&watch.flows).enumerate() {
        let (sent, arrived, in_flight) = tally.whole_run;
        if sent != noted.sent || sent + noted.copies != arrived + noted.dropped + in_flight {
            return Err(format!(
                "flow {id}: {sent} sent ({} seen), {} copies, {arrived} arrived, {} dropped, {in_flight} in flight",
                noted.sent, noted.copies, noted.dropped
            ));
        }
        let plan = &built.plan.flows[id];
        if let Some((first, last)) = noted.new_data
            && (first < plan.start || plan.stop.is_some_and(|stop| last > stop))
        {
            return Err(format!("flow {id} sends from {first} to {last}"));
        }
        let least = match &plan.requests.size {
            Size::Unlimited => None,
            Size::Segments(Count::Fixed(least) | Count::Uniform(least, _)) => {
                let least = *least;
                Some(Duration::from_nanos(least))
            }
            Size::Table(..) | Size::Segments(Count::Pareto { .. } | Count::Lomax { .. }) => {
                Some(Duration::from_nanos(1))
            }
        };
        if let (Some(least), false) = (least, tally.completions().is_empty())
            && (tally.transfers.len() as u64 > plan.requests.repeat
                || tally.completions().iter().any(|&took| took < least))
        {
            return Err(format!("flow {id}: {:?}", tally.transfers));
        }
    }
    for (number, (tally, link)) in measured.links.iter().zip(&built.plan.links).enumerate() {
        if tally.busy > window {
            return Err(format!("link {number} works {} in {window}", tally.busy));
        }
        if let Some(limit) = limit_of(link) {
            if tally.counters.longest > limit {
                return Err(format!("link {number}: {} wait where {limit} may", tally.counters.longest));
            }
            let mean = tally.counters.waited_ns as f64 / window.as_nanos() as f64;
            // A packet that the link sends again is at the head of the queue and needs no room there.
            if mean > f64::from(limit) + f64::from(u8::from(link.retransmits())) {
                return Err(format!("link {number}: {mean} wait on average where {limit} may"));
            }
        }
    }
    Ok(())
}

/// Packets that may wait at a link.
pub fn limit_of(link: &Link) -> Option<u32> {
    match link.queue() {
        Queue::DropTail(queue) => match queue.limit() {
            Limit::Packets(packets) => Some(packets),
            Limit::Bytes(_) => None,
        },
        _ => None,
    }
}

//! Two endpoints and a path between them, in virtual time: its own event queue, its own draws, nothing else.
//!
//! The path is one bottleneck with a drop-tail queue, propagation delays, and faults in both directions.
//! Every step is checked; a transfer that stands still or goes on for ever fails.

use ackclock_cc::{Settings, scheme};
use ackclock_tcp::{Ack, Config, Data, Flags, Receiver, Sender, State};
use ackclock_units::{Duration, Time};
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// What happens to packets in one direction; every probability is per packet.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    /// The packets with these ordinals (from 0) are dropped.
    pub drops: Vec<u64>,
    /// The first packets that carry segments with these numbers are dropped.
    pub lost_segments: Vec<u64>,
    /// Others are dropped with this probability.
    pub loss: f64,
    /// A packet arrives twice.
    pub duplicate: f64,
    /// A packet is held up by up to `hold`.
    pub reorder: f64,
    /// At most so long.
    pub hold: Duration,
    /// An ECN-capable packet is marked.
    pub mark: f64,
}

/// A transfer and its path.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Both endpoints' settings.
    pub config: Config,
    /// The controller's scheme.
    pub scheme: &'static str,
    /// Segments to transfer.
    pub segments: u64,
    /// Propagation delay each way.
    pub delay: Duration,
    /// Time that the bottleneck takes for a segment.
    pub spacing: Duration,
    /// Segments that it queues.
    pub buffer: u64,
    /// Faults of the data's way.
    pub forward: Faults,
    /// Faults of the acknowledgements' way.
    pub reverse: Faults,
    /// Seed of all draws.
    pub seed: u64,
}

impl Setup {
    /// A transfer over a path without faults: 100 ms and 1 ms per segment.
    pub fn new(config: Config, scheme: &'static str, segments: u64) -> Setup {
        Setup {
            config,
            scheme,
            segments,
            delay: Duration::from_millis(50),
            spacing: Duration::from_millis(1),
            buffer: u64::MAX,
            forward: Faults::default(),
            reverse: Faults::default(),
            seed: 1,
        }
    }
}

/// Something that a test may want to look at.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sent {
    /// When.
    pub at: Time,
    /// What.
    pub data: Data,
    /// The sender's state afterwards.
    pub state: State,
}

/// What a transfer was like.
#[derive(Clone, PartialEq, Debug)]
pub struct Story {
    /// Every segment sent.
    pub sent: Vec<Sent>,
    /// The window after every step of the sender.
    pub cwnd: Vec<(Time, f64)>,
    /// When all was acknowledged.
    pub done: Time,
    /// The sender's counters.
    pub counters: ackclock_tcp::Counters,
    /// Segments that the path dropped.
    pub dropped: u64,
}

impl Story {
    /// The segments sent again, with their times.
    pub fn again(&self) -> Vec<(Time, u64)> {
        let again = self.sent.iter().filter(|sent| sent.data.flags.has(Flags::RETRANSMISSION));
        again.map(|sent| (sent.at, sent.data.seq)).collect()
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    Data(usize),
    Ack(usize),
}

struct Way {
    faults: Faults,
    count: u64,
    draws: u64,
}

impl Way {
    /// A uniform number: splitmix64 (Steele, Lea, Flood, OOPSLA 2014).
    fn draw(&mut self) -> f64 {
        self.draws = self.draws.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.draws;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// The delays with which copies of the next packet arrive; is it marked?
    fn pass(&mut self) -> (Vec<Duration>, bool) {
        let dropped = self.faults.drops.contains(&self.count) || self.draw() < self.faults.loss;
        self.count += 1;
        let (twice, marked) = (self.draw() < self.faults.duplicate, self.draw() < self.faults.mark);
        let copies = if dropped { 0 } else { 1 + usize::from(twice) };
        let held = |way: &mut Way| {
            let is_held = way.draw() < way.faults.reorder;
            let share = way.draw();
            if is_held { way.faults.hold.mul_f64(share) } else { Duration::ZERO }
        };
        ((0..copies).map(|_| held(self)).collect(), marked)
    }
}

/// The transfer while it runs.
pub struct World {
    setup: Setup,
    now: Time,
    /// The sender, for tests that look into it while it runs.
    pub sender: Sender,
    /// Does the recovery hold the pipe within the window?
    by_pipe: bool,
    receiver: Receiver,
    queue: BinaryHeap<Reverse<(Time, u64, Due)>>,
    data: Vec<Data>,
    acks: Vec<Ack>,
    order: u64,
    link_free: Time,
    forward: Way,
    reverse: Way,
    held: BTreeSet<u64>,
    arrivals: u64,
    in_the_air: u64,
    copies: u64,
    sent_to: u64,
    episodes: u64,
    cuts: Cuts,
    paced: bool,
    story: Story,
}

/// To check that there is one cut per episode.
#[derive(Default)]
struct Cuts {
    seen: u64,
    timeouts: u64,
    nxt: u64,
}

impl World {
    /// At the start, nothing sent.
    pub fn new(setup: &Setup) -> World {
        let control = Settings::defaults(scheme(setup.scheme).expect("a known scheme"));
        let recovery = &setup.config.recovery;
        let way = |faults: &Faults, salt| Way { faults: faults.clone(), count: 0, draws: setup.seed ^ salt };
        World {
            now: Time::ZERO,
            sender: Sender::new(
                setup.config.clone().into(),
                control.build(),
                control.needs(),
                3,
                setup.segments,
                Time::ZERO,
            ),
            by_pipe: recovery.name() == "sack" && !recovery.get::<bool>("proportional_rate"),
            receiver: Receiver::new(&setup.config, 3),
            queue: BinaryHeap::new(),
            data: Vec::new(),
            acks: Vec::new(),
            order: 0,
            link_free: Time::ZERO,
            forward: way(&setup.forward, 0),
            reverse: way(&setup.reverse, 0x5555_5555_5555_5555),
            held: BTreeSet::new(),
            arrivals: 0,
            in_the_air: 0,
            copies: 0,
            sent_to: 0,
            episodes: 0,
            cuts: Cuts::default(),
            paced: false,
            story: Story {
                sent: Vec::new(),
                cwnd: Vec::new(),
                done: Time::ZERO,
                counters: ackclock_tcp::Counters::default(),
                dropped: 0,
            },
            setup: setup.clone(),
        }
    }

    /// Runs the transfer to its end.
    pub fn run(setup: &Setup) -> Story {
        let mut world = World::new(setup);
        let mut steps = 0_u64;
        world.transmit();
        while !world.sender.is_done() {
            world.step();
            steps += 1;
            assert!(steps < 2_000_000, "{} of {} after {}", world.sender.una(), setup.segments, world.now);
        }
        assert_eq!(world.receiver.delivered(), setup.segments);
        assert_eq!(world.receiver.held(), 0);
        assert_eq!(world.sender.in_flight(), 0);
        assert_eq!(world.sender.poll_timeout(), None, "nothing is outstanding, and a timer runs");
        world.story.done = world.now;
        world.story.counters = *world.sender.counters();
        world.story
    }

    fn step(&mut self) {
        let arrival = self.queue.peek().map(|Reverse((at, ..))| *at);
        let sender = self.sender.poll_timeout();
        let pacer = self.sender.poll_pacing(self.now);
        let receiver = self.receiver.poll_timeout();
        let next = [arrival, sender, pacer, receiver].into_iter().flatten().min();
        self.now = next.expect("the transfer stands still: nothing is under way and no timer runs");
        if arrival == Some(self.now) {
            let Some(Reverse((_, _, due))) = self.queue.pop() else { unreachable!("it was there") };
            match due {
                Due::Data(at) => self.on_data(self.data[at]),
                Due::Ack(at) => self.on_ack(self.acks[at]),
            }
        } else if receiver == Some(self.now) {
            let ack = self.receiver.on_timeout(self.now).expect("it is due");
            self.acknowledge(ack);
        } else {
            self.sender.on_timeout(self.now);
            self.check_cuts();
            self.transmit();
        }
        self.check();
    }

    fn schedule(&mut self, at: Time, due: Due) {
        self.order += 1;
        self.queue.push(Reverse((at, self.order, due)));
    }

    fn transmit(&mut self) {
        while let Some(data) = self.sender.poll_transmit(self.now) {
            self.check_sent(&data);
            let state = self.sender.state();
            self.story.sent.push(Sent { at: self.now, data, state });
            self.carry(data);
        }
        self.story.cwnd.push((self.now, self.sender.window().cwnd));
    }

    fn carry(&mut self, mut data: Data) {
        let (mut copies, marked) = self.forward.pass();
        // A number is new when it has not been sent before.
        if !data.flags.has(Flags::RETRANSMISSION) && self.setup.forward.lost_segments.contains(&data.seq) {
            copies.clear();
        }
        let spacing = self.setup.spacing;
        let start = self.link_free.max(self.now);
        let queued = start.since(self.now).as_nanos() / spacing.as_nanos().max(1);
        if copies.is_empty() || queued > self.setup.buffer {
            self.story.dropped += 1;
            return;
        }
        if marked && data.flags.has(Flags::ECT) {
            data.flags = data.flags.with(Flags::CE);
        }
        self.link_free = start + spacing;
        self.copies += copies.len() as u64 - 1;
        self.in_the_air += copies.len() as u64;
        self.data.push(data);
        for held in copies {
            self.schedule(self.link_free + self.setup.delay + held, Due::Data(self.data.len() - 1));
        }
    }

    fn on_data(&mut self, data: Data) {
        self.in_the_air -= 1;
        self.arrivals += 1;
        let before = self.receiver.delivered();
        let fresh = data.seq >= before && self.held.insert(data.seq);
        let duplicates = self.receiver.duplicates();
        if let Some(ack) = self.receiver.on_data(self.now, &data) {
            self.acknowledge(ack);
        }
        // Each segment once, in order: what is delivered is exactly what has arrived without a gap.
        assert_eq!(
            self.receiver.duplicates() - duplicates,
            u64::from(!fresh),
            "{} is new: {fresh}",
            data.seq
        );
        for seq in before..self.receiver.delivered() {
            assert!(self.held.remove(&seq), "{seq} is delivered without having arrived");
        }
        assert_eq!(self.receiver.held(), self.held.len() as u64);
        assert!(!self.held.contains(&self.receiver.delivered()));
    }

    fn acknowledge(&mut self, ack: Ack) {
        assert_eq!(ack.ack, self.receiver.delivered());
        for (start, end) in ack.runs().skip(usize::from(ack.duplicate_report().is_some())) {
            assert!((start..end).all(|seq| self.held.contains(&seq)));
        }
        let (copies, _) = self.reverse.pass();
        self.acks.push(ack);
        for held in copies {
            self.schedule(self.now + self.setup.delay + held, Due::Ack(self.acks.len() - 1));
        }
    }

    fn on_ack(&mut self, ack: Ack) {
        let (una, nxt, state) = (self.sender.una(), self.sender.nxt(), self.sender.state());
        self.sender.on_ack(self.now, &ack, || 0.5);
        self.check_cuts();
        self.transmit();
        self.check_new_segments(una, nxt, state);
    }

    /// What was published of how much an acknowledgement may let out. Under a pacer that is not known.
    fn check_new_segments(&mut self, una: u64, nxt: u64, before: State) {
        let sender = &self.sender;
        if self.paced || sender.window().pacing.is_some() {
            self.paced = true;
            return;
        }
        let new = sender.nxt() - nxt;
        let duplicate = sender.una() == una;
        if duplicate && sender.is_waiting() {
            assert!(new <= 1, "{new} new segments for a duplicate while a hole is left open");
        }
        let recovery = self.setup.config.recovery.name();
        let counts = ["robust", "hoe", "right-edge", "lin-kung"].contains(&recovery);
        let stays = before == State::Recovery && sender.state() == State::Recovery;
        if counts && stays {
            assert!(new <= 1, "{new} new segments for one acknowledgement of an episode");
        }
    }

    fn check_sent(&mut self, data: &Data) {
        let sender = &self.sender;
        let episodes = sender.counters().fast_retransmits;
        let first = std::mem::replace(&mut self.episodes, episodes) != episodes;
        assert!(sender.poll_timeout().is_some(), "data is outstanding and no timer runs");
        assert!(data.seq >= sender.una() && data.seq < sender.nxt());
        assert!(sender.nxt() - sender.una() <= u64::from(self.setup.config.peer_window));
        assert!(!sender.board().is_sacked(data.seq), "{} has arrived, as is known", data.seq);
        assert_eq!(data.flags.has(Flags::RETRANSMISSION), data.seq < self.sent_to);
        self.sent_to = self.sent_to.max(data.seq + 1);
        // RFC 6675 section 5 (C): except for the first retransmission the pipe is held within the window.
        let governed = self.by_pipe;
        if governed && sender.state() == State::Recovery && !first {
            let (pipe, cwnd) = (sender.in_flight() as f64, sender.window().cwnd);
            assert!(pipe <= cwnd, "{pipe} in flight of {cwnd}");
        }
    }

    fn check(&mut self) {
        let sender = &self.sender;
        let cwnd = sender.window().cwnd;
        assert!(cwnd >= 1.0 && cwnd.is_finite(), "a window of {cwnd}");
        assert!(sender.una() == sender.nxt() || sender.poll_timeout().is_some(), "no timer runs");
        assert!(sender.una() <= self.receiver.delivered() && self.receiver.delivered() <= sender.nxt());
        assert!(sender.in_flight() <= 2 * (sender.nxt() - sender.una()));
        // Conservation.
        let counters = sender.counters();
        assert_eq!(counters.sent + self.copies, self.arrivals + self.story.dropped + self.in_the_air);
        assert_eq!(counters.sent, self.story.sent.len() as u64);
        assert_eq!(counters.sent - counters.retransmits, sender.nxt());
        assert_eq!(self.receiver.arrived(), self.arrivals);
    }
    /// Before anything is sent: one cut per episode. What is answered was sent after the last cut, unless a
    /// timer has expired, and Reno takes every hole for a loss of its own.
    fn check_cuts(&mut self) {
        let (sender, cuts) = (&self.sender, &mut self.cuts);
        let counters = sender.counters();
        assert!(counters.window_cuts <= cuts.seen + 1, "two cuts at once");
        if counters.window_cuts > cuts.seen {
            let by_timer = counters.timeouts > cuts.timeouts;
            let is_reno = self.setup.config.recovery.name() == "reno";
            assert!(by_timer || is_reno || sender.una() >= cuts.nxt, "a second cut for one window of data");
            cuts.nxt = sender.nxt();
        }
        cuts.seen = counters.window_cuts;
        cuts.timeouts = counters.timeouts;
    }
}

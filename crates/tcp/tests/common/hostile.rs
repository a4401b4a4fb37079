//! A sender and a receiver under any sequence of operations, acknowledgements and data that no peer would
//! send included.
//!
//! The fuzz target in `fuzz/` and the property tests run the same cases. After every step the counts are
//! compared with naive ones; in the end a peer that cooperates must get everything that is left.

use ackclock_cc::{
    Ack as Acked, Controller, Event, Needs, Path, Settings, Signal, Window, schemes, slow_start,
};
use ackclock_registry::{Given, variants};
use ackclock_tcp::{
    Ack, Config, Counting, Data, Flags, Receiver, SackBlock, Sender, State, Undo, detection, recovery,
};
use ackclock_units::{Duration, Rate, Time};
use std::collections::BTreeSet;

/// The connection's number; packets of others are ignored.
const EPOCH: u8 = 7;

/// A connection and what is done to it.
#[derive(Clone, Debug)]
pub struct Case {
    /// Which kind of recovery, modulo their number.
    pub recovery: u8,
    /// Which scheme, modulo their number and one: a controller that writes anything.
    pub scheme: u8,
    /// Timestamps, ECN, limited transmit, counting, delayed acknowledgements: a bit each; above them how to
    /// undo.
    pub switches: u8,
    /// The receiver's window, segments.
    pub window: u8,
    /// The initial window, segments; and which slow start, modulo their number.
    pub initial: u8,
    /// Duplicates that tell of a loss, below 6; otherwise which other detection, modulo their number.
    pub threshold: u8,
    /// Segments to send.
    pub limit: u8,
    /// What is done.
    pub steps: Vec<Step>,
}

/// One operation.
#[derive(Clone, Debug)]
pub enum Step {
    /// So many segments may be sent.
    Transmit(u8),
    /// So many tenths of a millisecond pass.
    Wait(u16),
    /// Time passes until the sender's timer expires.
    Expire,
    /// Time passes until the pacer lets something go.
    Pace,
    /// Time passes until the receiver's timer expires.
    Delay,
    /// Something under way arrives.
    Deliver(u8),
    /// Something under way arrives, marked if it may be.
    Mark(u8),
    /// Something under way is lost.
    Lose(u8),
    /// An acknowledgement under way arrives.
    Acknowledge(u8),
    /// An acknowledgement under way is lost.
    LoseAck(u8),
    /// An acknowledgement that the receiver never sent.
    ForgeAck {
        /// Relative to the first unacknowledged segment.
        ack: i8,
        /// Advertised window, segments.
        window: u16,
        /// Age of the echoed time, ms.
        age_ms: u16,
        /// Flags.
        flags: u8,
        /// Offsets and lengths of the blocks, segments; the largest stands for the largest possible.
        blocks: [(u8, u8); 3],
    },
    /// A segment that the sender never sent.
    ForgeData {
        /// Relative to the next one expected.
        seq: i8,
        /// Age of its time, ms.
        age_ms: u16,
        /// Flags.
        flags: u8,
    },
    /// The application has no more to send.
    Stop,
}

/// A controller that writes anything: what it does next depends on what has been written.
#[derive(Clone)]
struct Wild(u64);

impl Wild {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    fn scribble(&mut self, w: &mut Window) {
        match self.next() % 12 {
            0 => w.cwnd = f64::NAN,
            1 => w.cwnd = f64::INFINITY,
            2 => w.cwnd = -1.0,
            3 => w.ssthresh = f64::NAN,
            4 => w.ssthresh = 0.0,
            5 => w.pacing = Some(Rate::from_bps(self.next() % 1_000)),
            6 => w.pacing = Some(Rate::from_bps(self.next() * 1_000)),
            7 => w.pacing = None,
            8 => w.cwnd = self.next() as f64 / 1e7,
            _ => w.cwnd += 1.0,
        }
    }
}

impl Controller for Wild {
    fn on_sample(&mut self, _path: &Path, _ack: &Acked, w: &mut Window) {
        self.scribble(w);
    }
    fn grow(&mut self, _path: &Path, _ack: &Acked, w: &mut Window) {
        self.scribble(w);
    }
    fn cut(&mut self, _path: &Path, w: &Window, _why: Signal) -> Option<f64> {
        match self.next() % 5 {
            0 => None,
            1 => Some(f64::NAN),
            2 => Some(f64::INFINITY),
            _ => Some(w.cwnd / 2.0),
        }
    }
    fn on_event(&mut self, _path: &Path, _event: Event, w: &mut Window) {
        self.scribble(w);
    }
}

impl Case {
    fn config(&self) -> Config {
        let on = |bit: u8| self.switches >> bit & 1 == 1;
        let kinds = variants::<recovery::Scheme>();
        let slow_starts = variants::<slow_start::Scheme>();
        Config {
            recovery: kinds[usize::from(self.recovery) % kinds.len()].clone(),
            timestamps: on(0),
            ecn: on(1),
            undo: [Undo::Never, Undo::Duplicates, Undo::Eifel][usize::from(self.switches >> 5) % 3],
            limited_transmit: on(2),
            counting: if on(3) { Counting::Acks } else { Counting::Segments(2) },
            delayed_ack: on(4).then_some(Duration::from_millis(100)),
            peer_window: u32::from(self.window),
            initial_window: f64::from(self.initial),
            detection: self.detection(),
            slow_start: slow_starts[usize::from(self.initial) % slow_starts.len()].clone(),
            ..Config::default()
        }
    }

    fn detection(&self) -> detection::Settings {
        let others = variants::<detection::Scheme>();
        let others: Vec<_> = others.iter().filter(|other| other.name() != "dupacks").collect();
        if self.threshold >= 6 {
            return others[usize::from(self.threshold) % others.len()].clone();
        }
        let mut duplicates = detection::Settings::defaults(&detection::DUPACKS);
        let threshold = Given::Number(f64::from(self.threshold.max(1)));
        duplicates.set("threshold", threshold).expect("it is in the range");
        duplicates
    }

    fn controller(&self) -> (Box<dyn Controller>, Needs) {
        let known = schemes();
        match known.get(usize::from(self.scheme) % (known.len() + 1)) {
            Some(scheme) => {
                let settings = Settings::defaults(scheme);
                (settings.build(), settings.needs())
            }
            None => (Box::new(Wild(u64::from(self.initial))), Needs::NOTHING),
        }
    }

    /// Does everything, and checks everything.
    pub fn run(&self) {
        let mut bench = Bench::new(self);
        for step in &self.steps {
            bench.step(step);
            bench.check();
        }
        bench.finish();
    }
}

/// The two ends, and what is under way.
struct Bench {
    now: Time,
    sender: Sender,
    receiver: Receiver,
    data: Vec<Data>,
    acks: Vec<Ack>,
    /// Segments that the receiver has.
    received: BTreeSet<u64>,
    arrived: u64,
    /// Of these, those of this connection and within its window.
    taken: u64,
    sent: u64,
    /// The receiver's window, segments.
    room: u64,
    /// The largest window that was advertised, forged ones included.
    window: u64,
    una: u64,
    nxt: u64,
    /// Nothing was forged so far.
    honest: bool,
}

fn flags(bits: u8) -> Flags {
    let epoch = if bits & 128 == 0 { EPOCH } else { bits };
    let known = [Flags::ECT, Flags::CE, Flags::ECE, Flags::CWR, Flags::RETRANSMISSION];
    let set = known.iter().enumerate().filter(|(at, _)| bits >> at & 1 == 1);
    set.fold(Flags::of_epoch(epoch), |flags, (_, flag)| flags.with(*flag))
}

fn stretched(byte: u8) -> u32 {
    if byte == u8::MAX { u32::MAX } else { u32::from(byte) }
}

impl Bench {
    fn new(case: &Case) -> Bench {
        let now = Time::ZERO + Duration::from_secs(100);
        let config = case.config();
        let (controller, needs) = case.controller();
        Bench {
            now,
            sender: Sender::new(config.clone().into(), controller, needs, EPOCH, u64::from(case.limit), now),
            receiver: Receiver::new(&config, EPOCH),
            data: Vec::new(),
            acks: Vec::new(),
            received: BTreeSet::new(),
            arrived: 0,
            taken: 0,
            sent: 0,
            room: u64::from(config.peer_window),
            window: u64::from(config.peer_window),
            una: 0,
            nxt: 0,
            honest: true,
        }
    }

    fn before(&self, age_ms: u16) -> Time {
        Time::from_nanos(self.now.as_nanos() - Duration::from_millis(age_ms.into()).as_nanos())
    }

    fn step(&mut self, step: &Step) {
        match *step {
            Step::Transmit(most) => drop(self.transmit(most.into())),
            Step::Wait(tenths) => self.now += Duration::from_micros(100 * u64::from(tenths)),
            Step::Expire => {
                if let Some(deadline) = self.sender.poll_timeout() {
                    self.now = self.now.max(deadline);
                }
                self.sender.on_timeout(self.now);
            }
            Step::Pace => {
                if let Some(at) = self.sender.poll_pacing(self.now) {
                    self.now = self.now.max(at);
                }
            }
            Step::Delay => {
                if let Some(deadline) = self.receiver.poll_timeout() {
                    self.now = self.now.max(deadline);
                    let ack = self.receiver.on_timeout(self.now).expect("the acknowledgement is due");
                    self.acknowledge(Some(ack));
                }
            }
            Step::Deliver(which) | Step::Mark(which) => {
                if let Some(mut data) = taken(&mut self.data, which) {
                    if matches!(step, Step::Mark(_)) && data.flags.has(Flags::ECT) {
                        data.flags = data.flags.with(Flags::CE);
                    }
                    self.arrive(&data);
                }
            }
            Step::Lose(which) => drop(taken(&mut self.data, which)),
            Step::Acknowledge(which) => {
                if let Some(ack) = taken(&mut self.acks, which) {
                    self.sender.on_ack(self.now, &ack, || 0.5);
                }
            }
            Step::LoseAck(which) => drop(taken(&mut self.acks, which)),
            Step::ForgeAck { ack, window, age_ms, flags: bits, blocks } => {
                let block =
                    |(offset, length)| SackBlock { offset: stretched(offset), length: stretched(length) };
                self.forge(&Ack {
                    ack: self.sender.una().saturating_add_signed(ack.into()),
                    sent_at: self.before(age_ms),
                    echo: self.before(age_ms),
                    window: window.into(),
                    bytes: 40,
                    flags: flags(bits),
                    blocks: blocks.map(block),
                });
            }
            Step::ForgeData { seq, age_ms, flags: bits } => {
                self.honest = false;
                let seq = self.receiver.delivered().saturating_add_signed(seq.into());
                let data = Data { seq, sent_at: self.before(age_ms), bytes: 1500, flags: flags(bits) };
                self.arrive(&data);
            }
            Step::Stop => self.sender.stop(),
        }
    }

    fn forge(&mut self, ack: &Ack) {
        self.honest = false;
        self.window = self.window.max(ack.window.into());
        self.sender.on_ack(self.now, ack, || 0.5);
    }

    fn transmit(&mut self, most: usize) -> Vec<u64> {
        let mut sent = Vec::new();
        while sent.len() < most {
            let nxt = self.sender.nxt();
            let Some(data) = self.sender.poll_transmit(self.now) else { break };
            assert!(data.seq >= self.sender.una() && data.seq <= nxt, "{} is not to be sent", data.seq);
            assert!(!self.sender.board().is_sacked(data.seq), "{} was reported", data.seq);
            assert!(sent.len() < 10_000, "the sender does not stop");
            self.sent += 1;
            sent.push(data.seq);
            self.data.push(data);
            if let Some(at) = self.sender.poll_pacing(self.now) {
                let longest = self.sender.rtt().srtt().max(Duration::from_secs(1));
                assert!(at.since(self.now) <= longest, "the next segment would leave at {at:?}");
            }
            self.check();
        }
        sent
    }

    fn arrive(&mut self, data: &Data) {
        let before = self.receiver.delivered();
        let mine = data.flags.epoch() == EPOCH && data.seq < before + self.room;
        let ack = self.receiver.on_data(self.now, data);
        self.arrived += 1;
        self.taken += u64::from(mine);
        if mine {
            let fresh = self.received.insert(data.seq);
            assert!(fresh || ack.is_some(), "a copy is acknowledged at once");
        }
        self.acknowledge(ack);
    }

    fn acknowledge(&mut self, ack: Option<Ack>) {
        let Some(ack) = ack else { return };
        assert_eq!(ack.ack, self.receiver.delivered());
        let twice = ack.duplicate_report();
        for (start, end) in ack.runs() {
            assert!(start > ack.ack || twice == Some((start, end)));
            assert!((start..end).all(|seq| self.received.contains(&seq)));
        }
        self.acks.push(ack);
    }

    fn check(&mut self) {
        let sender = &self.sender;
        let (una, nxt, board) = (sender.una(), sender.nxt(), sender.board());
        assert!(una >= self.una && nxt >= self.nxt && una <= nxt);
        (self.una, self.nxt) = (una, nxt);
        assert!(nxt - una <= self.window, "{} outstanding of {}", nxt - una, self.window);
        let cwnd = sender.window().cwnd;
        assert!(cwnd >= 1.0 && cwnd.is_finite(), "a window of {cwnd}");
        assert!(una == nxt || sender.poll_timeout().is_some(), "no timer runs");
        assert!(una < nxt || sender.state() == State::Open, "an episode without an end");
        assert_eq!((board.una(), sender.counters().sent), (una, self.sent));
        // The scoreboard's counts against naive ones.
        let unsacked = |to: u64| (una..to.max(una)).filter(|&seq| !board.is_sacked(seq)).count() as u64;
        let sacked = nxt - una - unsacked(nxt);
        assert_eq!(board.sacked(), sacked);
        assert!(una == nxt || !board.is_sacked(una), "the first hole is reported");
        assert!(board.lost_edge() <= nxt && board.high_rxt() <= nxt);
        assert_eq!(board.lost(), unsacked(board.lost_edge()));
        assert_eq!(
            sender.in_flight(),
            unsacked(nxt) - board.lost() + unsacked(board.high_rxt()) - board.lost_again()
        );
        // The receiver.
        let missing = (0..).find(|seq| !self.received.contains(seq)).unwrap_or(0);
        assert_eq!(self.receiver.delivered(), missing);
        assert_eq!(self.receiver.held(), self.received.range(missing..).count() as u64);
        assert_eq!(self.receiver.arrived(), self.arrived);
        assert_eq!(self.receiver.duplicates(), self.taken - self.received.len() as u64);
        if self.honest {
            assert!(una <= missing && missing <= nxt + 1, "{una} {missing} {nxt}");
        }
    }

    /// From now on the peer cooperates, but it knows only what is sent from now on.
    fn finish(&mut self) {
        let mut has = BTreeSet::new();
        let mut next = self.sender.una();
        for round in 0.. {
            assert!(round < 50_000, "{} is never acknowledged", self.sender.una());
            if self.sender.is_done() {
                break;
            }
            has.extend(self.transmit(usize::MAX));
            while has.remove(&next) {
                next += 1;
            }
            if next > self.sender.una() || self.sender.una() == self.sender.nxt() {
                self.now += Duration::from_millis(10);
                if self.sender.una() == self.sender.nxt() {
                    // After round trips of a quarter of an hour segments are as far apart as that.
                    self.now = self.sender.poll_pacing(self.now).unwrap_or(self.now);
                }
                let (echo, flags) = (self.before(10), Flags::of_epoch(EPOCH));
                self.forge(&Ack { ack: next, echo, window: 100, bytes: 40, flags, ..Ack::default() });
            } else {
                let due = [self.sender.poll_timeout(), self.sender.poll_pacing(self.now)];
                self.now =
                    due.into_iter().flatten().min().expect("no timer runs and data remains").max(self.now);
                self.sender.on_timeout(self.now);
            }
            self.check();
        }
        assert_eq!(self.sender.in_flight(), 0);
        assert_eq!(self.sender.poll_timeout(), None);
    }
}

fn taken<T>(from: &mut Vec<T>, which: u8) -> Option<T> {
    (!from.is_empty()).then(|| from.remove(usize::from(which) % from.len()))
}

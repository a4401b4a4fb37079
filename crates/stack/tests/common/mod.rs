//! Two hosts and a pipe between them that loses, delays, reorders, repeats and corrupts packets.
#![allow(dead_code, reason = "not every test uses all of it")]

pub mod hand;

use ackclock_cc as cc;
use ackclock_net::{Ecn, Rng};
use ackclock_stack::{ConnectionId, Event, Host, Limits, ListenerId, Options, Refused, State, Why};
use ackclock_tcp::Config;
use ackclock_units::{Duration, Time};
use ackclock_wire::GsoBatch;
use ackclock_wire::endpoint::Header;
use ackclock_wire::offload::LENGTH;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::collections::BinaryHeap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// What the pipe does to packets.
#[derive(Clone, Copy, Debug)]
pub struct Law {
    /// The delay of every packet, and the longest additional one, which reorders.
    pub delay: Duration,
    pub jitter: Duration,
    /// Probabilities.
    pub loss: f64,
    pub twice: f64,
    pub corrupt: f64,
    /// Bits per second of each direction; 0: as many as there are.
    pub rate: u64,
    /// True: trains stay whole.
    pub trains: bool,
}

impl Default for Law {
    fn default() -> Law {
        let delay = Duration::from_millis(10);
        Law { delay, jitter: Duration::ZERO, loss: 0.0, twice: 0.0, corrupt: 0.0, rate: 0, trains: true }
    }
}

/// Arrival, number, receiving host, packet.
type Flying = Reverse<(Time, u64, usize, Vec<u8>)>;
/// Sees each packet when it leaves, and its sender.
type Tap = Box<dyn FnMut(Time, usize, &[u8])>;

/// Both hosts, and what is on the way.
pub struct Pipe {
    pub now: Time,
    pub hosts: [Host; 2],
    pub law: Law,
    pub rng: Rng,
    flight: BinaryHeap<Flying>,
    count: u64,
    free: [Time; 2],
    /// What has happened at each host.
    pub events: [Vec<Event>; 2],
    /// Packets that were carried, loss included.
    pub carried: u64,
    /// The number of the first byte that host 0 has sent.
    pub first_sequence: Option<u32>,
    /// Called with every packet on the wire, and its sender.
    pub tap: Option<Tap>,
    /// The share of packets that can be marked which are marked, and how many were.
    pub mark: f64,
    pub marked: u64,
}

pub const PORT: u16 = 80;

pub fn address(host: usize) -> IpAddr {
    IpAddr::from([10, 0, 0, host as u8 + 1])
}

/// The options with these settings and the controller of this name.
pub fn options(tcp: Config, control: &str) -> Options {
    Options::new(tcp, cc::Settings::defaults(cc::scheme(control).expect("it is in the registry")))
}

pub fn reno() -> Arc<Options> {
    Arc::new(options(Config::default(), "reno"))
}

impl Pipe {
    pub fn new(law: Law, seed: u64) -> Pipe {
        Pipe::with(law, seed, [Limits::default(), Limits::default()])
    }

    pub fn with(law: Law, seed: u64, limits: [Limits; 2]) -> Pipe {
        let [first, second] = limits;
        Pipe {
            now: Time::from_nanos(1_000_000_000),
            hosts: [Host::new(first, seed), Host::new(second, seed + 1)],
            law,
            rng: Rng::new(seed, "pipe"),
            flight: BinaryHeap::new(),
            count: 0,
            free: [Time::ZERO; 2],
            events: [Vec::new(), Vec::new()],
            carried: 0,
            first_sequence: None,
            tap: None,
            mark: 0.0,
            marked: 0,
        }
    }

    /// Host 1 listens and host 0 connects to it.
    pub fn open(&mut self, options: [Arc<Options>; 2]) -> (ConnectionId, ListenerId) {
        let [ours, theirs] = options;
        let at = SocketAddr::new(address(1), PORT);
        let listener = self.hosts[1].listen(at, theirs, 16).expect("nobody listens");
        let id =
            self.hosts[0].connect(self.now, SocketAddr::new(address(0), 0), at, ours).expect("there is room");
        (id, listener)
    }

    /// Opens a connection and returns both ends of it.
    pub fn opened(&mut self, options: [Arc<Options>; 2]) -> [ConnectionId; 2] {
        let (id, listener) = self.open(options);
        for _ in 0..1000 {
            self.step();
            if let Some(other) = self.hosts[1].accept(listener) {
                return [id, other];
            }
        }
        panic!("no connection");
    }

    fn put(&mut self, to: usize, frame: Vec<u8>) {
        self.carried += 1;
        if self.first_sequence.is_none() && to == 1 {
            let (header, payload) = hand::read(&frame);
            self.first_sequence = (!payload.is_empty()).then_some(header.seq);
        }
        if let Some(tap) = &mut self.tap {
            tap(self.now, 1 - to, &frame);
        }
        let law = self.law;
        if self.rng.uniform() < law.loss {
            return;
        }
        let mut copies = 1 + usize::from(self.rng.uniform() < law.twice);
        while copies > 0 {
            copies -= 1;
            let mut frame = frame.clone();
            if self.rng.uniform() < law.corrupt {
                let at = LENGTH + self.rng.word() as usize % (frame.len() - LENGTH);
                frame[at] ^= 1 << (self.rng.word() % 8);
            }
            if self.mark > 0.0 && self.rng.uniform() < self.mark {
                self.mark(&mut frame);
            }
            let mut leaves = self.now;
            if let Some(ns) = (frame.len() as u64 * 8 * 1_000_000_000).checked_div(law.rate) {
                let takes = Duration::from_nanos(ns);
                leaves = self.free[to].max(self.now) + takes;
                self.free[to] = leaves;
            }
            let at = leaves + law.delay + law.jitter.mul_f64(self.rng.uniform());
            self.count += 1;
            self.flight.push(Reverse((at, self.count, to, frame)));
        }
    }

    /// Marks a packet, if it says that it can be marked.
    fn mark(&mut self, frame: &mut Vec<u8>) {
        let (header, payload) = hand::read(frame);
        if matches!(header.ecn, Ecn::Ect0 | Ecn::Ect1) {
            *frame = hand::frame(&Header { ecn: Ecn::Ce, ..header }, &payload);
            self.marked += 1;
        }
    }

    /// Everything that may leave now is on the way.
    pub fn send(&mut self) {
        for from in 0..2 {
            while let Some(train) = self.hosts[from].transmit(self.now).map(|train| train.to_vec()) {
                if self.law.trains && self.law.corrupt == 0.0 {
                    self.put(1 - from, train);
                    continue;
                }
                let train = GsoBatch::new(train).expect("it is a packet");
                for segment in 0..train.segments() {
                    let packet = train.on_the_wire(segment, false);
                    self.put(1 - from, [&[0; LENGTH][..], &packet].concat());
                }
            }
        }
    }

    /// Goes on to the next arrival or timer. False: there is none.
    pub fn step(&mut self) -> bool {
        self.send();
        let arrival = self.flight.peek().map(|Reverse((at, ..))| *at);
        let timers = self.hosts.iter().filter_map(Host::poll_timeout);
        let Some(next) = timers.chain(arrival).min() else { return false };
        self.now = self.now.max(next);
        for host in &mut self.hosts {
            host.on_timeout(self.now);
        }
        while let Some(Reverse((at, ..))) = self.flight.peek()
            && *at <= self.now
        {
            let Some(Reverse((_, _, to, frame))) = self.flight.pop() else { break };
            self.hosts[to].receive(self.now, &frame);
        }
        self.send();
        for (host, events) in self.hosts.iter_mut().zip(&mut self.events) {
            while let Some(event) = host.poll_event() {
                events.push(event);
            }
        }
        true
    }

    /// Goes on for some time.
    pub fn run(&mut self, time: Duration) {
        let end = self.now + time;
        loop {
            self.send();
            let arrival = self.flight.peek().map(|Reverse((at, ..))| *at);
            let next = self.hosts.iter().filter_map(Host::poll_timeout).chain(arrival).min();
            if next.is_none_or(|next| next > end) {
                self.now = end;
                return;
            }
            self.step();
        }
    }

    pub fn state(&self, host: usize, id: ConnectionId) -> Option<State> {
        self.hosts[host].info(id).map(|info| info.state)
    }

    pub fn why(&self, host: usize, id: ConnectionId) -> Option<Why> {
        self.hosts[host].info(id).and_then(|info| info.why)
    }
}

/// One direction: what is written and what has arrived, as running sums over the bytes.
pub struct Stream {
    from: usize,
    ids: [ConnectionId; 2],
    total: u64,
    written: u64,
    pub read: u64,
    seed: u64,
    closed: bool,
    pub ended: bool,
    /// The most bytes of one write, and of one read.
    pub chunk: usize,
    pub gulp: usize,
}

/// Byte `at` of a stream.
fn byte(seed: u64, at: u64) -> u8 {
    let mixed = (at / 8 + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> (8 * (at % 8))) as u8
}

impl Stream {
    /// `total` bytes from host `from` to the other.
    pub fn new(from: usize, ids: [ConnectionId; 2], total: u64, seed: u64) -> Stream {
        let (chunk, gulp) = (100_000, 100_000);
        Stream { from, ids, total, written: 0, read: 0, seed, closed: false, ended: false, chunk, gulp }
    }

    /// Writes and reads what is possible. Panics if what arrives is not what was written.
    pub fn pump(&mut self, pipe: &mut Pipe) {
        let (from, to, now) = (self.from, 1 - self.from, pipe.now);
        while self.written < self.total {
            let length = (self.chunk as u64).min(self.total - self.written);
            let data: Vec<u8> = (self.written..self.written + length).map(|at| byte(self.seed, at)).collect();
            match pipe.hosts[from].write(now, self.ids[from], &data) {
                Ok(taken) => self.written += taken as u64,
                Err(refused) => panic!("{refused:?} after {} of {} bytes", self.written, self.total),
            }
            if pipe.hosts[from].room(self.ids[from]) == 0 {
                break;
            }
        }
        if self.written == self.total && !std::mem::replace(&mut self.closed, true) {
            pipe.hosts[from].close(now, self.ids[from]);
        }
        let mut buffer = vec![0; self.gulp];
        loop {
            match pipe.hosts[to].read(now, self.ids[to], &mut buffer) {
                Ok(0) => {
                    assert_eq!(self.read, self.total, "the stream ends too early");
                    self.ended = true;
                    break;
                }
                Ok(length) => {
                    for (place, &seen) in buffer[..length].iter().enumerate() {
                        assert_eq!(seen, byte(self.seed, self.read + place as u64), "byte {}", self.read);
                    }
                    self.read += length as u64;
                }
                Err(Refused::Empty) => break,
                Err(refused) => panic!("{refused:?} after {} of {} bytes", self.read, self.total),
            }
        }
    }
}

/// Runs both streams to their ends. Returns false if that took longer than `most`.
pub fn exchange(pipe: &mut Pipe, streams: &mut [Stream], most: Duration) -> bool {
    let end = pipe.now + most;
    while !streams.iter().all(|stream| stream.ended) {
        for stream in streams.iter_mut() {
            stream.pump(pipe);
        }
        if pipe.now > end || !pipe.step() {
            let seen: BTreeMap<_, _> = streams.iter().map(|it| (it.from, (it.read, it.total))).collect();
            println!("at {} after {} packets: {seen:?}", pipe.now, pipe.carried);
            return false;
        }
    }
    true
}

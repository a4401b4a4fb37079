//! A path for tests: a bottleneck with a queue, then a delay, with losses, duplicates and packets that
//! overtake. The path back delays and loses, too.

use ackclock_rate::loss::Label;
use ackclock_rate::packet::{Ack, Data};
use ackclock_rate::{Receiver, Sender, Transport};
use ackclock_registry::{Chosen, Given, Listed};
use ackclock_units::{Duration, Time};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// What happens to a packet.
#[derive(Clone, Copy, Debug)]
pub struct Fate {
    pub lost: bool,
    pub doubled: bool,
    /// Extra delay, ms.
    pub late: u64,
}

pub const CLEAN: Fate = Fate { lost: false, doubled: false, late: 0 };

/// The transport of this name with these settings.
pub fn control(name: &str, switches: &[(&str, Given<'_>)]) -> Chosen<Transport> {
    let mut control = Chosen::defaults(Transport::find(name).expect("it is registered"));
    for &(name, value) in switches {
        control.set(name, value).expect("the entry has it");
    }
    control
}

/// What makes TFRC comparable with ns-2's.
pub fn ns2_switches() -> [(&'static str, Given<'static>); 9] {
    [
        ("header", Given::Number(32.0)),
        ("rtt_memory", Given::Number(0.95)),
        ("tick", Given::Time(Duration::from_millis(100))),
        ("patience", Given::Number(2.0)),
        ("reorder", Given::Number(1.0)),
        ("discount", Given::Number(0.5)),
        ("damped", Given::Flag(true)),
        ("gradual", Given::Flag(true)),
        ("ramped", Given::Flag(true)),
    ]
}

/// A transfer over a path.
#[derive(Clone, Debug)]
pub struct Scene {
    pub control: Chosen<Transport>,
    /// Packets; `None` for no end.
    pub total: Option<u64>,
    /// Their size on the wire.
    pub bytes: u32,
    /// The time that the bottleneck takes for a packet.
    pub service: Duration,
    /// The queue before it.
    pub queue: Duration,
    /// Each way.
    pub delay: Duration,
    /// What happens to packets and acknowledgements, last first; then nothing happens to them.
    pub fates: Vec<Fate>,
    /// The share of data packets that are lost behind the bottleneck.
    pub loss: f64,
    /// No packet gets through in this time.
    pub outage: Option<(Time, Time)>,
    /// The end of a transfer that has none.
    pub until: Time,
}

impl Scene {
    /// Packets of 1000 bytes, 2 Mbit/s, a queue of 160 ms, 80 ms there and back.
    pub fn new(control: Chosen<Transport>, total: Option<u64>) -> Scene {
        Scene {
            control,
            total,
            bytes: 1000,
            service: Duration::from_millis(4),
            queue: Duration::from_millis(160),
            delay: Duration::from_millis(40),
            fates: Vec::new(),
            loss: 0.0,
            outage: None,
            until: Time::from_nanos(3_600_000_000_000),
        }
    }

    /// Runs it and checks what must hold at every step. `observe` is called after each packet that arrives.
    pub fn run(&self, mut observe: impl FnMut(Time, &Data, &Receiver)) -> Run {
        let mut now = Time::ZERO;
        let mut sender =
            Sender::new(&self.control, self.bytes, self.total, now, self.delay.saturating_mul(2));
        let mut receiver = Receiver::new(&self.control, self.bytes);
        let mut path = Path::new(self);
        let (mut numbers, mut dropped) = (BTreeSet::new(), Vec::new());
        while !sender.is_finished() && now < self.until {
            sender.on_timeout(now);
            while let Some(data) = sender.poll_transmit(now) {
                assert!(numbers.insert(data.number), "{} was sent twice", data.number);
                if let Some(cause) = path.data(now, data) {
                    dropped.push(cause);
                    receiver.on_drop(data.number, cause);
                }
            }
            assert!(sender.rate() > 0.0 && sender.rate() < 1.1e11, "{}", sender.rate());
            let flying = path.flying.first_key_value().map(|(&(at, _), _)| at);
            let next = [flying, sender.poll_timeout(), receiver.poll_timeout()].into_iter().flatten().min();
            let next = next.expect("something is due while data are not acknowledged");
            assert!(next > now || flying == Some(next), "time stands still at {now}");
            now = next;
            while receiver.poll_timeout().is_some_and(|due| due <= now) {
                if let Some(ack) = receiver.on_timeout(now) {
                    path.ack(now, ack);
                }
            }
            while let Some(entry) = path.flying.first_entry().filter(|entry| entry.key().0 <= now) {
                match entry.remove() {
                    Packet::Ack(ack) => {
                        sender.on_ack(now, &ack).expect("only what was sent");
                    }
                    Packet::Data(data) => {
                        let delivered = receiver.delivered();
                        if let Some(ack) = receiver.on_packet(now, &data) {
                            path.ack(now, ack);
                        }
                        assert!(receiver.delivered() >= delivered);
                        observe(now, &data, &receiver);
                    }
                }
            }
        }
        match self.total {
            Some(total) => {
                assert_eq!((receiver.delivered(), sender.is_finished()), (total, true), "{sender:?}")
            }
            None => assert!(!sender.is_finished()),
        }
        Run { end: now, sender, receiver, sent: numbers.len() as u64, dropped }
    }
}

/// What a run showed.
pub struct Run {
    pub end: Time,
    pub sender: Sender,
    pub receiver: Receiver,
    pub sent: u64,
    pub dropped: Vec<Label>,
}

/// What a receiver shows under this name.
pub fn shown(receiver: &Receiver, name: &str) -> f64 {
    let mut found = None;
    receiver.inspect(&mut |shown, value| found = found.or((shown == name).then_some(value)));
    found.expect("it shows it")
}

enum Packet {
    Data(Data),
    Ack(Ack),
}

struct Path<'a> {
    scene: &'a Scene,
    /// When the bottleneck is free.
    free: Time,
    fates: Vec<Fate>,
    /// The state of a linear congruential generator.
    random: u64,
    /// Packets in flight by arrival, and a number that keeps their order.
    flying: BTreeMap<(Time, u64), Packet>,
    count: u64,
}

impl Path<'_> {
    fn new(scene: &Scene) -> Path<'_> {
        let fates = scene.fates.clone();
        Path { scene, free: Time::ZERO, fates, random: 1, flying: BTreeMap::new(), count: 0 }
    }

    fn fate(&mut self, now: Time) -> Fate {
        let fate = self.fates.pop().unwrap_or(CLEAN);
        let dark = self.scene.outage.is_some_and(|(begin, end)| (begin..end).contains(&now));
        Fate { lost: fate.lost || dark, ..fate }
    }

    fn unlucky(&mut self) -> bool {
        self.random =
            self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.random >> 11) as f64) < self.scene.loss * (1_u64 << 53) as f64
    }

    fn fly(&mut self, at: Time, packet: Packet) {
        self.count += 1;
        self.flying.insert((at, self.count), packet);
    }

    /// The cause, if the packet is lost.
    fn data(&mut self, now: Time, data: Data) -> Option<Label> {
        let fate = self.fate(now);
        let begin = self.free.max(now);
        if begin.since(now) > self.scene.queue {
            return Some(Label::Congestion);
        }
        self.free = begin + self.scene.service;
        if fate.lost || self.unlucky() {
            return Some(Label::Transmission);
        }
        let at = self.free + self.scene.delay + Duration::from_millis(fate.late);
        self.fly(at, Packet::Data(data));
        if fate.doubled {
            self.fly(at + Duration::from_millis(1), Packet::Data(data));
        }
        None
    }

    fn ack(&mut self, now: Time, ack: Ack) {
        let fate = self.fate(now);
        if !fate.lost {
            self.fly(now + self.scene.delay + Duration::from_millis(fate.late), Packet::Ack(ack));
        }
    }
}

/// Fates in which up to 60 % are lost, and 20 % each are doubled and late.
pub fn fates() -> impl Strategy<Value = Vec<Fate>> {
    let fate = (0..100_u32, 0..100_u32, 0..100_u32, 0..60_u64);
    (prop::collection::vec(fate, 0..600), 0..60_u32, 0..20_u32, 0..20_u32).prop_map(|(all, p, d, r)| {
        let of = |(lost, doubled, late, ms): (u32, u32, u32, u64)| Fate {
            lost: lost < p,
            doubled: doubled < d,
            late: if late < r { ms } else { 0 },
        };
        all.into_iter().map(of).collect()
    })
}

/// Fates in which the packets that are marked are lost. Acknowledgements count, too.
pub fn fates_of(lost: &[bool]) -> Vec<Fate> {
    lost.iter().rev().map(|&lost| Fate { lost, ..CLEAN }).collect()
}

//! XRTP from end to end, over paths that lose, delay, duplicate and overtake.

use ackclock_rate::loss::Label;
use ackclock_rate::packet::{Ack, Data, Report};
use ackclock_rate::pair::Slot;
use ackclock_rate::xrtp::{Config, Receiver, Sender, TRANSPORT};
use ackclock_rate::{Opening, ReceivingHalf as _, SendingHalf as _};
use ackclock_registry::{Given, Settings};
use ackclock_units::{Duration, Time};
use proptest::prelude::*;
use std::collections::BTreeSet;

/// What happens to a packet.
#[derive(Clone, Copy, Debug)]
struct Fate {
    lost: bool,
    doubled: bool,
    /// Extra delay, ms.
    late: u64,
}

const CLEAN: Fate = Fate { lost: false, doubled: false, late: 0 };

enum Packet {
    Data(Data),
    Ack(Ack),
}

/// A bottleneck of 2 Mbit/s with a queue, 40 ms each way.
struct Path {
    free: Time,
    queue: Duration,
    fates: Vec<Fate>,
    /// Packets in flight by arrival, and a number that keeps their order.
    flying: std::collections::BTreeMap<(Time, u64), Packet>,
    count: u64,
}

impl Path {
    fn fate(&mut self) -> Fate {
        self.fates.pop().unwrap_or(CLEAN)
    }

    fn fly(&mut self, at: Time, packet: Packet) {
        self.count += 1;
        self.flying.insert((at, self.count), packet);
    }

    /// The cause, if the packet is lost.
    fn data(&mut self, now: Time, data: Data) -> Option<Label> {
        let fate = self.fate();
        let begin = self.free.max(now);
        if begin.since(now) > self.queue {
            return Some(Label::Congestion);
        }
        self.free = begin + Duration::from_millis(4);
        if fate.lost {
            return Some(Label::Transmission);
        }
        let at = self.free + Duration::from_millis(40 + fate.late);
        self.fly(at, Packet::Data(data));
        if fate.doubled {
            self.fly(at + Duration::from_millis(1), Packet::Data(data));
        }
        None
    }

    fn ack(&mut self, now: Time, ack: Ack) {
        let fate = self.fate();
        if !fate.lost {
            self.fly(now + Duration::from_millis(40 + fate.late), Packet::Ack(ack));
        }
    }
}

/// The rate that an acknowledgement asks for.
fn asked(ack: &Ack) -> f64 {
    if let Report::Rate(rate) = ack.report { rate } else { f64::NAN }
}

/// What a run showed.
struct Run {
    end: Time,
    sender: Sender,
    receiver: Receiver,
    sent: u64,
    dropped: Vec<Label>,
}

fn config(switches: &[(&str, Given<'_>)]) -> Config {
    let mut settings = Settings::defaults(TRANSPORT.entry.parameters);
    for &(name, value) in switches {
        settings.set(name, value).expect("the entry has it");
    }
    Config::new(settings, 1000)
}

/// Runs until all `total` data are acknowledged, and checks what must hold at every step.
fn run(config: &Config, total: u64, fates: Vec<Fate>) -> Run {
    let mut now = Time::ZERO;
    let opening = Opening { total: Some(total), now, handshake: Duration::from_millis(80) };
    let mut sender = Sender::new(config, opening);
    let mut receiver = Receiver::new(config);
    let (free, queue) = (Time::ZERO, Duration::from_millis(160));
    let mut path = Path { free, queue, fates, flying: Default::default(), count: 0 };
    let (mut numbers, mut dropped, mut halved) = (BTreeSet::new(), Vec::new(), None);
    while !sender.is_finished() {
        assert!(now < Time::from_nanos(3_600_000_000_000), "an hour has passed: {sender:?} {receiver:?}");
        while let Some(data) = sender.poll_transmit(now) {
            assert!(numbers.insert(data.number), "{} was sent twice", data.number);
            if let Some(cause) = path.data(now, data) {
                dropped.push(cause);
                receiver.on_drop(data.number, cause);
            }
        }
        let flying = path.flying.first_key_value().map(|(&(at, _), _)| at);
        let next = [flying, sender.poll_timeout(), receiver.poll_timeout()].into_iter().flatten().min();
        let next = next.expect("something is due while data are not acknowledged");
        assert!(next > now || flying == Some(next), "time stands still at {now}");
        now = next;
        if receiver.poll_timeout() == Some(now)
            && let Some(ack) = receiver.on_timeout(now)
        {
            path.ack(now, ack);
        }
        while let Some(entry) = path.flying.first_entry().filter(|entry| entry.key().0 <= now) {
            match entry.remove() {
                Packet::Ack(ack) => {
                    sender.on_ack(now, &ack).expect("only what was sent");
                }
                Packet::Data(data) => {
                    let (delivered, halvings) = (receiver.delivered(), receiver.halvings());
                    if let Some(ack) = receiver.on_packet(now, &data) {
                        assert!((8000.0..=1e11).contains(&asked(&ack)), "{ack:?}");
                        path.ack(now, ack);
                    }
                    assert!(receiver.delivered() >= delivered);
                    if receiver.halvings() > halvings {
                        let far = |(at, srtt): (Time, Duration)| now.since(at) >= srtt;
                        assert!(receiver.halvings() == halvings + 1 && halved.is_none_or(far));
                        halved = Some((now, data.srtt));
                    }
                }
            }
        }
    }
    assert_eq!(receiver.delivered(), total, "every datum once");
    Run { end: now, sender, receiver, sent: numbers.len() as u64, dropped }
}

#[test]
fn alone_it_finds_the_capacity() {
    let run = run(&config(&[]), 2000, Vec::new());
    let capacity = run.receiver.capacity().expect("pairs");
    assert!((capacity - 2e6).abs() < 1e-3, "{capacity}");
    // 2000 packets of 4 ms, and the time to climb from two packets per round trip.
    let seconds = run.end.as_secs_f64();
    assert!((8.0..10.0).contains(&seconds), "{seconds}");
    assert_eq!(run.sent, 2000);
    assert!(!run.sender.is_dark());
}

#[test]
fn a_loss_behind_an_idle_queue_is_labelled_transmission_and_does_not_halve() {
    let lost = |at: usize| Fate { lost: at % 50 == 7, ..CLEAN };
    let run = run(&config(&[]), 1000, (0..2000).rev().map(lost).collect());
    assert!(run.dropped.len() >= 20 && run.dropped.iter().all(|&it| it == Label::Transmission));
    let label = |label| run.receiver.tally().of(label, Some(Label::Transmission), true);
    let (wrong, right) = (label(Label::Congestion), label(Label::Transmission));
    assert!(right > 4 * wrong, "{right} right, {wrong} wrong");
}

#[test]
fn perfect_labels_are_the_causes() {
    let lost = |at: usize| Fate { lost: at % 9 == 4, ..CLEAN };
    // A start at 10 Mbit/s overflows the queue.
    let switches = [("loss", Given::Word("perfect")), ("start", Given::Number(100.0))];
    let run = run(&config(&switches), 1500, (0..4000).map(lost).collect());
    assert!(run.dropped.contains(&Label::Congestion) && run.dropped.contains(&Label::Transmission));
    for acted in [false, true] {
        assert_eq!(run.receiver.tally().of(Label::Congestion, Some(Label::Transmission), acted), 0);
        assert_eq!(run.receiver.tally().of(Label::Transmission, Some(Label::Congestion), acted), 0);
    }
    assert!(run.receiver.tally().total() > 100);
}

#[test]
fn a_lost_tail_is_repaired() {
    let mut fates = vec![CLEAN; 400];
    let alone = run(&config(&[]), 3, Vec::new()).end;
    // From the back: the first datum, the second one lost, the first's acknowledgement, the third one lost.
    fates.extend([true, false, true, false].map(|lost| Fate { lost, ..CLEAN }));
    let run = run(&config(&[]), 3, fates);
    assert!(run.end > alone && run.end < alone + Duration::from_millis(600), "{}", run.end);
    // Three data; the second again at 244 ms and, since a round trip is longer than srtt, at 324 ms; the
    // third.
    assert_eq!(run.sent, 6);
}

#[test]
fn a_blackout_ends_with_the_last_or_the_initial_rate() {
    let at = |ms: u64| Time::from_nanos(ms * 1_000_000);
    for (restart, rate) in [("last", 2e5), ("initial", 4e5)] {
        let mut receiver = Receiver::new(&config(&[("restart", Given::Word(restart))]));
        let mut arrive = |number: u64, sent: u64, srtt: u64| {
            let srtt = Duration::from_millis(srtt);
            let (bytes, slot, last) = (1000, Slot::Single, false);
            let data = Data { number, datum: number, bytes, sent: at(sent), srtt, slot, last };
            let ack = receiver.on_packet(at(sent + 44), &data);
            (asked(&ack.expect("it is acknowledged")), receiver.poll_timeout().expect("more is to come"))
        };
        assert_eq!(arrive(1, 0, 80), (2e5, at(44 + 160))); // four intervals of 40 ms, or 2 srtt
        assert_eq!(arrive(2, 40, 40).0, 2e5);
        // Silence: one acknowledgement per round trip.
        for ms in [244, 284, 324] {
            assert_eq!(receiver.on_timeout(at(ms - 1)), None);
            let ack = receiver.on_timeout(at(ms)).expect("it is due");
            assert_eq!((ack.echo, ack.cumulative, ack.echoed), (2, 2, None));
        }
        let data = Data {
            number: 3,
            datum: 3,
            bytes: 1000,
            sent: at(300),
            srtt: Duration::from_millis(40),
            slot: Slot::Single,
            last: true,
        };
        assert_eq!(asked(&receiver.on_packet(at(344), &data).expect("it is acknowledged")), rate);
        assert_eq!(receiver.poll_timeout(), None); // all data are there
    }
}

#[test]
fn a_coarse_clock_sends_in_bursts_at_the_same_rate() {
    let tick = Duration::from_millis(20);
    let run =
        run(&config(&[("tick", Given::Time(tick)), ("clock", Given::Word("coarse"))]), 1000, Vec::new());
    let seconds = run.end.as_secs_f64();
    assert!((4.0..8.0).contains(&seconds), "{seconds}");
}

fn fates() -> impl Strategy<Value = Vec<Fate>> {
    let fate = (0..100_u32, 0..100_u32, 0..100_u32, 0..60_u64);
    (proptest::collection::vec(fate, 0..600), 0..60_u32, 0..20_u32, 0..20_u32).prop_map(|(all, p, d, r)| {
        let of = |(lost, doubled, late, ms): (u32, u32, u32, u64)| Fate {
            lost: lost < p,
            doubled: doubled < d,
            late: if late < r { ms } else { 0 },
        };
        all.into_iter().map(of).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn every_datum_arrives_once_whatever_the_path_does(
        fates in fates(), total in 1_u64..300, reorder in prop_oneof![Just(0.0), Just(3.0)],
        law in prop_oneof![Just("interval"), Just("capped"), Just("printed")],
        loss in prop_oneof![Just("hybrid"), Just("none"), Just("perfect"), Just("biaz"), Just("spike"), Just("zigzag")],
        variant in prop_oneof![Just("n"), Just("a"), Just("c"), Just("b")],
        pair in prop_oneof![Just("within"), Just("extra")],
        restart in prop_oneof![Just("last"), Just("initial")],
    ) {
        let config = config(&[
            ("reorder", Given::Number(reorder)),
            ("law", Given::Word(law)),
            ("loss", Given::Word(loss)),
            ("variant", Given::Word(variant)),
            ("pair", Given::Word(pair)),
            ("restart", Given::Word(restart)),
        ]);
        run(&config, total, fates);
    }
}

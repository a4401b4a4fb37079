//! XRTP.

use crate::path::{CLEAN, Fate, Run, Scene, control, fates, shown};
use ackclock_rate::loss::Label;
use ackclock_rate::packet::{Ack, Data, Report};
use ackclock_rate::pair::Slot;
use ackclock_rate::xrtp::{Config, Receiver, TRANSPORT};
use ackclock_rate::{ReceivingHalf as _, Sender};
use ackclock_registry::{Given, Settings};
use ackclock_units::{Duration, Time};
use proptest::prelude::*;
use std::collections::VecDeque;

/// The rate that an acknowledgement asks for.
fn asked(ack: &Ack) -> f64 {
    if let Report::Rate(rate) = ack.report { rate } else { f64::NAN }
}

/// Runs until all `total` data are acknowledged; there is at most one halving per round trip.
fn run(switches: &[(&str, Given<'_>)], total: u64, fates: Vec<Fate>) -> Run {
    let scene = Scene { fates, ..Scene::new(control("xrtp", switches), Some(total)) };
    let (mut halvings, mut halved) = (0.0, None);
    scene.run(|now, data, receiver| {
        let more = shown(receiver, "halvings");
        if more > halvings {
            let far = |(at, srtt): (Time, Duration)| now.since(at) >= srtt;
            assert!(more == halvings + 1.0 && halved.is_none_or(far));
            (halvings, halved) = (more, Some((now, data.srtt)));
        }
        assert!((8000.0..=1e11).contains(&receiver.rate().expect("a packet arrived")));
    })
}

#[test]
fn alone_it_finds_the_capacity() {
    let run = run(&[], 2000, Vec::new());
    let capacity = shown(&run.receiver, "capacity_bps");
    assert!((capacity - 2e6).abs() < 1e-3, "{capacity}");
    // 2000 packets of 4 ms, and the time to climb from two packets per round trip.
    let seconds = run.end.as_secs_f64();
    assert!((8.0..10.0).contains(&seconds), "{seconds}");
    assert_eq!(run.sent, 2000);
    assert_eq!(run.sender.counters().timeouts, 0);
}

/// The highest rate of a sender behind 2 Mbit/s, whose receiver asks for 100 Gbit/s.
fn misled(obey: &'static str) -> f64 {
    let (service, rtt) = (Duration::from_millis(4), Duration::from_millis(80));
    let control = control("xrtp", &[("obey", Given::Word(obey))]);
    let mut sender = Sender::new(&control, 1000, None, Time::ZERO, rtt);
    let (mut now, mut free, mut most) = (Time::ZERO, Time::ZERO, sender.rate());
    let mut acks = VecDeque::new();
    while sender.counters().acknowledged < 1000 {
        while let Some(data) = sender.poll_transmit(now) {
            free = free.max(now) + service;
            let (echo, echoed, held) = (data.number, Some(data.sent), Duration::ZERO);
            let report = Report::Rate(1e11);
            acks.push_back((
                free + rtt,
                Ack { echo, cumulative: echo, sack: 0, bytes: 40, echoed, held, report },
            ));
        }
        let answered = acks.front().map(|&(at, _)| at);
        now = now.max([answered, sender.poll_timeout()].into_iter().flatten().min().expect("more is due"));
        while let Some((_, ack)) = acks.pop_front_if(|&mut (at, _)| at <= now) {
            sender.on_ack(now, &ack).expect("it was sent");
            most = most.max(sender.rate());
        }
    }
    most
}

#[test]
fn it_obeys_at_most_twice_the_rate_that_is_acknowledged() {
    let most = misled("twice");
    assert!((3.5e6..4.5e6).contains(&most), "{most}");
    assert_eq!(misled("all"), 1e11);
}

#[test]
fn a_loss_behind_an_idle_queue_is_labelled_transmission_and_does_not_halve() {
    let lost = |at: usize| Fate { lost: at % 50 == 7, ..CLEAN };
    let run = run(&[], 1000, (0..2000).rev().map(lost).collect());
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
    let run = run(&switches, 1500, (0..4000).map(lost).collect());
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
    let alone = run(&[], 3, Vec::new()).end;
    // From the back: the first datum, the second one lost, the first's acknowledgement, the third one lost.
    fates.extend([true, false, true, false].map(|lost| Fate { lost, ..CLEAN }));
    let run = run(&[], 3, fates);
    assert!(run.end > alone && run.end < alone + Duration::from_millis(600), "{}", run.end);
    // Three data; the second again at 244 ms and, since a round trip is longer than srtt, at 324 ms; the
    // third.
    assert_eq!(run.sent, 6);
}

#[test]
fn a_blackout_ends_with_the_last_or_the_initial_rate() {
    let at = |ms: u64| Time::from_nanos(ms * 1_000_000);
    for (restart, rate) in [("last", 2e5), ("initial", 4e5)] {
        let mut settings = Settings::defaults(TRANSPORT.entry.parameters);
        settings.set("restart", Given::Word(restart)).expect("the entry has it");
        let mut receiver = Receiver::new(&Config::new(settings, 1000));
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
    let run = run(&[("tick", Given::Time(tick)), ("clock", Given::Word("coarse"))], 1000, Vec::new());
    let seconds = run.end.as_secs_f64();
    assert!((4.0..8.0).contains(&seconds), "{seconds}");
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
        let switches = [
            ("reorder", Given::Number(reorder)),
            ("law", Given::Word(law)),
            ("loss", Given::Word(loss)),
            ("variant", Given::Word(variant)),
            ("pair", Given::Word(pair)),
            ("restart", Given::Word(restart)),
        ];
        run(&switches, total, fates);
    }
}

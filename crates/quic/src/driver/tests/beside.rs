//! The driver beside the simulator's TCP sender: both hear of the same packets at the same instants, over a
//! bottleneck that drops some, and have the same window after every acknowledgement.

use super::at;
use crate::control::controller;
use crate::driver::Driver;
use ackclock_cc::{QUINN, Settings, schemes, slow_start};
use ackclock_tcp::{Config, Counting, Receiver, Sender};
use ackclock_units::{Duration, Time};
use std::collections::VecDeque;

const MTU: u16 = 1500;
/// Nanoseconds that a packet takes at the bottleneck, and on the way back.
const PACKET_NS: u64 = 400_000;
const WAY_NS: u64 = 40_000_000;
/// RFC 9002 section 6.1.1: a packet is lost once one is acknowledged that was sent so many later.
const THRESHOLD: usize = 3;

/// A packet of both: the segment that TCP sends, and the packet that QUIC sends in its place.
struct Packet {
    sent: Time,
    settled: bool,
}

/// What happened in a run.
#[derive(Default)]
struct Told {
    reductions: u64,
    /// TCP's window and QUIC's after each acknowledgement.
    windows: Vec<(f64, f64)>,
}

impl Told {
    /// The largest difference of the windows, and where it was: 1 is a segment or 1 % of TCP's window,
    /// whichever is larger. That is what the eBPF programs are allowed, too. What QUIC does up to `shift`
    /// acknowledgements earlier or later than TCP counts as the same.
    fn worst(&self, shift: usize) -> (f64, usize) {
        let apart = |at: usize| {
            let theirs = self.windows[at].0;
            let near = &self.windows[at.saturating_sub(shift)..(at + shift + 1).min(self.windows.len())];
            let apart = near.iter().map(|(_, ours)| (ours - theirs).abs() / (theirs / 100.0).max(1.0));
            apart.fold(f64::INFINITY, f64::min)
        };
        (0..self.windows.len()).map(|at| (apart(at), at)).fold((0.0, 0), |a, b| if b.0 > a.0 { b } else { a })
    }
}

/// Runs `name` over a queue of `room` packets, in which also the packets with the numbers `dropped` are lost.
fn run(name: &str, room: u64, dropped: &[usize], acknowledgements: usize) -> Told {
    let settings = Settings::defaults(ackclock_cc::scheme(name).expect("a known scheme"));
    let config = Config {
        counting: Counting::Segments(u64::MAX),
        slow_start: slow_start::Settings::defaults(&slow_start::STANDARD),
        peer_window: 1 << 29,
        ..Config::default()
    };
    let control = controller(name).expect("a known scheme").slow_start("standard").expect("it is there");
    let mut receiver = Receiver::new(&config, 0);
    let mut tcp = Sender::new(config.into(), settings.build(), settings.needs(), 0, u64::MAX, at(0));
    let mut quic = Driver::new(&control, MTU, at(0));
    let (mut packets, mut arriving) = (Vec::<Packet>::new(), VecDeque::new());
    let (mut now, mut free, mut told) = (at(0), at(0), Told::default());
    loop {
        while let Some(data) = tcp.poll_transmit(now) {
            let number = packets.len();
            quic.on_sent(now, MTU.into());
            packets.push(Packet { sent: now, settled: false });
            let waiting = free.since(now).as_nanos() / PACKET_NS;
            if waiting < room && !dropped.contains(&number) {
                free = free.max(now) + Duration::from_nanos(PACKET_NS);
                arriving.push_back((free + Duration::from_nanos(WAY_NS), number, data));
            }
        }
        let Some((arrival, number, data)) = arriving.pop_front() else { break };
        now = arrival;
        let ack = receiver.on_data(now, &data).expect("every segment is acknowledged");
        tcp.on_ack(now, &ack, || 0.5);
        packets[number].settled = true;
        quic.recorded = Some(0.5);
        quic.on_acked(packets[number].sent, MTU.into(), None);
        let hole = packets[number.saturating_sub(600)..number].iter().any(|packet| !packet.settled);
        quic.on_ack_end(now, None, Some(number as u64), !hole, false);
        for lost in (0..number.saturating_sub(THRESHOLD - 1)).rev().take_while(|&it| it + 600 > number) {
            if !std::mem::replace(&mut packets[lost].settled, true) {
                quic.on_loss(now, packets[lost].sent, MTU.into(), false);
            }
        }
        told.windows.push((tcp.window().cwnd, quic.window().cwnd));
        assert_eq!(tcp.counters().timeouts, 0, "{name}: a timeout, which QUIC does not have");
        if told.windows.len() == acknowledgements {
            break;
        }
    }
    told.reductions = tcp.counters().window_cuts;
    told
}

/// The schemes that quinn runs, without `none`: its window is the receiver's, which QUIC does not tell.
fn all() -> impl Iterator<Item = &'static str> {
    let names = schemes().iter().map(|scheme| scheme.name);
    names.filter(|name| controller(name).is_ok_and(|it| it.check(&QUINN).is_ok()))
}

#[test]
fn without_losses_every_window_is_the_simulators() {
    for name in all() {
        let told = run(name, u64::MAX, &[], 20_000);
        assert_eq!((told.windows.len(), told.worst(0).0), (20_000, 0.0), "{name}");
    }
}

/// Compound and PERT decide by a threshold, once per round or per sample. One acknowledgement more or less
/// decides otherwise, and what follows differs. So of these only the average is compared.
const DECIDE_BY_THRESHOLD: [&str; 2] = ["compound", "pert"];

/// Losses one by one, far apart: TCP repairs each within a round trip, as QUIC does. They differ in one
/// thing: what arrives behind a hole grows QUIC's window until the loss is detected, and not TCP's. That is
/// left out here: such acknowledgements are told as limited by the application.
#[test]
fn after_single_losses_every_window_is_close_to_the_simulators() {
    for name in all() {
        let told = run(name, u64::MAX, &[300, 2500, 6000, 9000, 13_000], 20_000);
        let (worst, at) = told.worst(THRESHOLD);
        let sum = |of: fn(&(f64, f64)) -> f64| told.windows.iter().map(of).sum::<f64>();
        let ratio = sum(|it| it.1) / sum(|it| it.0);
        println!("{name}: {worst:.3} at {at}, average {ratio:.4}, {} reductions", told.reductions);
        assert!(told.reductions >= 5, "{name}: {} reductions", told.reductions);
        if DECIDE_BY_THRESHOLD.contains(&name) {
            assert!((0.95..=1.05).contains(&ratio), "{name}: {ratio} of the simulator's average window");
        } else {
            assert!(worst <= 1.0, "{name}: {worst} at {at}");
        }
    }
}

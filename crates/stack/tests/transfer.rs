//! Bytes arrive as they were written, whatever the pipe does and whatever carries them.

#[path = "common/attack.rs"]
#[allow(dead_code, reason = "only a packet is made here")]
mod attack;
mod common;

use ackclock_cc as cc;
use ackclock_registry::{Chosen, variants};
use ackclock_stack::{Limits, Options, State, Why};
use ackclock_tcp::{Config, Undo, detection, recovery};
use ackclock_units::Duration;
use ackclock_wire::endpoint::Header;
use common::{Law, Pipe, Stream, exchange, options, reno};
use proptest::prelude::*;
use std::sync::Arc;

const HOUR: Duration = Duration::from_secs(3600);

#[test]
fn a_transfer_and_its_end() {
    let mut pipe = Pipe::new(Law::default(), 1);
    let ids = pipe.opened([reno(), reno()]);
    let mut streams = [Stream::new(0, ids, 1_000_000, 7), Stream::new(1, ids, 1000, 8)];
    assert!(exchange(&mut pipe, &mut streams, HOUR));
    pipe.run(Duration::from_secs(1));
    // Host 0 has closed second or first, depending on which FIN came first. One of them waits.
    let states = [pipe.state(0, ids[0]), pipe.state(1, ids[1])];
    assert!(states.contains(&Some(State::TimeWait)), "{states:?}");
    pipe.run(Duration::from_secs(61));
    for (host, id) in ids.into_iter().enumerate() {
        assert_eq!(pipe.why(host, id), Some(Why::Closed));
        pipe.hosts[host].release(pipe.now, id);
        assert!(pipe.hosts[host].info(id).is_none());
        assert_eq!((pipe.hosts[host].connections(), pipe.hosts[host].memory()), (0, 0));
    }
}

/// 2^20 bytes before the wrap, and 2^20 after it, in both directions.
#[test]
fn sequence_numbers_wrap() {
    let limits = || Limits { initial_sequence: Some(u32::MAX - (1 << 20)), ..Limits::default() };
    let law = Law { loss: 0.02, jitter: Duration::from_millis(3), trains: false, ..Law::default() };
    let mut pipe = Pipe::with(law, 3, [limits(), limits()]);
    let ids = pipe.opened([reno(), reno()]);
    let mut streams = [Stream::new(0, ids, 2 << 20, 1), Stream::new(1, ids, 2 << 20, 2)];
    assert!(exchange(&mut pipe, &mut streams, HOUR));
}

/// More than 4 GiB: every number comes twice. Segments of 64 kB make it short.
#[test]
#[ignore = "half a minute: make stack-long"]
fn more_than_all_sequence_numbers() {
    let large = || Arc::new(Options { mtu: 65_535, send_buffer: 1 << 20, ..(*reno()).clone() });
    let law = Law { delay: Duration::from_millis(1), loss: 0.001, ..Law::default() };
    let mut pipe = Pipe::new(law, 3);
    let ids = pipe.opened([large(), large()]);
    let mut streams = [Stream::new(0, ids, 5 << 30, 1)];
    streams[0].chunk = 1 << 20;
    streams[0].gulp = 1 << 20;
    pipe.hosts[1].close(pipe.now, ids[1]);
    assert!(exchange(&mut pipe, &mut streams, HOUR));
}

/// 10^9 bytes, compared byte by byte, with everything that can go wrong on the way.
#[test]
#[ignore = "a minute: make stack-long"]
fn a_thousand_million_bytes_over_a_bad_path() {
    let law = Law {
        delay: Duration::from_millis(5),
        jitter: Duration::from_millis(2),
        loss: 0.002,
        twice: 0.01,
        corrupt: 0.001,
        trains: false,
        rate: 0,
    };
    let mut pipe = Pipe::new(law, 5);
    let ids = pipe.opened([reno(), reno()]);
    let mut streams = [Stream::new(0, ids, 1_000_000_000, 1)];
    pipe.hosts[1].close(pipe.now, ids[1]);
    assert!(exchange(&mut pipe, &mut streams, Duration::from_secs(360_000)));
}

/// Every controller, with every recovery and detection that fit together, carries a transfer over a path that
/// loses and reorders.
#[test]
fn every_scheme_carries_data() {
    let law = Law { loss: 0.01, jitter: Duration::from_millis(2), trains: false, ..Law::default() };
    let carry = |tcp: Config, control: cc::Settings| {
        let what = format!("{} {} {}", control.scheme().name, tcp.recovery.name(), tcp.detection.name());
        let options = Arc::new(Options::new(tcp, control));
        let mut pipe = Pipe::new(law, 11);
        let ids = pipe.opened([options, reno()]);
        let mut streams = [Stream::new(0, ids, 300_000, 1), Stream::new(1, ids, 2000, 2)];
        assert!(exchange(&mut pipe, &mut streams, HOUR), "{what}");
    };
    for scheme in cc::schemes() {
        let control = cc::Settings::defaults(scheme);
        let needs = control.needs();
        let ecn = needs.marks;
        let tcp = Config { ecn, dctcp_echo: ecn, l4s: needs.l4s, ..Config::default() };
        carry(tcp, control);
    }
    let cubic = || cc::Settings::defaults(cc::scheme("cubic").expect("it is there"));
    for recovery in variants::<recovery::Scheme>() {
        for detection in variants::<detection::Scheme>() {
            if detection.scheme().selective && !recovery.scheme().selective {
                continue;
            }
            carry(Config { recovery: recovery.clone(), detection, ..Config::default() }, cubic());
        }
    }
}

fn law() -> impl Strategy<Value = Law> {
    let chances = (0.0..0.1_f64, 0.0..0.1_f64, 0.0..0.05_f64);
    (1_u64..50, 0_u64..30, chances, any::<bool>(), prop_oneof![Just(0), 500_000_u64..100_000_000]).prop_map(
        |(delay, jitter, (loss, twice, corrupt), trains, rate)| Law {
            delay: Duration::from_millis(delay),
            jitter: Duration::from_millis(jitter),
            loss,
            twice,
            corrupt: if trains { 0.0 } else { corrupt },
            rate,
            trains,
        },
    )
}

/// The settings of one end.
fn settings() -> impl Strategy<Value = Options> {
    let recoveries = proptest::sample::select(variants::<recovery::Scheme>());
    let detections = proptest::sample::select(variants::<detection::Scheme>());
    let controls = proptest::sample::select(cc::schemes().to_vec());
    let flags = any::<[bool; 5]>();
    let sizes = (576_u32..3000, 3000_usize..300_000, 3000_usize..300_000, 0..3);
    (recoveries, detections, controls, flags, sizes).prop_map(
        |(recovery, mut detection, control, [timestamps, ecn, nagle, delayed, limited], sizes)| {
            if detection.scheme().selective && !recovery.scheme().selective {
                detection = Chosen::defaults(&detection::DUPACKS);
            }
            let undo = match sizes.3 {
                1 if recovery.scheme().selective => Undo::Duplicates,
                2 if timestamps => Undo::Eifel,
                _ => Undo::Never,
            };
            let tcp = Config {
                recovery,
                detection,
                undo,
                timestamps,
                ecn,
                limited_transmit: limited,
                delayed_ack: delayed.then(|| Duration::from_millis(40)),
                quick_acks: if limited { 16 } else { 0 },
                ..Config::default()
            };
            let control = cc::Settings::defaults(control);
            let (mtu, send_buffer, receive_buffer) = (sizes.0, sizes.1, sizes.2);
            Options { nagle, mtu, send_buffer, receive_buffer, ..Options::new(tcp, control) }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(200), max_shrink_iters: 200, ..ProptestConfig::default() })]

    /// Any two ends over any pipe: what was written arrives, both ends learn of the end, and nothing is left.
    #[test]
    fn what_is_written_arrives(
        law in law(),
        first in settings(),
        second in settings(),
        seed in 0_u64..1 << 40,
        sizes in (0_u64..200_000, 0_u64..200_000),
        chunks in (1_usize..20_000, 1_usize..20_000),
        initial in prop_oneof![Just(None), (0_u32..200_000).prop_map(|back| Some(0_u32.wrapping_sub(back)))],
    ) {
        let limits = || Limits { initial_sequence: initial, ..Limits::default() };
        let mut pipe = Pipe::with(law, seed, [limits(), limits()]);
        let ids = pipe.opened([Arc::new(first), Arc::new(second)]);
        let mut streams = [Stream::new(0, ids, sizes.0, seed), Stream::new(1, ids, sizes.1, seed + 1)];
        for stream in &mut streams {
            (stream.chunk, stream.gulp) = chunks;
        }
        prop_assert!(exchange(&mut pipe, &mut streams, HOUR));
        for (host, id) in ids.into_iter().enumerate() {
            pipe.hosts[host].release(pipe.now, id);
        }
        pipe.run(Duration::from_secs(600));
        for host in &pipe.hosts {
            prop_assert_eq!((host.connections(), host.memory()), (0, 0));
        }
    }
}

/// One byte at a time costs one packet each as long as the window allows, or with Nagle one per round trip.
#[test]
fn nagle_joins_small_writes() {
    for nagle in [false, true] {
        let sender = Arc::new(Options { nagle, ..(*reno()).clone() });
        let mut pipe = Pipe::new(Law::default(), 1);
        let ids = pipe.opened([sender, reno()]);
        let before = pipe.hosts[0].counts().segments_out;
        for _ in 0..100 {
            pipe.hosts[0].write(pipe.now, ids[0], b"x").expect("there is room");
            pipe.run(Duration::from_millis(1));
        }
        pipe.run(Duration::from_secs(1));
        let sent = pipe.hosts[0].counts().segments_out - before;
        let mut all = [0; 200];
        assert_eq!(pipe.hosts[1].read(pipe.now, ids[1], &mut all), Ok(100));
        assert!(if nagle { sent < 10 } else { sent > 60 }, "{sent} with Nagle {nagle}");
    }
}

/// A reader that sleeps closes the window. Nothing is lost, and little is sent meanwhile.
#[test]
fn a_closed_window_is_probed_until_it_opens() {
    let small = Arc::new(Options { receive_buffer: 20_000, ..(*reno()).clone() });
    let mut pipe = Pipe::new(Law { loss: 0.2, trains: false, ..Law::default() }, 9);
    let ids = pipe.opened([reno(), small]);
    pipe.hosts[1].close(pipe.now, ids[1]);
    let before = pipe.carried;
    assert_eq!(pipe.hosts[0].write(pipe.now, ids[0], &[1; 100_000]), Ok(100_000));
    // The reader sleeps for longer than the sender would wait for a silent peer.
    pipe.run(Duration::from_secs(600));
    assert_eq!(pipe.hosts[1].info(ids[1]).map(|info| info.unread), Some(20_000));
    assert!(pipe.carried - before < 200, "{} packets", pipe.carried - before);
    let mut buffer = [0; 7000];
    let mut read = 0;
    while read < 100_000 {
        if let Ok(bytes) = pipe.hosts[1].read(pipe.now, ids[1], &mut buffer) {
            assert!(buffer[..bytes].iter().all(|&byte| byte == 1));
            read += bytes;
        }
        pipe.run(Duration::from_millis(100));
    }
    assert_eq!(pipe.state(0, ids[0]), Some(State::CloseWait));
}

/// A router on the way says that it forwards less. What was sent is sent again in smaller segments.
#[test]
fn a_smaller_mtu_on_the_way_is_learnt() {
    let law = Law { trains: false, ..Law::default() };
    let mut pipe = Pipe::new(law, 1);
    let ids = pipe.opened([reno(), reno()]);
    let data: Vec<u8> = (0..50_000_u32).map(|at| at as u8).collect();
    pipe.hosts[0].write(pipe.now, ids[0], &data).expect("there is room");
    pipe.law.loss = 1.0; // the router drops the first window
    pipe.run(Duration::from_millis(5));
    pipe.law.loss = 0.0;
    let (local, remote) = pipe.hosts[0].ends(ids[0]).expect("it is there");
    let largest = std::rc::Rc::new(std::cell::Cell::new(0));
    let seen = largest.clone();
    pipe.tap = Some(Box::new(move |_, from, frame| {
        if from == 0 {
            seen.set(seen.get().max(frame.len()));
        }
    }));
    let seq = pipe.first_sequence.expect("a segment was sent");
    let about = Header { from: local, to: remote, seq, ..common::hand::header(1, 0, 0, 0) };
    let message = attack::too_big(&about, 1000);
    pipe.hosts[0].receive(pipe.now, &message);
    pipe.run(Duration::from_millis(150)); // before any timeout
    let mut buffer = vec![0; 60_000];
    let read = pipe.hosts[1].read(pipe.now, ids[1], &mut buffer).expect("it has arrived");
    assert_eq!(buffer[..read], data[..read]);
    assert!(read >= 14_480, "{read}");
    pipe.run(Duration::from_secs(5));
    assert!(largest.get() <= 10 + 1000, "{} bytes", largest.get());
    let timeouts = pipe.hosts[0].info(ids[0]).and_then(|info| info.sender).map(|it| it.counters.timeouts);
    assert_eq!(timeouts, Some(0));
}

/// The settings that the peer does not go along with have a substitute.
#[test]
fn a_peer_without_options_is_served() {
    let plain = Config {
        timestamps: false,
        recovery: Chosen::defaults(recovery::scheme("reno").expect("it is there")),
        ..Config::default()
    };
    let rack = Config {
        detection: Chosen::defaults(detection::scheme("rack").expect("it is there")),
        undo: Undo::Eifel,
        ecn: true,
        ..Config::default()
    };
    let law = Law { loss: 0.03, trains: false, ..Law::default() };
    let mut pipe = Pipe::new(law, 2);
    let ids = pipe.opened([Arc::new(options(rack, "cubic")), Arc::new(options(plain, "reno"))]);
    let mut streams = [Stream::new(0, ids, 500_000, 1), Stream::new(1, ids, 500_000, 2)];
    assert!(exchange(&mut pipe, &mut streams, HOUR));
    let counters = pipe.hosts[0].info(ids[0]).and_then(|info| info.sender).map(|it| it.counters);
    assert!(counters.is_none_or(|counters| counters.fast_retransmits > 0));
}

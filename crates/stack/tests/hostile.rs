//! Peers that lie, segments that are forged, and floods.

mod common;

use ackclock_stack::{Event, Host, Limits, Options, Refused, State, Why};
use ackclock_tcp::Config;
use ackclock_units::{Duration, Time};
use ackclock_wire::endpoint::{Header, flag};
use common::hand::{Peer, frame, header, sent};
use common::{Law, Pipe, address, options, reno};
use std::net::SocketAddr;
use std::sync::Arc;

fn at(ms: u64) -> Time {
    Time::from_nanos(ms * 1_000_000)
}

/// The options of a SYN with everything.
fn offers() -> ackclock_wire::Options {
    let mut options = ackclock_wire::Options::default();
    options.mss = Some(1460);
    options.sack_permitted = true;
    options.timestamps = Some((1, 0));
    options.window_scale = Some(0);
    options
}

/// A host with a connection to a peer by hand.
fn peer_with(options: Arc<Options>, offers: ackclock_wire::Options) -> Peer {
    let mut host = Host::new(Limits { initial_sequence: Some(1_000_000), ..Limits::default() }, 1);
    let to = SocketAddr::new(address(1), common::PORT);
    let id = host.connect(at(1000), SocketAddr::new(address(0), 0), to, options).expect("there is room");
    Peer::answer(host, at(1000), id, offers)
}

fn peer() -> Peer {
    peer_with(reno(), offers())
}

fn state(peer: &Peer) -> Option<State> {
    peer.host.info(peer.id).map(|info| info.state)
}

/// RFC 5961 section 3: a reset counts only with exactly the expected number.
#[test]
fn a_forged_reset_is_challenged() {
    for (offset, ends, answers) in [(0, true, 0), (1, false, 1), (1000, false, 1), (1 << 30, false, 0)] {
        let mut peer = peer();
        let mut reset = peer.header(flag::RST);
        reset.seq = peer.seq.wrapping_add(offset);
        reset.options.timestamps = None;
        peer.give(&reset, &[]);
        let expected = if ends { State::Closed } else { State::Established };
        assert_eq!(state(&peer), Some(expected), "{offset}");
        let sent = peer.take();
        assert_eq!(sent.len(), answers, "{offset}: {sent:?}");
        assert!(sent.iter().all(|(header, _)| header.flags == flag::ACK && header.ack == peer.seq));
    }
}

/// RFC 5961 section 4: a SYN in the middle is challenged, and not more often than twice a second.
#[test]
fn a_storm_of_forged_segments_is_answered_seldom() {
    let mut peer = peer();
    let mut answers = 0;
    for step in 0..10_000_u32 {
        let flags = [flag::SYN, flag::RST, flag::SYN | flag::ACK, flag::FIN, flag::ACK][step as usize % 5];
        let mut forged = peer.header(flags);
        forged.seq = peer.seq.wrapping_add(1 + step % 50_000);
        forged.ack = peer.ack.wrapping_add(step * 7919 + 100_000);
        forged.options.timestamps = peer.stamps;
        peer.give(&forged, &[]);
        answers += peer.take().len();
        peer.now += Duration::from_micros(100);
    }
    assert_eq!(state(&peer), Some(State::Established));
    assert!((1..=3).contains(&answers), "{answers} answers in a second");
}

/// RFC 5961 section 5 and RFC 9293: an acknowledgement of what was never sent changes nothing.
#[test]
fn an_acknowledgement_of_the_future_is_ignored() {
    let mut peer = peer();
    peer.host.write(peer.now, peer.id, &[1; 5000]).expect("there is room");
    let sent: usize = peer.take().iter().map(|(_, payload)| payload.len()).sum();
    assert_eq!(sent, 5000);
    let mut lie = peer.header(flag::ACK);
    lie.ack = peer.ack.wrapping_add(5001);
    peer.give(&lie, &[]);
    assert_eq!(peer.host.info(peer.id).map(|info| info.acknowledged), Some(0));
    assert_eq!(peer.take().len(), 1, "the present state is shown");
    lie.ack = peer.ack.wrapping_add(5000);
    peer.give(&lie, &[]);
    assert_eq!(peer.host.info(peer.id).map(|info| info.acknowledged), Some(5000));
}

/// Reports of what was never sent, of nothing, reversed ones, and of a part of a segment move nothing.
#[test]
fn lies_in_selective_acknowledgements_are_ignored() {
    let mut peer = peer();
    peer.host.write(peer.now, peer.id, &[1; 14_480]).expect("there is room");
    peer.take();
    let una = peer.ack;
    for (start, end) in
        [(14_480, 20_000), (0x7000_0000, 0x7000_1000), (5000, 3000), (3000, 3000), (1500, 2000)]
    {
        let mut lie = peer.header(flag::ACK);
        lie.options.add_sack(una.wrapping_add(start), una.wrapping_add(end));
        peer.give(&lie, &[]);
    }
    assert!(peer.take().is_empty(), "nothing is retransmitted");
    let info = peer.host.info(peer.id).and_then(|info| info.sender).expect("there is a sender");
    assert_eq!((info.in_flight, info.counters.retransmits), (10, 0));
    // Three whole segments, with edges that are not theirs.
    let mut honest = peer.header(flag::ACK);
    honest.options.add_sack(una.wrapping_add(1448 - 10), una.wrapping_add(4 * 1448 + 10));
    peer.give(&honest, &[]);
    let info = peer.host.info(peer.id).and_then(|info| info.sender).expect("there is a sender");
    assert_eq!(info.counters.retransmits, 0);
    assert_eq!(peer.take().first().map(|(header, _)| header.seq), Some(una), "the first one is lost");
}

/// Whatever a peer echoes, the round-trip time is between the sending and now.
/// Four blocks are one more than there is room for, so it is asked which of them tells nothing new. Some here
/// name acknowledged segments, of which the scoreboard remembers nothing.
#[test]
fn acknowledged_segments_in_blocks_tell_nothing() {
    let mut offers = offers();
    offers.timestamps = None;
    let mut peer = peer_with(reno(), offers);
    peer.host.write(peer.now, peer.id, &[1; 14_480]).expect("there is room");
    peer.take();
    let una = peer.ack;
    let payload = 1460;
    let byte = |segment: u32| una.wrapping_add(segment * payload);
    peer.ack = byte(4);
    peer.give(&peer.header(flag::ACK), &[]);
    for last in [(1, 3), (2, 6)] {
        let mut lie = peer.header(flag::ACK);
        for (start, end) in [(5, 6), (0, 4), (3, 4), last] {
            lie.options.add_sack(byte(start), byte(end));
        }
        peer.give(&lie, &[]);
        assert_eq!(state(&peer), Some(State::Established));
    }
    let info = peer.host.info(peer.id).and_then(|info| info.sender).expect("there is a sender");
    assert_eq!(info.counters.retransmits, 0);
}

#[test]
fn lies_in_echoes_do_not_reach_the_estimator() {
    for echo in [0, 1, u32::MAX, 0x8000_0000, 1_000_000 + 5000] {
        let mut peer = peer();
        peer.now = at(2000);
        peer.host.write(peer.now, peer.id, &[1; 1000]).expect("there is room");
        peer.take();
        peer.now = at(2040);
        let mut lie = peer.header(flag::ACK);
        lie.ack = peer.ack.wrapping_add(1000);
        lie.options.timestamps = Some((2000, echo));
        peer.give(&lie, &[]);
        let info = peer.host.info(peer.id).and_then(|info| info.sender).expect("there is a sender");
        assert_eq!(info.srtt, Duration::from_millis(40), "{echo}");
    }
}

/// The time of a segment is known to the nanosecond, although the clock on the wire has milliseconds.
#[test]
fn round_trip_times_are_exact() {
    let mut peer = peer();
    peer.now = Time::from_nanos(2_000_300_000);
    peer.host.write(peer.now, peer.id, &[1; 1000]).expect("there is room");
    let (sent, _) = peer.take().pop().expect("a segment");
    peer.now = Time::from_nanos(2_041_000_001);
    let mut ack = peer.header(flag::ACK);
    ack.ack = peer.ack.wrapping_add(1000);
    ack.options.timestamps = Some((2000, sent.options.timestamps.expect("timestamps").0));
    peer.give(&ack, &[]);
    let info = peer.host.info(peer.id).and_then(|info| info.sender).expect("there is a sender");
    assert_eq!(info.srtt, Duration::from_nanos(40_700_001));
}

/// RFC 7323 section 5: a segment with an old timestamp is dropped and answered.
#[test]
fn old_timestamps_protect_against_wrapped_numbers() {
    let mut peer = peer();
    let mut data = peer.header(flag::ACK);
    data.options.timestamps = Some((5000, 0));
    peer.give(&data, b"new");
    peer.take();
    let mut old = peer.header(flag::ACK);
    old.seq = peer.seq.wrapping_add(3);
    old.options.timestamps = Some((4000, 0));
    peer.give(&old, b"old");
    let mut buffer = [0; 10];
    assert_eq!(peer.host.read(peer.now, peer.id, &mut buffer), Ok(3));
    assert_eq!(&buffer[..3], b"new");
    assert_eq!(peer.host.read(peer.now, peer.id, &mut buffer), Err(Refused::Empty));
    old.options.timestamps = Some((5001, 0));
    peer.give(&old, b"yes");
    assert_eq!(peer.host.read(peer.now, peer.id, &mut buffer), Ok(3));
}

/// A flood of SYNs from everywhere: bounded memory, and a real client still gets through.
#[test]
fn a_flood_of_syns_is_bounded() {
    let limits = Limits { half_open: 100, ..Limits::default() };
    let mut host = Host::new(limits, 1);
    let at_port = SocketAddr::new(address(0), 80);
    let listener = host.listen(at_port, reno(), 10).expect("nobody listens");
    let now = at(1000);
    let syn = |from: u32| {
        let mut syn = header(80, from, 0, flag::SYN);
        syn.from = SocketAddr::from(((0x0b00_0000 + from).to_be_bytes(), 4000));
        syn.options = offers();
        syn
    };
    for from in 0..20_000 {
        host.receive(now, &frame(&syn(from), &[]));
        assert_eq!(sent(&mut host, now).len(), 1);
    }
    assert_eq!(host.connections(), 100);
    assert_eq!(host.counts().forgotten_syns, 19_900);
    // The newest one completes its handshake.
    host.receive(now, &frame(&syn(30_000), &[]));
    let (answer, _) = sent(&mut host, now).pop().expect("an answer");
    let mut ack = syn(30_000);
    (ack.seq, ack.ack, ack.flags) = (30_001, answer.seq.wrapping_add(1), flag::ACK);
    host.receive(now, &frame(&ack, &[]));
    assert_eq!(host.poll_event(), Some(Event::Incoming(listener)));
    assert!(host.accept(listener).is_some());
    // After a minute and a half without answers the others are gone.
    while let Some(next) = host.poll_timeout().filter(|&next| next < at(400_000)) {
        host.on_timeout(next);
        sent(&mut host, next);
    }
    assert_eq!(host.connections(), 1);
}

/// Whoever is for nobody gets a reset, up to a limit, and never a reset for a reset.
#[test]
fn segments_for_nobody_are_answered_up_to_a_limit() {
    let mut host = Host::new(Limits { challenges: 5, ..Limits::default() }, 1);
    let count = |host: &mut Host, flags: u16, now: Time| {
        host.receive(now, &frame(&header(99, 10, 20, flags), &[]));
        sent(host, now)
    };
    let answer = count(&mut host, flag::ACK, at(1000));
    assert_eq!(answer.first().map(|(it, _)| (it.flags, it.seq)), Some((flag::RST, 20)));
    let answer = count(&mut host, flag::SYN, at(1000));
    let first = answer.first().map(|(it, _)| (it.flags, it.seq, it.ack));
    assert_eq!(first, Some((flag::RST | flag::ACK, 0, 11)));
    assert!(count(&mut host, flag::RST, at(1000)).is_empty());
    let answers: usize = (0..100).map(|_| count(&mut host, flag::ACK, at(1000)).len()).sum();
    assert_eq!(answers, 3);
    assert_eq!(count(&mut host, flag::ACK, at(2000)).len(), 1, "a second later");
}

/// Nobody answers: the application hears of it after R2, for the SYN and for data.
#[test]
fn a_silent_peer_is_given_up() {
    let mut pipe = Pipe::new(Law { loss: 1.0, ..Law::default() }, 1);
    let (id, _) = pipe.open([reno(), reno()]);
    pipe.run(Duration::from_secs(170));
    assert_eq!(pipe.why(0, id), None);
    pipe.run(Duration::from_secs(60));
    assert_eq!(pipe.why(0, id), Some(Why::TimedOut));
    let mut pipe = Pipe::new(Law::default(), 1);
    let ids = pipe.opened([reno(), reno()]);
    pipe.law.loss = 1.0;
    pipe.hosts[0].write(pipe.now, ids[0], b"hello").expect("there is room");
    pipe.run(Duration::from_secs(290));
    assert_eq!(pipe.why(0, ids[0]), None);
    pipe.run(Duration::from_secs(120));
    assert_eq!(pipe.why(0, ids[0]), Some(Why::TimedOut));
    assert_eq!(pipe.hosts[0].write(pipe.now, ids[0], b"x"), Err(Refused::Ended(Why::TimedOut)));
}

/// A peer takes the probe of its closed window and is silent from then on: the next probe is the next byte,
/// and the peer is given up as any other.
#[test]
fn a_peer_that_has_taken_a_probe_is_given_up() {
    let mut peer = peer();
    let closed = Header { window: 0, ..peer.header(flag::ACK) };
    peer.give(&closed, &[]);
    peer.host.write(peer.now, peer.id, b"hello").expect("there is room");
    assert_eq!(peer.take(), [], "the window is closed");
    peer.now = wake(&mut peer.host);
    let probe = peer.take();
    assert_eq!(probe[0].1, b"h");
    peer.ack = peer.ack.wrapping_add(1);
    let taken = Header { window: 0, ..peer.header(flag::ACK) };
    peer.give(&taken, &[]);
    peer.now = wake(&mut peer.host);
    assert_eq!(peer.take()[0].1, b"e");
    let heard = peer.now;
    while peer.host.info(peer.id).is_some_and(|info| info.why.is_none()) {
        peer.now = wake(&mut peer.host);
        peer.take();
        assert!(peer.now.since(heard) < Duration::from_secs(400), "it is never given up");
    }
    assert_eq!(peer.host.info(peer.id).and_then(|info| info.why), Some(Why::TimedOut));
}

/// Does what is due next, and returns when that was.
fn wake(host: &mut Host) -> Time {
    let due = host.poll_timeout().expect("there is a timer");
    host.on_timeout(due);
    due
}

/// RFC 9293 section 3.8.4: an idle connection is probed, a living peer answers, a dead one is noticed.
#[test]
fn keep_alive_notices_a_dead_peer() {
    let probing = Options { keep_alive: Some(ackclock_stack::KeepAlive::default()), ..(*reno()).clone() };
    let mut pipe = Pipe::new(Law::default(), 1);
    let ids = pipe.opened([Arc::new(probing), reno()]);
    pipe.run(Duration::from_secs(30_000));
    assert_eq!(pipe.state(0, ids[0]), Some(State::Established));
    pipe.law.loss = 1.0;
    pipe.run(Duration::from_secs(7300 + 9 * 75));
    assert_eq!(pipe.why(0, ids[0]), Some(Why::TimedOut));
}

/// Half-close: one direction ends, the other goes on.
#[test]
fn one_direction_may_end_alone() {
    let mut pipe = Pipe::new(Law::default(), 1);
    let ids = pipe.opened([reno(), reno()]);
    pipe.hosts[0].write(pipe.now, ids[0], b"question").expect("there is room");
    pipe.hosts[0].close(pipe.now, ids[0]);
    pipe.run(Duration::from_secs(100));
    assert_eq!(
        (pipe.state(0, ids[0]), pipe.state(1, ids[1])),
        (Some(State::FinWait2), Some(State::CloseWait))
    );
    let mut buffer = [0; 100];
    assert_eq!(pipe.hosts[1].read(pipe.now, ids[1], &mut buffer), Ok(8));
    assert_eq!(pipe.hosts[1].read(pipe.now, ids[1], &mut buffer), Ok(0));
    assert_eq!(pipe.hosts[0].write(pipe.now, ids[0], b"more"), Err(Refused::Closed));
    pipe.hosts[1].write(pipe.now, ids[1], b"answer").expect("there is room");
    pipe.hosts[1].close(pipe.now, ids[1]);
    pipe.run(Duration::from_secs(1));
    assert_eq!(pipe.hosts[0].read(pipe.now, ids[0], &mut buffer), Ok(6));
    assert_eq!((pipe.state(0, ids[0]), pipe.why(1, ids[1])), (Some(State::TimeWait), Some(Why::Closed)));
}

/// What is written and closed before the handshake is complete follows it.
#[test]
fn a_connection_may_be_closed_before_it_is_open() {
    let mut pipe = Pipe::new(Law::default(), 1);
    let (id, listener) = pipe.open([reno(), reno()]);
    pipe.hosts[0].write(pipe.now, id, b"all of it").expect("it waits for the handshake");
    pipe.hosts[0].close(pipe.now, id);
    pipe.run(Duration::from_secs(1));
    let other = pipe.hosts[1].accept(listener).expect("established");
    let mut buffer = [0; 100];
    assert_eq!(pipe.hosts[1].read(pipe.now, other, &mut buffer), Ok(9));
    assert_eq!(pipe.hosts[1].read(pipe.now, other, &mut buffer), Ok(0));
    assert_eq!(pipe.state(0, id), Some(State::FinWait2));
}

/// An abort and unread data are told to the peer as a reset.
#[test]
fn resets_are_passed_on() {
    for unread in [false, true] {
        let mut pipe = Pipe::new(Law::default(), 1);
        let ids = pipe.opened([reno(), reno()]);
        if unread {
            pipe.hosts[0].write(pipe.now, ids[0], b"never read").expect("there is room");
            pipe.run(Duration::from_millis(50));
            pipe.hosts[1].release(pipe.now, ids[1]);
        } else {
            pipe.hosts[1].abort(pipe.now, ids[1]);
        }
        pipe.run(Duration::from_millis(50));
        assert_eq!(pipe.why(0, ids[0]), Some(Why::Reset));
        assert!(pipe.events[0].contains(&Event::Ended(ids[0], Why::Reset)));
    }
}

/// Nobody listens: the SYN is refused.
#[test]
fn a_refused_connection_is_told() {
    let mut pipe = Pipe::new(Law::default(), 1);
    let to = SocketAddr::new(address(1), 9);
    let id =
        pipe.hosts[0].connect(pipe.now, SocketAddr::new(address(0), 0), to, reno()).expect("there is room");
    pipe.run(Duration::from_millis(100));
    assert_eq!(pipe.why(0, id), Some(Why::Refused));
}

/// Both open at the same time (RFC 9293 section 3.5, figure 7).
#[test]
fn both_may_open_at_the_same_time() {
    let mut host = Host::new(Limits::default(), 1);
    let to = SocketAddr::new(address(1), common::PORT);
    let now = at(1000);
    let id = host.connect(now, SocketAddr::new(address(0), 0), to, reno()).expect("there is room");
    let (syn, _) = sent(&mut host, now).pop().expect("a SYN");
    let mut theirs = header(syn.from.port(), 77, 0, flag::SYN);
    theirs.options = offers();
    host.receive(now, &frame(&theirs, &[]));
    let (answer, _) = sent(&mut host, now).pop().expect("an answer");
    assert_eq!((answer.flags, answer.ack, answer.seq), (flag::SYN | flag::ACK, 78, syn.seq));
    (theirs.flags, theirs.ack) = (flag::SYN | flag::ACK, syn.seq.wrapping_add(1));
    host.receive(now, &frame(&theirs, &[]));
    assert_eq!(host.info(id).map(|info| info.state), Some(State::Established));
    assert_eq!(host.poll_event(), Some(Event::Connected(id)));
}

/// RFC 6191: in TIME-WAIT a SYN with a newer timestamp opens a new connection between the same ends.
#[test]
fn a_newer_syn_may_follow_time_wait() {
    let mut host = Host::new(Limits::default(), 1);
    let listener = host.listen(SocketAddr::new(address(0), 80), reno(), 4).expect("nobody listens");
    let open = |host: &mut Host, now: Time, seq: u32, stamp: u32| {
        let mut syn = header(80, seq, 0, flag::SYN);
        syn.options = offers();
        syn.options.timestamps = Some((stamp, 0));
        host.receive(now, &frame(&syn, &[]));
        let (answer, _) = sent(host, now).pop().expect("an answer");
        assert_eq!(answer.flags & (flag::SYN | flag::ACK), flag::SYN | flag::ACK);
        let mut ack = header(80, seq.wrapping_add(1), answer.seq.wrapping_add(1), flag::ACK);
        ack.options.timestamps = Some((stamp, 0));
        host.receive(now, &frame(&ack, &[]));
        (host.accept(listener).expect("established"), ack)
    };
    let (id, ack) = open(&mut host, at(1000), 500, 10);
    host.close(at(1000), id);
    sent(&mut host, at(1000));
    let fin = Header { flags: flag::FIN | flag::ACK, ack: ack.ack.wrapping_add(1), ..ack };
    host.receive(at(1000), &frame(&fin, &[]));
    assert_eq!(host.info(id).map(|info| info.state), Some(State::TimeWait));
    sent(&mut host, at(1000));
    let (next, _) = open(&mut host, at(2000), 400, 11);
    assert_ne!(next, id);
    assert_eq!(host.info(next).map(|info| info.state), Some(State::Established));
}

/// RFC 3168: marks are echoed until the sender says that it has reduced its window, and it does.
#[test]
fn marks_are_negotiated_and_echoed() {
    let ecn = Arc::new(options(Config { ecn: true, ..Config::default() }, "reno"));
    let mut host = Host::new(Limits::default(), 1);
    let to = SocketAddr::new(address(1), common::PORT);
    let id = host.connect(at(1000), SocketAddr::new(address(0), 0), to, ecn).expect("there is room");
    let (syn, _) = sent(&mut host, at(1000)).pop().expect("a SYN");
    assert!(syn.has(flag::ECE | flag::CWR));
    let mut answer = header(syn.from.port(), 900, syn.seq.wrapping_add(1), flag::SYN | flag::ACK | flag::ECE);
    answer.options = offers();
    answer.options.timestamps = None;
    host.receive(at(1000), &frame(&answer, &[]));
    sent(&mut host, at(1000));
    host.write(at(1000), id, &[0; 14_600]).expect("there is room");
    assert!(sent(&mut host, at(1000)).iter().all(|(it, _)| it.ecn == ackclock_net::Ecn::Ect0));
    let mut echo = header(syn.from.port(), 901, syn.seq.wrapping_add(1 + 2920), flag::ACK | flag::ECE);
    host.receive(at(1040), &frame(&echo, &[]));
    host.write(at(1040), id, &[0; 14_600]).expect("there is room");
    echo.ack = syn.seq.wrapping_add(1 + 14_600);
    host.receive(at(1080), &frame(&echo, &[]));
    let next = sent(&mut host, at(1080));
    assert!(next.first().is_some_and(|(it, _)| it.has(flag::CWR)), "{next:?}");
    // The other direction: a mark is echoed until CWR.
    let mut data = header(syn.from.port(), 901, echo.ack, flag::ACK);
    data.ecn = ackclock_net::Ecn::Ce;
    host.receive(at(1080), &frame(&data, b"x"));
    assert!(sent(&mut host, at(1080)).iter().all(|(it, _)| it.has(flag::ECE)));
    (data.seq, data.ecn, data.flags) = (902, ackclock_net::Ecn::Ect0, flag::ACK | flag::CWR);
    host.receive(at(1080), &frame(&data, b"y"));
    let answers = sent(&mut host, at(1080));
    assert!(!answers.is_empty() && answers.iter().all(|(it, _)| !it.has(flag::ECE)), "{answers:?}");
}

/// RFC 2883: what arrives twice is reported, and what is above a hole, the newest first.
#[test]
fn duplicates_and_holes_are_reported() {
    let mut peer = peer();
    let base = peer.seq;
    let mut give = |offset: u32, payload: &[u8]| {
        let mut data = peer.header(flag::ACK);
        data.seq = base.wrapping_add(offset);
        peer.give(&data, payload);
        let (ack, _) = peer.take().pop().expect("an acknowledgement");
        let relative = |&(start, end): &(u32, u32)| (start.wrapping_sub(base), end.wrapping_sub(base));
        (ack.ack.wrapping_sub(base), ack.options.sacks().iter().map(relative).collect::<Vec<_>>())
    };
    assert_eq!(give(0, &[0; 100]), (100, vec![]));
    assert_eq!(give(200, &[0; 100]), (100, vec![(200, 300)]));
    assert_eq!(give(400, &[0; 100]), (100, vec![(400, 500), (200, 300)]));
    assert_eq!(give(0, &[0; 50]), (100, vec![(0, 50), (400, 500), (200, 300)]));
    assert_eq!(give(420, &[0; 20]), (100, vec![(420, 440), (400, 500), (200, 300)]));
    assert_eq!(give(100, &[0; 100]), (300, vec![(400, 500)]));
    assert_eq!(give(300, &[0; 200]), (500, vec![(400, 500)]), "the second half was there");
    assert_eq!(give(500, &[0; 10]), (510, vec![]));
}

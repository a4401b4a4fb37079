//! Accurate ECN between two hosts, and towards a peer by hand (RFC 9768).

mod common;

use ackclock_net::Ecn;
use ackclock_stack::{ConnectionId, EcnFeedback, Host, Limits, Options};
use ackclock_tcp::Config;
use ackclock_units::{Duration, Time};
use ackclock_wire::endpoint::{Header, flag};
use common::hand::{frame, header, read, sent};
use common::{Law, Pipe, address, options};
use std::net::SocketAddr;
use std::sync::Arc;

const ACE: u16 = flag::AE | flag::CWR | flag::ECE;

fn at(ms: u64) -> Time {
    Time::from_nanos(ms * 1_000_000)
}

fn ecn(control: &str) -> Arc<Options> {
    let marks = ["dctcp", "prague"].contains(&control);
    let tcp = Config { ecn: true, dctcp_echo: marks, l4s: control == "prague", ..Config::default() };
    Arc::new(options(tcp, control))
}

fn listening(control: &str) -> Host {
    let mut host = Host::new(Limits::default(), 1);
    let here = SocketAddr::new(address(0), 7);
    host.listen(here, ecn(control), 4).expect("nobody listens");
    host
}

/// A SYN for that host with these flags and this codepoint.
fn syn(flags: u16, ecn: Ecn) -> Header {
    Header { ecn, ..header(7, 900, 0, flag::SYN | flags) }
}

fn answer_to(host: &mut Host, ms: u64, syn: &Header) -> Header {
    host.receive(at(ms), &frame(syn, &[]));
    sent(host, at(ms)).pop().expect("an answer").0
}

/// Table 2: what a SYN asks for, and with which codepoint it came, decides the flags of the answer.
#[test]
fn answers_tell_how_the_syn_has_arrived() {
    let told = [
        (ACE, Ecn::NotEct, flag::CWR),
        (ACE, Ecn::Ect1, flag::CWR | flag::ECE),
        (ACE, Ecn::Ect0, flag::AE),
        (ACE, Ecn::Ce, flag::AE | flag::CWR),
        (flag::AE, Ecn::NotEct, flag::CWR), // section 3.1.3
        (flag::CWR | flag::ECE, Ecn::NotEct, flag::ECE),
        (0, Ecn::NotEct, 0),
    ];
    for (asked, ecn, expected) in told {
        let answer = answer_to(&mut listening("reno"), 1000, &syn(asked, ecn));
        assert_eq!(answer.flags & ACE, expected, "{asked:#x} {ecn:?}");
        assert_eq!(answer.options.echoed.is_some(), asked & flag::AE != 0);
    }
}

/// Sections 3.1.4.2, 3.1.5 and 3.2.3.2.2: the answer is tried without the option, then without ECN; who asks
/// for two kinds of feedback is refused.
#[test]
fn a_server_falls_back() {
    let mut host = listening("dctcp");
    let first = answer_to(&mut host, 1000, &syn(ACE, Ecn::NotEct));
    assert_eq!((first.flags & ACE, first.options.echoed.map(|it| it.counters)), (flag::CWR, Some([1, 0, 1])));
    let again = answer_to(&mut host, 2000, &syn(ACE, Ecn::Ce));
    assert_eq!((again.flags & ACE, again.options.echoed), (flag::AE | flag::CWR, None));
    let last = answer_to(&mut host, 4000, &syn(0, Ecn::NotEct));
    assert_eq!(last.flags & ACE, 0);
    let mut host = listening("dctcp");
    answer_to(&mut host, 1000, &syn(ACE, Ecn::NotEct));
    assert!(answer_to(&mut host, 2000, &syn(flag::CWR | flag::ECE, Ecn::NotEct)).has(flag::RST));
}

/// Section 3.1.4.1: two SYNs ask for it, the third does not.
#[test]
fn a_client_falls_back() {
    let mut host = Host::new(Limits::default(), 1);
    let (from, to) = (SocketAddr::new(address(0), 0), SocketAddr::new(address(1), common::PORT));
    host.connect(at(1000), from, to, ecn("dctcp")).expect("there is room");
    let mut flags = Vec::new();
    for ms in [1000, 2000, 4000, 8000] {
        host.on_timeout(at(ms));
        flags.extend(sent(&mut host, at(ms)).iter().map(|(syn, _)| syn.flags & ACE));
    }
    assert_eq!(flags, [ACE, ACE, 0, 0]);
}

/// A client of accurate ECN whose SYN was answered with these flags, and its acknowledgement of the answer.
fn opened(answer: u16, codepoint: Ecn) -> (Host, ConnectionId, Header) {
    let mut host = Host::new(Limits::default(), 1);
    let (from, to) = (SocketAddr::new(address(0), 0), SocketAddr::new(address(1), common::PORT));
    let id = host.connect(at(1000), from, to, ecn("dctcp")).expect("there is room");
    let (syn, _) = sent(&mut host, at(1000)).pop().expect("a SYN");
    let flags = flag::SYN | flag::ACK | answer;
    let answer = Header { ecn: codepoint, ..header(syn.from.port(), 900, syn.seq.wrapping_add(1), flags) };
    host.receive(at(1000), &frame(&answer, &[]));
    let (ack, _) = sent(&mut host, at(1000)).pop().expect("an acknowledgement");
    (host, id, ack)
}

/// Table 3, and what is agreed on.
#[test]
fn the_last_acknowledgement_of_the_handshake_tells_how_the_answer_has_arrived() {
    for (codepoint, expected) in [
        (Ecn::NotEct, flag::CWR),
        (Ecn::Ect1, flag::CWR | flag::ECE),
        (Ecn::Ect0, flag::AE),
        (Ecn::Ce, flag::AE | flag::CWR),
    ] {
        let (mut host, id, ack) = opened(flag::CWR, codepoint);
        assert_eq!(ack.flags & ACE, expected);
        assert!(ack.options.echoed.is_some());
        assert_eq!(host.info(id).map(|info| info.feedback), Some(EcnFeedback::Accurate));
        // From then on the counter: 5, or 6 behind a marked answer.
        host.write(at(1001), id, b"x").expect("there is room");
        let (data, _) = sent(&mut host, at(1001)).pop().expect("data");
        let counter = if codepoint == Ecn::Ce { flag::AE | flag::CWR } else { flag::AE | flag::ECE };
        assert_eq!((data.flags & ACE, data.ecn), (counter, Ecn::Ect0));
    }
    for (answer, expected) in [
        (0, EcnFeedback::None),
        (ACE, EcnFeedback::None), // a broken reflection
        (flag::ECE, EcnFeedback::Classic),
        (flag::AE | flag::ECE, EcnFeedback::Accurate), // section 3.1.3
    ] {
        let (host, id, _) = opened(answer, Ecn::NotEct);
        assert_eq!(host.info(id).map(|info| info.feedback), Some(expected));
    }
}

/// Section 3.2.2.3: where our SYN's codepoint was changed, nothing says that it can be marked.
#[test]
fn a_path_that_changes_codepoints_gets_none() {
    for (answer, expected) in
        [(flag::CWR, Ecn::Ect0), (flag::AE, Ecn::NotEct), (flag::AE | flag::CWR, Ecn::NotEct)]
    {
        let (mut host, id, _) = opened(answer, Ecn::NotEct);
        host.write(at(1001), id, b"x").expect("there is room");
        assert_eq!(sent(&mut host, at(1001)).pop().expect("data").0.ecn, expected);
    }
}

/// Marks are counted, also past a cycle of the counter, and told on segments of the other direction.
#[test]
fn a_receiver_counts_marks() {
    let (mut host, _, ack) = opened(flag::CWR, Ecn::NotEct);
    let (mut seq, mut counter) = (901_u32, 5_u16);
    for mark in [true, false, true, true, true, false, true, true, true, true] {
        let ecn = if mark { Ecn::Ce } else { Ecn::Ect0 };
        let data = Header { ecn, ..header(ack.from.port(), seq, ack.seq, flag::ACK) };
        host.receive(at(1010), &frame(&data, &[7; 100]));
        (seq, counter) = (seq.wrapping_add(100), (counter + u16::from(mark)) % 8);
        let (told, _) = sent(&mut host, at(1010)).pop().expect("an acknowledgement");
        let [ae, cwr, ece] = [told.has(flag::AE), told.has(flag::CWR), told.has(flag::ECE)].map(u16::from);
        assert_eq!(4 * ae + 2 * cwr + ece, counter);
        let bytes = told.options.echoed.expect("counters of bytes");
        assert!(!bytes.reversed && bytes.count == 2, "{bytes:?}");
    }
    // One segment less with ECT(0): 2 of 10 were not marked.
    let data = Header { ecn: Ecn::Ect0, ..header(ack.from.port(), seq, ack.seq, flag::ACK) };
    host.receive(at(1020), &frame(&data, &[7; 100]));
    let (told, _) = sent(&mut host, at(1020)).pop().expect("an acknowledgement");
    assert_eq!(told.options.echoed.map(|it| it.counters), Some([301, 800, 0]));
}

/// Over a path that marks a share of the packets, each mark reaches the controller, with acknowledgements
/// lost and trains as they are: as many as were made.
#[test]
fn every_mark_reaches_the_controller() {
    for (control, loss) in [("dctcp", 0.0), ("dctcp", 0.05), ("prague", 0.0)] {
        let law = Law { loss, trains: false, ..Law::default() };
        let mut pipe = Pipe::new(law, 5);
        pipe.mark = 0.1;
        let [id, other] = pipe.opened([ecn(control), ecn("reno")]);
        assert_eq!(pipe.hosts[1].info(other).map(|info| info.feedback), Some(EcnFeedback::Accurate));
        let codepoint = Arc::new(std::sync::Mutex::new([0_u64; 2]));
        let seen = codepoint.clone();
        pipe.tap = Some(Box::new(move |_, from, packet| {
            let (header, payload) = read(packet);
            if from == 0 && !payload.is_empty() {
                let mut seen = seen.lock().expect("one thread");
                seen[0] += u64::from(header.ecn == Ecn::Ect0);
                seen[1] += u64::from(header.ecn == Ecn::Ect1);
            }
        }));
        for _ in 0..400 {
            let _ = pipe.hosts[0].write(pipe.now, id, &[1; 20_000]);
            pipe.run(Duration::from_millis(10));
            while pipe.hosts[1].read(pipe.now, other, &mut [0; 100_000]).is_ok_and(|bytes| bytes > 0) {}
        }
        let mut alpha = None;
        pipe.hosts[0].inspect(id, &mut |name, value| alpha = alpha.or((name == "alpha").then_some(value)));
        let alpha = alpha.expect("it is shown");
        println!("{control} {loss}: alpha {alpha}, {} marks", pipe.marked);
        assert!((0.05..0.2).contains(&alpha), "{control}: the share of marks is {alpha}, and 0.1 was made");
        let [ect0, ect1] = *codepoint.lock().expect("one thread");
        assert!(if control == "prague" { ect1 > 100 && ect0 == 0 } else { ect0 > 100 && ect1 == 0 });
    }
}

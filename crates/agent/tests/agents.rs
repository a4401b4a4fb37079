//! Agents and controllers over loopback: what arrives, and what is refused.

mod common;

use ackclock_agent::certificates::{Authority, Purpose};
use ackclock_agent::consent::{ANSWER, HELLO, Verdict};
use ackclock_agent::policy::Policy;
use ackclock_agent::protocol::{Meeting, Reply, Request};
use ackclock_agent::tls::Identity;
use common::{Raw, Running, hello, identity, one, pair, run, secrets, user};
use rustls::ClientConfig;
use std::io::{Read, Write};
use std::net::{TcpListener, UdpSocket};
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

#[test]
fn bursts_arrive_whole_and_are_counted_at_both_ends() {
    let authority = Authority::new().expect("an authority");
    let (a, b) =
        (Running::start(&authority, Policy::default()), Running::start(&authority, Policy::default()));
    let kind = "burst (blocksize=12800, period=5000, duration=1, stamps=50)";
    let outcome = one(&pair(&a, &b, kind, ("tcp (window=1048576)", "tcp")), &user(&authority));
    assert_eq!(outcome.failed, None);
    let (sent, got) = (&outcome.source.report, &outcome.sink.report);
    let bursts = sent.bursts.as_ref().expect("bursts");
    assert_eq!((bursts.written, bursts.due), (201, Some(201)));
    assert_eq!((sent.bytes, got.bytes), (201 * 12_800, 201 * 12_800));
    assert_eq!(outcome.source.stamps.len(), 50);
    assert!(!outcome.sink.stamps.is_empty() && outcome.sink.stamps.is_sorted());
    assert!(sent.duration_s >= 1.0, "{sent:?}");
}

#[test]
fn all_types_and_blocks_run_and_every_byte_is_accounted_for() {
    let authority = Authority::new().expect("an authority");
    let (a, b) =
        (Running::start(&authority, Policy::default()), Running::start(&authority, Policy::default()));
    let kinds = [
        ("full (blocksize=1000, duration=0.2)", "tcp"),
        ("full (blocksize=1200, duration=0.2)", "udp (rate=\"20 Mbit/s\")"),
        ("burst (blocksize=1000, repeats=4, period=2000, duration=0.2)", "udp"),
        ("burst (blocksize=3000, period=1000, duration=0.2, late=skip)", "tcp (rate=\"8 Mbit/s\")"),
        ("burstq (blocksize=uniform(from=1,to=900), period=exponential(mean=3000), duration=0.2)", "tcp"),
        ("burst (blocksize=500, repeats=uniform(from=0,to=4), period=2000, duration=0.2)", "udp"),
    ];
    let tests: Vec<String> = kinds.iter().map(|&(kind, how)| pair(&a, &b, kind, (how, how))).collect();
    let text = format!(
        "serial {{ cluster {{ {} {} }} parallel {{ {} {} }} {} {} }}",
        tests[0], tests[1], tests[2], tests[3], tests[4], tests[5]
    );
    let outcomes = run(&text, &user(&authority)).expect("it runs");
    for ((kind, how), outcome) in kinds.iter().zip(&outcomes) {
        assert_eq!(outcome.failed, None, "{kind} {how}");
        let (sent, got) = (&outcome.source.report, &outcome.sink.report);
        // A busy host loses datagrams, and counts them.
        let lost = got.datagrams.as_ref().map_or(0, |datagrams| datagrams.lost * sent.bytes / sent.calls);
        assert!(sent.bytes > 0 && sent.bytes == got.bytes + lost, "{kind} {how}: {sent:?} {got:?}");
    }
    let spaced = &outcomes[1].source.report;
    assert_eq!(spaced.bytes, 1200 * 417, "20 Mbit/s for 0.2 s, in whole datagrams");
    let skipped = outcomes[3].source.report.bursts.as_ref().expect("bursts");
    assert_eq!(skipped.written + skipped.skipped, 201);
}

/// A page and a file are sent whole however short the test is; frames come as often as they should.
#[test]
fn types_of_traffic_run_over_both_protocols() {
    let authority = Authority::new().expect("an authority");
    let (a, b) =
        (Running::start(&authority, Policy::default()), Running::start(&authority, Policy::default()));
    let kinds = [
        ("ftp", "tcp", 1),
        ("telnet", "tcp", 1),
        ("http", "tcp", 1),
        ("video", "udp", 5),
        ("mpeg", "tcp", 11),
        ("mpeg", "udp", 11),
        ("videoconference", "udp", 13),
        ("voice", "udp", 21),
    ];
    let tests: Vec<String> = kinds
        .iter()
        .map(|&(kind, how, _)| pair(&a, &b, &format!("{kind} (duration=\"401 ms\")"), (how, how)))
        .collect();
    let outcomes = run(&format!("cluster {{ {} }}", tests.join(" ")), &user(&authority)).expect("it runs");
    for ((kind, how, least), outcome) in kinds.iter().zip(&outcomes) {
        assert_eq!(outcome.failed, None, "{kind} {how}");
        let (sent, got) = (&outcome.source.report, &outcome.sink.report);
        let bursts = sent.bursts.as_ref().expect("bursts").written;
        assert!(bursts >= *least && bursts <= 25.max(*least), "{kind} {how}: {bursts} bursts");
        assert!(sent.bytes > 0 && (*how == "udp" || sent.bytes == got.bytes), "{kind} {how}: {sent:?}");
    }
}

#[test]
fn who_is_not_trusted_is_told_why() {
    let (ours, theirs) = (Authority::new().expect("an authority"), Authority::new().expect("an authority"));
    let a = Running::start(&ours, Policy::default());
    let text = format!("cluster {{ {} }}", pair(&a, &a, "full (duration=0.1)", ("tcp", "tcp")));
    let error = |config: &Arc<ClientConfig>| run(&text, config).expect_err("it is refused").error;
    assert_eq!(error(&user(&theirs)), "wrong_ca");
    // The agent's certificate is right for the controller, and not the other way round.
    let made = theirs.sign("alice", Purpose::User, 48, 1).expect("a certificate");
    let mixed =
        Identity::from_pem(ours.certificate().as_bytes(), made.certificate.as_bytes(), made.key.as_bytes());
    assert_eq!(error(&mixed.expect("PEM").client().expect("a configuration")), "wrong_ca");
    let expired = identity(&ours, "alice", Purpose::User, -1).client().expect("a configuration");
    assert_eq!(error(&expired), "expired_certificate");
    let host = identity(&ours, "alice", Purpose::Host, 1).client().expect("a configuration");
    assert_eq!(error(&host), "tls", "a host's certificate controls nobody");

    let old = Running::with(identity(&ours, "127.0.0.1", Purpose::Host, -1), Policy::default());
    let text = format!("cluster {{ {} }}", pair(&old, &old, "full (duration=0.1)", ("tcp", "tcp")));
    assert_eq!(run(&text, &user(&ours)).expect_err("it is refused").error, "expired_certificate");
    let other = Running::with(identity(&ours, "b.example", Purpose::Host, 1), Policy::default());
    let text = format!("cluster {{ {} }}", pair(&other, &other, "full (duration=0.1)", ("tcp", "tcp")));
    assert_eq!(run(&text, &user(&ours)).expect_err("it is refused").error, "wrong_name");
}

#[test]
fn a_policy_refuses_by_name_and_limits_what_goes_on() {
    let authority = Authority::new().expect("an authority");
    let rule = "[[allow]]\ntowards = [\"127.0.0.1/32\"]\nbytes = \"1 MB\"\nduration = \"5 s\"";
    let strict = Running::start(&authority, Policy::read("p", rule).expect("a policy"));
    let free = Running::start(&authority, Policy::default());
    let config = user(&authority);
    let failed = |text: String| one(&text, &config).failed.map(|refusal| refusal.error);
    let burst = "burst (blocksize=100000, period=10000, duration=1)";
    assert_eq!(failed(pair(&strict, &free, burst, ("tcp", "tcp"))).as_deref(), Some("refused_by_policy"));
    let nocc = pair(&free, &free, "full (duration=0.1)", ("tcp (nocc=1)", "tcp"));
    assert_eq!(failed(nocc).as_deref(), Some("refused_by_policy"));
    // Both ends keep the limit: the source where nothing was said beforehand, and the sink.
    for (source, sink) in [(&strict, &free), (&free, &strict)] {
        let outcome = one(&pair(source, sink, "full (duration=2)", ("tcp", "tcp")), &config);
        assert_eq!(outcome.failed.map(|refusal| refusal.error).as_deref(), Some("limit_bytes"));
        assert!(outcome.sink.report.bytes < 3_000_000, "{:?}", outcome.sink.report);
    }
}

#[test]
fn a_cookie_opens_one_connection_once() {
    let authority = Authority::new().expect("an authority");
    let agent = Running::start(&authority, Policy::default());
    let mut raw = Raw::open(&agent, &authority);
    let meeting = raw.sink(1, "tcp");
    let (_kept, first) = hello(&meeting, [1; 16]);
    assert_eq!(first, Some(Verdict::Welcome));
    assert_eq!(hello(&meeting, [2; 16]).1, Some(Verdict::Replayed));
    let guess = Meeting { cookie: "00".repeat(16), ..meeting.clone() };
    assert_eq!(hello(&guess, [3; 16]).1, Some(Verdict::Unknown));
    // A source that is given a used cookie says so.
    assert_eq!(raw.setup(2, "full", "tcp", None, Some(meeting)), Reply::Done {});
    raw.ask(&Request::Open { tests: vec![2] });
    let begun = Instant::now();
    let failed = loop {
        assert!(begun.elapsed() < Duration::from_secs(20), "nothing is told");
        let Reply::Changes { changes, .. } = raw.ask(&Request::Renew {}) else { panic!("changes") };
        let told = changes.iter().find(|it| it.test == 2).map(|it| format!("{:?}", it.state));
        match told {
            Some(state) => break state,
            None => sleep(Duration::from_millis(20)),
        }
    };
    assert!(failed.contains("replayed_cookie"), "{failed}");
    let meeting = raw.sink(3, "udp");
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    socket.set_read_timeout(Some(Duration::from_secs(5))).expect("set");
    let other = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    other.set_read_timeout(Some(Duration::from_secs(5))).expect("set");
    let ask = |socket: &UdpSocket, nonce| {
        socket.send_to(&secrets(&meeting).hello(nonce), meeting.address).expect("sent");
        let mut answer = [0; ANSWER];
        let length = socket.recv(&mut answer).expect("an answer");
        assert!(length <= HELLO, "nobody is made to send more than came");
        secrets(&meeting).read_answer(nonce, &answer)
    };
    assert_eq!(ask(&socket, [1; 16]), Some(Verdict::Welcome));
    drop(other);
}

/// A server that is no sink gets a hello, and nothing else.
#[test]
fn who_takes_no_part_is_sent_nothing() {
    let authority = Authority::new().expect("an authority");
    let agent = Running::start(&authority, Policy::default());
    let server = TcpListener::bind("127.0.0.1:0").expect("a port");
    let datagrams = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let mut raw = Raw::open(&agent, &authority);
    let meeting = |address| Meeting { address, cookie: "11".repeat(16), key: "22".repeat(16) };
    raw.setup(1, "full", "tcp", None, Some(meeting(server.local_addr().expect("an address"))));
    raw.setup(
        2,
        "full",
        "udp (rate=\"10 Mbit/s\")",
        None,
        Some(meeting(datagrams.local_addr().expect("an address"))),
    );
    raw.ask(&Request::Open { tests: vec![1, 2] });
    let (mut stream, _) = server.accept().expect("a connection");
    let mut hello = [0; HELLO];
    stream.read_exact(&mut hello).expect("a hello");
    stream
        .write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        .expect("written");
    raw.ask(&Request::Run { tests: vec![1, 2] });
    datagrams.set_read_timeout(Some(Duration::from_millis(500))).expect("set");
    let (mut buffer, mut came, begun) = ([0; 2000], 0, Instant::now());
    while begun.elapsed() < Duration::from_secs(2) {
        raw.ask(&Request::Renew {});
        if let Ok(length) = datagrams.recv(&mut buffer) {
            assert_eq!(length, HELLO);
            came += 1;
        }
    }
    assert!((1..=11).contains(&came), "{came} hellos in two seconds");
    let mut rest = Vec::new();
    // A reset, too, is nothing.
    let _ = stream.read_to_end(&mut rest);
    assert_eq!(rest, b"");
}

#[test]
fn a_controller_that_is_silent_stops_all_traffic() {
    let authority = Authority::new().expect("an authority");
    let agent = Running::start(&authority, Policy::default());
    let mut raw = Raw::open(&agent, &authority);
    let meeting = raw.sink(1, "tcp");
    raw.setup(2, "full (duration=60)", "tcp", None, Some(meeting));
    // Our own sink, which sees when the traffic ends. A renewal would keep it going.
    let own = raw.sink(3, "udp");
    let (mut stream, verdict) = hello(&raw.sink(4, "tcp"), [5; 16]);
    assert_eq!(verdict, Some(Verdict::Welcome));
    let (begun, block) = (Instant::now(), vec![0; 10_000]);
    stream.set_write_timeout(Some(Duration::from_secs(5))).expect("set");
    while stream.write_all(&block).is_ok() {
        assert!(begun.elapsed() < Duration::from_secs(4), "the sink still reads");
        sleep(Duration::from_millis(5));
    }
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(2), "{took:?}");
    drop(own);
}

#[test]
fn nonsense_is_answered_and_ends_nothing_else() {
    let authority = Authority::new().expect("an authority");
    let agent = Running::start(&authority, Policy::default());
    let mut raw = Raw::open(&agent, &authority);
    let named = |reply: Reply| match reply {
        Reply::Refused(refusal) => refusal.error,
        reply => panic!("{reply:?}"),
    };
    for line in [
        "",
        "{}",
        "[]",
        "null",
        "{\"do\":\"dance\"}",
        "{\"do\":\"run\"}",
        "{\"do\":\"run\",\"tests\":[-1]}",
        "\u{0}",
    ] {
        assert_eq!(named(raw.say(format!("{line}\n").as_bytes())), "bad_message", "{line:?}");
    }
    assert_eq!(raw.ask(&Request::Run { tests: vec![7] }), Reply::Done {});
    assert_eq!(named(raw.ask(&Request::Report { test: 7, from: 0 })), "bad_message");
    let meeting = raw.sink(1, "tcp");
    assert_eq!(named(raw.setup(1, "full", "tcp", Some(0), None)), "bad_message", "the number is taken");
    assert_eq!(named(raw.setup(2, "full", "tcp", None, None)), "bad_message", "a source without a sink");
    let bad = Meeting { cookie: "x".to_owned(), ..meeting };
    assert_eq!(named(raw.setup(3, "full", "tcp", None, Some(bad))), "bad_message");
    assert_eq!(
        named(raw.setup(4, "full", "tcp (control=nonesuch)", Some(agent.address.port()), None)),
        "address_in_use"
    );
}

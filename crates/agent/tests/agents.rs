//! Agents and controllers over loopback: what arrives, and what is refused.

mod common;

use ackclock_agent::certificates::{Authority, Purpose};
use ackclock_agent::consent::{HELLO, Secrets, Verdict};
use ackclock_agent::policy::Policy;
use ackclock_agent::protocol::{Meeting, Reply, Request, State};
use ackclock_agent::tls::Identity;
use common::{LONG, Raw, Running, hello, identity, one, pair, run, secrets, user};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use std::io::{Read, Write};
use std::net::{TcpListener, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, sleep};
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
    assert_eq!(error(&host), "wrong_purpose", "a host's certificate controls nobody");
    assert_eq!(error(&without_certificate(&ours)), "no_certificate");

    let old = Running::with(identity(&ours, "127.0.0.1", Purpose::Host, -1), Policy::default());
    let text = format!("cluster {{ {} }}", pair(&old, &old, "full (duration=0.1)", ("tcp", "tcp")));
    assert_eq!(run(&text, &user(&ours)).expect_err("it is refused").error, "expired_certificate");
    for (identity, name) in [
        (identity(&ours, "b.example", Purpose::Host, 1), "wrong_name"),
        (identity(&ours, "127.0.0.1", Purpose::User, 1), "wrong_purpose"),
        (future(&ours), "not_yet_valid"),
    ] {
        let other = Running::with(identity, Policy::default());
        let text = format!("cluster {{ {} }}", pair(&other, &other, "full (duration=0.1)", ("tcp", "tcp")));
        let refusal = run(&text, &user(&ours)).expect_err("it is refused");
        assert_eq!(refusal.error, name, "{}", refusal.message);
    }
}

/// A controller that trusts this authority, and shows nothing itself.
fn without_certificate(authority: &Authority) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    for root in CertificateDer::pem_slice_iter(authority.certificate().as_bytes()) {
        roots.add(root.expect("PEM")).expect("a certificate");
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("TLS 1.3");
    Arc::new(config.with_root_certificates(roots).with_no_client_auth())
}

/// A host whose certificate begins tomorrow.
fn future(authority: &Authority) -> Identity {
    let made = authority.sign("127.0.0.1", Purpose::Host, -24, 48).expect("a certificate");
    let [certificate, key] = [&made.certificate, &made.key].map(|it| it.as_bytes());
    Identity::from_pem(authority.certificate().as_bytes(), certificate, key).expect("PEM")
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
}

/// Over UDP a cookie is for one address and one hello. The same hello again is answered again, because the
/// answer may have been lost; whoever else shows the cookie gets nothing, and nothing of his counts.
#[test]
fn a_cookie_over_udp_is_for_one_source() {
    let authority = Authority::new().expect("an authority");
    let agent = Running::start(&authority, Policy::default());
    let mut raw = Raw::open(&agent, &authority);
    let meeting = raw.sink(1, "udp");
    let socket = || {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        socket.set_read_timeout(Some(Duration::from_secs(5))).expect("set");
        socket
    };
    let verdict = |socket: &UdpSocket, secrets: Secrets, nonce| {
        socket.send_to(&secrets.hello(nonce), meeting.address).expect("sent");
        loop {
            let mut answer = [0; HELLO];
            let length = socket.recv(&mut answer).expect("an answer");
            assert!(length < HELLO, "nobody is made to send more than came");
            // Renewals of consent come in between.
            if let Some(verdict) = secrets.read_answer(nonce, &answer[..length]) {
                return verdict;
            }
        }
    };
    let (ours, theirs, right) = (socket(), socket(), secrets(&meeting));
    let guess = Secrets { cookie: [0; 16], ..right };
    assert_eq!(verdict(&theirs, guess, [1; 16]), Verdict::Unknown);
    assert_eq!(verdict(&ours, right, [2; 16]), Verdict::Welcome);
    assert_eq!(verdict(&ours, right, [2; 16]), Verdict::Welcome, "the answer was lost");
    assert_eq!(verdict(&ours, right, [3; 16]), Verdict::Replayed);
    // A datagram with data: its number with the highest bit set, and when it left.
    let data = |number: u64| [(1 << 63 | number).to_be_bytes(), [0; 8]].concat();
    theirs.send_to(&right.hello([2; 16]), meeting.address).expect("sent");
    theirs.send_to(&data(7), meeting.address).expect("sent");
    ours.send_to(&data(0), meeting.address).expect("sent");
    theirs.set_read_timeout(Some(Duration::from_millis(300))).expect("set");
    assert!(theirs.recv(&mut [0; HELLO]).is_err(), "a replay from elsewhere is answered");
    raw.ask(&Request::Finish { tests: vec![1] });
    let begun = Instant::now();
    loop {
        assert!(begun.elapsed() < LONG, "nothing is told");
        let Reply::Changes { changes, .. } = raw.ask(&Request::Renew {}) else { panic!("changes") };
        if changes.iter().any(|it| it.test == 1 && it.state == State::Finished) {
            break;
        }
        sleep(Duration::from_millis(20));
    }
    let Reply::Report { report, .. } = raw.ask(&Request::Report { test: 1, from: 0 }) else {
        panic!("a report")
    };
    assert_eq!((report.bytes, report.calls), (16, 1), "only its source counts");
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

/// Both ends of both protocols stop. The other ends are this test, which sees when.
#[test]
fn a_controller_that_is_silent_stops_all_traffic() {
    let authority = Authority::new().expect("an authority");
    let agent = Running::start(&authority, Policy::default());
    let mut raw = Raw::open(&agent, &authority);
    let server = TcpListener::bind("127.0.0.1:0").expect("a port");
    let datagrams = UdpSocket::bind("127.0.0.1:0").expect("a port");
    datagrams.set_read_timeout(Some(Duration::from_millis(50))).expect("set");
    let meeting = |address| Meeting { address, cookie: "11".repeat(16), key: "22".repeat(16) };
    let (tcp, udp) = (server.local_addr().expect("an address"), datagrams.local_addr().expect("an address"));
    raw.setup(1, "full (duration=60)", "tcp (rate=\"20 Mbit/s\")", None, Some(meeting(tcp)));
    raw.setup(2, "full (blocksize=1000, duration=60)", "udp (rate=\"2 Mbit/s\")", None, Some(meeting(udp)));
    raw.ask(&Request::Open { tests: vec![1, 2] });
    let right = secrets(&meeting(udp));
    let nonce = |hello: &[u8]| -> [u8; 16] { hello[24..40].try_into().expect("a nonce") };
    let (mut got, _) = server.accept().expect("a connection");
    let mut first = [0; HELLO];
    got.read_exact(&mut first).expect("a hello");
    got.write_all(&right.welcome(nonce(&first))).expect("written");
    // Each change is told once, so all answers count.
    let opened_by = |raw: &mut Raw| {
        let Reply::Changes { changes, .. } = raw.ask(&Request::Renew {}) else { panic!("changes") };
        changes.iter().filter(|it| it.test <= 2 && it.state == State::Opened).count()
    };
    let (begun, mut opened) = (Instant::now(), 0);
    let source = loop {
        assert!(begun.elapsed() < LONG, "no hello comes");
        opened += opened_by(&mut raw);
        if let Ok((HELLO, from)) = datagrams.recv_from(&mut first) {
            datagrams.send_to(&right.welcome(nonce(&first)), from).expect("sent");
            break from;
        }
    };
    // Sinks of the agent, which go on reading, and renewing consent, as long as the controller lives.
    let (mut sent, verdict) = hello(&raw.sink(3, "tcp"), [5; 16]);
    assert_eq!(verdict, Some(Verdict::Welcome));
    let (consenting, sink) = (UdpSocket::bind("127.0.0.1:0").expect("a port"), raw.sink(4, "udp"));
    consenting.set_read_timeout(Some(Duration::from_millis(50))).expect("set");
    consenting.send_to(&secrets(&sink).hello([6; 16]), sink.address).expect("sent");
    let begun = Instant::now();
    while opened < 2 {
        assert!(begun.elapsed() < LONG, "the sources are not open");
        opened += opened_by(&mut raw);
        sleep(Duration::from_millis(10));
    }
    raw.ask(&Request::Run { tests: vec![1, 2] });

    // From now on nothing is said. Each end says when the last that it saw came.
    let silent = Instant::now();
    let stopped = AtomicBool::new(false);
    let watch = |look: &mut dyn FnMut() -> bool| {
        let mut last = Duration::ZERO;
        while !stopped.load(Ordering::Relaxed) {
            if look() {
                last = silent.elapsed();
            }
        }
        last
    };
    got.set_read_timeout(Some(Duration::from_millis(50))).expect("set");
    sent.set_write_timeout(Some(Duration::from_millis(50))).expect("set");
    let (watch, right) = (&watch, &right);
    let ends = thread::scope(|scope| {
        let mut number = 0;
        let ends = [
            scope.spawn(move || watch(&mut || got.read(&mut [0; 10_000]).is_ok_and(|length| length > 0))),
            scope.spawn(move || {
                watch(&mut || {
                    // The sink's consent goes on: it is not what ends this traffic.
                    number += 1;
                    datagrams.send_to(&right.consent(number), source).expect("sent");
                    datagrams.recv(&mut [0; 2000]).is_ok()
                })
            }),
            scope.spawn(move || {
                watch(&mut || {
                    sleep(Duration::from_millis(5));
                    sent.write_all(&[0; 10_000]).is_ok()
                })
            }),
            scope.spawn(move || watch(&mut || consenting.recv(&mut [0; HELLO]).is_ok())),
        ];
        sleep(Duration::from_secs(4));
        stopped.store(true, Ordering::Relaxed);
        ends.map(|end| end.join().expect("an end"))
    });
    for (what, last) in ["TCP, sent", "UDP, sent", "TCP, read", "UDP, consented"].iter().zip(ends) {
        // The lease of 1.5 s, and a tenth of a second to notice; the rest is for a busy machine.
        assert!(last > Duration::from_millis(400), "{what}: it has hardly begun, {last:?}");
        assert!(last < Duration::from_secs(3), "{what}: it went on for {last:?}");
    }
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

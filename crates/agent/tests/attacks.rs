//! What somebody may do to an agent or to a controller, and what it gains: nothing.

mod common;

use ackclock_agent::certificates::{Authority, Purpose};
use ackclock_agent::consent::{ANSWER, Verdict};
use ackclock_agent::controller::{self, Outcome, Watch};
use ackclock_agent::policy::Policy;
use ackclock_agent::protocol::{Change, MAX_LINE, Meeting, Refusal, Reply, Request, State, VERSION};
use ackclock_agent::report::Report;
use ackclock_agent::script;
use common::{LONG, Raw, Running, hello, identity, secrets, trickle, user};
use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
use rustls::{ServerConnection, StreamOwned};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

fn authority() -> Authority {
    Authority::new().expect("an authority")
}

/// The beginning of a handshake that goes on for ever: a record of 16,383 bytes, with a ClientHello of as
/// many (RFC 8446, sections 4 and 5.1).
fn endless_hello() -> impl Iterator<Item = u8> {
    [0x16, 3, 1, 0x3f, 0xff, 1, 0, 0x3f, 0xfb, 3, 3].into_iter().chain(std::iter::repeat(0))
}

#[test]
fn a_handshake_that_trickles_is_dropped() {
    let authority = authority();
    let agent = Running::start(&authority, Policy::default());
    let stranger = TcpStream::connect(agent.address).expect("a connection");
    let took = trickle(stranger, endless_hello()).expect("it is dropped");
    assert!(took > Duration::from_secs(4), "it had five seconds, and was dropped after {took:?}");
}

/// A connection from another address of this host.
fn from(host: [u8; 4], to: SocketAddr) -> TcpStream {
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket");
    bind(&socket, &SocketAddr::from((host, 0))).expect("an address of loopback");
    connect(&socket, &to).expect("a connection");
    TcpStream::from(socket)
}

#[test]
fn strangers_by_the_hundred_keep_no_other_host_out() {
    let authority = authority();
    let agent = Running::start(&authority, Policy::default());
    let strangers: Vec<TcpStream> = (0..300).map(|_| from([127, 0, 0, 9], agent.address)).collect();
    let begun = Instant::now();
    // Three hundred are accepted, and most of them turned away, before this one.
    let mut raw = Raw::open(&agent, &authority);
    let meeting = raw.sink(1, "tcp");
    assert!(begun.elapsed() < Duration::from_secs(4), "it had to wait until strangers lost their patience");
    // The same at the door of a sink, where nobody knows who they are: each has three seconds.
    let silent: Vec<TcpStream> = (0..100).map(|_| from([127, 0, 0, 9], meeting.address)).collect();
    assert_eq!(hello(&meeting, [1; 16]).1, Some(Verdict::Welcome));
    drop((strangers, silent));
}

#[test]
fn parts_of_messages_renew_no_lease() {
    let authority = authority();
    let agent = Running::start(&authority, Policy::default());
    let mut raw = Raw::open(&agent, &authority);
    let meeting = raw.sink(1, "tcp");
    raw.stream.get_mut().sock.set_read_timeout(Some(Duration::from_millis(20))).expect("set");
    let begun = Instant::now();
    loop {
        let written = raw.stream.get_mut().write_all(b" ").and_then(|()| raw.stream.get_mut().flush());
        let gone = match raw.stream.read(&mut [0; 10]) {
            Ok(length) => length == 0,
            Err(error) => !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
        };
        if gone || written.is_err() {
            break;
        }
        assert!(begun.elapsed() < LONG, "the session goes on");
    }
    // The sink has gone with its session.
    let answer = TcpStream::connect(meeting.address).and_then(|mut stream| {
        stream.write_all(&secrets(&meeting).hello([1; 16]))?;
        let mut answer = [0; ANSWER];
        stream.read_exact(&mut answer).map(|()| answer)
    });
    let verdict = answer.ok().and_then(|answer| secrets(&meeting).read_answer([1; 16], &answer));
    assert_ne!(verdict, Some(Verdict::Welcome));
}

#[test]
fn messages_and_lists_have_their_limits() {
    let authority = authority();
    let agent = Running::start(&authority, Policy::default());
    let mut raw = Raw::open(&agent, &authority);
    let named = |reply: Reply| match reply {
        Reply::Refused(refusal) => refusal.error,
        reply => panic!("{reply:?}"),
    };
    assert_eq!(named(raw.ask(&Request::Run { tests: vec![1; 5001] })), "bad_message");
    assert_eq!(raw.ask(&Request::Run { tests: vec![1; 5000] }), Reply::Done {});
    // A message that never ends ends the session, and no other one.
    let _ = raw.stream.get_mut().write_all(&vec![b' '; MAX_LINE + 1]);
    let _ = raw.stream.get_mut().flush();
    let mut rest = Vec::new();
    // A reset, too, is an end.
    let _ = raw.stream.read_to_end(&mut rest);
    assert_eq!(rest, b"");
    let rule = "[[allow]]\ntowards = [\"127.0.0.1/32\"]\nsockets = 2";
    let strict = Running::start(&authority, Policy::read("p", rule).expect("a policy"));
    let mut raw = Raw::open(&strict, &authority);
    let second = [raw.sink(1, "tcp"), raw.sink(2, "udp")];
    assert_eq!(named(raw.setup(3, "full", "tcp", Some(0), None)), "refused_by_policy");
    // Another session of the same controller has the same account.
    let mut other = Raw::open(&strict, &authority);
    assert_eq!(named(other.setup(1, "full", "tcp", Some(0), None)), "refused_by_policy");
    raw.ask(&Request::Teardown { tests: vec![1] });
    assert!(matches!(other.setup(1, "full", "tcp", Some(0), None), Reply::Meeting(_)), "one is over");
    drop(second);
}

#[test]
fn time_stamps_are_bounded_over_all_tests_of_a_controller() {
    let authority = authority();
    let agent = Running::start(&authority, Policy::default());
    let mut raw = Raw::open(&agent, &authority);
    let meeting = Meeting { address: agent.address, cookie: "11".repeat(16), key: "22".repeat(16) };
    let kind = "full (duration=1, stamps=100000)";
    // 2^22 are allowed.
    for test in 0..41 {
        assert_eq!(raw.setup(test, kind, "tcp", None, Some(meeting.clone())), Reply::Done {});
    }
    let mut error = |test| match raw.setup(test, kind, "tcp", None, Some(meeting.clone())) {
        Reply::Refused(refusal) => refusal.error,
        reply => format!("{reply:?}"),
    };
    assert_eq!(error(41), "too_many_stamps");
    raw.ask(&Request::Teardown { tests: vec![7] });
    assert_eq!(raw.setup(41, kind, "tcp", None, Some(meeting.clone())), Reply::Done {});
}

/// What a controller asks: how many requests there were before, and whether the source has been told to run.
#[derive(Clone, Copy)]
struct Seen {
    before: usize,
    runs: bool,
}

/// An agent with a certificate that is right, which answers as it likes: `say` gets each request, and says
/// the bytes that it answers. `None`: it hangs up.
fn agent(
    authority: &Authority,
    say: impl Fn(Request, Seen) -> Option<Vec<u8>> + Send + Sync + 'static,
) -> SocketAddr {
    let config = identity(authority, "127.0.0.1", Purpose::Host, 1).server().expect("a configuration");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let say = Arc::new(say);
    spawn(move || {
        for stream in listener.incoming().flatten() {
            let (config, say) = (config.clone(), say.clone());
            spawn(move || {
                let tls = ServerConnection::new(config).expect("TLS");
                let mut stream = BufReader::new(StreamOwned::new(tls, stream));
                let mut line = String::new();
                let mut seen = Seen { before: 0, runs: false };
                loop {
                    line.clear();
                    let Ok(1..) = stream.read_line(&mut line) else { return };
                    let request = serde_json::from_str(&line).expect("a controller's request");
                    seen.runs |= matches!(request, Request::Run { .. });
                    let Some(answer) = say(request, seen) else { return };
                    seen.before += 1;
                    if stream.get_mut().write_all(&answer).is_err() || stream.get_mut().flush().is_err() {
                        return;
                    }
                }
            });
        }
    });
    address
}

fn line(reply: &Reply) -> Option<Vec<u8>> {
    let mut line = serde_json::to_vec(reply).expect("JSON");
    line.push(b'\n');
    Some(line)
}

/// What an honest agent would answer, were it as quick; its source and its sink tell these reports.
fn honest(request: &Request, seen: Seen, reports: [&Report; 2]) -> Reply {
    let state = |test| Change { test, state: if seen.runs { State::Finished } else { State::Opened } };
    match request {
        Request::Initialize { .. } => Reply::Ready { version: VERSION, software: "another".to_owned() },
        Request::Setup { meeting: None, .. } => Reply::Meeting(Meeting {
            address: ([127, 0, 0, 1], 9).into(),
            cookie: "11".repeat(16),
            key: "22".repeat(16),
        }),
        Request::Renew {} => Reply::Changes { changes: vec![state(0), state(1)], more: false },
        Request::Report { test, .. } => {
            let report = Box::new(reports[*test as usize % 2].clone());
            Reply::Report { report, stamps: Vec::new(), more: false }
        }
        _ => Reply::Done {},
    }
}

fn run(agent: SocketAddr, authority: &Authority) -> Result<Outcome, Refusal> {
    run_watched(agent, authority, &Watch::default())
}

fn run_watched(agent: SocketAddr, authority: &Authority, watch: &Watch) -> Result<Outcome, Refusal> {
    let text = format!(
        "cluster {{ test {agent} {{ type = full (duration=0.1, stamps=10); protocol = tcp; peer = 127.0.0.1:9; }} test \
         {agent} {{ type = sink; protocol = tcp; own = 127.0.0.1:9; }} }}"
    );
    let plan = script::read("s", &text).unwrap_or_else(|error| panic!("{error}"));
    let begun = Instant::now();
    let outcomes = controller::run(&plan, &user(authority), watch);
    assert!(begun.elapsed() < LONG, "the controller was held");
    outcomes.map(|mut outcomes| outcomes.remove(0))
}

fn error(outcome: Result<Outcome, Refusal>) -> String {
    match outcome {
        Ok(outcome) => outcome.failed.map_or_else(|| "none".to_owned(), |refusal| refusal.error),
        Err(refusal) => refusal.error,
    }
}

#[test]
fn an_agent_that_lies_about_bytes_is_found_out() {
    let authority = authority();
    let report = |bytes| Report { bytes, ..Report::default() };
    let told = |sent: u64, got: u64| {
        let (sent, got) = (report(sent), report(got));
        run(agent(&authority, move |request, seen| line(&honest(&request, seen, [&sent, &got]))), &authority)
    };
    assert_eq!(error(told(1000, 1000)), "none");
    assert_eq!(error(told(1000, 999)), "reports_differ");
    assert_eq!(error(told(0, u64::MAX)), "reports_differ");
    // Numbers that JSON does not know are no report.
    let report = br#"{"is":"report","report":{"bytes":-1},"stamps":[],"more":false}"#;
    let outcome = run(
        agent(&authority, move |request, seen| match request {
            Request::Report { .. } => Some([&report[..], b"\n"].concat()),
            request => line(&honest(&request, seen, [&Report::default(), &Report::default()])),
        }),
        &authority,
    );
    assert_eq!(error(outcome), "bad_message");
}

#[test]
fn an_agent_that_always_has_more_holds_no_controller() {
    let authority = authority();
    let none = Report::default();
    let talks = agent(&authority, move |request, seen| {
        let reply = match honest(&request, seen, [&none, &none]) {
            // Of tests that nobody has heard of, over and over.
            Reply::Changes { mut changes, .. } => {
                changes.extend(
                    (0..50).map(|test| Change {
                        test: 2 + test + 50 * seen.before as u32,
                        state: State::Opened,
                    }),
                );
                Reply::Changes { changes, more: true }
            }
            Reply::Report { report, .. } => Reply::Report { report, stamps: vec![(1, 1); 1000], more: true },
            reply => reply,
        };
        line(&reply)
    });
    let outcome = run(talks, &authority).expect("it runs");
    assert_eq!((outcome.failed, outcome.source.stamps.len(), outcome.sink.stamps.len()), (None, 10, 0));
}

/// It renews its lease, answers everything, and says that its tests go on.
#[test]
fn an_agent_that_never_ends_holds_no_controller_beyond_its_limit() {
    let authority = authority();
    let none = Report::default();
    let busy = agent(&authority, move |request, seen| {
        let seen = Seen { runs: false, ..seen };
        line(&honest(&request, seen, [&none, &none]))
    });
    let watch = Watch::limited(Duration::from_secs(1));
    assert_eq!(error(run_watched(busy, &authority, &watch)), "limit");
    assert!(!watch.is_stopped(), "nobody else has ended it");
}

#[test]
fn garbage_from_an_agent_is_named_at_every_state() {
    let authority = authority();
    let garbage: [Option<&[u8]>; 6] = [
        None,
        Some(b"\n"),
        Some(b"\xff\xfe\n"),
        Some(b"{\"is\":\"done\"}}\n"),
        Some(b"[1e999]\n"),
        Some(&[b'x'; MAX_LINE]),
    ];
    for words in garbage {
        // The first three requests are initialize and both setups.
        for state in 0..7 {
            let none = Report::default();
            let says = move |request: Request, seen: Seen| {
                if seen.before >= state {
                    words.map(<[u8]>::to_vec)
                } else {
                    line(&honest(&request, seen, [&none, &none]))
                }
            };
            let found = error(run(agent(&authority, says), &authority));
            let wanted = if words.is_none() { "connection" } else { "bad_message" };
            assert_eq!(found, wanted, "{words:?} in state {state}");
        }
    }
    // Answers to other questions.
    for state in 0..3 {
        let none = Report::default();
        let says = move |request: Request, seen: Seen| {
            let other = Reply::Changes { changes: Vec::new(), more: false };
            line(&if seen.before == state { other } else { honest(&request, seen, [&none, &none]) })
        };
        let found = error(run(agent(&authority, says), &authority));
        assert!(found == "bad_message" || state == 2, "{found} in state {state}");
    }
}

/// Both in one test, because each takes as long as a controller's patience.
#[test]
fn who_answers_a_byte_at_a_time_holds_no_controller() {
    let authority = authority();
    // Something like a handshake, from somebody who has no certificate.
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let stranger = listener.local_addr().expect("an address");
    spawn(move || {
        let (stream, _) = listener.accept().expect("a connection");
        trickle(stream, [0x16, 3, 3, 0x3f, 0xff].into_iter().chain(std::iter::repeat(2)))
    });
    // An answer, from an agent.
    let config = identity(&authority, "127.0.0.1", Purpose::Host, 1).server().expect("a configuration");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let slow = listener.local_addr().expect("an address");
    spawn(move || {
        let (stream, _) = listener.accept().expect("a connection");
        let mut stream = StreamOwned::new(ServerConnection::new(config).expect("TLS"), stream);
        let _ = stream.read(&mut [0; 1000]);
        while stream.write_all(b" ").and_then(|()| stream.flush()).is_ok() {
            sleep(Duration::from_millis(20));
        }
    });
    std::thread::scope(|scope| {
        let both = [stranger, slow].map(|address| {
            scope.spawn({
                let authority = &authority;
                move || error(run(address, authority))
            })
        });
        for found in both {
            assert_eq!(found.join().expect("it does not panic"), "connection");
        }
    });
}

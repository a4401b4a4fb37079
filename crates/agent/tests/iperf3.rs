//! Strangers that speak iperf3's protocol, or nearly: to our server, and as servers to our client.

mod common;

use ackclock_agent::iperf3::client::{self, Tested};
use ackclock_agent::iperf3::message::{COOKIE, Parameters, State, UDP_ANSWER, UDP_HELLO, write_document};
use ackclock_agent::iperf3::server::Server;
use ackclock_agent::log::Log;
use ackclock_agent::policy::Policy;
use ackclock_agent::protocol::Refusal;
use common::{LONG, trickle};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, sleep, spawn};
use std::time::{Duration, Instant};

/// A server on loopback that lives until it is dropped, and what it says.
struct Running {
    address: SocketAddr,
    said: Arc<Mutex<Vec<String>>>,
    stop: &'static AtomicBool,
    thread: Option<thread::JoinHandle<()>>,
}

impl Running {
    fn start(policy: Policy) -> Running {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let stop: &'static AtomicBool = Box::leak(Box::default());
        let said = Arc::new(Mutex::new(Vec::new()));
        let heard = said.clone();
        let log: Log =
            Arc::new(move |note| heard.lock().unwrap_or_else(PoisonError::into_inner).push(note.to_string()));
        let thread =
            spawn(move || Arc::new(Server::new(policy)).serve(&listener, stop, &log).expect("it serves"));
        Running { address, said, stop, thread: Some(thread) }
    }

    fn said(&self) -> Vec<String> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn test(&self, asked: Parameters) -> Result<Tested, Refusal> {
        let host = self.address.ip().to_string();
        client::run(&host, self.address.port(), asked, &AtomicBool::new(false))
    }

    /// The control connection of a client that is not ours: its cookie, and the server's first state.
    fn control(&self, letter: u8) -> TcpStream {
        let mut control = TcpStream::connect(self.address).expect("a connection");
        control.set_read_timeout(Some(LONG)).expect("set");
        control.write_all(&[letter; COOKIE]).expect("written");
        assert_eq!(state(&mut control), Some(State::ParamExchange));
        control
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn state(control: &mut TcpStream) -> Option<State> {
    let mut byte = [0];
    control.read_exact(&mut byte).ok()?;
    State::of(byte[0])
}

fn asked() -> Parameters {
    Parameters { tcp: true, time: 0.3, parallel: 1, len: 10_000, ..Parameters::default() }
}

/// A test over UDP in which the server sends. The client says nothing more once data flows.
fn receiving(server: &Running) -> (TcpStream, UdpSocket) {
    let mut control = server.control(b'r');
    let asked = Parameters {
        udp: true,
        reverse: true,
        time: 60.0,
        parallel: 1,
        len: 1000,
        bandwidth: 8_000_000,
        ..Parameters::default()
    };
    write_document(&mut control, &asked).expect("written");
    assert_eq!(state(&mut control), Some(State::CreateStreams));
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    socket.connect(server.address).expect("an address");
    socket.set_read_timeout(Some(Duration::from_secs(2))).expect("set");
    socket.send(&UDP_HELLO).expect("sent");
    let mut answer = [0; 2000];
    let length = socket.recv(&mut answer).expect("an answer");
    assert_eq!(answer[..length], UDP_ANSWER);
    assert_eq!(state(&mut control), Some(State::TestStart));
    assert_eq!(state(&mut control), Some(State::TestRunning));
    for _ in 0..100 {
        assert_eq!(socket.recv(&mut answer).expect("data"), 1000);
    }
    (control, socket)
}

/// What still comes once the control connection has gone: nothing that was not on its way, because a socket's
/// time-out of two seconds ends this.
#[test]
fn datagrams_end_with_the_control_connection() {
    let server = Running::start(Policy::default());
    for abrupt in [false, true] {
        let (control, socket) = receiving(&server);
        if abrupt {
            rustix::net::sockopt::set_socket_linger(&control, Some(Duration::ZERO)).expect("set");
        }
        drop(control);
        let begun = Instant::now();
        while socket.recv(&mut [0; 2000]).is_ok() {
            assert!(begun.elapsed() < Duration::from_secs(30), "it still sends");
        }
    }
}

#[test]
fn seconds_that_do_not_count_are_left_out_at_both_ends() {
    let server = Running::start(Policy::default());
    let mut tests = 0;
    for (udp, reverse) in [(false, false), (false, true), (true, false), (true, true)] {
        let asked = Parameters {
            tcp: !udp,
            udp,
            reverse,
            omit: 1.0,
            time: 1.0,
            len: 1000,
            bandwidth: 8_000_000,
            udp_counters_64bit: u64::from(udp),
            ..asked()
        };
        let tested = server.test(asked).expect("it runs");
        tests += 1;
        let begun = Instant::now();
        while server.said().len() < tests {
            assert!(begun.elapsed() < LONG, "a line for each test");
            sleep(Duration::from_millis(5));
        }
        let said = server.said().pop().expect("a line");
        let number = |word: &str| word.parse::<u64>().ok();
        let all: u64 = said.split_whitespace().filter_map(number).sum();
        for result in [&tested.ours.streams[0], &tested.theirs.streams[0]] {
            // Half of about two seconds at 1 MB/s. A machine that stands still makes the first half longer.
            assert!(result.bytes > 0 && result.bytes <= all - all / 4, "{result:?} of {all} bytes");
            let packets = result.packets - result.omitted_packets;
            assert!(!udp || (packets > 0 && result.omitted_packets > 0), "{result:?}");
            assert!(
                !udp || packets as u64 * 1000 <= result.bytes + 1000 * result.errors.unsigned_abs() + 1000,
                "{result:?}"
            );
        }
    }
    let error = server.test(Parameters { omit: 601.0, ..asked() }).expect_err("too long").error;
    assert_eq!(error, "bad_request");
}

/// The policy limits all that flows, whether or not it counts.
#[test]
fn seconds_that_do_not_count_are_within_the_policy() {
    let rule = "[iperf3]\ntowards = [\"127.0.0.1/32\"]\nduration = \"3 s\"";
    let server = Running::start(Policy::read("p", rule).expect("a policy"));
    let error = server.test(Parameters { omit: 2.0, time: 2.0, ..asked() }).expect_err("too long").error;
    assert_eq!(error, "server_error");
}

/// A document of 64 KiB, of which each byte comes in time and the whole would not for half an hour. (A cookie
/// has only 37 bytes: `read_within` has its own test.)
#[test]
fn a_client_that_says_a_byte_at_a_time_is_dropped() {
    let server = Running::start(Policy::default());
    let slow = server.control(b's');
    let bytes = (64_u32 << 10).to_be_bytes().into_iter().chain(std::iter::repeat_n(b' ', 64 << 10));
    trickle(slow, bytes).expect("it is dropped");
    assert!(server.test(asked()).is_ok());
}

#[test]
fn garbage_of_a_client_ends_its_test_and_no_other() {
    let server = Running::start(Policy::default());
    let document = |text: &[u8]| [&(text.len() as u32).to_be_bytes()[..], text].concat();
    let mut good = Vec::new();
    write_document(&mut good, &asked()).expect("written");
    let bad: Vec<Vec<u8>> = vec![
        b"GET / HTTP/1.0\r\n\r\n".to_vec(),
        b"\xff\xff\xff\xff".to_vec(),
        document(b"{}"),
        document(b"null"),
        document(br#"{"tcp":true,"parallel":1,"len":1000,"time":1e300}"#),
        document(br#"{"tcp":true,"parallel":129,"len":1000}"#),
        document(br#"{"udp":true,"parallel":1,"len":70000}"#),
        document(br#"{"tcp":true,"parallel":1,"len":1000,"omit":-1}"#),
    ];
    for words in &bad {
        let mut control = server.control(b'g');
        control.write_all(words).expect("written");
        // A server that has seen enough may have gone before.
        let _ = control.shutdown(std::net::Shutdown::Write);
        // An error, or nothing: but an end.
        let mut rest = Vec::new();
        let _ = control.read_to_end(&mut rest);
        assert!(rest.is_empty() || State::of(rest[0]) == Some(State::ServerError), "{words:?}: {rest:?}");
    }
    for byte in [0x7f, State::Done as u8, State::ClientTerminate as u8, State::CreateStreams as u8] {
        let mut control = server.control(b'h');
        control.write_all(&good).expect("written");
        assert_eq!(state(&mut control), Some(State::CreateStreams));
        let mut stream = TcpStream::connect(server.address).expect("a connection");
        stream.write_all(&[b'h'; COOKIE]).expect("written");
        assert_eq!(state(&mut control), Some(State::TestStart));
        assert_eq!(state(&mut control), Some(State::TestRunning));
        control.write_all(&[byte]).expect("written");
        let mut rest = Vec::new();
        let _ = control.read_to_end(&mut rest);
        assert_eq!(rest, b"", "{byte}");
    }
    assert!(server.test(asked()).is_ok());
}

/// In a test in both directions the client sends on the stream that it opened first, even if the cookie of
/// the second one is read before.
#[test]
fn streams_count_in_the_order_of_their_connections() {
    let server = Running::start(Policy::default());
    let mut control = server.control(b'o');
    let asked = Parameters { bidirectional: true, time: 60.0, ..asked() };
    write_document(&mut control, &asked).expect("written");
    assert_eq!(state(&mut control), Some(State::CreateStreams));
    let open = || TcpStream::connect(server.address).expect("a connection");
    let (mut first, mut second) = (open(), open());
    second.write_all(&[b'o'; COOKIE]).expect("written");
    sleep(Duration::from_millis(300));
    first.write_all(&[b'o'; COOKIE]).expect("written");
    assert_eq!(state(&mut control), Some(State::TestStart));
    assert_eq!(state(&mut control), Some(State::TestRunning));
    second.set_read_timeout(Some(LONG)).expect("set");
    assert!(second.read(&mut [0; 1000]).is_ok_and(|bytes| bytes > 0), "the server sends on the second");
    first.set_read_timeout(Some(Duration::from_millis(300))).expect("set");
    assert!(first.read(&mut [0; 1000]).is_err(), "the client sends on the first");
}

/// A cookie belongs to the host that has shown it first. At another address it is that of another test.
#[test]
fn a_stolen_cookie_opens_no_stream() {
    let server = Running::start(Policy::default());
    let mut control = server.control(b'c');
    write_document(&mut control, &asked()).expect("written");
    assert_eq!(state(&mut control), Some(State::CreateStreams));
    let socket = rustix::net::socket(rustix::net::AddressFamily::INET, rustix::net::SocketType::STREAM, None);
    let socket = socket.expect("a socket");
    rustix::net::bind(&socket, &SocketAddr::from(([127, 0, 0, 9], 0))).expect("an address");
    rustix::net::connect(&socket, &server.address).expect("a connection");
    let mut thief = TcpStream::from(socket);
    thief.set_read_timeout(Some(LONG)).expect("set");
    thief.write_all(&[b'c'; COOKIE]).expect("written");
    assert_eq!(state(&mut thief), Some(State::ParamExchange), "it was taken for a stream");
    control.set_read_timeout(Some(Duration::from_millis(300))).expect("set");
    assert_eq!(state(&mut control), None, "the test has begun without its client");
}

/// A server that does to the first control connection what it likes.
fn hostile(act: impl FnOnce(&mut TcpStream, &TcpListener) + Send + 'static) -> Result<Tested, Refusal> {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    spawn(move || {
        let (mut control, _) = listener.accept().expect("a connection");
        let mut cookie = [0; COOKIE];
        control.read_exact(&mut cookie).expect("a cookie");
        act(&mut control, &listener);
    });
    let begun = Instant::now();
    let outcome = client::run("127.0.0.1", port, asked(), &AtomicBool::new(false));
    assert!(begun.elapsed() < LONG, "the client was held");
    outcome
}

/// The states of a server from the first one on, and what belongs to them; false when the client has gone.
fn go_on(
    control: &mut TcpStream,
    listener: &TcpListener,
    state: State,
    streams: &mut Vec<TcpStream>,
) -> bool {
    let skip = |control: &mut TcpStream| -> bool {
        let mut length = [0; 4];
        control.read_exact(&mut length).is_ok()
            && control.read_exact(&mut vec![0; u32::from_be_bytes(length) as usize]).is_ok()
    };
    if control.write_all(&[state as i8 as u8]).is_err() {
        return false;
    }
    match state {
        State::ParamExchange => skip(control),
        State::CreateStreams => {
            let (mut stream, _) = listener.accept().expect("a stream");
            streams.push(stream.try_clone().expect("a handle"));
            spawn(move || std::io::copy(&mut stream, &mut std::io::sink()));
            true
        }
        State::TestRunning => control.read_exact(&mut [0]).is_ok(),
        State::ExchangeResults => skip(control) && control.write_all(b"\0\0\0\x02{}").is_ok(),
        _ => true,
    }
}

const STATES: [State; 6] = [
    State::ParamExchange,
    State::CreateStreams,
    State::TestStart,
    State::TestRunning,
    State::ExchangeResults,
    State::DisplayResults,
];

#[test]
fn whatever_a_server_says_in_whatever_state_the_client_ends() {
    let outcome = hostile(|control, listener| {
        let mut streams = Vec::new();
        let _ = STATES.iter().all(|&state| go_on(control, listener, state, &mut streams));
        let _ = control.read(&mut [0]);
    });
    assert!(outcome.is_ok(), "the states of a server that is none: {outcome:?}");
    for before in 0..STATES.len() {
        for words in [
            &b""[..],
            b"\x7f",
            b"\x09\x09",
            b"\x0a\x0a",
            b"\x02\x02\x02",
            b"\x0d\xff\xff\xff\xff",
            b"\x0e",
            b"\xfe\0\0\0\x86\0\0\0\x02",
        ] {
            // The state that comes next is no garbage.
            if words.first().is_some_and(|&byte| State::of(byte) == Some(STATES[before])) && words.len() == 1
            {
                continue;
            }
            let outcome = hostile(move |control, listener| {
                let mut streams = Vec::new();
                if STATES[..before].iter().all(|&state| go_on(control, listener, state, &mut streams)) {
                    let _ = control.write_all(words);
                }
                // The client shall not have to wait for this end to hang up, unless nothing is said.
                if !words.is_empty() {
                    let _ = control.read_to_end(&mut Vec::new());
                }
            });
            let error = outcome.expect_err("no server").error;
            let known = ["connection", "bad_message", "server_error"].contains(&error.as_str());
            assert!(known, "{words:?} after {before} states: {error}");
        }
    }
}

/// Each takes as long as the client's patience; both at once.
#[test]
fn a_server_that_is_slow_on_purpose_holds_no_client() {
    thread::scope(|scope| {
        let circles = scope.spawn(|| {
            hostile(|control, listener| {
                let mut streams = Vec::new();
                // The same state over and over: each is a sign of life.
                while go_on(control, listener, State::ParamExchange, &mut streams) {
                    sleep(Duration::from_millis(100));
                }
            })
        });
        let trickles = scope.spawn(|| {
            hostile(|control, listener| {
                let mut streams = Vec::new();
                let _ = STATES[..4].iter().all(|&state| go_on(control, listener, state, &mut streams));
                let _ = control.write_all(&[State::ExchangeResults as i8 as u8]);
                let _ = control.write_all(&(64_u32 << 10).to_be_bytes());
                while control.write_all(b" ").is_ok() {
                    sleep(Duration::from_millis(50));
                }
            })
        });
        let circles = circles.join().expect("it does not panic").expect_err("no server");
        assert_eq!(circles.error, "bad_message");
        let trickles = trickles.join().expect("it does not panic").expect_err("no server");
        assert_eq!(trickles.error, "connection");
    });
}

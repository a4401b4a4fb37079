//! Agents on loopback, and connections with them that no controller would make.
#![allow(dead_code)]

use ackclock_agent::agent::Agent;
use ackclock_agent::certificates::{Authority, Made, Purpose};
use ackclock_agent::consent::{ANSWER, Secrets, Verdict, unhex};
use ackclock_agent::controller::{self, Outcome, Watch};
use ackclock_agent::log::Log;
use ackclock_agent::policy::Policy;
use ackclock_agent::protocol::{Meeting, Refusal, Reply, Request, VERSION};
use ackclock_agent::script;
use ackclock_agent::tls::{Identity, server_name};
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Nobody may hold anything for longer, however slow this machine is. What is held for ever is found anyway.
pub const LONG: Duration = Duration::from_secs(60);

pub fn identity(authority: &Authority, name: &str, purpose: Purpose, hours: i64) -> Identity {
    let Made { certificate, key } = authority.sign(name, purpose, 48, hours).expect("a certificate");
    Identity::from_pem(authority.certificate().as_bytes(), certificate.as_bytes(), key.as_bytes())
        .expect("PEM")
}

pub fn user(authority: &Authority) -> Arc<ClientConfig> {
    identity(authority, "alice", Purpose::User, 1).client().expect("a configuration")
}

/// An agent on loopback that lives until it is dropped.
pub struct Running {
    pub address: SocketAddr,
    stop: &'static AtomicBool,
    thread: Option<thread::JoinHandle<()>>,
}

impl Running {
    pub fn start(authority: &Authority, policy: Policy) -> Running {
        Running::with(identity(authority, "127.0.0.1", Purpose::Host, 1), policy)
    }

    pub fn with(identity: Identity, policy: Policy) -> Running {
        let agent = Arc::new(Agent::new(policy, identity.server().expect("a configuration")));
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let stop: &'static AtomicBool = Box::leak(Box::default());
        let log: Log = Arc::new(drop);
        let thread = thread::spawn(move || agent.serve(&listener, stop, &log).expect("it serves"));
        Running { address, stop, thread: Some(thread) }
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

/// A port that is free just now.
pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr()).expect("a port").port()
}

/// One transfer between two agents.
pub fn pair(source: &Running, sink: &Running, kind: &str, protocol: (&str, &str)) -> String {
    let (a, b, port) = (source.address, sink.address, free_port());
    let (one, other) = protocol;
    format!(
        "test {a} {{ type = {kind}; protocol = {one}; peer = 127.0.0.1:{port}; }} test {b} {{ type = sink \
         (blocksize=128000, duration=1, stamps=100); protocol = {other}; own = 127.0.0.1:{port}; }}"
    )
}

pub fn run(text: &str, config: &Arc<ClientConfig>) -> Result<Vec<Outcome>, Refusal> {
    let plan = script::read("s", text).unwrap_or_else(|error| panic!("{error}"));
    controller::run(&plan, config, &Watch::default())
}

pub fn one(text: &str, config: &Arc<ClientConfig>) -> Outcome {
    run(&format!("cluster {{ {text} }}"), config).expect("it runs").remove(0)
}

/// A connection with an agent, without a controller's help.
pub struct Raw {
    pub stream: BufReader<StreamOwned<ClientConnection, TcpStream>>,
}

impl Raw {
    pub fn open(agent: &Running, authority: &Authority) -> Raw {
        let name = server_name("127.0.0.1").expect("a name");
        let tls = ClientConnection::new(user(authority), name).expect("TLS");
        let stream = StreamOwned::new(tls, TcpStream::connect(agent.address).expect("a connection"));
        let mut raw = Raw { stream: BufReader::new(stream) };
        assert!(matches!(raw.ask(&Request::Initialize { version: VERSION }), Reply::Ready { .. }));
        raw
    }

    pub fn say(&mut self, line: &[u8]) -> Reply {
        self.stream.get_mut().write_all(line).expect("written");
        let mut line = String::new();
        self.stream.read_line(&mut line).expect("an answer");
        serde_json::from_str(&line).expect("a reply")
    }

    pub fn ask(&mut self, request: &Request) -> Reply {
        let mut line = serde_json::to_vec(request).expect("JSON");
        line.push(b'\n');
        self.say(&line)
    }

    pub fn setup(
        &mut self,
        test: u32,
        kind: &str,
        protocol: &str,
        own: Option<u16>,
        meeting: Option<Meeting>,
    ) -> Reply {
        let text = format!(
            "cluster {{ test a {{ type = {kind}; protocol = {protocol}; peer = b:1; }} test b {{ type = sink; protocol \
             = {protocol}; own = b:1; }} }}"
        );
        let plan = script::read("s", &text).expect("a plan");
        let transfer = &plan.transfers[0];
        let end = if own.is_some() { &transfer.sink } else { &transfer.source };
        let own = own.map(|port| ("127.0.0.1".to_owned(), port));
        let from = own.is_some().then(|| "127.0.0.1".to_owned());
        self.ask(&Request::Setup { test, spec: Box::new(end.spec.clone()), own, meeting, from })
    }

    pub fn sink(&mut self, test: u32, protocol: &str) -> Meeting {
        match self.setup(test, "burst (period=1000000)", protocol, Some(0), None) {
            Reply::Meeting(meeting) => meeting,
            reply => panic!("{reply:?}"),
        }
    }
}

pub fn secrets(meeting: &Meeting) -> Secrets {
    let word = |text| unhex(text).expect("a word");
    Secrets { cookie: word(&meeting.cookie), key: word(&meeting.key) }
}

pub fn hello(meeting: &Meeting, nonce: [u8; 16]) -> (TcpStream, Option<Verdict>) {
    let mut stream = TcpStream::connect(meeting.address).expect("a connection");
    stream.write_all(&secrets(meeting).hello(nonce)).expect("written");
    let mut answer = [0; ANSWER];
    stream.read_exact(&mut answer).expect("an answer");
    let verdict = secrets(meeting).read_answer(nonce, &answer);
    (stream, verdict)
}

/// Says `bytes` one at a time, until the other end hangs up. Returns how long that took; none: it has taken
/// them all.
pub fn trickle(mut stream: TcpStream, bytes: impl Iterator<Item = u8>) -> Option<Duration> {
    let begun = Instant::now();
    stream.set_read_timeout(Some(Duration::from_millis(20))).expect("set");
    for byte in bytes {
        let gone = match stream.write_all(&[byte]) {
            Ok(()) => match stream.read(&mut [0; 100]) {
                Ok(length) => length == 0,
                Err(error) => !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
            },
            Err(_) => true,
        };
        if gone {
            return Some(begun.elapsed());
        }
        assert!(begun.elapsed() < LONG, "it still listens");
    }
    None
}

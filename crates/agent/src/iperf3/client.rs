//! A client for unmodified servers of iperf3.

use super::flow::{Flow, STEP, Socket, Terms, choose};
use super::message::{
    COOKIE, GREETING, OLD_UDP, Parameters, Results, State, StreamResult, UDP_ANSWER, UDP_HELLO,
    read_document, stream_id, write_document,
};
use super::server::{SILENCE, results};
use crate::agent::tcp::connected;
use crate::policy::Grant;
use crate::protocol::Refusal;
use ackclock_sockets::{Timed, is_timeout, set_silence};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// So long a server may take for what it has to say next.
const PATIENCE: Duration = Duration::from_secs(10);
/// Between two first datagrams of a stream.
const AGAIN: Duration = Duration::from_millis(300);
/// A receiver has everything when nothing has come for so long.
const QUIET: Duration = Duration::from_millis(200);

/// What became of a test.
#[derive(Clone, PartialEq, Debug)]
pub struct Tested {
    /// What was asked for.
    pub asked: Parameters,
    /// What this end has measured.
    pub ours: Results,
    /// What the server has measured.
    pub theirs: Results,
    /// For each stream of `ours`: true if this end sent.
    pub sends: Vec<bool>,
}

impl Tested {
    /// The streams: whether this end sent, what the sender and what the receiver has measured.
    pub fn streams(&self) -> impl Iterator<Item = (bool, &StreamResult, Option<&StreamResult>)> {
        self.ours.streams.iter().zip(&self.sends).map(|(ours, &sends)| {
            (sends, ours, self.theirs.streams.iter().find(|theirs| theirs.id == ours.id))
        })
    }
}

/// Runs a test with the server at `host` and `port`, until it ends or `stop` is set.
///
/// # Errors
///
/// If there is no such server, if it refuses, or if the connection breaks.
pub fn run(host: &str, port: u16, asked: Parameters, stop: &AtomicBool) -> Result<Tested, Refusal> {
    if let Some(fault) = asked.fault() {
        return Err(Refusal::new("bad_request", fault, "see ackclock generate --help"));
    }
    let lost = |error: io::Error| {
        let help = "is an iperf3 server running there (iperf3 -s), and does a firewall let it be reached?";
        Refusal::new("connection", format!("{host}:{port}: {error}"), help)
    };
    let found = (host, port).to_socket_addrs().map_err(lost)?;
    let mut reason = io::Error::new(ErrorKind::NotFound, "there is no such host");
    for address in found {
        match TcpStream::connect_timeout(&address, PATIENCE / 2) {
            Ok(control) => return Client::begin(control, address, asked, stop).and_then(Client::run),
            Err(error) => reason = error,
        }
    }
    Err(lost(reason))
}

struct Client<'a> {
    control: Timed<TcpStream>,
    server: SocketAddr,
    cookie: [u8; COOKIE],
    terms: Arc<Terms>,
    flows: Vec<Flow>,
    /// What the server has said last. It says everything once, in this order.
    heard: Step,
    began: Option<Instant>,
    ended: bool,
    stop: &'a AtomicBool,
}

/// How far a server is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Step {
    Cookie,
    Parameters,
    Streams,
    Start,
    Running,
    Results,
    Done,
}

impl Drop for Client<'_> {
    fn drop(&mut self) {
        self.terms.stop();
        self.flows.iter_mut().for_each(Flow::join);
    }
}

fn broken(error: &io::Error) -> Refusal {
    Refusal::new(
        "connection",
        format!("the connection with the server broke: {error}"),
        "is the server still there?",
    )
}

fn meaningless(byte: u8) -> Refusal {
    let message = format!("the server says {byte}, which means nothing here");
    Refusal::new("bad_message", message, "is it an iperf3 server?")
}

impl Step {
    /// The step that a state is, if it is one.
    fn of(state: State) -> Option<Step> {
        Some(match state {
            State::ParamExchange => Step::Parameters,
            State::CreateStreams => Step::Streams,
            State::TestStart => Step::Start,
            State::TestRunning => Step::Running,
            State::ExchangeResults => Step::Results,
            State::DisplayResults => Step::Done,
            _ => return None,
        })
    }
}

impl<'a> Client<'a> {
    fn begin(
        control: TcpStream,
        server: SocketAddr,
        asked: Parameters,
        stop: &'a AtomicBool,
    ) -> Result<Client<'a>, Refusal> {
        let wrong = |error: io::Error| broken(&error);
        let mut random = [0; COOKIE - 1];
        getrandom::fill(&mut random).map_err(|error| broken(&io::Error::other(error)))?;
        // 36 letters of 32, as iperf3 has them, and a zero.
        const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
        let mut cookie = [0; COOKIE];
        for (letter, random) in cookie.iter_mut().zip(random) {
            *letter = LETTERS[usize::from(random) % LETTERS.len()];
        }
        control.set_nodelay(true).map_err(wrong)?;
        set_silence(&control, SILENCE).map_err(wrong)?;
        let mut control = Timed::new(control, PATIENCE);
        control.write_all(&cookie).map_err(wrong)?;
        let grant = Grant { rate: None, bytes: None, duration: 86_400_000_000 };
        let terms = Arc::new(Terms::new(asked, grant));
        let (flows, heard) = (Vec::new(), Step::Cookie);
        Ok(Client { control, server, cookie, terms, flows, heard, began: None, ended: false, stop })
    }

    /// Follows the server's states to the end.
    fn run(mut self) -> Result<Tested, Refusal> {
        let mut theirs = Results::default();
        let mut heard = Instant::now();
        loop {
            if let Some(state) = self.state().map_err(|error| broken(&error))? {
                heard = Instant::now();
                let done = self.on_state(state, &mut theirs)?;
                if done {
                    break;
                }
            }
            if self.stop.load(Ordering::Relaxed) {
                // The server may have gone.
                self.control.allow(STEP);
                let _ = self.control.write_all(&[State::ClientTerminate as i8 as u8]);
                return Err(Refusal::new("interrupted", "interrupted", "begin again"));
            }
            if !self.ended && self.is_over() {
                self.end().map_err(|error| broken(&error))?;
                heard = Instant::now();
            }
            if (self.began.is_none() || self.ended) && heard.elapsed() > PATIENCE {
                return Err(Refusal::new("connection", "the server says nothing", "is it an iperf3 server?"));
            }
        }
        let (ours, sends) = (results(&self.flows), self.flows.iter().map(|flow| flow.sends).collect());
        Ok(Tested { asked: self.terms.asked.clone(), ours, theirs, sends })
    }

    /// The server's next state, if it comes soon.
    fn state(&mut self) -> io::Result<Option<u8>> {
        let mut state = [0];
        self.control.allow(STEP / 5);
        match self.control.read(&mut state) {
            Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
            Ok(_) => Ok(Some(state[0])),
            Err(error) if is_timeout(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Does what a state asks for. True if the test is done.
    fn on_state(&mut self, byte: u8, theirs: &mut Results) -> Result<bool, Refusal> {
        let wrong = |error: io::Error| broken(&error);
        self.control.allow(PATIENCE);
        let state = State::of(byte);
        if let Some(step) = state.and_then(Step::of) {
            // A server that goes round in circles would hold this end for ever.
            let early = match step {
                Step::Results => !self.ended,
                Step::Done => self.heard != Step::Results,
                _ => false,
            };
            if step <= self.heard || early {
                return Err(meaningless(byte));
            }
            self.heard = step;
        }
        match state {
            Some(State::ParamExchange) => {
                write_document(&mut self.control, &self.terms.asked).map_err(wrong)?
            }
            Some(State::CreateStreams) => self.create().map_err(wrong)?,
            Some(State::TestStart) => {}
            Some(State::TestRunning) if !self.flows.is_empty() => self.began = Some(Instant::now()),
            Some(State::ExchangeResults) => {
                self.drain();
                self.control.allow(PATIENCE);
                write_document(&mut self.control, &results(&self.flows)).map_err(wrong)?;
                *theirs = read_document(&mut self.control).map_err(wrong)?;
            }
            Some(State::DisplayResults) => {
                // The server may hang up first.
                let _ = self.control.write_all(&[State::Done as i8 as u8]);
                return Ok(true);
            }
            Some(State::AccessDenied) => {
                let help = "try again later; `ackclock agent --iperf3` serves several clients at once";
                return Err(Refusal::new("busy", "the server serves somebody else", help));
            }
            Some(State::ServerError) => return Err(self.server_error()),
            Some(State::ServerTerminate) => {
                let help = "the server's own output may say why";
                return Err(Refusal::new("terminated", "the server has ended the test", help));
            }
            _ => return Err(meaningless(byte)),
        }
        Ok(false)
    }

    fn server_error(&mut self) -> Refusal {
        let mut numbers = [0; 8];
        let told = self.control.read_exact(&mut numbers).is_ok();
        let word =
            |at: usize| i32::from_be_bytes([numbers[at], numbers[at + 1], numbers[at + 2], numbers[at + 3]]);
        let why = if told {
            format!("error {} of iperf3, {}", word(0), io::Error::from_raw_os_error(word(4)))
        } else {
            "an error".to_owned()
        };
        Refusal::new(
            "server_error",
            format!("the server cannot: {why}"),
            "the server's own output may say more",
        )
    }

    /// Makes the streams; in both directions those that this end sends come first.
    fn create(&mut self) -> io::Result<()> {
        let asked = self.terms.asked.clone();
        let directions: &[bool] = match (asked.bidirectional, asked.reverse) {
            (true, _) => &[true, false],
            (false, reverse) => &[!reverse],
        };
        // Streams that send begin before the server has said so: iperf3's servers wait for all of them first.
        let mut sockets = Vec::new();
        for &sends in directions {
            for _ in 0..asked.parallel {
                let socket = if asked.udp { self.udp()? } else { self.tcp(&asked)? };
                sockets.push((sends, socket));
            }
        }
        for (index, (sends, socket)) in sockets.into_iter().enumerate() {
            self.flows.push(Flow::start(stream_id(index), sends, socket, &self.terms)?);
        }
        Ok(())
    }

    fn tcp(&self, asked: &Parameters) -> io::Result<Socket> {
        let window = (asked.window > 0).then_some(asked.window);
        let mut stream = connected(None, self.server, window)?;
        choose(&stream, asked)?;
        stream.write_all(&self.cookie)?;
        Ok(Socket::Tcp(stream))
    }

    fn udp(&self) -> io::Result<Socket> {
        let any = if self.server.is_ipv4() {
            SocketAddr::from(([0; 4], 0))
        } else {
            SocketAddr::from(([0_u16; 8], 0))
        };
        let socket = UdpSocket::bind(any)?;
        socket.connect(self.server)?;
        socket.set_read_timeout(Some(AGAIN))?;
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            socket.send(&UDP_HELLO)?;
            let mut answer = [0; GREETING + 1];
            match socket.recv(&mut answer) {
                Ok(GREETING)
                    if [UDP_ANSWER, OLD_UDP.1].contains(&[answer[0], answer[1], answer[2], answer[3]]) =>
                {
                    return Ok(Socket::Udp(socket));
                }
                Ok(_) => {}
                Err(error) if is_timeout(&error) || error.kind() == ErrorKind::ConnectionRefused => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::new(ErrorKind::TimedOut, "the server does not answer over UDP"))
    }

    /// Is it time to end the test?
    fn is_over(&self) -> bool {
        let Some(began) = self.began else { return false };
        let asked = &self.terms.asked;
        if asked.span().is_some_and(|span| began.elapsed().as_secs_f64() >= span) {
            return true;
        }
        let received =
            || -> u64 { self.flows.iter().filter(|flow| !flow.sends).map(|flow| flow.result().bytes).sum() };
        // Who sends all that is to be sent has ended; what is received is counted.
        let sent_all = self.flows.iter().filter(|flow| flow.sends).all(|flow| flow.counted().ended);
        let wants = |limit: u64| self.flows.iter().all(|flow| flow.sends) || received() >= limit;
        sent_all && asked.limit().is_some_and(wants) || self.flows.iter().all(|flow| flow.counted().ended)
    }

    /// Ends the test, when what was sent has arrived.
    fn end(&mut self) -> io::Result<()> {
        self.ended = true;
        self.terms.stop_sending();
        for flow in self.flows.iter_mut().filter(|flow| flow.sends) {
            flow.join();
        }
        if self.flows.iter().any(|flow| flow.sends) {
            // The server's kernel has everything. Its program, which throws away what it has not read when
            // the test ends, gets a moment.
            std::thread::sleep(QUIET);
        }
        self.control.allow(PATIENCE);
        self.control.write_all(&[State::TestEnd as i8 as u8])
    }

    /// The server sends no more: waits until nothing more comes.
    fn drain(&mut self) {
        let received = |flows: &[Flow]| -> u64 { flows.iter().map(|flow| flow.counted().bytes).sum() };
        let (mut last, mut changed, begun) = (received(&self.flows), Instant::now(), Instant::now());
        let receives = self.flows.iter().any(|flow| !flow.sends);
        while receives && changed.elapsed() < QUIET && begun.elapsed() < PATIENCE / 2 {
            std::thread::sleep(STEP / 5);
            let now = received(&self.flows);
            if now != last {
                (last, changed) = (now, Instant::now());
            }
        }
        self.terms.stop();
        self.flows.iter_mut().for_each(Flow::join);
    }
}

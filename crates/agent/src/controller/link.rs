//! The connection with one agent: a thread that asks for others, and renews the agent's lease.

use super::board::Board;
use crate::protocol::{Lines, Refusal, Reply, Request, VERSION, to_line};
use crate::script::Address;
use crate::tls::{named, server_name};
use ackclock_sockets::Timed;
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// Between two renewals of the agent's lease.
const RENEWAL: Duration = Duration::from_millis(250);
/// So long an agent may take to answer. It answers at once; names that it looks up may take longer.
const PATIENCE: Duration = Duration::from_secs(10);

/// The greatest number of requests for what has changed, one after the other.
const MAX_ROUNDS: usize = 100;

type Asked = (Request, Sender<Result<Reply, Refusal>>);

/// A connection with an agent.
pub(super) struct Link {
    asks: Sender<Asked>,
}

impl Link {
    /// Connects with the agent, the `number`th on the board.
    ///
    /// # Errors
    ///
    /// If there is no connection, or if one end does not trust the other.
    pub(super) fn open(
        agent: &Address,
        number: usize,
        config: Arc<ClientConfig>,
        board: Arc<Board>,
    ) -> Result<Link, Refusal> {
        let mut wire = Wire::connect(agent, config)?;
        match wire.ask(&Request::Initialize { version: VERSION })? {
            Reply::Ready { .. } => {}
            reply => return Err(unexpected(agent, reply)),
        }
        let (asks, asked) = channel();
        let begun = std::thread::Builder::new().name("agent".to_owned()).spawn(move || {
            if let Err(refusal) = keep(&mut wire, &asked, number, &board) {
                board.lose(number, &refusal);
                // Who still asks is told the same.
                while let Ok((_, answer)) = asked.recv() {
                    let _ = answer.send(Err(refusal.clone()));
                }
            }
        });
        match begun {
            Ok(_) => Ok(Link { asks }),
            Err(error) => {
                Err(Refusal::new("no_thread", error.to_string(), "raise the limit of threads (ulimit -u)"))
            }
        }
    }

    /// Asks the agent.
    ///
    /// # Errors
    ///
    /// What the agent refuses, or why it cannot be asked any more.
    pub(super) fn ask(&self, request: Request) -> Result<Reply, Refusal> {
        let gone =
            || Refusal::new("connection", "the connection with the agent is over", "begin the script anew");
        let (answer, answered) = channel();
        self.asks.send((request, answer)).map_err(|_| gone())?;
        match answered.recv().map_err(|_| gone())? {
            Ok(Reply::Refused(refusal)) | Err(refusal) => Err(refusal),
            Ok(reply) => Ok(reply),
        }
    }
}

fn unexpected(agent: &Address, reply: Reply) -> Refusal {
    match reply {
        Reply::Refused(refusal) => refusal,
        _ => {
            Refusal::new("bad_message", format!("{agent} answers something else"), "is it the same version?")
        }
    }
}

/// Asks what is asked, and renews the lease meanwhile, until nobody has the link any more.
fn keep(wire: &mut Wire, asked: &Receiver<Asked>, number: usize, board: &Board) -> Result<(), Refusal> {
    let mut renewed = Instant::now();
    loop {
        if renewed.elapsed() >= RENEWAL {
            renewed = Instant::now();
            renew(wire, number, board)?;
        }
        match asked.recv_timeout(RENEWAL.saturating_sub(renewed.elapsed())) {
            Ok((request, answer)) => {
                let reply = wire.ask(&request);
                let lost = reply.as_ref().err().cloned();
                // Who asked may have given up.
                let _ = answer.send(reply);
                if let Some(refusal) = lost {
                    return Err(refusal);
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
    }
}

fn renew(wire: &mut Wire, number: usize, board: &Board) -> Result<(), Refusal> {
    // An agent that always has more to tell is asked for it later: others wait to ask it.
    for _ in 0..MAX_ROUNDS {
        match wire.ask(&Request::Renew {})? {
            Reply::Changes { changes, more } => {
                board.change(number, changes);
                if !more {
                    break;
                }
            }
            reply => return Err(unexpected(&wire.agent, reply)),
        }
    }
    Ok(())
}

/// The stream, and the lines that it brings.
struct Wire {
    agent: Address,
    stream: StreamOwned<ClientConnection, Timed<TcpStream>>,
    lines: Lines,
}

impl Wire {
    fn connect(agent: &Address, config: Arc<ClientConfig>) -> Result<Wire, Refusal> {
        let lost = |error: io::Error| named(&error, &agent.to_string());
        let name = server_name(&agent.host)?;
        let found = (agent.host.as_str(), agent.port).to_socket_addrs().map_err(lost)?;
        let mut reason = io::Error::new(ErrorKind::NotFound, "there is no such host");
        let mut stream = None;
        for address in found {
            match TcpStream::connect_timeout(&address, PATIENCE / 2) {
                Ok(connected) => {
                    stream = Some(connected);
                    break;
                }
                Err(error) => reason = error,
            }
        }
        let Some(stream) = stream else { return Err(lost(reason)) };
        stream.set_nodelay(true).map_err(lost)?;
        let tls = ClientConnection::new(config, name).map_err(|error| lost(io::Error::other(error)))?;
        let stream = StreamOwned::new(tls, Timed::new(stream, PATIENCE));
        Ok(Wire { agent: agent.clone(), stream, lines: Lines::default() })
    }

    fn ask(&mut self, request: &Request) -> Result<Reply, Refusal> {
        let agent = self.agent.to_string();
        let bad = |message: String| {
            Refusal::new("bad_message", format!("{agent}: {message}"), "is it the same version?")
        };
        let line = to_line(request).map_err(|error| bad(error.to_string()))?;
        // For request and answer together, the handshake of TLS included, however few bytes come at once.
        self.stream.sock.allow(PATIENCE);
        let sent = self.stream.write_all(&line).and_then(|()| self.stream.flush());
        // An agent that refuses this certificate says so, and then hangs up: the alert says more.
        let broken = sent.err();
        let mut piece = [0; 4096];
        loop {
            if let Some(line) = self.lines.next_line().map_err(|error| bad(error.to_string()))? {
                return serde_json::from_slice(&line)
                    .map_err(|error| bad(format!("it answers no JSON: {error}")));
            }
            let lost = match self.stream.read(&mut piece) {
                Ok(0) => io::Error::new(ErrorKind::UnexpectedEof, "it has hung up"),
                Ok(length) => {
                    self.lines.push(&piece[..length]);
                    continue;
                }
                Err(error) => error,
            };
            let told = lost.get_ref().is_some_and(|inner| inner.is::<rustls::Error>());
            return Err(named(broken.as_ref().filter(|_| !told).unwrap_or(&lost), &agent));
        }
    }
}

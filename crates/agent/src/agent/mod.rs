//! An agent: it serves controllers over TLS, and does what they ask within its policy.

pub(crate) mod clock;
mod door;
pub(crate) mod guard;
pub(crate) mod ledger;
mod session;
mod slot;
pub(crate) mod tcp;
mod udp;
pub(crate) mod waking;
pub(crate) mod writing;

use crate::listening::{Crowd, Place, accept};
use crate::log::{Log, Note};
use crate::policy::Policy;
use crate::protocol::{Lines, Refusal, Reply, to_line};
use crate::tls::names;
use ackclock_sockets::{Timed, is_timeout};
use clock::Clock;
use door::Doors;
use ledger::Ledger;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use session::Session;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The greatest number of sessions at once.
const MAX_SESSIONS: usize = 128;
/// The greatest number of connections that have not shown a certificate yet, of all hosts and of each.
const MAX_STRANGERS: (usize, usize) = (256, 32);
/// The stack of a session, bytes: the usual one, because names are looked up and certificates verified.
const STACK: usize = 2 << 20;
/// So long a stranger may take to show a certificate, and a controller to take an answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// Between two looks at whether the controller is still there.
const STEP: Duration = Duration::from_millis(100);

/// An agent.
pub struct Agent {
    policy: Policy,
    config: Arc<ServerConfig>,
    clock: Clock,
    doors: Doors,
    ledger: Ledger,
    strangers: Crowd,
    sessions: Crowd,
}

impl Agent {
    /// An agent with this policy and this certificate.
    pub fn new(policy: Policy, config: Arc<ServerConfig>) -> Agent {
        Agent {
            policy,
            config,
            clock: Clock::start(),
            doors: Doors::default(),
            ledger: Ledger::default(),
            strangers: Crowd::new(MAX_STRANGERS.0).each(MAX_STRANGERS.1),
            sessions: Crowd::new(MAX_SESSIONS),
        }
    }

    /// Serves controllers until `stop` is set. Then all traffic ends.
    ///
    /// # Errors
    ///
    /// If the listener fails.
    pub fn serve(
        self: &Arc<Self>,
        listener: &TcpListener,
        stop: &'static AtomicBool,
        log: &Log,
    ) -> io::Result<()> {
        let (agent, said) = (self.clone(), log.clone());
        let wanted = || !stop.load(Ordering::Relaxed);
        accept(
            listener,
            &self.strangers,
            STACK,
            wanted,
            &|text| log(text.into()),
            move |stream, peer, place| {
                let log = |note: Note| said(note.of(peer));
                if let Err(refusal) = agent.session((stream, peer.ip(), place), stop, &log) {
                    log(Note::from(&refusal));
                }
            },
        )?;
        // Sessions notice by themselves, and end their tests.
        self.strangers.wait(PATIENCE);
        self.sessions.wait(2 * PATIENCE);
        Ok(())
    }

    fn session(
        self: &Arc<Self>,
        (stream, host, place): (TcpStream, IpAddr, Place),
        stop: &AtomicBool,
        log: &dyn Fn(Note),
    ) -> Result<(), Refusal> {
        let lost = |error: io::Error| crate::tls::named(&error, "the controller");
        stream.set_nodelay(true).map_err(lost)?;
        let tls =
            ServerConnection::new(self.config.clone()).map_err(|error| lost(io::Error::other(error)))?;
        let mut stream = StreamOwned::new(tls, Timed::new(stream, PATIENCE));
        greet(&mut stream, stop).map_err(lost)?;
        let Some(_seat) = self.sessions.enter(host) else {
            let message = format!("the agent serves {MAX_SESSIONS} controllers already");
            let refusal = Refusal::new("busy", message, "try again later");
            answer(&mut stream, &Reply::Refused(refusal.clone())).map_err(lost)?;
            return Err(refusal);
        };
        drop(place);
        let who = names(stream.conn.peer_certificates());
        log(format!("{} controls", who.join(", ")).into());
        let mut session = Session::new(self.clone(), who);
        let (mut lines, mut piece) = (Lines::default(), vec![0; 16 << 10]);
        while !stop.load(Ordering::Relaxed) {
            // However few bytes come at once, the lease is looked at.
            stream.sock.allow(STEP);
            match stream.read(&mut piece) {
                Ok(0) => break,
                Ok(length) => lines.push(&piece[..length]),
                Err(error) if is_timeout(&error) => {}
                // Whoever was killed does not close the session.
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => break,
                Err(error) => return Err(lost(error)),
            }
            while let Some(line) =
                lines.next_line().map_err(|error| Refusal::new("bad_message", error.to_string(), ""))?
            {
                let Some(reply) = session.on_line(&line) else { return Ok(()) };
                if let Reply::Refused(refusal) = &reply {
                    log(Note::from(refusal));
                }
                answer(&mut stream, &reply).map_err(lost)?;
            }
            // Bytes that make no message are no sign of life.
            if !session.shared().lives() {
                return Err(Refusal::new("no_controller", "the controller was not heard any more", ""));
            }
        }
        drop(session);
        log("has gone".to_owned().into());
        Ok(())
    }
}

type Controlled = StreamOwned<ServerConnection, Timed<TcpStream>>;

fn answer(stream: &mut Controlled, reply: &Reply) -> io::Result<()> {
    let line = to_line(reply).map_err(io::Error::other)?;
    stream.sock.allow(PATIENCE);
    stream.write_all(&line)?;
    stream.flush()
}

/// The handshake of TLS, within a time, however few bytes come at once.
fn greet(stream: &mut Controlled, stop: &AtomicBool) -> io::Result<()> {
    let begun = Instant::now();
    while stream.conn.is_handshaking() {
        let left = PATIENCE.saturating_sub(begun.elapsed());
        if left.is_zero() || stop.load(Ordering::Relaxed) {
            return Err(ErrorKind::TimedOut.into());
        }
        stream.sock.allow(STEP.min(left));
        match stream.conn.complete_io(&mut stream.sock) {
            Ok(_) => {}
            Err(error) if is_timeout(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

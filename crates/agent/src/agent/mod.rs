//! An agent: it serves controllers over TLS, and does what they ask within its policy.

pub(crate) mod clock;
mod door;
pub(crate) mod guard;
pub(crate) mod ledger;
mod session;
mod slot;
pub(crate) mod tcp;
mod udp;
pub(crate) mod writing;

use crate::policy::Policy;
use crate::protocol::{Lines, Refusal, Reply, to_line};
use crate::tls::names;
use clock::Clock;
use door::Doors;
use ledger::Ledger;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use session::Session;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The greatest number of sessions at once, those included that have not shown a certificate yet.
const MAX_SESSIONS: usize = 128;
/// So long a stranger may take to show a certificate.
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
    sessions: AtomicUsize,
}

/// What an agent tells who runs it.
pub type Log = Arc<dyn Fn(String) + Send + Sync>;

impl Agent {
    /// An agent with this policy and this certificate.
    pub fn new(policy: Policy, config: Arc<ServerConfig>) -> Agent {
        Agent {
            policy,
            config,
            clock: Clock::start(),
            doors: Doors::default(),
            ledger: Ledger::default(),
            sessions: AtomicUsize::new(0),
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
        while !stop.load(Ordering::Relaxed) {
            if !readable(listener, STEP)? {
                continue;
            }
            let (stream, peer) = match listener.accept() {
                Ok(accepted) => accepted,
                Err(error) => {
                    // Too many open files, or the stranger has gone again: neither ends an agent.
                    log(format!("a connection was not accepted: {error}"));
                    std::thread::sleep(STEP);
                    continue;
                }
            };
            if self.sessions.fetch_add(1, Ordering::Relaxed) >= MAX_SESSIONS {
                self.sessions.fetch_sub(1, Ordering::Relaxed);
                log(format!("{peer} is turned away: {MAX_SESSIONS} sessions are going on"));
                continue;
            }
            let (agent, log) = (self.clone(), log.clone());
            let begun = std::thread::Builder::new().spawn(move || {
                if let Err(refusal) = agent.session(stream, stop, &|text| log(format!("{peer}: {text}"))) {
                    log(format!("{peer}: {}: {}", refusal.error, refusal.message));
                }
                agent.sessions.fetch_sub(1, Ordering::Relaxed);
            });
            if let Err(error) = begun {
                self.sessions.fetch_sub(1, Ordering::Relaxed);
                return Err(error);
            }
        }
        // Sessions notice by themselves, and end their tests.
        let begun = Instant::now();
        while self.sessions.load(Ordering::Relaxed) > 0 && begun.elapsed() < 2 * PATIENCE {
            std::thread::sleep(STEP / 10);
        }
        Ok(())
    }

    fn session(
        self: &Arc<Self>,
        stream: TcpStream,
        stop: &AtomicBool,
        log: &dyn Fn(String),
    ) -> Result<(), Refusal> {
        let lost = |error: io::Error| crate::tls::named(&error, "the controller");
        stream.set_nodelay(true).and_then(|()| stream.set_read_timeout(Some(STEP))).map_err(lost)?;
        stream.set_write_timeout(Some(PATIENCE)).map_err(lost)?;
        let tls =
            ServerConnection::new(self.config.clone()).map_err(|error| lost(io::Error::other(error)))?;
        let mut stream = StreamOwned::new(tls, stream);
        greet(&mut stream, stop).map_err(lost)?;
        let who = names(stream.conn.peer_certificates());
        log(format!("{} controls", who.join(", ")));
        let mut session = Session::new(self.clone(), who);
        let (mut lines, mut piece) = (Lines::default(), vec![0; 16 << 10]);
        while !stop.load(Ordering::Relaxed) {
            match stream.read(&mut piece) {
                Ok(0) => break,
                Ok(length) => lines.push(&piece[..length]),
                Err(error) if waits(&error) => {
                    if !session.shared().lives() {
                        drop(session);
                        return Err(Refusal::new(
                            "no_controller",
                            "the controller was not heard any more",
                            "",
                        ));
                    }
                    continue;
                }
                // Whoever was killed does not close the session.
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => break,
                Err(error) => return Err(lost(error)),
            }
            while let Some(line) =
                lines.next_line().map_err(|error| Refusal::new("bad_message", error.to_string(), ""))?
            {
                let Some(reply) = session.on_line(&line) else { return Ok(()) };
                if let Reply::Refused(refusal) = &reply {
                    log(format!("{}: {}", refusal.error, refusal.message));
                }
                answer(&mut stream, &reply).map_err(lost)?;
            }
        }
        drop(session);
        log("has gone".to_owned());
        Ok(())
    }
}

fn answer(stream: &mut StreamOwned<ServerConnection, TcpStream>, reply: &Reply) -> io::Result<()> {
    let line = to_line(reply).map_err(io::Error::other)?;
    stream.write_all(&line)?;
    stream.flush()
}

/// The handshake of TLS, within a time.
fn greet(stream: &mut StreamOwned<ServerConnection, TcpStream>, stop: &AtomicBool) -> io::Result<()> {
    let begun = Instant::now();
    while stream.conn.is_handshaking() {
        match stream.conn.complete_io(&mut stream.sock) {
            Ok(_) => {}
            Err(error) if waits(&error) && begun.elapsed() < PATIENCE && !stop.load(Ordering::Relaxed) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// True if nothing has come yet.
pub(crate) fn waits(error: &io::Error) -> bool {
    ackclock_sockets::is_timeout(error)
}

/// Waits until somebody connects; false if nobody does within `patience`.
pub(crate) fn readable(listener: impl AsFd, patience: Duration) -> io::Result<bool> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let patience = Timespec { tv_sec: patience.as_secs() as _, tv_nsec: patience.subsec_nanos() as _ };
    match poll(&mut [PollFd::new(&listener, PollFlags::IN)], Some(&patience)) {
        Ok(ready) => Ok(ready > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

//! A server for unmodified clients of iperf3, several at once.

use super::MAX_STREAMS;
use super::flow::{Flow, STEP, Socket, Terms, choose};
use super::message::{
    COOKIE, OLD_UDP, Parameters, Results, ServerError, State, UDP_ANSWER, UDP_HELLO, read_document,
    stream_id, write_document,
};
use crate::agent::ledger::calendar;
use crate::listening::{Crowd, accept};
use crate::log::{Log, Note};
use crate::policy::{Grant, Policy};
use ackclock_sockets::{Timed, is_timeout, read_within, set_receive_buffer, set_send_buffer, set_silence};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, socket_with, sockopt};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// So long a client may take for what it has to say next.
const PATIENCE: Duration = Duration::from_secs(10);
/// So long a client may take to show its cookie.
const GREETING: Duration = Duration::from_secs(5);
/// The greatest number of connections that have not shown a cookie yet, those for control of all tests
/// included: of all hosts and of each.
const MAX_CONNECTIONS: (usize, usize) = (512, 256);
/// The stack of a thread with a test, bytes.
const STACK: usize = 256 << 10;
/// After so long without a word from the client's kernel, which is asked once a second, a client is cut
/// off. Losses that a test itself causes may meet some of these questions, but hardly all.
pub(super) const SILENCE: Duration = Duration::from_secs(5);
/// Receivers wait so long for what the client says that it has sent.
const DRAINING: Duration = Duration::from_secs(2);

type Cookie = [u8; COOKIE];

/// A test that waits for its streams.
struct Waiting {
    cookie: Cookie,
    client: IpAddr,
    udp: bool,
    streams: SyncSender<Numbered>,
}

/// A stream's connection, and its place in the order in which the client has opened them.
type Numbered = (u64, Socket);

/// A server.
pub struct Server {
    policy: Policy,
    waiting: Mutex<Vec<Waiting>>,
    connections: Crowd,
    tests: Crowd,
}

/// A test that waits is taken off the list when this is dropped.
struct Listed<'a>(&'a Server, Cookie);

impl Drop for Listed<'_> {
    fn drop(&mut self) {
        self.0.waiting().retain(|test| test.cookie != self.1);
    }
}

/// Why a test ended before its end.
enum Ended {
    /// The connection with the client is over, or the client has given up.
    Gone(String),
    /// The server gives up, and tells this error.
    Refused(ServerError, i32, String),
    /// The policy is exceeded, or the server ends.
    Terminated(String),
}

impl From<io::Error> for Ended {
    fn from(error: io::Error) -> Ended {
        Ended::Gone(error.to_string())
    }
}

impl Server {
    /// A server with this policy.
    pub fn new(policy: Policy) -> Server {
        Server {
            policy,
            waiting: Mutex::default(),
            connections: Crowd::new(MAX_CONNECTIONS.0).each(MAX_CONNECTIONS.1),
            tests: Crowd::new(MAX_CONNECTIONS.0),
        }
    }

    /// Serves clients at `listener`'s port, over TCP and UDP, until `stop` is set.
    ///
    /// # Errors
    ///
    /// If the sockets fail, as when the port is in use for UDP.
    pub fn serve(
        self: &Arc<Self>,
        listener: &TcpListener,
        stop: &'static AtomicBool,
        log: &Log,
    ) -> io::Result<()> {
        let address = listener.local_addr()?;
        let datagrams = udp_socket(address)?;
        let (server, udp_log) = (self.clone(), log.clone());
        let greeter = std::thread::Builder::new().spawn(move || {
            if let Err(error) = server.greet_datagrams(&datagrams, address, stop) {
                udp_log(format!("UDP ends: {error}").into());
            }
        })?;
        let (server, said) = (self.clone(), log.clone());
        let wanted = || !stop.load(Ordering::Relaxed);
        accept(
            listener,
            &self.connections,
            STACK,
            wanted,
            &|text| log(text.into()),
            move |stream, peer, place| {
                let number = place.number();
                server.meet((number, stream), peer, stop, &|note| said(note.of(peer)));
            },
        )?;
        self.connections.wait(GREETING);
        // It ends within a tenth of a second, and had nothing else to say.
        let _ = greeter.join();
        Ok(())
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new connection: a stream of a test that waits for it, or a new test.
    fn meet(
        &self,
        (number, stream): (u64, TcpStream),
        peer: SocketAddr,
        stop: &AtomicBool,
        log: &dyn Fn(Note),
    ) {
        let mut cookie = [0; COOKIE];
        if read_within(&stream, &mut cookie, GREETING).is_err() {
            return;
        }
        {
            let waiting = self.waiting();
            if let Some(test) =
                waiting.iter().find(|it| it.cookie == cookie && !it.udp && it.client == peer.ip())
            {
                // A test that has all its streams hangs up.
                let _ = test.streams.try_send((number, Socket::Tcp(stream)));
                return;
            }
        }
        let Some(_place) = self.tests.enter(peer.ip()) else { return };
        let mut control = Timed::new(stream, PATIENCE);
        let outcome = self.test(&mut control, cookie, peer.ip(), stop);
        control.allow(PATIENCE);
        match outcome {
            Ok((received, sent)) => log(Note {
                text: format!("{received} bytes received, {sent} sent"),
                bytes: Some((received, sent)),
                ..Note::default()
            }),
            Err(Ended::Gone(why)) => log(format!("the client has gone: {why}").into()),
            Err(Ended::Refused(error, errno, why)) => {
                log(format!("refused: {why}").into());
                let mut message = vec![State::ServerError as i8 as u8];
                message.extend((error as u32).to_be_bytes());
                message.extend(errno.to_be_bytes());
                // The client may have gone.
                let _ = control.write_all(&message);
            }
            Err(Ended::Terminated(why)) => {
                log(format!("ended: {why}").into());
                let _ = control.write_all(&[State::ServerTerminate as i8 as u8]);
            }
        }
    }

    /// A test from its cookie to its end: the bytes that were received and sent.
    fn test(
        &self,
        control: &mut Control,
        cookie: Cookie,
        client: IpAddr,
        stop: &AtomicBool,
    ) -> Result<(u64, u64), Ended> {
        let others = self.tests.len().saturating_sub(1);
        let grant = self
            .policy
            .iperf3
            .for_client(client, others, calendar().1)
            .map_err(|refusal| Ended::Refused(ServerError::NotAllowed, 0, refusal.message))?;
        control.stream().set_nodelay(true)?;
        set_silence(control.stream(), SILENCE)?;
        control.allow(PATIENCE);
        tell(control, State::ParamExchange)?;
        let asked: Parameters = read_document(control)?;
        if let Some(fault) = asked.fault().or_else(|| excess(&asked, &grant)) {
            return Err(Ended::Refused(ServerError::NotAllowed, 0, fault.to_owned()));
        }
        let (sender, streams) = sync_channel(2 * MAX_STREAMS as usize);
        self.waiting().push(Waiting { cookie, client, udp: asked.udp, streams: sender });
        let listed = Listed(self, cookie);
        tell(control, State::CreateStreams)?;
        let sockets = gather(&streams, &asked)?;
        drop(listed);
        let terms = Arc::new(Terms::new(asked, grant));
        let mut flows = start(sockets, &terms).inspect_err(|_| terms.stop())?;
        let outcome = tell(control, State::TestStart)
            .and_then(|()| tell(control, State::TestRunning))
            .map_err(Ended::from)
            .and_then(|()| run(control, &terms, &flows, stop));
        terms.stop_sending();
        let outcome = outcome.and_then(|()| exchange(control, &terms, &mut flows));
        terms.stop();
        flows.iter_mut().for_each(Flow::join);
        outcome?;
        let bytes = |sends| -> u64 {
            flows.iter().filter(|flow| flow.sends == sends).map(|flow| flow.counted().bytes).sum()
        };
        Ok((bytes(false), bytes(true)))
    }

    /// Answers the first datagrams of streams over UDP, each with a socket of its own from then on.
    fn greet_datagrams(
        &self,
        datagrams: &UdpSocket,
        address: SocketAddr,
        stop: &AtomicBool,
    ) -> io::Result<()> {
        let mut buffer = [0; 64];
        let mut greeted = 0;
        while !stop.load(Ordering::Relaxed) {
            let (length, peer) = match datagrams.recv_from(&mut buffer) {
                Ok(arrived) => arrived,
                Err(error) if is_timeout(&error) || error.kind() == ErrorKind::ConnectionRefused => continue,
                Err(error) => return Err(error),
            };
            let answer = match &buffer[..length] {
                hello if *hello == UDP_HELLO => UDP_ANSWER,
                hello if *hello == OLD_UDP.0 => OLD_UDP.1,
                _ => continue,
            };
            let waiting = self.waiting();
            // Only to the address of a control connection, and only while its test waits.
            let Some(test) = waiting.iter().find(|test| test.udp && test.client == peer.ip()) else {
                continue;
            };
            let Ok(socket) = udp_socket(address) else { continue };
            if socket.connect(peer).is_ok() && socket.send(&answer).is_ok() {
                greeted += 1;
                let _ = test.streams.try_send((greeted, Socket::Udp(socket)));
            }
        }
        Ok(())
    }
}

/// Why a test asks for more than there may be, if it does.
fn excess(asked: &Parameters, grant: &Grant) -> Option<&'static str> {
    if asked.span().is_some_and(|span| span * 1e6 > grant.duration as f64) {
        Some("the test takes longer than the policy allows")
    } else if grant.rate.is_some_and(|rate| asked.bandwidth > rate) {
        Some("the rate is above what the policy allows")
    } else if asked.limit().zip(grant.bytes).is_some_and(|(bytes, most)| bytes > most) {
        Some("more bytes than the policy allows")
    } else {
        None
    }
}

/// The connection with a client.
type Control = Timed<TcpStream>;

fn tell(control: &mut Control, state: State) -> io::Result<()> {
    control.write_all(&[state as i8 as u8])
}

/// A socket for datagrams at an address that others share.
fn udp_socket(address: SocketAddr) -> io::Result<UdpSocket> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket: OwnedFd = socket_with(family, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    bind(&socket, &address)?;
    let socket = UdpSocket::from(socket);
    socket.set_read_timeout(Some(STEP))?;
    Ok(socket)
}

/// All streams of a test, in the order in which the client has opened them.
fn gather(streams: &Receiver<Numbered>, asked: &Parameters) -> Result<Vec<Socket>, Ended> {
    let wanted = asked.parallel.min(MAX_STREAMS) as usize * if asked.bidirectional { 2 } else { 1 };
    let (mut sockets, begun) = (Vec::new(), Instant::now());
    while sockets.len() < wanted {
        let left = PATIENCE.saturating_sub(begun.elapsed());
        match streams.recv_timeout(left) {
            Ok(numbered) => sockets.push(numbered),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                return Err(Ended::Gone(format!("{} of {wanted} streams have come", sockets.len())));
            }
        }
    }
    sockets.sort_by_key(|&(number, _)| number);
    Ok(sockets.into_iter().map(|(_, socket)| socket).collect())
}

/// Begins all streams. In a test in both directions, those that the client sends come first.
fn start(sockets: Vec<Socket>, terms: &Arc<Terms>) -> Result<Vec<Flow>, Ended> {
    let asked = &terms.asked;
    let mut flows = Vec::new();
    for (index, socket) in sockets.into_iter().enumerate() {
        let sends = if asked.bidirectional { index >= asked.parallel as usize } else { asked.reverse };
        if let Socket::Tcp(stream) = &socket {
            choose(stream, asked).map_err(|error| {
                let errno = error.raw_os_error().unwrap_or(0);
                Ended::Refused(
                    ServerError::SetCongestion,
                    errno,
                    format!("the congestion controller: {error}"),
                )
            })?;
            if asked.window > 0 {
                set_send_buffer(stream, asked.window.min(1 << 30))?;
                set_receive_buffer(stream, asked.window.min(1 << 30))?;
            }
        }
        flows.push(Flow::start(stream_id(index), sends, socket, terms)?);
    }
    Ok(flows)
}

/// Lets the streams run until the client ends the test.
fn run(control: &mut Control, terms: &Terms, flows: &[Flow], stop: &AtomicBool) -> Result<(), Ended> {
    // A client that does not end its test.
    let most = terms.asked.span().map_or(86_400.0, |span| span + 30.0);
    let begun = Instant::now();
    loop {
        let mut state = [0];
        control.allow(STEP);
        match control.read(&mut state) {
            Ok(0) => return Err(Ended::Gone("it has hung up".to_owned())),
            Ok(_) => match State::of(state[0]) {
                Some(State::TestEnd) => return Ok(()),
                Some(State::ClientTerminate) => return Err(Ended::Gone("it has given up".to_owned())),
                _ => return Err(Ended::Gone(format!("it says {} while data flows", state[0]))),
            },
            Err(error) if is_timeout(&error) => {}
            Err(error) => return Err(error.into()),
        }
        if stop.load(Ordering::Relaxed) {
            return Err(Ended::Terminated("the server ends".to_owned()));
        }
        if terms.is_exceeded() {
            return Err(Ended::Terminated("more than the policy allows".to_owned()));
        }
        let idle = flows.iter().all(|flow| flow.counted().ended);
        if begun.elapsed().as_secs_f64() > most && idle || begun.elapsed().as_secs_f64() > most + 60.0 {
            return Err(Ended::Terminated("the client does not end the test".to_owned()));
        }
    }
}

/// Both tell their results.
fn exchange(control: &mut Control, terms: &Arc<Terms>, flows: &mut [Flow]) -> Result<(), Ended> {
    control.allow(PATIENCE);
    tell(control, State::ExchangeResults)?;
    let theirs: Results = read_document(control)?;
    // The client says what it has sent: what is still on its way counts, too.
    let begun = Instant::now();
    let sent = |flow: &Flow| theirs.streams.iter().find(|it| it.id == flow.id).map_or(0, |it| it.bytes);
    let patience = if terms.asked.udp { DRAINING / 10 } else { DRAINING };
    while begun.elapsed() < patience
        && flows.iter().any(|flow| !flow.sends && !flow.counted().ended && flow.result().bytes < sent(flow))
    {
        std::thread::sleep(STEP / 10);
    }
    terms.stop();
    flows.iter_mut().for_each(Flow::join);
    control.allow(PATIENCE);
    write_document(control, &results(flows))?;
    tell(control, State::DisplayResults)?;
    let mut state = [0];
    // A client that has what it wants may hang up without a word.
    let _ = control.read(&mut state);
    Ok(())
}

/// The results of one end.
pub(super) fn results(flows: &[Flow]) -> Results {
    let sends = flows.iter().any(|flow| flow.sends);
    let counts = flows.iter().any(|flow| flow.result().retransmits >= 0);
    let retransmits = match (sends, counts) {
        (false, _) => -1,
        (true, counts) => i64::from(counts),
    };
    Results {
        sender_has_retransmits: retransmits,
        congestion_used: flows.iter().find_map(|flow| flow.counted().control),
        streams: flows.iter().map(Flow::result).collect(),
        ..Results::default()
    }
}

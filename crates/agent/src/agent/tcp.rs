//! Both ends of a test over TCP.

use super::guard::Guard;
use super::slot::{Connection, Slot};
use super::waking::Waking;
use super::writing::{Outlet, Writer};
use crate::consent::{ANSWER, Verdict};
use crate::protocol::{Refusal, State};
use crate::report::Tally;
use crate::spec::{Protocol, Role};
use ackclock_sockets::{
    TcpInfo, controller, is_timeout, set_controller, set_pacing_rate, set_receive_buffer, set_send_buffer,
    set_tcp_option,
};
use ackclock_units::{Rate, Time};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, socket_with, sockopt};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

/// The longest time until a thread notices that it shall end.
pub(crate) const STEP: Duration = Duration::from_millis(100);
/// How long a host has to take a connection.
const PATIENCE: Duration = Duration::from_secs(5);
/// The kernel's name of the controller that never reduces its window, as `ackclock kernel load none` gives
/// it.
const NO_CONTROL: &str = "ac_none";
/// The socket option of the thesis, by the number that `ackclock kernel options` gives it.
const TCP_NO_CONGESTION: i32 = 0x5301;

/// What sources write: nothing but zeros.
pub(crate) static ZEROS: [u8; 128 << 10] = [0; 128 << 10];

/// A TCP socket that is bound to this address.
fn socket(own: SocketAddr, window: Option<u64>) -> io::Result<OwnedFd> {
    let family = if own.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    if let Some(bytes) = window {
        set_send_buffer(&socket, bytes)?;
        set_receive_buffer(&socket, bytes)?;
    }
    bind(&socket, &own)?;
    Ok(socket)
}

/// A listener at this address, whose connections have this window.
pub(crate) fn listener(own: SocketAddr, window: Option<u64>) -> io::Result<TcpListener> {
    let socket = socket(own, window)?;
    rustix::net::listen(&socket, 1024)?;
    Ok(TcpListener::from(socket))
}

/// A connection from `own` to `to`, with both time-outs set.
pub(crate) fn connected(
    own: Option<SocketAddr>,
    to: SocketAddr,
    window: Option<u64>,
) -> io::Result<TcpStream> {
    let any = if to.is_ipv4() { SocketAddr::from(([0; 4], 0)) } else { SocketAddr::from(([0_u16; 8], 0)) };
    let socket = socket(own.unwrap_or(any), window)?;
    sockopt::set_socket_timeout(&socket, sockopt::Timeout::Send, Some(PATIENCE))?;
    match connect(&socket, &to) {
        Ok(()) => {}
        Err(rustix::io::Errno::INPROGRESS) => return Err(ErrorKind::TimedOut.into()),
        Err(error) => return Err(error.into()),
    }
    let stream = TcpStream::from(socket);
    stream.set_nodelay(true)?;
    stream.set_write_timeout(Some(STEP))?;
    stream.set_read_timeout(Some(STEP))?;
    Ok(stream)
}

/// Makes the connection's end abrupt: what is still in the socket is thrown away.
pub(crate) fn end_abruptly(stream: &TcpStream) {
    // Where even this fails there is no connection any more.
    let _ = sockopt::set_socket_linger(stream, Some(Duration::ZERO));
}

/// Fills `buffer`; gives up when the slot does, or after a while.
fn read_exactly(stream: &mut TcpStream, buffer: &mut [u8], goes_on: impl Fn() -> bool) -> io::Result<()> {
    let mut filled = 0;
    while filled < buffer.len() {
        match stream.read(&mut buffer[filled..]) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(bytes) => filled += bytes,
            Err(error) if is_timeout(&error) && goes_on() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Connects a source with its sink, which must welcome it.
pub(super) fn open(slot: &Arc<Slot>) {
    match try_open(slot) {
        Ok(stream) => {
            slot.inner().connection = Connection::Tcp(stream);
            slot.tell(State::Opened);
        }
        Err(refusal) => slot.fail(refusal),
    }
}

fn try_open(slot: &Slot) -> Result<TcpStream, Refusal> {
    let Some(to) = slot.to else {
        return Err(Refusal::new("no_meeting", "this source was not told where its sink is", "tell it"));
    };
    let Protocol::Tcp { window, .. } = &slot.spec.protocol else { return Err(wrong_protocol()) };
    let unreachable = |error: io::Error| connection_refusal(to, &error);
    let mut stream = connected(slot.own, to, *window).map_err(unreachable)?;
    configure(slot, &stream)?;
    let mut nonce = [0; 16];
    getrandom::fill(&mut nonce).map_err(|error| unreachable(io::Error::other(error)))?;
    stream.write_all(&slot.secrets.hello(nonce)).map_err(unreachable)?;
    let (mut answer, begun) = ([0; ANSWER], slot.now());
    let goes_on = || slot.goes_on() && slot.now().since(begun) < Slot::patience();
    read_exactly(&mut stream, &mut answer, goes_on).map_err(|error| {
        if is_timeout(&error) || error.kind() == ErrorKind::UnexpectedEof {
            no_sink(to)
        } else {
            unreachable(error)
        }
    })?;
    match slot.secrets.read_answer(nonce, &answer) {
        Some(Verdict::Welcome) => Ok(stream),
        Some(verdict) => Err(rejected(verdict, to)),
        None => Err(no_sink(to)),
    }
}

fn wrong_protocol() -> Refusal {
    Refusal::new(
        "wrong_protocol",
        "this test has another protocol",
        "this is an error of ackclock: please report it",
    )
}

/// What a sink that does not welcome a source means.
pub(super) fn rejected(verdict: Verdict, to: SocketAddr) -> Refusal {
    match verdict {
        Verdict::Replayed => Refusal::new(
            "replayed_cookie",
            format!("the cookie was used before at {to}"),
            "begin the script anew",
        ),
        _ => Refusal::new(
            "unknown_cookie",
            format!("nobody waits for this cookie at {to}"),
            "begin the script anew",
        ),
    }
}

pub(super) fn no_sink(to: SocketAddr) -> Refusal {
    let help =
        "the host at this address takes no part: check `own` of the sink, and what is between the hosts";
    Refusal::new("no_consent", format!("{to} does not answer as the sink"), help)
}

pub(super) fn connection_refusal(to: SocketAddr, error: &io::Error) -> Refusal {
    let name = match error.kind() {
        ErrorKind::AddrInUse | ErrorKind::AddrNotAvailable => "address_in_use",
        _ => "connection",
    };
    let help = "check the addresses `own` and `peer`, and what is between the hosts";
    Refusal::new(name, format!("no connection with {to}: {error}"), help)
}

/// Controller, pacing and buffer of a source's socket.
fn configure(slot: &Slot, stream: &TcpStream) -> Result<(), Refusal> {
    let Protocol::Tcp { control, no_control, .. } = &slot.spec.protocol else { return Err(wrong_protocol()) };
    let control = if *no_control { Some(NO_CONTROL) } else { control.as_deref() };
    if let Some(name) = control {
        let scheme = name.trim_start_matches("ac_");
        let chosen = set_controller(stream, name);
        let chosen_by_name = chosen.is_ok();
        // In a control group with `ackclock kernel options` the thesis's own option does the same.
        let chosen = if *no_control {
            chosen.or_else(|error| set_tcp_option(stream, TCP_NO_CONGESTION, 1).map_err(|_| error))
        } else {
            chosen
        };
        chosen.map_err(|error| {
            let message = format!("the agent's kernel does not give the controller {name}: {error}");
            let help =
                format!("load it on that host: ackclock kernel load {scheme} (or modprobe tcp_{name})");
            Refusal::new("no_such_control", message, help)
        })?;
        // A controller may serve some destinations only, and give others to another one.
        if let Ok(given) = controller(stream)
            && given != name
            && chosen_by_name
        {
            let message = format!("the agent's kernel gives {given} instead of {name} towards this host");
            let help = format!("load it for this destination, too: ackclock kernel load {scheme} --allow");
            return Err(Refusal::new("no_such_control", message, help));
        }
    }
    let socket =
        |error: io::Error| Refusal::new("socket", format!("a socket option: {error}"), "ask for less");
    if let Some(rate) = slot.grant.rate {
        set_pacing_rate(stream, Rate::from_bps(rate)).map_err(socket)?;
    }
    if let Role::Source(pattern) = &slot.spec.role
        && let Some(bytes) = pattern.buffer()
    {
        set_send_buffer(stream, bytes).map_err(socket)?;
    }
    Ok(())
}

/// A socket that takes zeros.
struct Zeros<'a> {
    stream: &'a TcpStream,
    slot: &'a Slot,
    guard: Guard,
    written: u64,
}

impl Outlet for Zeros<'_> {
    fn put(&mut self, bytes: u64, _: Time) -> io::Result<u64> {
        let taken = (&mut &*self.stream).write(&ZEROS[..bytes.min(ZEROS.len() as u64) as usize])? as u64;
        self.written += taken;
        Ok(taken)
    }

    fn goes_on(&mut self, now: Time) -> bool {
        if let Some(refusal) = self.guard.check(now, self.written) {
            self.slot.fail(refusal);
            return false;
        }
        self.slot.goes_on()
    }
}

/// Writes everything, waits until it is acknowledged, and reports.
pub(super) fn run(slot: &Arc<Slot>) {
    let Connection::Tcp(stream) = std::mem::take(&mut slot.inner().connection) else {
        slot.fail(Refusal::new("not_open", "this test has no connection", "open it first"));
        return;
    };
    let Role::Source(pattern) = &slot.spec.role else { return };
    let alarm = match slot.shared.clock.alarm() {
        Ok(alarm) => alarm,
        Err(error) => return slot.fail(Refusal::new("no_timer", error.to_string(), "close some files")),
    };
    let mut outlet = Zeros { stream: &stream, slot, guard: Guard::new(slot.grant), written: 0 };
    let writer = Writer {
        outlet: &mut outlet,
        alarm: &alarm,
        clock: slot.shared.clock,
        tally: Tally::new(slot.spec.stamps),
        spaced: None,
        most: None,
        seed: u64::from_be_bytes(std::array::from_fn(|at| slot.secrets.cookie[at])),
    };
    let (outcome, mut report, stamps) = writer.write(pattern);
    let whole = outcome.is_ok() && outlet.goes_on(slot.now());
    if whole {
        settle(&mut outlet, report.bytes);
    } else {
        end_abruptly(&stream);
    }
    report.retransmissions = Some(TcpInfo::of(stream.as_fd()).total_retrans.into());
    report.control = controller(&stream).ok();
    // What ended before its end is closed here and now, so that the other end knows.
    let connection = if whole { Connection::Tcp(stream) } else { Connection::None };
    end(slot, outcome, report, stamps, connection);
}

/// Says that nothing more comes, and waits until the sink's kernel has everything.
fn settle(outlet: &mut Zeros<'_>, bytes: u64) {
    if outlet.stream.shutdown(std::net::Shutdown::Write).is_err() {
        return;
    }
    while outlet.goes_on(outlet.slot.now()) && TcpInfo::of(outlet.stream.as_fd()).bytes_acked < bytes {
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A thread has done its work, or could not.
pub(super) fn end(
    slot: &Slot,
    outcome: io::Result<()>,
    report: crate::report::Report,
    stamps: Vec<(u64, u64)>,
    connection: Connection,
) {
    let mut inner = slot.inner();
    let error = inner.report.error.take();
    inner.report = report;
    (inner.report.error, inner.stamps, inner.connection) = (error, stamps, connection);
    drop(inner);
    match outcome {
        Err(error) => slot.fail(Refusal::new(
            "connection",
            format!("the connection broke: {error}"),
            "has the other end been stopped, or did something between the hosts cut it?",
        )),
        Ok(()) if !slot.shared.lives() => slot.fail(Refusal::new(
            "no_controller",
            "the controller was not heard any more",
            "begin the script anew",
        )),
        Ok(()) => slot.tell(State::Finished),
    }
}

/// A source was welcomed: reads until it has no more.
pub(super) fn receive(slot: &Arc<Slot>, stream: TcpStream) {
    let Role::Sink { blocksize, .. } = slot.spec.role else { return };
    slot.tell(State::Opened);
    let mut guard = Guard::new(slot.grant);
    let mut tally = Tally::new(slot.spec.stamps);
    let mut buffer = vec![0; slot.read_size(blocksize)];
    let mut outcome = stream.set_read_timeout(Some(STEP));
    let mut waking = Waking::new(buffer.len(), STEP, slot.now());
    let mut whole = true;
    while whole && outcome.is_ok() && slot.goes_on() {
        match (&mut &stream).read(&mut buffer) {
            Ok(0) => break,
            Ok(bytes) => {
                let now = slot.now();
                tally.add(now, bytes as u64);
                outcome = waking.read(&stream, now, bytes as u64);
                if let Some(refusal) = guard.check(now, tally.bytes()) {
                    slot.fail(refusal);
                    whole = false;
                }
            }
            Err(error) if is_timeout(&error) => outcome = waking.read(&stream, slot.now(), 0),
            Err(error) => outcome = Err(error),
        }
    }
    let connection = if whole && slot.goes_on() {
        Connection::Tcp(stream)
    } else {
        end_abruptly(&stream);
        Connection::None
    };
    end(slot, outcome, tally.report(), tally.stamps(), connection);
}

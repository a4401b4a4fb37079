//! Both ends of a test over UDP. A datagram of data begins with its number and the time at which it left;
//! those numbers have the highest bit set, which tells them from hellos.

use super::guard::Guard;
use super::slot::{Connection, Slot};
use super::tcp::{STEP, connection_refusal, end, no_sink, rejected};
use super::writing::{Outlet, Writer};
use crate::consent::{ANSWER, Consent, RENEWAL, Verdict, read_hello, rejection};
use crate::protocol::{Refusal, State};
use crate::report::{Arrivals, DatagramReport, Tally};
use crate::spec::{MAX_DATAGRAM, Protocol, Role};
use ackclock_sockets::{is_timeout, set_receive_buffer, set_send_buffer};
use ackclock_units::{Duration, Time};
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;

/// The header of a datagram with data, bytes: its number, and when it left in us.
pub(crate) const HEADER: usize = 16;
/// Marks the number of a datagram with data.
const DATA: u64 = 1 << 63;
/// Marks the number of the datagram that says how many there were.
const LAST: u64 = 1 << 62;
/// Between two hellos.
const AGAIN: std::time::Duration = std::time::Duration::from_millis(200);
/// Between two looks at whether the sink still consents.
const LOOK: Duration = Duration::from_millis(5);

fn bound(own: SocketAddr, window: Option<u64>) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind(own)?;
    socket.set_read_timeout(Some(STEP))?;
    socket.set_write_timeout(Some(STEP))?;
    if let Some(bytes) = window {
        set_send_buffer(&socket, bytes)?;
        set_receive_buffer(&socket, bytes)?;
    }
    Ok(socket)
}

/// The socket of a sink.
///
/// # Errors
///
/// If the address is in use, or not this host's.
pub(super) fn listen(own: SocketAddr, protocol: &Protocol) -> io::Result<UdpSocket> {
    let (Protocol::Udp { window, .. } | Protocol::Tcp { window, .. }) = protocol;
    bound(own, *window)
}

/// Asks a sink for its welcome.
pub(super) fn open(slot: &Arc<Slot>) {
    match try_open(slot) {
        Ok(socket) => {
            slot.inner().connection = Connection::Udp(socket);
            slot.tell(State::Opened);
        }
        Err(refusal) => slot.fail(refusal),
    }
}

fn try_open(slot: &Slot) -> Result<UdpSocket, Refusal> {
    let Some(to) = slot.to else {
        return Err(Refusal::new("no_meeting", "this source was not told where its sink is", "tell it"));
    };
    let any = if to.is_ipv4() { SocketAddr::from(([0; 4], 0)) } else { SocketAddr::from(([0_u16; 8], 0)) };
    let unreachable = |error: io::Error| connection_refusal(to, &error);
    let socket = listen(slot.own.unwrap_or(any), &slot.spec.protocol).map_err(unreachable)?;
    socket.connect(to).map_err(unreachable)?;
    socket.set_read_timeout(Some(AGAIN)).map_err(unreachable)?;
    let mut nonce = [0; 16];
    getrandom::fill(&mut nonce).map_err(|error| unreachable(io::Error::other(error)))?;
    let begun = slot.now();
    while slot.goes_on() && slot.now().since(begun) < Slot::patience() {
        // Refused: nobody listens there, or not yet.
        if socket.send(&slot.secrets.hello(nonce)).is_err() {
            std::thread::sleep(AGAIN);
            continue;
        }
        let mut answer = [0; ANSWER + 1];
        let Ok(length) = socket.recv(&mut answer) else { continue };
        match slot.secrets.read_answer(nonce, &answer[..length]) {
            Some(Verdict::Welcome) => return Ok(socket),
            Some(verdict) => return Err(rejected(verdict, to)),
            None => {}
        }
    }
    Err(no_sink(to))
}

/// A socket that takes datagrams, as long as the other end wants them.
struct Datagrams<'a> {
    socket: &'a UdpSocket,
    slot: &'a Slot,
    guard: Guard,
    consent: Consent,
    looked: Time,
    count: u64,
    written: u64,
    buffer: Vec<u8>,
}

impl Datagrams<'_> {
    fn look_for_consent(&mut self, now: Time) {
        if now.since(self.looked) < LOOK {
            return;
        }
        self.looked = now;
        let mut answer = [0; ANSWER + 1];
        while let Ok((length, _)) =
            rustix::net::recv(self.socket, &mut answer[..], rustix::net::RecvFlags::DONTWAIT)
        {
            self.consent.on_datagram(now, &answer[..length]);
        }
    }
}

impl Outlet for Datagrams<'_> {
    fn put(&mut self, bytes: u64, now: Time) -> io::Result<u64> {
        let length = (bytes as usize).clamp(HEADER, MAX_DATAGRAM as usize);
        self.buffer[..8].copy_from_slice(&(DATA | self.count).to_be_bytes());
        self.buffer[8..16].copy_from_slice(&(now.as_nanos() / 1000).to_be_bytes());
        match self.socket.send(&self.buffer[..length]) {
            Ok(_) => {}
            // The queue of the device is full: a datagram is lost there, as it may be anywhere.
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::NOBUFS.raw_os_error()) => {}
            Err(error) => return Err(error),
        }
        self.count += 1;
        self.written += length as u64;
        Ok(bytes.min(length as u64))
    }

    fn goes_on(&mut self, now: Time) -> bool {
        self.look_for_consent(now);
        if !self.consent.holds(now) {
            let help =
                "has the sink's agent been stopped, or does something between the hosts lose its datagrams?";
            self.slot.fail(Refusal::new("no_consent", "the sink has not renewed its consent", help));
            return false;
        }
        if let Some(refusal) = self.guard.check(now, self.written) {
            self.slot.fail(refusal);
            return false;
        }
        self.slot.goes_on()
    }
}

/// Writes everything, and reports.
pub(super) fn run(slot: &Arc<Slot>) {
    let Connection::Udp(socket) = std::mem::take(&mut slot.inner().connection) else {
        slot.fail(Refusal::new("not_open", "this test has no connection", "open it first"));
        return;
    };
    let Role::Source(pattern) = &slot.spec.role else { return };
    let alarm = match slot.shared.clock.alarm() {
        Ok(alarm) => alarm,
        Err(error) => return slot.fail(Refusal::new("no_timer", error.to_string(), "close some files")),
    };
    let now = slot.now();
    let mut outlet = Datagrams {
        socket: &socket,
        slot,
        guard: Guard::new(slot.grant),
        consent: Consent::new(slot.secrets, now),
        looked: now,
        count: 0,
        written: 0,
        buffer: vec![0; MAX_DATAGRAM as usize],
    };
    let Protocol::Udp { rate, .. } = slot.spec.protocol else { return };
    let writer = Writer {
        outlet: &mut outlet,
        alarm: &alarm,
        clock: slot.shared.clock,
        tally: Tally::new(slot.spec.stamps),
        spaced: rate,
        most: slot.grant.rate,
        seed: u64::from_be_bytes(std::array::from_fn(|at| slot.secrets.cookie[at])),
    };
    let (outcome, mut report, stamps) = writer.write(pattern);
    let count = outlet.count;
    report.datagrams = Some(DatagramReport { count, ..DatagramReport::default() });
    if slot.goes_on() {
        say_last(&socket, count);
    }
    end(slot, outcome, report, stamps, Connection::Udp(socket));
}

/// Tells the sink how many datagrams there were, several times: one may be lost.
fn say_last(socket: &UdpSocket, count: u64) {
    let mut last = [0; HEADER];
    last[..8].copy_from_slice(&(DATA | LAST | count).to_be_bytes());
    for _ in 0..5 {
        // Where it does not arrive, the controller tells the sink to end.
        let _ = socket.send(&last);
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

/// A sink waits for its source.
enum Guest {
    None,
    Welcomed(SocketAddr, [u8; 16]),
}

/// Waits for its source, and counts what arrives.
pub(super) fn receive(slot: &Arc<Slot>, socket: UdpSocket) {
    let mut guard = Guard::new(slot.grant);
    let (mut tally, mut arrivals) = (Tally::new(slot.spec.stamps), Arrivals::default());
    let mut buffer = vec![0; MAX_DATAGRAM as usize];
    let (mut guest, mut renewed, mut renewals) = (Guest::None, Time::ZERO, 0);
    let (mut sent, mut outcome) = (None, Ok(()));
    while slot.goes_on() && sent.is_none() {
        let now = slot.now();
        if let Guest::Welcomed(..) = guest
            && now.since(renewed) >= RENEWAL
        {
            (renewed, renewals) = (now, renewals + 1);
            // A renewal that is lost is followed by others.
            let _ = socket.send(&slot.secrets.consent(renewals));
        }
        let (length, from) = match socket.recv_from(&mut buffer) {
            Ok(arrived) => arrived,
            // The source's host says that nobody is there any more; the controller will say more.
            Err(error) if is_timeout(&error) || error.kind() == ErrorKind::ConnectionRefused => continue,
            Err(error) => {
                outcome = Err(error);
                break;
            }
        };
        let now = slot.now();
        match number(&buffer[..length]) {
            Some((number, left)) if matches!(guest, Guest::Welcomed(..)) => {
                if number & LAST != 0 {
                    sent = Some(number & !(DATA | LAST));
                    continue;
                }
                arrivals.add(number & !DATA, left, now.as_nanos() / 1000);
                tally.add(now, length as u64);
                if let Some(refusal) = guard.check(now, tally.bytes()) {
                    slot.fail(refusal);
                    break;
                }
            }
            Some(_) => {}
            None => welcome(slot, &socket, &buffer[..length], from, &mut guest),
        }
    }
    let mut report = tally.report();
    report.datagrams = Some(arrivals.report(sent));
    // A controller that says `finish` ends a sink whose source has said so in vain.
    end(slot, outcome, report, tally.stamps(), Connection::Udp(socket));
}

/// The number of a datagram with data, and when it left.
fn number(datagram: &[u8]) -> Option<(u64, u64)> {
    let word = |at: usize| Some(u64::from_be_bytes(datagram.get(at..at + 8)?.try_into().ok()?));
    let (number, left) = (word(0)?, word(8)?);
    (number & DATA != 0).then_some((number, left))
}

/// Answers a hello. The same hello again is answered again: the answer may have been lost.
fn welcome(slot: &Slot, socket: &UdpSocket, hello: &[u8], from: SocketAddr, guest: &mut Guest) {
    let Some((cookie, nonce)) = read_hello(hello) else { return };
    let answer = match guest {
        _ if cookie != slot.secrets.cookie => rejection(Verdict::Unknown),
        Guest::Welcomed(known, before) if *known != from || *before != nonce => rejection(Verdict::Replayed),
        Guest::Welcomed(..) => slot.secrets.welcome(nonce),
        Guest::None => {
            if socket.connect(from).is_err() {
                return;
            }
            *guest = Guest::Welcomed(from, nonce);
            slot.tell(State::Opened);
            slot.secrets.welcome(nonce)
        }
    };
    // What is lost is asked for again.
    let _ = socket.send_to(&answer, from);
}

//! A flow of the scenario with a rate-based transport: bulk data over UDP from one host to another, by the
//! hosts of [`ackclock_transfer`], with a session for each transfer.

use crate::clock::{Clock, PATIENCE};
use crate::error::LiveError;
use crate::flow::{Snapshot, State};
use crate::host::Host;
use crate::schedule;
use ackclock_net::Cause;
use ackclock_rate::loss::Label;
use ackclock_rate::{Counters, Transport};
use ackclock_registry::Chosen;
use ackclock_scenario::measured::{RateTally, Transfer};
use ackclock_scenario::plan::FlowPlan;
use ackclock_transfer::host::{self, ENTROPY, Seen, Sending, Stage, TransferError, Watch};
use ackclock_transfer::noise::Identity;
use ackclock_transfer::stream::{Extent, Sink, Stop, Zeros};
use ackclock_transfer::ticket::Ticket;
use ackclock_transfer::wire::data_number;
use ackclock_units::{Duration, Time};
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;

/// A simulated sender never gives up, so a real one does not either before its run is over.
const SILENCE: Duration = Duration::from_secs(365 * 86_400);

/// A rate-based flow while it runs.
pub(crate) struct Paced<'a> {
    pub(crate) plan: &'a FlowPlan,
    transport: &'a Chosen<Transport>,
    sender: &'a Host,
    receiver: &'a Host,
    /// Payload of a real packet, bytes.
    pub(crate) payload: u32,
    clock: Clock,
    stop: &'a AtomicBool,
    /// Where the path tells of losses.
    told: Arc<Told>,
    tracked: Mutex<Tracked>,
}

/// What the receiving program needs for a session.
pub(crate) struct Invitation {
    me: Identity,
    ticket: Ticket,
    session: Arc<Session>,
    /// Where it is told the address.
    address: mpsc::Sender<SocketAddr>,
}

/// What the path tells of a flow: the present session is told why packets are lost.
#[derive(Default)]
pub(crate) struct Told(Mutex<Option<Arc<Session>>>);

impl Told {
    fn lock(&self) -> MutexGuard<'_, Option<Arc<Session>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The path has lost `packet`, an IPv4 packet of the flow.
    pub(crate) fn lost(&self, packet: &[u8], cause: Cause) {
        if let Some(number) = datagram(packet).and_then(data_number)
            && let Some(session) = &*self.lock()
        {
            session.receiving.tell_drop(number, label(cause));
        }
    }
}

/// What a perfect discriminator would take it for.
fn label(cause: Cause) -> Label {
    match cause {
        Cause::Overflow | Cause::Early | Cause::Filtered => Label::Congestion,
        Cause::Error | Cause::Outage => Label::Transmission,
    }
}

/// What is in an IPv4 packet of UDP.
fn datagram(packet: &[u8]) -> Option<&[u8]> {
    let header = usize::from(packet.first()? & 0x0f) * 4;
    packet.get(header + 8..)
}

/// A session, as both ends see it.
#[derive(Default)]
struct Session {
    sending: Watch,
    receiving: Watch,
    /// When the receiver had everything.
    complete: OnceLock<Time>,
}

/// The state of the flow's sessions.
#[derive(Default)]
struct Tracked {
    session: Option<Arc<Session>>,
    before: Totals,
    transfers: Vec<Transfer>,
    waited: u64,
    /// Why its sender gave up before the end.
    gave_up: Option<String>,
    /// The last session, once it has ended.
    last: Option<Arc<Session>>,
}

/// Sums over sessions.
#[derive(Clone, Copy, Default)]
struct Totals {
    received: u64,
    arrived: u64,
    duplicates: u64,
    counted: Counters,
}

impl Totals {
    /// These and those of a session.
    fn with(mut self, session: &Session) -> Totals {
        let (sending, receiving) = (session.sending.seen().counters, session.receiving.seen());
        self.received += receiving.bytes;
        self.arrived += receiving.packets;
        self.duplicates += receiving.repeated;
        self.counted.add(&sending);
        self
    }
}

/// Counts what arrives, and notes when all of it has.
struct Counting {
    left: Option<u64>,
    clock: Clock,
    session: Arc<Session>,
}

impl Sink for Counting {
    fn write(&mut self, bytes: &[u8]) -> Result<(), Stop> {
        if let Some(left) = &mut self.left {
            *left = left.saturating_sub(bytes.len() as u64);
            if *left == 0 {
                self.session.complete.get_or_init(|| self.clock.now());
            }
        }
        Ok(())
    }

    fn room(&self) -> u64 {
        u64::MAX
    }

    fn is_done(&self) -> bool {
        self.left == Some(0)
    }
}

impl<'a> Paced<'a> {
    pub(crate) fn new(
        plan: &'a FlowPlan,
        transport: &'a Chosen<Transport>,
        ends: (&'a Host, &'a Host),
        payload: u32,
        told: Arc<Told>,
        clock: Clock,
        stop: &'a AtomicBool,
    ) -> Paced<'a> {
        let (sender, receiver) = ends;
        Paced { plan, transport, sender, receiver, payload, clock, stop, told, tracked: Mutex::default() }
    }

    fn tracked(&self) -> MutexGuard<'_, Tracked> {
        self.tracked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn over(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// True if the application still wants to send.
    fn goes_on(&self) -> bool {
        !self.over() && self.plan.stop.is_none_or(|stop| self.clock.now() < stop)
    }

    /// The receiving program. It needs a thread of its own.
    pub(crate) fn receive(&self, invitations: &mpsc::Receiver<Invitation>) -> Result<(), LiveError> {
        let failed = || LiveError::kernel(format!("{} cannot receive", self.receiver.name));
        schedule::ahead();
        self.receiver.enter().map_err(failed())?;
        while !self.over() {
            let invitation = match invitations.recv_timeout(PATIENCE) {
                Ok(invitation) => invitation,
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => break,
            };
            let Invitation { me, ticket, session, address } = invitation;
            let socket = UdpSocket::bind((self.receiver.address, 0)).map_err(failed())?;
            // The sender may have ended. Then nobody needs the address.
            let _ = address.send(socket.local_addr().map_err(failed())?);
            let left = self.tracked().transfers.last().map(|transfer| transfer.bytes);
            let counting = || Counting { left, clock: self.clock, session: session.clone() };
            let mut open = |_| Box::new(counting()) as Box<dyn Sink>;
            let received = host::receive(socket, &me, &ticket, None, &mut open, SILENCE, &session.receiving);
            // By everything else its sender, or the run, has ended it.
            if let Err(TransferError::Socket(what, error)) = received {
                return Err(LiveError::kernel(what)(error));
            }
        }
        Ok(())
    }

    /// The sending program. It needs a thread of its own.
    pub(crate) fn send(&self, invite: &mpsc::Sender<Invitation>) -> Result<(), LiveError> {
        schedule::ahead();
        let failed = LiveError::kernel(format!("{} cannot send", self.sender.name));
        self.sender.enter().map_err(failed)?;
        self.clock.sleep_until(self.plan.start, || self.over());
        let mut requests = self.plan.requests.clone();
        for _ in 0..requests.repeat {
            if !self.goes_on() {
                break;
            }
            let begun = self.clock.now();
            let bytes = requests.next_size().map(|segments| self.plan.bytes_of(segments));
            if let Some(bytes) = bytes {
                self.tracked().transfers.push(Transfer { begun, bytes, took: None });
            }
            let session = Arc::new(Session::default());
            let all = self.transfer(invite, &session, bytes)?;
            if self.gave_up().is_some() {
                break;
            }
            if let (true, Some(done), Some(transfer)) =
                (all, session.complete.get(), self.tracked().transfers.last_mut())
            {
                transfer.took = Some(done.since(begun));
            }
            let next = requests.next_start(begun, self.clock.now());
            self.tracked().waited = requests.waited;
            self.clock.sleep_until(next, || self.over());
        }
        Ok(())
    }

    /// One session for a transfer of so many bytes, or without an end. True if all of it was acknowledged.
    fn transfer(
        &self,
        invite: &mpsc::Sender<Invitation>,
        session: &Arc<Session>,
        bytes: Option<u64>,
    ) -> Result<bool, LiveError> {
        let failed = || LiveError::kernel(format!("{} cannot send", self.sender.name));
        let (me, peer) = (Identity::new(ENTROPY), Identity::new(ENTROPY));
        let ticket = Ticket::new(&peer, ENTROPY);
        let (address, told) = mpsc::channel();
        let invitation = Invitation { me: peer, ticket: ticket.clone(), session: session.clone(), address };
        // A receiver that has ended says why.
        let Some(to) = invite.send(invitation).ok().and_then(|()| told.recv().ok()) else { return Ok(false) };
        self.tracked().session = Some(session.clone());
        *self.told.lock() = Some(session.clone());
        let socket = UdpSocket::bind((self.sender.address, 0)).map_err(failed())?;
        let options = Sending {
            bytes: u32::from(self.plan.config.segment_bytes()),
            silence: SILENCE,
            ..Sending::with(self.transport.clone())
        };
        let mut zeros = Zeros(bytes.map_or(Extent::Endless, Extent::Bytes));
        let sent = thread::scope(|scope| {
            scope.spawn(|| self.attend(session));
            host::send(socket, to, &me, &ticket, &mut zeros, &options, &session.sending)
        });
        if !self.over() {
            self.settled(session); // the receiver's part is told a moment later
        }
        let mut tracked = self.tracked();
        tracked.before = tracked.before.with(session);
        tracked.last = tracked.session.take();
        match sent {
            Ok(_) => Ok(bytes.is_some()),
            Err(TransferError::Interrupted | TransferError::Stopped(_) | TransferError::Closed(_))
                if self.over() || !self.goes_on() =>
            {
                Ok(false)
            }
            Err(TransferError::Socket(what, error)) => Err(LiveError::kernel(what)(error)),
            // A sender that does the path too much harm ends its session.
            Err(TransferError::Stopped(stop)) => {
                tracked.gave_up = Some(format!("{}: {}", self.sender.name, stop.words));
                Ok(false)
            }
            Err(error) => {
                Err(LiveError::Session { host: self.sender.name.clone(), reason: error.to_string() })
            }
        }
    }

    /// Ends the session with the run, or when the application stops.
    fn attend(&self, session: &Session) {
        while session.sending.seen().stage != Stage::Over {
            if !self.goes_on() {
                session.sending.stop();
            }
            if self.over() {
                return session.receiving.stop();
            }
            let left = self.plan.stop.map(|stop| stop.since(self.clock.now())).filter(|left| !left.is_zero());
            let nap =
                left.map_or(PATIENCE, |left| std::time::Duration::from_nanos(left.as_nanos()).min(PATIENCE));
            thread::sleep(nap);
        }
    }

    /// Waits until the receiver has ended the session, too.
    fn settled(&self, session: &Session) {
        let begun = self.clock.now();
        while session.receiving.seen().stage != Stage::Over && !self.over() {
            if self.clock.now().since(begun) > Duration::from_secs(1) {
                return session.receiving.stop(); // the farewell was lost
            }
            thread::sleep(std::time::Duration::from_millis(1));
        }
    }

    /// The present progress of the flow.
    pub(crate) fn snapshot(&self) -> Snapshot {
        let tracked = self.tracked();
        let totals = tracked.session.iter().fold(tracked.before, |totals, session| totals.with(session));
        let Totals { received, arrived, duplicates, counted } = totals;
        Snapshot {
            at: self.clock.now(),
            received,
            sent: counted.sent,
            arrived,
            retransmits: counted.retransmitted,
            fast_retransmits: 0,
            timeouts: counted.timeouts,
            cuts: counted.rate_cuts,
            duplicates,
            rtt_min: counted.rtt_min(),
            state: tracked.session.as_ref().and_then(|session| self.state(session)),
        }
    }

    /// What its rate keeps on the way, and what is on the way. `None` before the first data.
    fn state(&self, session: &Session) -> Option<State> {
        let (sending, receiving) = (session.sending.seen(), session.receiving.seen());
        let Seen { rate, srtt, packets, lost, .. } = sending;
        let bits = f64::from(self.plan.config.segment_bytes()) * 8.0;
        (sending.stage == Stage::Moving).then(|| State {
            cwnd: (rate * srtt.as_secs_f64() / bits) as f32,
            ssthresh: f32::INFINITY,
            srtt_s: srtt.as_secs_f64() as f32,
            in_flight: packets.saturating_sub(receiving.packets + lost) as f32,
        })
    }

    /// What only rate-based flows do.
    pub(crate) fn tally(&self) -> RateTally {
        let tracked = self.tracked();
        let totals = tracked.session.iter().fold(tracked.before, |totals, session| totals.with(session));
        let session = tracked.session.as_ref().or(tracked.last.as_ref());
        let (sending, receiving) =
            session.map(|session| (session.sending.seen(), session.receiving.seen())).unwrap_or_default();
        RateTally {
            rate: sending.rate,
            lost: totals.counted.lost,
            loss_event_rate: sending.loss_event_rate,
            labels: receiving.labels,
        }
    }

    /// Its variables, as the simulator names them.
    pub(crate) fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        let session = self.tracked().session.clone();
        let seen = |end: fn(&Session) -> &Watch| session.as_ref().map(|session| end(session).seen());
        let sending = seen(|session| &session.sending);
        let receiving = seen(|session| &session.receiving);
        see("rate_bps", sending.map_or(f64::NAN, |seen| seen.rate));
        see("srtt_s", sending.map_or(f64::NAN, |seen| seen.srtt.as_secs_f64()));
        see("asked_bps", receiving.map_or(f64::NAN, |seen| seen.rate));
    }

    /// Why its sender gave up before the end, if it did.
    pub(crate) fn gave_up(&self) -> Option<String> {
        self.tracked().gave_up.clone()
    }

    /// The number of transfers so far that were due before the previous one had ended.
    pub(crate) fn waited(&self) -> u64 {
        self.tracked().waited
    }

    /// All transfers with a size so far.
    pub(crate) fn transfers(&self) -> Vec<Transfer> {
        self.tracked().transfers.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_ipv4_packet_carries_is_behind_both_headers() {
        let mut packet = vec![0x45; 20 + 8];
        packet.extend([1, 2, 3]);
        assert_eq!(datagram(&packet), Some(&[1, 2, 3][..]));
        packet[0] = 0x46; // an option of four bytes
        packet.splice(20..20, [0; 4]);
        assert_eq!(datagram(&packet), Some(&[1, 2, 3][..]));
        assert_eq!(datagram(&packet[..31]), None);
        assert_eq!(datagram(&[]), None);
    }
}

//! A flow whose sending host is our own TCP: its packets go straight to the path, and the kernel receives.
//!
//! So every controller, recovery and detection meets the kernel's receiver, also those that the kernel does
//! not have. The receiving program is that of the kernel's flows. Controllers that count marks have a
//! [receiver](receiving) of our own.

mod receiving;

use crate::clock::PATIENCE;
use crate::error::LiveError;
use crate::flow::{CHUNK, Flow, PORT, Snapshot, State};
use crate::schedule;
use ackclock_cc as cc;
use ackclock_lateness::Lateness;
use ackclock_scenario::measured::Transfer;
use ackclock_stack::{ConnectionId, Host, Limits, Options, Port, SenderInfo, Why};
use ackclock_tcp::Counters;
use ackclock_units::{Duration, Time};
use receiving::Arrived;
use std::net::{IpAddr, SocketAddr};
use std::sync::mpsc::{Receiver, TryRecvError};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The bytes that may wait in the connection in addition to those in flight.
const UNSENT: u64 = 512 << 10;
/// The largest buffer for sending, bytes.
const MAX_BUFFER: usize = 1 << 30;
/// A simulated sender never gives up, so a real one does not either before its run is over.
const SILENCE: Duration = Duration::from_secs(365 * 86_400);
/// The longest sleep. It decides how soon the end of the run is noticed.
const LONGEST_SLEEP: Duration = Duration::from_millis(10);

/// The controller's own variables are looked at this often.
const LOOK: Duration = Duration::from_millis(1);

/// The flow.
pub(crate) struct Own<'a> {
    /// The receiving program, and what the receiving kernel knows.
    pub(crate) kernel: Flow<'a>,
    control: &'a cc::Settings,
    seen: Mutex<Seen>,
}

/// What is known of its connections.
#[derive(Default)]
struct Seen {
    /// The sums over connections that have ended, and the present one.
    before: Counters,
    now: Option<SenderInfo>,
    rtt_min: Option<Duration>,
    /// The controller's own variables, and when they are looked at again.
    inner: Vec<(&'static str, f64)>,
    look: Time,
    /// How late the sending thread was for paced segments.
    late: Lateness,
    /// Where our own TCP receives.
    arrived: Arrived,
}

/// Our end of the path.
struct Line {
    port: Port,
    host: Host,
}

impl<'a> Own<'a> {
    pub(crate) fn new(kernel: Flow<'a>, control: &'a cc::Settings) -> Own<'a> {
        // Before the first connection: what a new controller shows.
        let mut seen = Seen::default();
        control.build().inspect(&mut |name, value| seen.inner.push((name, value)));
        Own { kernel, control, seen: Mutex::new(seen) }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn options(&self) -> Options {
        let config = (*self.kernel.plan.config).clone();
        let buffer = self.kernel.plan.writing.and_then(|writing| writing.buffer);
        let mtu = u32::from(config.segment_bytes());
        let send_buffer = buffer.map_or(MAX_BUFFER, |bytes| bytes as usize);
        let (give_up, give_up_opening) = (SILENCE, SILENCE);
        let options = Options::new(config, self.control.clone());
        Options { mtu, send_buffer, give_up, give_up_opening, ..options }
    }

    /// The sending program. It needs a thread of its own.
    pub(crate) fn send(&self, listens: &Receiver<()>, complete: &Receiver<Time>) -> Result<(), LiveError> {
        schedule::ahead();
        schedule::sharp();
        let flow = &self.kernel;
        let mut line = Line {
            port: Port::new(flow.sender.device()?),
            host: Host::new(Limits::default(), flow.plan.draws.clone().word()),
        };
        if listens.recv().is_err() {
            return Ok(()); // the receiver says why it does not listen
        }
        self.idle(&mut line, flow.plan.start)?;
        let mut requests = flow.plan.requests.clone();
        for _ in 0..requests.repeat {
            if !flow.goes_on() {
                break;
            }
            let begun = flow.clock.now();
            let bytes = flow.bytes_of(requests.next_size());
            if let Some(bytes) = bytes {
                flow.tracked().transfers.push(Transfer { begun, bytes, took: None });
            }
            let all = self.transfer(&mut line, bytes.unwrap_or(u64::MAX))?;
            let Some(done) = self.completion(&mut line, complete)? else { break };
            if let (true, Some(transfer)) = (all, flow.tracked().transfers.last_mut()) {
                transfer.took = Some(done.since(begun));
            }
            let next = requests.next_start(begun, flow.clock.now());
            flow.tracked().waited = requests.waited;
            self.idle(&mut line, next)?;
        }
        self.idle(&mut line, Time::NEVER)
    }

    /// One connection for so many bytes. True if all of them have arrived.
    fn transfer(&self, line: &mut Line, mut left: u64) -> Result<bool, LiveError> {
        let flow = &self.kernel;
        let (from, to) = (IpAddr::V4(flow.sender.address), IpAddr::V4(flow.receiver.address));
        let opened = line.host.connect(
            flow.clock.now(),
            SocketAddr::new(from, 0),
            SocketAddr::new(to, PORT),
            self.options().into(),
        );
        let id = opened.map_err(|error| LiveError::Defect { what: error.to_string() })?;
        let chunk = vec![0; CHUNK];
        let mut closed = false;
        let all = loop {
            self.turn(line, Some(id))?;
            let Some(info) = line.host.info(id) else { break false };
            if flow.over() {
                break false;
            }
            match info.why {
                // The receiving program forgets a connection that it has read to the end, with a reset.
                Some(Why::Closed) => break left == 0,
                Some(Why::Reset) if closed => break left == 0,
                Some(why) => {
                    let reason = format!("the connection has ended: {why:?}");
                    return Err(LiveError::Session { host: flow.sender.name.clone(), reason });
                }
                None => {}
            }
            let now = flow.clock.now();
            let mut unsent = info.unsent;
            while left > 0 && flow.goes_on() && unsent < UNSENT {
                let part = (CHUNK as u64).min(left) as usize;
                let taken = line.host.write(now, id, &chunk[..part]).unwrap_or(0) as u64;
                (left, unsent) = (left - taken, unsent + taken);
                if taken < part as u64 {
                    break;
                }
            }
            if (left == 0 || !flow.goes_on()) && !closed {
                line.host.close(now, id);
                closed = true;
            }
            if closed && info.written == info.acknowledged && info.opened_at.is_some() {
                break left == 0;
            }
            line.port.send(&mut line.host, now);
            self.sleep(line)?;
        };
        let mut seen = self.seen();
        if let Some(last) = seen.now.take() {
            seen.before = sum(&seen.before, &last.counters);
        }
        drop(seen);
        line.host.release(flow.clock.now(), id);
        Ok(all)
    }

    /// Waits until the receiving program has everything. `None`: the run has ended before.
    fn completion(&self, line: &mut Line, complete: &Receiver<Time>) -> Result<Option<Time>, LiveError> {
        while !self.kernel.over() {
            match complete.try_recv() {
                Ok(done) => return Ok(Some(done)),
                Err(TryRecvError::Disconnected) => break,
                Err(TryRecvError::Empty) => {}
            }
            self.turn(line, None)?;
            self.sleep(line)?;
        }
        Ok(None)
    }

    /// Lets time pass until then, or until the run is over.
    fn idle(&self, line: &mut Line, until: Time) -> Result<(), LiveError> {
        while !self.kernel.over() && self.kernel.clock.now() < until {
            self.turn(line, None)?;
            let left = until.since(self.kernel.clock.now());
            let most = left.min(LONGEST_SLEEP);
            line.port.wait(&line.host, self.kernel.clock.now(), most).map_err(self.failed())?;
        }
        Ok(())
    }

    /// Moves packets, and notes the state of the present connection.
    fn turn(&self, line: &mut Line, id: Option<ConnectionId>) -> Result<(), LiveError> {
        let now = self.kernel.clock.now();
        let due = line.host.poll_timeout().filter(|&due| due <= now && self.is_paced());
        if let Some(due) = due {
            self.seen().late.note(now.since(due));
        }
        // Where more comes than this thread can take, there is no end of it.
        let clock = || self.kernel.clock.now();
        while line.port.turn(&mut line.host, clock).map_err(self.failed())? && !self.kernel.over() {}
        while line.host.poll_event().is_some() {} // the states themselves are asked for
        if let Some(sender) = id.and_then(|id| line.host.info(id)?.sender) {
            let mut seen = self.seen();
            let least = [seen.rtt_min, sender.rtt_min].into_iter().flatten().min();
            (seen.rtt_min, seen.now) = (least, Some(sender));
            if let Some(id) = id.filter(|_| seen.look <= now) {
                seen.look = now + LOOK;
                seen.inner.clear();
                line.host.inspect(id, &mut |name, value| seen.inner.push((name, value)));
            }
        }
        Ok(())
    }

    fn sleep(&self, line: &Line) -> Result<(), LiveError> {
        let most = LONGEST_SLEEP.min(Duration::from_nanos(PATIENCE.as_nanos() as u64));
        line.port.wait(&line.host, self.kernel.clock.now(), most).map_err(self.failed())
    }

    fn failed(&self) -> impl FnOnce(std::io::Error) -> LiveError {
        LiveError::kernel(format!("{} cannot send", self.kernel.sender.name))
    }

    /// Nearly all that is due at a time are paced segments.
    fn is_paced(&self) -> bool {
        self.kernel.plan.config.pacing.is_some() || self.control.needs().pacing
    }

    /// How late its thread was for paced segments, if there are any.
    pub(crate) fn lateness(&self) -> Option<Lateness> {
        self.is_paced().then(|| self.seen().late.clone())
    }

    /// Shows the controller's own variables (name, value).
    pub(crate) fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        self.seen().inner.iter().for_each(|&(name, value)| see(name, value));
    }

    /// The present progress of the flow.
    pub(crate) fn snapshot(&self) -> Snapshot {
        let kernel = self.kernel.snapshot();
        let seen = self.seen();
        let counted = match &seen.now {
            Some(sender) => sum(&seen.before, &sender.counters),
            None => seen.before,
        };
        let receives = self.kernel.receiver.is_own();
        let of = |kernel: u64, ours: u64| if receives { ours } else { kernel };
        Snapshot {
            received: of(kernel.received, seen.arrived.bytes),
            arrived: of(kernel.arrived, seen.arrived.segments),
            sent: counted.sent,
            retransmits: counted.retransmits,
            fast_retransmits: counted.fast_retransmits,
            timeouts: counted.timeouts,
            cuts: counted.window_cuts,
            rtt_min: seen.rtt_min,
            state: seen.now.map(|sender| State {
                cwnd: sender.cwnd as f32,
                ssthresh: sender.ssthresh as f32,
                srtt_s: sender.srtt.as_secs_f64() as f32,
                in_flight: sender.in_flight as f32,
            }),
            ..kernel
        }
    }
}

/// The sums of counters.
fn sum(first: &Counters, second: &Counters) -> Counters {
    Counters {
        sent: first.sent + second.sent,
        retransmits: first.retransmits + second.retransmits,
        fast_retransmits: first.fast_retransmits + second.fast_retransmits,
        timeouts: first.timeouts + second.timeouts,
        window_cuts: first.window_cuts + second.window_cuts,
        ..Counters::default()
    }
}

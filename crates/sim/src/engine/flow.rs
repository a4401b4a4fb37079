//! A TCP flow: its two endpoints, its application, and where its packets enter the network. What happens to
//! it is written here once, for both engines.

use super::in_flight::Entrance;
use super::tally::Tally;
use super::writer::{Writer, writer};
use ackclock_cc::Settings;
use ackclock_net::Rng as Draws;
use ackclock_scenario::plan::FlowPlan;
use ackclock_tcp::{Receiver, Sender};
use ackclock_units::{Duration, Time};

pub(super) struct Flow {
    /// Its number in the plan.
    pub(super) number: u32,
    pub(super) plan: FlowPlan,
    control: Settings,
    pub(super) sender: Sender,
    pub(super) receiver: Receiver,
    pub(super) draws: Draws,
    pub(super) out: Entrance,
    pub(super) back: Entrance,
    /// The earliest entry of each kind in the timers. With it, postponing a timer costs nothing.
    pub(super) rto_entry: Time,
    pub(super) pace_entry: Time,
    pub(super) delayed_ack_entry: Time,
    epoch: u8,
    pub(super) active: bool,
    pub(super) transfers_left: u64,
    /// The segments of the transfer; `None`: unlimited.
    size: Option<u64>,
    pub(super) started_at: Time,
    /// The application, if it does not write everything at once.
    pub(super) writer: Option<Box<Writer>>,
    /// Segments in flight that will not arrive before the run ends. They are counted, but not stored.
    pub(super) beyond_the_end: u64,
}

impl Flow {
    /// The TCP flow with this number in the plan. `None` if it is not TCP.
    pub(super) fn new(number: u32, mut plan: FlowPlan, (out, back): (Entrance, Entrance)) -> Option<Flow> {
        let control = plan.control.window()?.clone();
        (plan.forward, plan.reverse) = (Vec::new(), Vec::new()); // the engine has them as legs
        let size = plan.next_size();
        let limit = plan.segments_at_once(size);
        let config = plan.config.clone();
        Some(Flow {
            number,
            receiver: Receiver::new(&config, 0),
            sender: Sender::new(config, control.build(), control.needs(), 0, limit, plan.start),
            writer: writer(&plan, size, plan.start, 0),
            draws: plan.draws.clone(),
            out,
            back,
            rto_entry: Time::NEVER,
            pace_entry: Time::NEVER,
            delayed_ack_entry: Time::NEVER,
            epoch: 0,
            active: false,
            transfers_left: plan.requests.repeat,
            size,
            started_at: plan.start,
            beyond_the_end: 0,
            control,
            plan,
        })
    }

    /// When the earlier one of its sender's timers is due. It may be too early.
    #[inline(always)]
    pub(super) fn timer(&self) -> Time {
        self.rto_entry.min(self.pace_entry)
    }

    /// The sender has done something at `now`: its timers are due at the latest when it says.
    #[inline(always)]
    pub(super) fn set_timers(&mut self, now: Time) {
        if let Some(deadline) = self.sender.poll_timeout() {
            self.rto_entry = self.rto_entry.min(deadline);
        }
        if let Some(due) = self.sender.poll_pacing(now) {
            self.pace_entry = self.pace_entry.min(due);
        }
    }

    /// The application begins with a transfer at `now`. False if it was stopped in the meantime. `place`: the
    /// flow's number in the tally.
    pub(super) fn begin(&mut self, place: usize, now: Time, tally: &mut Tally) -> bool {
        if self.transfers_left == 0 {
            return false;
        }
        self.transfers_left -= 1;
        if self.plan.asking.is_some() {
            self.on_request(place, now, tally);
        } else {
            self.started_at = now;
        }
        self.active = true;
        tally.runs_from(place, now);
        if let Some(segments) = self.size {
            tally.transfer_begins(place, self.started_at, self.plan.bytes_of(segments));
        }
        true
    }

    /// The server has a request, over the connection of the one before or over a new one.
    fn on_request(&mut self, place: usize, now: Time, tally: &mut Tally) {
        if !self.active {
            // The first one: its connection and its writer are there.
            self.writer = writer(&self.plan, self.size, now, 0);
            return;
        }
        tally.before_window_changes(place, now, self);
        let persistent = self.plan.asking.is_some_and(|asking| asking.persistent);
        let before = if persistent { self.receiver.delivered() } else { 0 };
        if !persistent {
            tally.connection_over(place, self);
            self.connect(0, now);
        }
        self.size = self.plan.next_size();
        self.writer = writer(&self.plan, self.size, now, before);
    }

    /// New endpoints, with `limit` segments to send at `now`.
    fn connect(&mut self, limit: u64, now: Time) {
        self.epoch = self.epoch.wrapping_add(1);
        let (config, control) = (self.plan.config.clone(), &self.control);
        self.sender = Sender::new(config, control.build(), control.needs(), self.epoch, limit, now);
        self.receiver = Receiver::new(&self.plan.config, self.epoch);
    }

    /// The application fills its socket at `now`. Returns when its next burst begins, if that is known now,
    /// and whether everything is written and acknowledged.
    #[cold]
    pub(super) fn write(&mut self, now: Time) -> (Option<Time>, bool) {
        let Some(writer) = &mut self.writer else { return (None, false) };
        let due = writer.write(now, self.sender.una());
        self.sender.supply(now, writer.segments());
        (due, writer.is_over() && self.sender.is_done())
    }

    /// The application stops at `now`. True if nothing remains to be acknowledged.
    pub(super) fn stop(&mut self) -> bool {
        self.transfers_left = 0;
        self.sender.stop();
        self.writer.iter_mut().for_each(|writer| writer.stop());
        self.sender.is_done()
    }

    /// A transfer is completely acknowledged. Its time is recorded, and the next transfer gets a new
    /// connection. Returns the start of the next transfer, if there is one.
    pub(super) fn transfer_done(&mut self, place: usize, now: Time, tally: &mut Tally) -> Option<Time> {
        let asked = self.plan.asking.is_some();
        // A client that has a response decides itself what comes next.
        if !self.active || asked && self.transfers_left > 0 {
            return None;
        }
        self.active = false;
        tally.runs_to(place);
        // A transfer that the application has stopped is not complete.
        if !asked && self.size.is_some_and(|size| self.sender.una() >= size) {
            tally.transfer_done(place, now);
        }
        if self.transfers_left == 0 {
            return None;
        }
        tally.connection_over(place, self);
        let start = self.plan.requests.next_start(self.started_at, now);
        self.size = self.plan.next_size();
        // The new connection must not send before its start. Until then it has no data.
        self.connect(self.plan.segments_at_once(self.size), start);
        self.writer = writer(&self.plan, self.size, start, 0);
        Some(start)
    }

    /// The time from the client's wish until the server has its request. None where nobody asks.
    pub(super) fn lag(&self, connected: bool) -> Duration {
        self.plan.asking.map_or(Duration::ZERO, |asking| asking.lag(connected))
    }

    /// The client has all of a response at `at`. Returns when the server has its next request, if there is
    /// one.
    pub(super) fn on_response(&mut self, place: usize, at: Time, tally: &mut Tally) -> Option<Time> {
        tally.transfer_done(place, at);
        if self.transfers_left == 0 {
            return None;
        }
        self.started_at = self.plan.requests.next_start(self.started_at, at);
        Some(self.started_at + self.lag(true))
    }
}

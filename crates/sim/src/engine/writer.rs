//! The application of a flow whose writing takes time: it fills its socket as that has room, burst by burst.
//!
//! Bytes become segments as in a stream: a segment leaves when it is full, or when nothing will ever fill it (Nagle's
//! algorithm, RFC 896; what differs: a remainder waits for the next burst even when nothing is in flight).

use ackclock_scenario::plan::FlowPlan;
use ackclock_scenario::writing::{BurstTally, Timetable, Writing};
use ackclock_units::Time;

pub(crate) struct Writer {
    timetable: Option<Timetable>,
    buffer: u64,
    /// Bytes of payload in a segment.
    payload: u64,
    /// Bytes that the application has in hand and the socket has not taken.
    left: u64,
    /// Bytes that the socket has taken.
    written: u64,
    /// The next burst's beginning, until it has come.
    due: Option<Time>,
    stopped: bool,
    /// First and last arrival at the receiver, and the segments that it then had in order.
    arrivals: Option<(Time, Time)>,
    received: u64,
}

impl Writer {
    /// One that begins at `start`; without bursts it has `size` segments in hand.
    pub(crate) fn new(writing: Writing, payload: u16, size: Option<u64>, start: Time) -> Writer {
        let payload = u64::from(payload);
        let all = size.map_or(u64::MAX, |segments| segments.saturating_mul(payload));
        Writer {
            timetable: writing.bursts.map(|bursts| Timetable::new(bursts, start)),
            buffer: writing.buffer.unwrap_or(u64::MAX),
            payload,
            left: if writing.bursts.is_some() { 0 } else { all },
            written: 0,
            due: writing.bursts.map(|_| start),
            stopped: false,
            arrivals: None,
            received: 0,
        }
    }

    /// The instant of a burst, if it is that of the next one.
    pub(crate) fn begin(&mut self, now: Time) {
        if let (Some(timetable), true) = (&self.timetable, self.due == Some(now)) {
            self.due = None;
            self.left = timetable.size();
        }
    }

    /// Writes what there is room for at `now`, when `una` segments are acknowledged; says when the next burst begins if this has
    /// ended one.
    pub(crate) fn write(&mut self, now: Time, una: u64) -> Option<Time> {
        let held = self.written.saturating_sub(una.saturating_mul(self.payload));
        let taken = self.left.min(self.buffer.saturating_sub(held));
        self.left -= taken;
        self.written += taken;
        if taken == 0 || self.left > 0 {
            return None;
        }
        self.due = self.timetable.as_mut().and_then(|timetable| timetable.finished(now));
        self.due
    }

    /// Segments that are there to be sent, those already sent included; what is given up is not.
    pub(crate) fn segments(&self) -> u64 {
        if self.stopped {
            0
        } else if self.is_over() {
            self.written.div_ceil(self.payload)
        } else {
            self.written / self.payload
        }
    }

    /// Has everything been written?
    pub(crate) fn is_over(&self) -> bool {
        self.stopped || self.left == 0 && self.due.is_none()
    }

    /// Nothing more will be written.
    pub(crate) fn stop(&mut self) {
        self.stopped = true;
        self.left = 0;
        self.due = None;
    }

    /// A segment has arrived, and the receiver now has so many in order.
    pub(crate) fn arrived(&mut self, at: Time, delivered: u64) {
        let first = self.arrivals.map_or(at, |(first, _)| first);
        self.arrivals = Some((first, at));
        self.received = delivered;
    }

    /// What became of its bursts.
    pub(crate) fn tally(&self, now: Time) -> Option<BurstTally> {
        // The last segment need not be full.
        let received = self.received.saturating_mul(self.payload).min(self.written);
        self.timetable.as_ref().map(|timetable| timetable.tally(now, self.written, received, self.arrivals))
    }
}

/// Who writes a flow's transfer of `size` segments, if that takes time.
pub(super) fn writer(plan: &FlowPlan, size: Option<u64>, start: Time) -> Option<Box<Writer>> {
    plan.writing.map(|writing| Box::new(Writer::new(writing, plan.config.payload, size, start)))
}

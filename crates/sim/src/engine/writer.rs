//! The application of a flow that does not write everything at once: it fills its socket, burst by burst, as
//! there is room.
//!
//! Bytes become segments as in a stream. A segment is sent when it is full, or when it cannot be filled any
//! more (Nagle's algorithm, RFC 896). What differs: a remainder waits for the next burst even if nothing is
//! in flight.

use ackclock_scenario::plan::FlowPlan;
use ackclock_scenario::writing::{BurstTally, Timetable, Writing};
use ackclock_units::Time;

pub(crate) struct Writer {
    timetable: Option<Timetable>,
    buffer: u64,
    /// The payload of a segment, bytes.
    payload: u64,
    /// Bytes that the application has, and that the socket has not accepted.
    left: u64,
    /// Bytes that the socket has accepted.
    written: u64,
    /// The start of the next burst, until it begins.
    due: Option<Time>,
    stopped: bool,
    /// The first and the last arrival at the receiver.
    arrivals: Option<(Time, Time)>,
    received: u64,
}

impl Writer {
    /// An application that begins at `start`. Without bursts it has `size` segments at once.
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

    /// Begins a burst, if the next one is due at this instant.
    pub(crate) fn begin(&mut self, now: Time) {
        if let (Some(timetable), true) = (&self.timetable, self.due == Some(now)) {
            self.due = None;
            self.left = timetable.size();
        }
    }

    /// Writes what there is room for at `now`, with `una` segments acknowledged. If this ends a burst:
    /// returns the start of the next one.
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

    /// The segments that are available to send, those already sent included. Data that was given up does not
    /// count.
    pub(crate) fn segments(&self) -> u64 {
        if self.stopped {
            0
        } else if self.is_over() {
            self.written.div_ceil(self.payload)
        } else {
            self.written / self.payload
        }
    }

    /// True if everything is written.
    pub(crate) fn is_over(&self) -> bool {
        self.stopped || self.left == 0 && self.due.is_none()
    }

    /// Nothing more will be written.
    pub(crate) fn stop(&mut self) {
        self.stopped = true;
        self.left = 0;
        self.due = None;
    }

    /// A segment has arrived. The receiver now has `delivered` segments in order.
    pub(crate) fn arrived(&mut self, at: Time, delivered: u64) {
        let first = self.arrivals.map_or(at, |(first, _)| first);
        self.arrivals = Some((first, at));
        self.received = delivered;
    }

    /// The tally of its bursts.
    pub(crate) fn tally(&self, now: Time) -> Option<BurstTally> {
        // The last segment may be partly filled.
        let received = self.received.saturating_mul(self.payload).min(self.written);
        self.timetable.as_ref().map(|timetable| timetable.tally(now, self.written, received, self.arrivals))
    }
}

/// The writer of a flow's transfer of `size` segments, if it is not written all at once.
pub(super) fn writer(plan: &FlowPlan, size: Option<u64>, start: Time) -> Option<Box<Writer>> {
    plan.writing.map(|writing| Box::new(Writer::new(writing, plan.config.payload, size, start)))
}

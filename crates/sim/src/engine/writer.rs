//! The application of a flow that does not write everything at once: it fills its socket, burst by burst, as
//! there is room.
//!
//! Bytes become segments as in a stream. A segment is sent when it is full, or when it cannot be filled any
//! more (Nagle's algorithm, RFC 896). What differs: a remainder waits for the next burst even if nothing is
//! in flight.

use ackclock_scenario::plan::FlowPlan;
use ackclock_scenario::writing::{BurstTally, Bursts, Timetable, Writing};
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
    /// True if what it writes is a response.
    responds: bool,
    /// What was written before on the same connection, segments.
    before: u64,
    /// All that will be written, bytes.
    all: u64,
    /// The segments in order that complete what the receiving host has asked for, until they are there.
    awaited: Option<u64>,
}

impl Writer {
    /// An application that begins at `start`. Without bursts it has `size` segments at once.
    /// `before`: what it has written on the same connection, segments.
    pub(crate) fn new(
        plan: &FlowPlan,
        writing: Writing,
        size: Option<u64>,
        start: Time,
        before: u64,
    ) -> Writer {
        let payload = u64::from(plan.config.payload);
        let all = size.map_or(u64::MAX, |segments| segments.saturating_mul(payload));
        let asked = plan.asking.and(size);
        let covering = |bursts: Bursts| if asked.is_some() { bursts.covering(all) } else { bursts };
        Writer {
            timetable: writing.bursts.map(|bursts| Timetable::new(covering(bursts), start)),
            buffer: writing.buffer.unwrap_or(u64::MAX),
            payload,
            left: if writing.bursts.is_some() { 0 } else { all },
            written: 0,
            due: writing.bursts.map(|_| start),
            stopped: false,
            arrivals: None,
            received: 0,
            responds: asked.is_some(),
            before,
            all,
            awaited: asked.map(|segments| before + segments),
        }
    }

    /// Begins a burst, if the next one is due at this instant.
    pub(crate) fn begin(&mut self, now: Time) {
        if let (Some(timetable), true) = (&self.timetable, self.due == Some(now)) {
            self.due = None;
            // The last burst of a response is what remains.
            self.left = timetable.size().min(self.all - self.written);
        }
    }

    /// Writes what there is room for at `now`, with `una` segments acknowledged. If this ends a burst:
    /// returns the start of the next one.
    pub(crate) fn write(&mut self, now: Time, una: u64) -> Option<Time> {
        let una = una.saturating_sub(self.before);
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
            self.before + self.written.div_ceil(self.payload)
        } else {
            self.before + self.written / self.payload
        }
    }

    /// True if everything is written.
    pub(crate) fn is_over(&self) -> bool {
        self.stopped || self.left == 0 && self.due.is_none()
    }

    /// Nothing more will be written.
    pub(crate) fn stop(&mut self) {
        self.stopped = true;
        self.awaited = None;
        self.left = 0;
        self.due = None;
    }

    /// A segment has arrived. The receiver now has `delivered` segments in order. True if this completes what
    /// it has asked for.
    pub(crate) fn arrived(&mut self, at: Time, delivered: u64) -> bool {
        let first = self.arrivals.map_or(at, |(first, _)| first);
        self.arrivals = Some((first, at));
        self.received = delivered.saturating_sub(self.before);
        self.awaited.take_if(|awaited| delivered >= *awaited).is_some()
    }

    /// The tally of its bursts. `None` for responses, of which each has its own.
    pub(crate) fn tally(&self, now: Time) -> Option<BurstTally> {
        if self.responds {
            return None;
        }
        // The last segment may be partly filled.
        let received = self.received.saturating_mul(self.payload).min(self.written);
        self.timetable.as_ref().map(|timetable| timetable.tally(now, self.written, received, self.arrivals))
    }
}

/// The writer of a flow's transfer of `size` segments, if it is not written all at once. `before`: what was
/// written before on the same connection, segments.
pub(super) fn writer(plan: &FlowPlan, size: Option<u64>, start: Time, before: u64) -> Option<Box<Writer>> {
    plan.writing.map(|writing| Box::new(Writer::new(plan, writing, size, start, before)))
}

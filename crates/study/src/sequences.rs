//! The segments of flows as a capture of ours shows them: for the time-sequence pictures of emulated flows.
//!
//! The capture says when segments and acknowledgements passed one link. What became of a segment it does not
//! say. A segment that comes behind later ones was lost before the tap, and is sent again.

use crate::packets::ReadProblem;
use crate::trace::{Connection, Event as Seen, trace};
use crate::traced::flow;
use ackclock_scenario::flow_trace::{Estimate, Event, EventKind, FlowTrace, SegmentTrace};
use ackclock_scenario::results::PointResult;
use ackclock_units::Time;
use std::io::{self, BufRead};

/// A connection of a flow, in one direction.
struct Part {
    /// The number of the trace.
    course: usize,
    /// When it began, ns.
    begins: u64,
    /// Payload of a segment, bytes.
    payload: u64,
    /// The number of its first segment, once it has sent one.
    base: Option<u64>,
    acked: u64,
}

/// The traces of these flows of a result, if the capture shows them. `open` opens the capture, which is read
/// twice: who a connection belongs to is known at its end.
///
/// # Errors
///
/// [`ReadProblem`] if it is no capture, and the outer error if it cannot be opened.
pub fn sequences<R: BufRead>(
    open: impl Fn() -> io::Result<R>,
    flows: &[usize],
    result: &PointResult,
) -> io::Result<Result<Vec<FlowTrace>, ReadProblem>> {
    let connections = match trace(open()?, &mut |_, _, _, _| {}) {
        Ok(told) => told.connections,
        Err(problem) => return Ok(Err(problem)),
    };
    let mut courses: Vec<FlowTrace> =
        flows.iter().map(|&flow| FlowTrace { flow, tapped: true, ..FlowTrace::default() }).collect();
    let mut parts: Vec<[Option<Part>; 2]> = connections.iter().map(|it| part(it, flows, result)).collect();
    let read = trace(open()?, &mut |number, direction, at, event| {
        if let Some(part) = parts.get_mut(number).and_then(|ends| ends[direction].as_mut()) {
            part.see(&mut courses[part.course], at, event);
        }
    });
    courses.retain(|course| !course.segments.is_empty());
    courses.iter_mut().for_each(|course| course.estimates = estimates(result, course.flow));
    Ok(read.map(|_| courses))
}

/// The part of a connection that sends the data of one of these flows.
fn part(connection: &Connection, flows: &[usize], result: &PointResult) -> [Option<Part>; 2] {
    let mut ends = [None, None];
    let known = flow(connection).and_then(|(flow, end)| {
        let course = flows.iter().position(|&wanted| wanted == flow)?;
        Some((course, end, result.flows.get(flow)?.payload_bytes))
    });
    if let Some((course, end, payload)) = known {
        let begins = (connection.begin_s * 1e9).round() as u64;
        ends[end] = Some(Part { course, begins, payload: u64::from(payload.max(1)), base: None, acked: 0 });
    }
    ends
}

impl Part {
    fn see(&mut self, course: &mut FlowTrace, at: Time, event: Seen) {
        let at_ns = self.begins + at.as_nanos();
        // Bytes count from the SYN, which is number 0.
        let segments = |bytes: u64| bytes.saturating_sub(1).div_ceil(self.payload);
        match event {
            Seen::Data { start, .. } => {
                let base = *self.base.get_or_insert(course.segments.len() as u64);
                let segment = base + start.saturating_sub(1) / self.payload;
                let what =
                    if segment < course.segments.len() as u64 { EventKind::Again } else { EventKind::New };
                let unseen = SegmentTrace { sent_ns: at_ns, again: 0, arrived_ns: None };
                course.segments.resize(course.segments.len().max(segment as usize + 1), unseen);
                if what == EventKind::Again {
                    course.segments[segment as usize].again += 1;
                }
                course.events.push(Event { at_ns, what, segment });
            }
            Seen::Acked(bytes) => {
                let Some(base) = self.base else { return };
                self.acked = bytes;
                let most = course.segments.len() as u64;
                let segment = (base + segments(bytes)).min(most); // a FIN counts as a byte, too
                course.events.push(Event { at_ns, what: EventKind::Acked, segment });
            }
            // What is below was acknowledged before, and came twice.
            Seen::Sacked(_, right) if right > self.acked => {
                let Some(base) = self.base else { return };
                let segment = base + segments(right).saturating_sub(1);
                course.events.push(Event { at_ns, what: EventKind::Sacked, segment });
            }
            Seen::Sacked(..) | Seen::Window(_) | Seen::Rtt(_) | Seen::Outstanding(_) => {}
        }
    }
}

/// The sender at the instants of the probes.
fn estimates(result: &PointResult, flow: usize) -> Vec<Estimate> {
    let Some(series) = &result.series else { return Vec::new() };
    let samples = series.at.iter().zip(series.flows.get(flow).into_iter().flatten());
    let known = samples.filter(|(_, sample)| sample.cwnd > 0.0);
    let estimate = |(at, sample): (&Time, &ackclock_scenario::series::Sample)| Estimate {
        at_ns: at.as_nanos(),
        rtt_s: None,
        srtt_s: f64::from(sample.srtt_s),
        rttvar_s: f64::NAN,
        cwnd: f64::from(sample.cwnd),
    };
    known.map(estimate).collect()
}

//! The time-sequence picture of traced flows: every segment when it is sent, dropped and delivered, over the
//! line of acknowledgements.

use super::axis::Axis;
use super::chart::{Chart, Curve, Mark, Style};
use crate::names::slug;
use crate::shown::PointView;
use ackclock_scenario::flow_trace::{Event, EventKind, FlowTrace};

/// The number of flows of a point that get pictures.
const MAX_PICTURED: usize = 4;
/// The picture of an episode also shows this share of its length before and after it.
const AROUND: f64 = 0.25;

/// Nanoseconds as seconds.
pub fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// How an event is drawn: its name, mark and colour, and the colour and command of `xplot`.
pub const LOOKS: [(EventKind, &str, Mark, Style, &str, &str); 6] = [
    (EventKind::Acked, "acknowledged", Mark::Line, Style::Aside, "green", "line"),
    (EventKind::Arrived, "delivered", Mark::Dot, Style::Colour(5), "blue", "dot"),
    (EventKind::New, "sent", Mark::Dot, Style::Colour(0), "white", "dot"),
    (EventKind::Again, "sent again", Mark::Ring, Style::Colour(1), "yellow", "diamond"),
    (EventKind::Sacked, "acknowledged selectively", Mark::Dot, Style::Colour(3), "magenta", "dot"),
    (EventKind::Dropped, "dropped", Mark::Cross, Style::Colour(6), "red", "x"),
];

/// The pictures of a point: each traced flow over the whole run, and around its first episode.
pub fn charts(shown: &PointView<'_>) -> Vec<Chart> {
    let mut charts = Vec::new();
    let courses = shown.result.courses.iter().filter(|course| !course.events.is_empty());
    for course in courses.take(MAX_PICTURED) {
        let name = shown.flow_name(course.flow);
        let how = if course.tapped { ", as captured" } else { "" };
        let whole = Axis::Time { duration: shown.result.duration_s, window: shown.window() };
        let id = format!("sequence-{}", slug(&name));
        let edge = edge(course);
        charts.push(chart(
            &id,
            format!("Segments of {name}{how}"),
            course.events.iter(),
            edge.clone(),
            whole,
        ));
        let Some(episode) = course.episodes.first() else { continue };
        let begins = seconds(episode.begins_ns);
        let ends = episode.ends_ns.map_or(shown.result.duration_s, seconds);
        let around = (ends - begins) * AROUND;
        let (from, to) = ((begins - around).max(0.0), (ends + around).min(shown.result.duration_s));
        let near = course.events.iter().filter(|event| (from..=to).contains(&seconds(event.at_ns)));
        let edge = edge.into_iter().filter(|(at, _)| (from..=to).contains(at)).collect();
        let title = format!("Segments of {name} around its first loss episode");
        charts.push(chart(&format!("{id}-episode"), title, near, edge, Axis::Span { from, to }));
    }
    charts
}

/// Up to where cwnd lets the sender go: the first unacknowledged segment and cwnd, after each acknowledgement
/// and timeout.
fn edge(course: &FlowTrace) -> Vec<(f64, f64)> {
    let mut acked = course.events.iter().filter(|event| event.what == EventKind::Acked).peekable();
    let mut una = 0;
    let reached = course.estimates.iter().map(|estimate| {
        while let Some(ack) = acked.next_if(|ack| ack.at_ns <= estimate.at_ns) {
            una = una.max(ack.segment);
        }
        (seconds(estimate.at_ns), una as f64 + estimate.cwnd)
    });
    reached.collect()
}

fn chart<'a>(
    id: &str,
    title: String,
    events: impl Iterator<Item = &'a Event> + Clone,
    edge: Vec<(f64, f64)>,
    x: Axis,
) -> Chart {
    let curves = LOOKS.iter().map(|&(what, label, mark, style, ..)| {
        let of_kind = events.clone().filter(|event| event.what == what);
        let points = of_kind.map(|event| (seconds(event.at_ns), event.segment as f64)).collect();
        let points = if mark == Mark::Line { steps(points) } else { points };
        // A segment reaches from its number to the next one, where the acknowledgement of it is.
        let tall = if mark == Mark::Dot { vec![1.0] } else { Vec::new() };
        Curve { label: label.to_owned(), points, style, mark, tall, ..Curve::default() }
    });
    let edge = Curve {
        label: "acknowledged + cwnd".to_owned(),
        points: edge,
        style: Style::Colour(4),
        ..Curve::default()
    };
    let curves = std::iter::once(edge).chain(curves).filter(|curve| !curve.points.is_empty()).collect();
    Chart { id: id.to_owned(), title, unit: "number".to_owned(), curves, x, afloat: true, ..Chart::default() }
}

/// The line of acknowledgements stays constant until the next one, and never falls.
pub fn steps(points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    let mut line: Vec<(f64, f64)> = Vec::with_capacity(2 * points.len());
    for (at, acked) in points {
        match line.last() {
            Some(&(_, before)) if acked <= before => {}
            Some(&(_, before)) => line.extend([(at, before), (at, acked)]),
            None => line.push((at, acked)),
        }
    }
    line
}

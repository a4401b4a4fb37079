//! The time-sequence picture of flows that were followed: every segment as it is sent, dropped and delivered, over the
//! line of acknowledgements. Also as a file for `xplot`, and as tables.

use super::OutputDirectory;
use super::axis::Axis;
use super::chart::{Chart, Curve, Mark, Style};
use super::series::open;
use super::shown::{Shown, slug};
use crate::Failure;
use ackclock_scenario::course::{Course, Event, What};
use miette::IntoDiagnostic;
use std::fmt::Write;
use std::path::Path;

/// Flows of a point that get pictures.
const MOST_PICTURED: usize = 4;
/// Seconds that a picture of an episode shows before and after it, as parts of its length.
const AROUND: f64 = 0.25;

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// How an event is drawn: its words, its mark and its colour, and the colour and command of `xplot`.
const LOOKS: [(What, &str, Mark, Style, &str, &str); 5] = [
    (What::Acked, "acknowledged", Mark::Line, Style::Aside, "green", "line"),
    (What::Arrived, "delivered", Mark::Dot, Style::Colour(5), "blue", "dot"),
    (What::New, "sent", Mark::Dot, Style::Colour(0), "white", "dot"),
    (What::Again, "sent again", Mark::Ring, Style::Colour(1), "yellow", "diamond"),
    (What::Dropped, "dropped", Mark::Cross, Style::Colour(6), "red", "x"),
];

/// The pictures of a point: each followed flow over the whole run, and around its first episode.
pub(crate) fn charts(shown: &Shown<'_>) -> Vec<Chart> {
    let mut charts = Vec::new();
    for course in shown.result.courses.iter().take(MOST_PICTURED) {
        let name = shown.flow_name(course.flow);
        let whole = Axis::Time { duration: shown.result.duration_s, window: shown.window() };
        let id = format!("sequence-{}", slug(&name));
        charts.push(chart(&id, format!("Segments of {name}"), course.events.iter(), whole));
        let Some(episode) = course.episodes.first() else { continue };
        let begins = seconds(episode.begins_ns);
        let ends = episode.ends_ns.map_or(shown.result.duration_s, seconds);
        let around = (ends - begins) * AROUND;
        let (from, to) = ((begins - around).max(0.0), (ends + around).min(shown.result.duration_s));
        let near = course.events.iter().filter(|event| (from..=to).contains(&seconds(event.at_ns)));
        let title = format!("Segments of {name} around its first loss episode");
        charts.push(chart(&format!("{id}-episode"), title, near, Axis::Span { from, to }));
    }
    charts
}

fn chart<'a>(id: &str, title: String, events: impl Iterator<Item = &'a Event> + Clone, x: Axis) -> Chart {
    let curves = LOOKS.iter().map(|&(what, label, mark, style, ..)| {
        let of_kind = events.clone().filter(|event| event.what == what);
        let points = of_kind.map(|event| (seconds(event.at_ns), event.segment as f64)).collect();
        let points = if mark == Mark::Line { steps(points) } else { points };
        Curve { label: label.to_owned(), points, style, mark, band: Vec::new() }
    });
    let curves = curves.filter(|curve| !curve.points.is_empty()).collect();
    Chart { id: id.to_owned(), title, unit: "number".to_owned(), curves, x, afloat: true, ..Chart::default() }
}

/// The line of acknowledgements stays where it is until the next one, and never falls.
fn steps(points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
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

/// The files of a point.
pub(super) fn write(to: &OutputDirectory, folder: &Path, shown: &Shown<'_>) -> Result<(), Failure> {
    let courses = &shown.result.courses;
    if courses.is_empty() {
        return Ok(());
    }
    let header = ["flow", "label", "segment", "sent_s", "sent_again", "arrived_s"];
    let mut segments = open(to, folder, "segments.csv", &header)?;
    let header = ["time_s", "flow", "label", "rtt_s", "srtt_s", "rttvar_s", "cwnd_segments"];
    let mut estimates = open(to, folder, "estimates.csv", &header)?;
    for course in courses {
        let (flow, label) = (course.flow.to_string(), &shown.result.flows[course.flow].label);
        for (segment, life) in course.segments.iter().enumerate() {
            let arrived = life.arrived_ns.map_or(String::new(), |at| seconds(at).to_string());
            let (segment, sent) = (segment.to_string(), seconds(life.sent_ns).to_string());
            let row = [&flow, label, &segment, &sent, &life.again.to_string(), &arrived];
            segments.write_record(row).into_diagnostic()?;
        }
        for estimate in &course.estimates {
            let rtt = estimate.rtt_s.map_or(String::new(), |rtt| rtt.to_string());
            let row = [
                &seconds(estimate.at_ns).to_string(),
                &flow,
                label,
                &rtt,
                &estimate.srtt_s.to_string(),
                &estimate.rttvar_s.to_string(),
                &estimate.cwnd.to_string(),
            ];
            estimates.write_record(row).into_diagnostic()?;
        }
        let name = shown.flow_name(course.flow);
        let file = folder.join(format!("sequence-{}.xpl", slug(&name)));
        to.write(file, xplot(&name, course).as_bytes())?;
    }
    segments.flush().into_diagnostic()?;
    estimates.flush().into_diagnostic()?;
    Ok(())
}

/// A course in the language of `xplot`: a header, then a colour on a line of its own and what is drawn in it.
fn xplot(name: &str, course: &Course) -> String {
    let name: String = name.chars().filter(|letter| !letter.is_control()).collect();
    let mut text = format!("double double\ntitle\n{name}\nxlabel\ntime (s)\nylabel\nsegment\n");
    for &(what, _, mark, _, colour, command) in &LOOKS {
        let of_kind = course.events.iter().filter(|event| event.what == what);
        let points: Vec<_> = of_kind.map(|event| (seconds(event.at_ns), event.segment as f64)).collect();
        let _ = writeln!(text, "{colour}"); // a text grows
        if mark == Mark::Line {
            for pair in steps(points).windows(2) {
                let [(from, low), (to, high)] = [pair[0], pair[1]];
                let _ = writeln!(text, "{command} {from:.9} {low} {to:.9} {high}");
            }
        } else {
            for (at, segment) in points {
                let _ = writeln!(text, "{command} {at:.9} {segment}");
            }
        }
    }
    text.push_str("go\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_xplot_file_draws_every_event() {
        let event = |at_ns, what, segment| Event { at_ns, what, segment };
        let course = Course {
            events: vec![
                event(0, What::New, 0),
                event(1_500_000_000, What::Acked, 1),
                event(2_000_000_000, What::Dropped, 2),
                event(3_000_000_000, What::Acked, 1),
                event(4_000_000_000, What::Acked, 5),
            ],
            ..Course::default()
        };
        let text = xplot("a\nflow", &course);
        assert_eq!(
            text,
            "double double\ntitle\naflow\nxlabel\ntime (s)\nylabel\nsegment\ngreen\n\
             line 1.500000000 1 4.000000000 1\nline 4.000000000 1 4.000000000 5\nblue\nwhite\n\
             dot 0.000000000 0\nyellow\nred\nx 2.000000000 2\ngo\n"
        );
    }
}

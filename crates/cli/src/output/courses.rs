//! Files about traced flows: tables of their segments and round-trip times, and a file for `xplot`.

use super::csv::Csv;
use super::directory::OutputDirectory;
use crate::failure::Failure;
use ackclock_scenario::flow_trace::FlowTrace;
use ackclock_view::charts::chart::Mark;
use ackclock_view::charts::sequence::{LOOKS, seconds, steps};
use ackclock_view::names::slug;
use ackclock_view::shown::PointView;
use std::fmt::Write;
use std::path::Path;

/// Writes the files of a point.
pub(super) fn write(to: &OutputDirectory, folder: &Path, shown: &PointView<'_>) -> Result<(), Failure> {
    // Of an emulated flow there may be its queue alone.
    let courses = || shown.result.courses.iter().filter(|course| !course.segments.is_empty());
    if courses().next().is_none() {
        return Ok(());
    }
    let header = ["flow", "label", "segment", "sent_s", "sent_again", "arrived_s"];
    let mut segments = Csv::open(to, folder, "segments.csv", &header)?;
    let header = ["time_s", "flow", "label", "rtt_s", "srtt_s", "rttvar_s", "cwnd_segments"];
    let mut estimates = Csv::open(to, folder, "estimates.csv", &header)?;
    for course in courses() {
        let (flow, label) = (course.flow.to_string(), &shown.result.flows[course.flow].label);
        for (segment, life) in course.segments.iter().enumerate() {
            let arrived = life.arrived_ns.map_or(String::new(), |at| seconds(at).to_string());
            let (segment, sent) = (segment.to_string(), seconds(life.sent_ns).to_string());
            let row = [&flow, label, &segment, &sent, &life.again.to_string(), &arrived];
            segments.row(row)?;
        }
        for estimate in &course.estimates {
            let rtt = estimate.rtt_s.map_or(String::new(), |rtt| rtt.to_string());
            let known = |value: f64| if value.is_finite() { value.to_string() } else { String::new() };
            let row = [
                &seconds(estimate.at_ns).to_string(),
                &flow,
                label,
                &rtt,
                &estimate.srtt_s.to_string(),
                &known(estimate.rttvar_s),
                &estimate.cwnd.to_string(),
            ];
            estimates.row(row)?;
        }
        let name = shown.flow_name(course.flow);
        let file = folder.join(format!("sequence-{}.xpl", slug(&name)));
        to.write(file, xplot(&name, course).as_bytes())?;
    }
    segments.finish()?;
    estimates.finish()?;
    Ok(())
}

/// A trace in the language of `xplot`: a header, then each colour on a line, followed by the shapes in that
/// colour.
fn xplot(name: &str, course: &FlowTrace) -> String {
    let name: String = name.chars().filter(|letter| !letter.is_control()).collect();
    let mut text = format!("double double\ntitle\n{name}\nxlabel\ntime (s)\nylabel\nsegment\n");
    for &(what, _, mark, _, colour, command) in &LOOKS {
        let of_kind = course.events.iter().filter(|event| event.what == what);
        let points: Vec<_> = of_kind.map(|event| (seconds(event.at_ns), event.segment as f64)).collect();
        let _ = writeln!(text, "{colour}"); // writing to a string cannot fail
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
    use ackclock_scenario::flow_trace::{Event, EventKind};

    #[test]
    fn an_xplot_file_draws_every_event() {
        let event = |at_ns, what, segment| Event { at_ns, what, segment };
        let course = FlowTrace {
            events: vec![
                event(0, EventKind::New, 0),
                event(1_500_000_000, EventKind::Acked, 1),
                event(2_000_000_000, EventKind::Dropped, 2),
                event(3_000_000_000, EventKind::Acked, 1),
                event(4_000_000_000, EventKind::Acked, 5),
            ],
            ..FlowTrace::default()
        };
        let text = xplot("a\nflow", &course);
        assert_eq!(
            text,
            "double double\ntitle\naflow\nxlabel\ntime (s)\nylabel\nsegment\ngreen\n\
             line 1.500000000 1 4.000000000 1\nline 4.000000000 1 4.000000000 5\nblue\nwhite\n\
             dot 0.000000000 0\nyellow\nmagenta\nred\nx 2.000000000 2\ngo\n"
        );
    }
}

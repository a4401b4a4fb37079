//! What is drawn of a connection: its segments, acknowledgements and windows over time, what is outstanding,
//! throughput and round-trip time. The same as SVG and in the language of `xplot`.

use super::Capture;
use ackclock_study::trace::{Connection, Event};
use ackclock_units::Time;
use ackclock_view::charts::axis::Axis;
use ackclock_view::charts::chart::{Chart, Curve, Mark, Style};
use ackclock_view::charts::sequence::steps;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// Throughput is the mean over so many packets with data.
const PACKETS: u64 = 10;

/// A window that reaches this many times beyond what was sent is not drawn.
const FAR: f64 = 4.0;

/// Points, in order of time: seconds and a value.
type Points = Vec<(f64, f64)>;

/// Bytes, in order of time: seconds, the first one, and how many.
type Bars = Vec<(f64, f64, f64)>;

/// What is known of a direction.
#[derive(Default)]
struct Course {
    /// Segments that are new, and those with data seen before.
    new: Bars,
    again: Bars,
    acked: Points,
    sacked: Bars,
    window: Points,
    outstanding: Points,
    rtt: Points,
    throughput: Points,
    /// The begin of the packets that throughput is taken over, their number and bytes.
    since: f64,
    packets: u64,
    bytes: u64,
}

/// All that is drawn, by connection and direction.
#[derive(Default)]
pub(super) struct Drawn {
    courses: BTreeMap<(usize, usize), Course>,
}

impl Drawn {
    /// A packet did something.
    pub(super) fn add(&mut self, connection: usize, direction: usize, at: Time, event: Event) {
        let at = at.as_secs_f64();
        let course = self.courses.entry((connection, direction)).or_default();
        match event {
            Event::Data { start, end, again } => {
                let bars = if again { &mut course.again } else { &mut course.new };
                bars.push((at, start as f64, (end - start) as f64));
                course.carried(at, end - start);
            }
            Event::Acked(byte) => course.acked.push((at, byte as f64)),
            Event::Sacked(left, right) => {
                course.sacked.push((at, left as f64, right.saturating_sub(left) as f64));
            }
            Event::Window(byte) => course.window.push((at, byte as f64)),
            Event::Rtt(rtt) => course.rtt.push((at, rtt.as_millis_f64())),
            Event::Outstanding(bytes) => course.outstanding.push((at, bytes as f64)),
        }
    }

    /// The pictures of one connection.
    fn of(&self, connection: &Connection) -> Vec<Chart> {
        let courses = (0..2).filter_map(|way| Some((way, self.course(connection.number, way)?)));
        courses.flat_map(|(way, course)| course.pictures(way, connection)).collect()
    }

    /// What is known of a direction that carries data.
    fn course(&self, number: usize, direction: usize) -> Option<&Course> {
        self.courses.get(&(number, direction)).filter(|course| !course.new.is_empty())
    }
}

/// The connections with this number in all captures, in their order.
pub(super) fn numbered(captures: &[Capture], number: usize) -> Vec<Option<&Connection>> {
    let find = |capture: &Capture| {
        let connections = &capture.traced.connections;
        connections.iter().position(|connection| connection.number == number)
    };
    captures.iter().map(|capture| Some(&capture.traced.connections[find(capture)?])).collect()
}

/// The numbers of all connections, in order.
pub(super) fn numbers(captures: &[Capture]) -> BTreeSet<usize> {
    captures.iter().flat_map(|capture| capture.traced.connections.iter().map(|it| it.number)).collect()
}

/// The pictures of the connections with this number: of one capture, or of two on common axes.
pub(super) fn of(captures: &[Capture], number: usize) -> Vec<Chart> {
    let connections = numbered(captures, number);
    if let ([capture], [Some(connection)]) = (captures, &connections[..]) {
        return capture.drawn.of(connection);
    }
    let elapsed = connections.iter().flatten().map(|it| it.elapsed_s).fold(0.0, f64::max);
    let axis = Axis::Time { duration: elapsed, window: None };
    let both = |direction: usize| {
        let mut charts: Vec<Chart> = Vec::new();
        for (place, (capture, connection)) in captures.iter().zip(&connections).enumerate() {
            let course = connection.and_then(|it| capture.drawn.course(it.number, direction));
            for ((what, title, unit), curves) in course.map(Course::compared).into_iter().flatten() {
                let id = format!("{number}-{}-{what}", WAYS[direction]);
                let title = format!("{title}, {}", WAYS[direction].replace('-', " "));
                let named = curves.into_iter().enumerate().map(|(of, curve)| Curve {
                    label: format!("{}, {}", curve.label, capture.name),
                    style: Style::Colour(2 * place + of),
                    ..curve
                });
                let named = named.filter(|curve| !curve.points.is_empty());
                match charts.iter_mut().find(|chart| chart.id == id) {
                    Some(chart) => chart.curves.extend(named),
                    None => charts.push(Chart {
                        id,
                        title,
                        unit: unit.to_owned(),
                        curves: named.collect(),
                        x: axis.clone(),
                        afloat: what == SEQUENCE.0,
                        ..Chart::default()
                    }),
                }
            }
        }
        charts
    };
    (0..2).flat_map(both).collect()
}

/// All pictures.
pub(super) fn all(captures: &[Capture]) -> Vec<Chart> {
    numbers(captures).into_iter().flat_map(|number| of(captures, number)).collect()
}

/// A picture: its name, its title and its unit.
type What = (&'static str, &'static str, &'static str);

const SEQUENCE: What = ("sequence", "Bytes", "bytes");
const OUTSTANDING: What = ("outstanding", "Outstanding data, in place of cwnd", "bytes");
const THROUGHPUT: What = ("throughput", "Throughput, mean of ten packets", "Mbit/s");
const RTT: What = ("rtt", "Round-trip time", "ms");

/// The directions, as files are named.
const WAYS: [&str; 2] = ["a-to-b", "b-to-a"];

impl Course {
    fn carried(&mut self, at: f64, bytes: u64) {
        if self.packets == 0 && self.throughput.is_empty() {
            self.since = at;
        }
        self.packets += 1;
        self.bytes += bytes;
        if self.packets == PACKETS {
            if at > self.since {
                self.throughput.push((at, 8e-6 * self.bytes as f64 / (at - self.since)));
            }
            (self.since, self.packets, self.bytes) = (at, 0, 0);
        }
    }

    /// What two captures are compared by: pictures, and their curves.
    fn compared(&self) -> [(What, Vec<Curve>); 4] {
        let sent = bars("sent", &self.new, Style::Colour(0), Mark::Dot);
        let again = bars("sent again", &self.again, Style::Colour(1), Mark::Ring);
        [(SEQUENCE, vec![sent, again]), self.outstanding(), self.throughput(), self.rtt()]
    }

    fn outstanding(&self) -> (What, Vec<Curve>) {
        (OUTSTANDING, vec![curve("outstanding", &self.outstanding, Style::Colour(0), Mark::Line)])
    }

    fn throughput(&self) -> (What, Vec<Curve>) {
        (THROUGHPUT, vec![curve("throughput", &self.throughput, Style::Colour(0), Mark::Line)])
    }

    fn rtt(&self) -> (What, Vec<Curve>) {
        (RTT, vec![curve("round-trip time", &self.rtt, Style::Colour(0), Mark::Dot)])
    }

    fn pictures(&self, direction: usize, connection: &Connection) -> Vec<Chart> {
        let [one, other] = connection.ends;
        let (from, to) = if direction == 0 { (one, other) } else { (other, one) };
        let way = WAYS[direction];
        let axis = Axis::Time { duration: connection.elapsed_s, window: None };
        let chart = |((what, title, unit), curves): (What, Vec<Curve>)| Chart {
            id: format!("{}-{way}-{what}", connection.number),
            title: format!("{title}, {from} to {to}"),
            unit: unit.to_owned(),
            curves: curves.into_iter().filter(|curve| !curve.points.is_empty()).collect(),
            x: axis.clone(),
            // Near enough only a part of all bytes is visible.
            afloat: what == SEQUENCE.0,
            ..Chart::default()
        };
        let colour = Style::Colour;
        // A window that is far beyond all that was sent would leave no room for it.
        let most = |points: &Points| points.iter().map(|&(_, byte)| byte).fold(0.0, f64::max);
        let sent = self.new.iter().map(|&(_, from, bytes)| from + bytes).fold(0.0, f64::max);
        let window = if most(&self.window) > FAR * sent { &Points::new() } else { &self.window };
        let sequence = vec![
            curve("acknowledged", &steps(self.acked.clone()), Style::Aside, Mark::Line),
            curve("window", window, colour(5), Mark::Line),
            bars("sent", &self.new, colour(0), Mark::Dot),
            bars("sent again", &self.again, colour(1), Mark::Ring),
            bars("acknowledged selectively", &self.sacked, colour(3), Mark::Dot),
        ];
        let others = [self.outstanding(), self.throughput(), self.rtt()];
        [(SEQUENCE, sequence)].into_iter().chain(others).map(chart).collect()
    }
}

fn curve(label: &str, points: &Points, style: Style, mark: Mark) -> Curve {
    Curve { label: label.to_owned(), points: points.clone(), style, mark, ..Curve::default() }
}

/// Bars that begin at their first byte.
fn bars(label: &str, bars: &Bars, style: Style, mark: Mark) -> Curve {
    let points = bars.iter().map(|&(at, from, _)| (at, from)).collect();
    let tall = bars.iter().map(|&(.., bytes)| bytes).collect();
    Curve { label: label.to_owned(), points, style, mark, tall, ..Curve::default() }
}

/// The colour of a curve in `xplot`, whose ground is black. What is acknowledged, the receiver's window and
/// what was sent again have the colours that tcptrace gives them.
fn dark(style: Style) -> &'static str {
    match style {
        Style::Aside => "green",
        Style::Colour(1) => "red",
        Style::Colour(2) => "orange",
        Style::Colour(3) => "magenta",
        Style::Colour(5) => "yellow",
        Style::Colour(_) => "white",
    }
}

/// A chart in the language of `xplot`: a header, then a colour for each curve, followed by its shapes. With
/// the file's name.
pub(super) fn xplot(chart: &Chart) -> (String, String) {
    let mut text =
        format!("double double\ntitle\n{}\nxlabel\ntime (s)\nylabel\n{}\n", chart.title, chart.unit);
    for curve in &chart.curves {
        let _ = writeln!(text, "{}", dark(curve.style)); // writing to a string cannot fail
        if curve.mark == Mark::Line {
            for pair in curve.points.windows(2) {
                let [(from, low), (to, high)] = [pair[0], pair[1]];
                let _ = writeln!(text, "line {from:.9} {low} {to:.9} {high}");
            }
        } else {
            let command = if curve.mark == Mark::Ring { "diamond" } else { "dot" };
            for (number, &(at, value)) in curve.points.iter().enumerate() {
                let tall = curve.tall.get(number).copied().unwrap_or(0.0);
                if tall == 0.0 || curve.mark == Mark::Ring {
                    let _ = writeln!(text, "{command} {at:.9} {value}");
                }
                if tall > 0.0 {
                    let _ = writeln!(text, "line {at:.9} {value} {at:.9} {}", value + tall);
                }
            }
        }
    }
    text.push_str("go\n");
    (format!("{}.xpl", chart.id), text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A capture that lacks a kind of event does not give its colour to the next one.
    #[test]
    fn a_colour_means_the_same_in_every_picture() {
        let curve = |label: &str, style, mark, tall: &[f64]| Curve {
            label: label.to_owned(),
            points: vec![(1.0, 10.0), (2.0, 20.0)],
            style,
            mark,
            tall: tall.to_vec(),
            ..Curve::default()
        };
        let acked = curve("acknowledged", Style::Aside, Mark::Line, &[]);
        let again = curve("sent again", Style::Colour(1), Mark::Ring, &[5.0, 7.0]);
        let chart = |curves: &[&Curve]| Chart {
            title: "Bytes".to_owned(),
            unit: "bytes".to_owned(),
            curves: curves.iter().map(|&curve| curve.clone()).collect(),
            ..Chart::default()
        };
        let head = "double double\ntitle\nBytes\nxlabel\ntime (s)\nylabel\nbytes\n";
        let red = "red\ndiamond 1.000000000 10\nline 1.000000000 10 1.000000000 15\n\
            diamond 2.000000000 20\nline 2.000000000 20 2.000000000 27\n";
        let green = "green\nline 1.000000000 10 2.000000000 20\n";
        assert_eq!(xplot(&chart(&[&again])).1, format!("{head}{red}go\n"));
        assert_eq!(xplot(&chart(&[&acked, &again])).1, format!("{head}{green}{red}go\n"));
    }
}

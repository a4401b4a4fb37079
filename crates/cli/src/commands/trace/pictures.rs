//! What is drawn of a connection: its segments, acknowledgements and windows over time, what is outstanding,
//! throughput and round-trip time. The same as SVG and in the language of `xplot`.

use ackclock_study::trace::{Connection, Event};
use ackclock_units::Time;
use ackclock_view::charts::axis::Axis;
use ackclock_view::charts::chart::{Chart, Curve, Mark, Style};
use ackclock_view::charts::sequence::steps;
use std::collections::BTreeMap;
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

    /// The names and texts of files for `xplot`.
    pub(super) fn xplots<'a>(
        &'a self,
        connections: &'a [Connection],
    ) -> impl Iterator<Item = (String, String)> + 'a {
        self.pictures(connections).map(|chart| (format!("{}.xpl", chart.id), xplot(&chart)))
    }

    /// The names and texts of pictures.
    pub(super) fn charts<'a>(
        &'a self,
        connections: &'a [Connection],
    ) -> impl Iterator<Item = (String, String)> + 'a {
        self.pictures(connections).map(|chart| (format!("{}.svg", chart.id), chart.to_svg()))
    }

    /// The pictures of one connection.
    pub(super) fn of(&self, connection: &Connection) -> Vec<Chart> {
        self.pictures(std::slice::from_ref(connection)).collect()
    }

    fn pictures<'a>(&'a self, connections: &'a [Connection]) -> impl Iterator<Item = Chart> + 'a {
        let courses = self.courses.iter().filter(|(_, course)| !course.new.is_empty());
        courses.flat_map(move |(&(number, direction), course)| {
            let connection = connections.iter().find(|connection| connection.number == number);
            connection.map(|connection| course.pictures(direction, connection)).unwrap_or_default()
        })
    }
}

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

    fn pictures(&self, direction: usize, connection: &Connection) -> Vec<Chart> {
        let [one, other] = connection.ends;
        let (from, to) = if direction == 0 { (one, other) } else { (other, one) };
        let way = ["a-to-b", "b-to-a"][direction];
        let axis = Axis::Time { duration: connection.elapsed_s, window: None };
        let chart = |what: &str, title: &str, unit: &str, curves: Vec<Curve>| Chart {
            id: format!("{}-{way}-{what}", connection.number),
            title: format!("{title}, {from} to {to}"),
            unit: unit.to_owned(),
            curves: curves.into_iter().filter(|curve| !curve.points.is_empty()).collect(),
            x: axis.clone(),
            // Near enough only a part of all bytes is visible.
            afloat: what == "sequence",
            ..Chart::default()
        };
        let curve = |label: &str, points: &Points, style, mark| Curve {
            label: label.to_owned(),
            points: points.clone(),
            style,
            mark,
            ..Curve::default()
        };
        let bars = |label: &str, bars: &Bars, style, mark| Curve {
            label: label.to_owned(),
            points: bars.iter().map(|&(at, from, _)| (at, from)).collect(),
            style,
            mark,
            tall: bars.iter().map(|&(.., bytes)| bytes).collect(),
            ..Curve::default()
        };
        let colour = Style::Colour;
        // A window that is far beyond all that was sent would leave no room for it.
        let most = |points: &Points| points.iter().map(|&(_, byte)| byte).fold(0.0, f64::max);
        let sent = self.new.iter().map(|&(_, from, bytes)| from + bytes).fold(0.0, f64::max);
        let window = if most(&self.window) > FAR * sent { &Points::new() } else { &self.window };
        vec![
            chart(
                "sequence",
                "Bytes",
                "bytes",
                vec![
                    curve("acknowledged", &steps(self.acked.clone()), Style::Aside, Mark::Line),
                    curve("window", window, colour(5), Mark::Line),
                    bars("sent", &self.new, colour(0), Mark::Dot),
                    bars("sent again", &self.again, colour(1), Mark::Ring),
                    bars("acknowledged selectively", &self.sacked, colour(3), Mark::Dot),
                ],
            ),
            chart(
                "outstanding",
                "Outstanding data, in place of cwnd",
                "bytes",
                vec![curve("outstanding", &self.outstanding, colour(0), Mark::Line)],
            ),
            chart(
                "throughput",
                "Throughput, mean of ten packets",
                "Mbit/s",
                vec![curve("throughput", &self.throughput, colour(0), Mark::Line)],
            ),
            chart(
                "rtt",
                "Round-trip time",
                "ms",
                vec![curve("round-trip time", &self.rtt, colour(0), Mark::Dot)],
            ),
        ]
    }
}

/// The colour of a curve in `xplot`, whose ground is black. What is acknowledged, the receiver's window and
/// what was sent again have the colours that tcptrace gives them.
fn dark(style: Style) -> &'static str {
    match style {
        Style::Aside => "green",
        Style::Colour(1) => "red",
        Style::Colour(3) => "magenta",
        Style::Colour(5) => "yellow",
        Style::Colour(_) => "white",
    }
}

/// A chart in the language of `xplot`: a header, then a colour for each curve, followed by its shapes.
fn xplot(chart: &Chart) -> String {
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
    text
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
        assert_eq!(xplot(&chart(&[&again])), format!("{head}{red}go\n"));
        assert_eq!(xplot(&chart(&[&acked, &again])), format!("{head}{green}{red}go\n"));
    }
}

//! Results as Markdown tables.

use crate::cases::{Kind, Way};
use crate::htsim::Measured;
use crate::outcome::Outcome;
use crate::report::{CaseReport, PointReport, Report};
use std::fmt::Write as _;

/// The tolerance of goodput, as a share.
pub const GOODPUT_TOLERANCE: f64 = 0.02;
/// The tolerance of the goodput of TFRC, as a share.
pub const RATE_GOODPUT_TOLERANCE: f64 = 0.05;
/// The tolerance of the loss event rate, as a share.
pub const LOSS_EVENT_TOLERANCE: f64 = 0.1;
/// The tolerance of the mean queue, as a share.
pub const QUEUE_TOLERANCE: f64 = 0.1;
/// The tolerance of drops, as a factor.
pub const DROP_TOLERANCE: f64 = 1.5;
/// The fixed part of the allowed memory of a run, bytes.
const MEMORY_BASE: f64 = 4.0 * 1024.0 * 1024.0;
/// The allowed memory per packet in flight, bytes.
const MEMORY_PER_PACKET: f64 = 64.0;

/// Points that differ in their seed only.
struct Row<'a> {
    case: &'a CaseReport,
    points: &'a [PointReport],
}

impl Row<'_> {
    fn title(&self) -> String {
        let parameters = &self.points[0].parameters;
        let words: Vec<_> = parameters.iter().map(|(axis, value)| format!("{axis} {value}")).collect();
        let title = if words.is_empty() {
            self.case.title.clone()
        } else {
            format!("{}, {}", self.case.title, words.join(", "))
        };
        if self.points.len() > 1 { format!("{title} ({} seeds)", self.points.len()) } else { title }
    }

    fn mean(&self, of: impl Fn(&PointReport) -> Option<f64>) -> Option<f64> {
        let values: Option<Vec<f64>> = self.points.iter().map(of).collect();
        values.map(|values| values.iter().sum::<f64>() / values.len() as f64)
    }

    /// The mean goodput of ackclock relative to that of ns-2 (tuned), minus one, and its standard error over
    /// the seeds.
    fn goodput_difference(&self) -> Option<(f64, Option<f64>)> {
        self.difference(|outcome| Some(outcome.goodput_bps))
    }

    /// The mean of a value of ackclock relative to that of ns-2 (tuned), minus one, and its standard error
    /// over the seeds.
    fn difference(&self, of: impl Fn(&Outcome) -> Option<f64>) -> Option<(f64, Option<f64>)> {
        let both = |point: &PointReport| Some((of(&point.own)?, of(point.ns2_tuned.as_ref()?)?));
        let pairs: Vec<(f64, f64)> = self.points.iter().map(both).collect::<Option<_>>()?;
        let n = pairs.len() as f64;
        let total: f64 = pairs.iter().map(|pair| pair.1).sum();
        if total <= 0.0 {
            return None;
        }
        let mean = pairs.iter().map(|pair| pair.0).sum::<f64>() / total - 1.0;
        // The error of a ratio of sums, by its linear approximation.
        let squares = pairs.iter().map(|(own, peer)| (own - (1.0 + mean) * peer).powi(2)).sum::<f64>();
        let error = (pairs.len() > 1).then(|| (squares / (n - 1.0) * n).sqrt() / total);
        Some((mean, error))
    }

    fn drop_ratio(&self) -> Option<f64> {
        let (own, peer) =
            (self.mean(|p| Some(p.own.drops as f64))?, self.mean(|p| tuned(p, |o| o.drops as f64))?);
        (peer > 0.0).then_some(own / peer)
    }
}

fn tuned(point: &PointReport, of: impl Fn(&Outcome) -> f64) -> Option<f64> {
    point.ns2_tuned.as_ref().map(of)
}

fn rows(case: &CaseReport) -> impl Iterator<Item = Row<'_>> {
    case.points.chunk_by(|a, b| a.parameters == b.parameters).map(move |points| Row { case, points })
}

/// All tables as Markdown.
pub fn markdown(report: &Report) -> String {
    let mut text = String::new();
    let machine = &report.machine;
    let _ = writeln!(
        text,
        "Measured on {} with `{}`: ackclock {}, ns-2 {}, {}, {}, {} logical processors of type {}.\n",
        report.date,
        report.command,
        machine.ackclock,
        machine.ns2,
        machine.rustc,
        machine.kernel,
        machine.cpus,
        machine.cpu
    );
    text.push_str(&speed(report));
    text.push_str(&htsim(report));
    text.push_str(&agreement(report));
    text.push_str(&queues(report));
    text.push_str(&tfrc(report));
    text.push_str(&scaling(report));
    text
}

fn of_kind(report: &Report, kind: Kind) -> impl Iterator<Item = Row<'_>> {
    report.cases.iter().filter(move |case| case.kind == kind).flat_map(rows)
}

fn speed(report: &Report) -> String {
    let mut text = String::from(
        "### Speed\n\nMillions of delivered segments per second of wall time, on one thread. In brackets the same \
         ratio by processor time, which other load on the machine disturbs less.\n\n\
         | case | ackclock | ns-2 as it comes | ns-2 tuned | against as it comes | target | against tuned |\n\
         | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n",
    );
    for row in of_kind(report, Kind::Speed) {
        let own = &row.points[0].own;
        let point = &row.points[0];
        let rate = |outcome: &Option<Outcome>| {
            outcome.as_ref().map_or("–".to_owned(), |outcome| millions(outcome.segments_per_wall_s()))
        };
        let ratio = |outcome: &Option<Outcome>| {
            outcome.as_ref().map_or("–".to_owned(), |peer| {
                let wall = own.segments_per_wall_s() / peer.segments_per_wall_s();
                let cpu = own.segments_per_cpu_s() / peer.segments_per_cpu_s();
                format!("{wall:.1} x ({cpu:.1})")
            })
        };
        let target = row.case.speed_target.map_or("–".to_owned(), |target| format!("{target} x"));
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {target} | {} |",
            row.title(),
            millions(own.segments_per_wall_s()),
            rate(&point.ns2_stock),
            rate(&point.ns2_tuned),
            ratio(&point.ns2_stock),
            ratio(&point.ns2_tuned),
        );
    }
    text.push('\n');
    text
}

fn htsim(report: &Report) -> String {
    let Some(version) = &report.machine.htsim else {
        return "### Beside htsim\n\nNot measured: no copy of htsim was named.\n\n".to_owned();
    };
    let mut text = format!(
        "### Beside htsim\n\nhtsim {version}. Millions of delivered segments per second of wall time, on one thread, \
         and in brackets the ratio by processor time. *Links*: htsim has the same links. *Lean*: it has one queue, and \
         the rest is delay. Goodput in Mbit/s, and packets dropped.\n\n\
         | case | ackclock | htsim, links | htsim, lean | against links | against lean | target | goodput | links | lean \
         | drops | links | lean |\n\
         | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n"
    );
    for row in report.cases.iter().flat_map(rows) {
        let (point, Some(target)) = (&row.points[0], row.case.htsim_target) else { continue };
        let (Some(links), Some(lean)) = (&point.htsim_links, &point.htsim_lean) else { continue };
        let own = &point.own;
        let ratio = |peer: &Measured| {
            let wall = own.segments_per_wall_s() / peer.segments_per_wall_s();
            format!("{wall:.1} x ({:.1})", own.segments_per_cpu_s() / peer.segments_per_cpu_s())
        };
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {target} x | {:.2} | {:.2} | {:.2} | {} | {} | {} |",
            row.title(),
            millions(own.segments_per_wall_s()),
            millions(links.segments_per_wall_s()),
            millions(lean.segments_per_wall_s()),
            ratio(links),
            ratio(lean),
            own.goodput_bps * 1e-6,
            links.goodput_bps * 1e-6,
            lean.goodput_bps * 1e-6,
            own.drops,
            links.drops,
            lean.drops,
        );
    }
    text.push('\n');
    text
}

fn agreement(report: &Report) -> String {
    let mut text = String::from(
        "### Agreement\n\nGoodput in Mbit/s and packets dropped by the bottleneck's queue, within the measuring \
         window. Bold: beyond the target (2 % of goodput, a factor of 1.5 in drops).\n\n\
         | case | goodput | ns-2 | difference | drops | ns-2 | ratio | timeouts | ns-2 | note |\n\
         | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |\n",
    );
    for row in of_kind(report, Kind::Speed).chain(of_kind(report, Kind::Agreement)) {
        let figure = |value: Option<f64>| value.map_or("–".to_owned(), |value| format!("{value:.0}"));
        let megabits =
            |value: Option<f64>| value.map_or("–".to_owned(), |bps| format!("{:.2}", bps * 1e-6));
        let difference = row.goodput_difference().map_or("–".to_owned(), |(difference, error)| {
            let error = error.map_or(String::new(), |error| format!(" ± {:.2}", 100.0 * error));
            emphasise(format!("{:+.2}{error} %", 100.0 * difference), difference.abs() > GOODPUT_TOLERANCE)
        });
        let ratio = row.drop_ratio().map_or("–".to_owned(), |ratio| {
            emphasise(format!("{ratio:.2}"), !(1.0 / DROP_TOLERANCE..=DROP_TOLERANCE).contains(&ratio))
        });
        let _ = writeln!(
            text,
            "| {} | {} | {} | {difference} | {} | {} | {ratio} | {} | {} | {} |",
            row.title(),
            megabits(row.mean(|p| Some(p.own.goodput_bps))),
            megabits(row.mean(|p| tuned(p, |o| o.goodput_bps))),
            figure(row.mean(|p| Some(p.own.drops as f64))),
            figure(row.mean(|p| tuned(p, |o| o.drops as f64))),
            figure(row.mean(|p| Some(p.own.timeouts as f64))),
            figure(row.mean(|p| tuned(p, |o| o.timeouts as f64))),
            row.case.note.as_ref().map_or(String::new(), |note| format!("[{note}](#{note})")),
        );
    }
    text.push('\n');
    text
}

fn queues(report: &Report) -> String {
    let mut text = String::from(
        "### Queues, marks, delay and several bottlenecks\n\nGoodput in Mbit/s of all flows, and of the first; the \
         mean number of packets that wait at the first bottleneck; packets that all bottlenecks dropped, and those \
         that the first one marked. Within the measuring window; after ± is the standard error over the seeds. Bold: \
         beyond the target (2 % of goodput, 10 % of the queue, a factor of 1.5 in drops).\n\n\
         | case | goodput | ns-2 | difference | first flow | ns-2 | queue | ns-2 | difference | drops | ns-2 | marks | ns-2 | note |\n\
         | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |\n",
    );
    for row in of_kind(report, Kind::Queue) {
        let both = |of: fn(&Outcome) -> f64, digits: usize| {
            let text =
                |value: Option<f64>| value.map_or("–".to_owned(), |value| format!("{value:.digits$}"));
            format!("{} | {}", text(row.mean(|p| Some(of(&p.own)))), text(row.mean(|p| tuned(p, of))))
        };
        let drops = both(|o| o.drops as f64, 0);
        let far =
            row.drop_ratio().is_some_and(|ratio| !(1.0 / DROP_TOLERANCE..=DROP_TOLERANCE).contains(&ratio));
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            row.title(),
            both(|o| o.goodput_bps * 1e-6, 3),
            within(row.goodput_difference(), GOODPUT_TOLERANCE),
            both(|o| o.first_goodput_bps * 1e-6, 3),
            both(|o| o.queue_mean, 2),
            within(row.difference(|o| Some(o.queue_mean)), QUEUE_TOLERANCE),
            if far { format!("**{}**", drops.replace(" | ", "** | **")) } else { drops },
            both(|o| o.marks as f64, 0),
            row.case.note.as_ref().map_or(String::new(), |note| format!("[{note}](#{note})")),
        );
    }
    text.push('\n');
    text
}

/// A difference as a percentage with its standard error, bold if it is larger than `most`.
fn within(difference: Option<(f64, Option<f64>)>, most: f64) -> String {
    difference.map_or("–".to_owned(), |(difference, error)| {
        let error = error.map_or(String::new(), |error| format!(" ± {:.1}", 100.0 * error));
        emphasise(format!("{:+.1}{error} %", 100.0 * difference), difference.abs() > most)
    })
}

fn tfrc(report: &Report) -> String {
    let mut text = String::from(
        "### TFRC\n\nGoodput in Mbit/s within the measuring window, of all flows with TFRC and of all others, and the \
         loss event rate that the first receiver reports, as a mean over the time of the whole run. Bold: beyond the \
         target (5 % of TFRC's goodput, 10 % of the loss event rate). After ± is the standard error over the seeds.\n\n\
         | case | TFRC | ns-2 | difference | others | ns-2 | loss event rate | ns-2 | difference | note |\n\
         | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |\n",
    );
    for row in of_kind(report, Kind::Tfrc) {
        let megabits =
            |value: Option<f64>| value.map_or("–".to_owned(), |bps| format!("{:.3}", bps * 1e-6));
        let share = |value: Option<f64>| value.map_or("–".to_owned(), |p| format!("{:.3} %", 100.0 * p));
        let others = |outcome: &Outcome| outcome.goodput_bps - outcome.rate_goodput_bps;
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            row.title(),
            megabits(row.mean(|p| Some(p.own.rate_goodput_bps))),
            megabits(row.mean(|p| tuned(p, |o| o.rate_goodput_bps))),
            within(row.difference(|o| Some(o.rate_goodput_bps)), RATE_GOODPUT_TOLERANCE),
            megabits(row.mean(|p| Some(others(&p.own)))),
            megabits(row.mean(|p| tuned(p, others))),
            share(row.mean(|p| p.own.loss_event_rate)),
            share(row.mean(|p| p.ns2_tuned.as_ref()?.loss_event_rate)),
            within(row.difference(|o| o.loss_event_rate), LOSS_EVENT_TOLERANCE),
            row.case.note.as_ref().map_or(String::new(), |note| format!("[{note}](#{note})")),
        );
    }
    text.push('\n');
    text
}

fn scaling(report: &Report) -> String {
    let trivial = report.trivial_rss_kb as f64 * 1024.0;
    let mut text = format!(
        "### Cost and memory\n\nProcessor time per delivered segment, and peak resident memory: as it is, and above \
         that of a run of one segment ({:.1} MB), which is the program itself. The bound is 4 MB and 64 B for each \
         segment that fits the path and its queue; 200 MB for ten thousand flows.\n\n\
         | case | segments delivered | ns per segment | ns-2 tuned | fit the path | memory | above the program's | bound |\n\
         | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n",
        trivial / 1e6
    );
    let kinds = [Kind::Scaling, Kind::Speed];
    for row in kinds.into_iter().flat_map(|kind| of_kind(report, kind)) {
        let point = &row.points[0];
        let cost = |outcome: &Outcome| format!("{:.0}", 1e9 / outcome.segments_per_cpu_s());
        let peer = match &point.ns2_tuned {
            Some(outcome) => cost(outcome),
            None if point.given_up.contains(&Way::Tuned) => format!("over {} s", row.case.limit_s),
            None => "–".to_owned(),
        };
        let memory = point.own.peak_rss_kb as f64 * 1024.0;
        let by_packets = MEMORY_BASE + MEMORY_PER_PACKET * point.most_in_flight as f64;
        let bound = row.case.memory_mb.map_or(by_packets, |bound| bound * 1e6);
        let above = emphasise(format!("{:.1} MB", (memory - trivial) / 1e6), memory - trivial > bound);
        let _ = writeln!(
            text,
            "| {} | {} | {} | {peer} | {} | {:.1} MB | {above} | {:.1} MB |",
            row.title(),
            point.own.delivered_segments,
            cost(&point.own),
            point.most_in_flight,
            memory / 1e6,
            bound / 1e6,
        );
    }
    text
}

fn millions(value: f64) -> String {
    format!("{:.2}", value * 1e-6)
}

fn emphasise(text: String, strongly: bool) -> String {
    if strongly { format!("**{text}**") } else { text }
}

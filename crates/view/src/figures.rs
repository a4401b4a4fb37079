//! The tables of the terminal and the report.

use super::names::{bytes, plain, seeded, short};
use super::seeds::averaged;
use ackclock_scenario::Sweep;
use ackclock_scenario::results::{CAUSES, FlowResult, Percentiles, PointResult};
use ackclock_units::Duration;
use serde::Serialize;

/// A table of texts. The first columns are words, the others numbers.
#[derive(Serialize)]
pub struct Tables {
    /// The names of the columns, with their units behind a line break.
    pub header: Vec<String>,
    /// How many of the first columns are words.
    pub words: usize,
    /// As long as the header each.
    pub rows: Vec<Vec<String>>,
    /// A note for the reader; may be empty.
    pub note: &'static str,
    #[serde(skip)]
    seeded: bool,
}

/// What a table of transfers means.
const TRANSFERS: &str = "Times are those of finished transfers only. The slowdown is a transfer\u{2019}s time over the shortest \
    that its path allows: one propagation round-trip time, and all its segments with their headers at the rate of the narrowest \
    link.";

impl Tables {
    fn new(sweep: &Sweep, results: &[PointResult], words: &[&str], numbers: &[&str]) -> Tables {
        let seeded = seeded(results);
        let axes = sweep.axes.iter().map(|axis| short(axis)).chain(seeded.then(|| "seed".to_owned()));
        let axes: Vec<String> = axes.collect();
        let columns = words.iter().chain(numbers).map(|&column| column.to_owned());
        Tables {
            words: axes.len() + words.len(),
            header: axes.into_iter().chain(columns).collect(),
            rows: Vec::new(),
            note: "",
            seeded,
        }
    }

    /// Points that differ in their seed only become one row, of means.
    fn over_seeds(mut self) -> Tables {
        if self.seeded {
            let words = self.words;
            let seed = self.header.iter().take(words).rposition(|name| name == "seed").unwrap_or(0);
            self.header[seed] = "seeds".to_owned();
            self.rows = averaged(&self.rows, seed, words);
        }
        self
    }

    fn push(&mut self, point: &PointResult, words: &[&str], numbers: impl IntoIterator<Item = String>) {
        let mut row: Vec<String> = point.parameters.values().map(plain).collect();
        row.extend(self.seeded.then(|| point.seed.to_string()));
        row.extend(words.iter().map(|&word| word.to_owned()));
        row.extend(numbers);
        self.rows.push(row);
    }
}

fn number(value: Option<f64>, digits: usize) -> String {
    value.map_or("-".to_owned(), |value| format!("{value:.digits$}"))
}

/// True if labels and axes leave open which controllers there are: some group has one of another name.
fn names_controls(results: &[PointResult]) -> bool {
    let says = |point: &PointResult, flow: &FlowResult| {
        flow.label == flow.control || point.parameters.values().any(|value| plain(value) == flow.control)
    };
    results.iter().any(|point| point.flows.iter().any(|flow| !says(point, flow)))
}

/// One row per group and point.
fn groups(sweep: &Sweep, results: &[PointResult]) -> Tables {
    let columns = [
        "n",
        "goodput\nMbit/s",
        "per flow\nMbit/s",
        "Jain",
        "cwnd\nsegments",
        "RTT\nms",
        "retransmitted\nsegments",
        "spurious\nsegments",
        "timeouts",
        "cuts",
    ];
    let words: &[&str] = if names_controls(results) { &["flows", "control"] } else { &["flows"] };
    let mut figures = Tables::new(sweep, results, words, &columns);
    for point in results {
        let mut rest = &point.flows[..];
        for group in &point.groups {
            let (own, others) = rest.split_at(group.count.min(rest.len()));
            rest = others;
            let sum = |value: fn(&FlowResult) -> u64| own.iter().map(value).sum::<u64>().to_string();
            let mean = |value: fn(&FlowResult) -> Option<f64>| {
                let values: Vec<f64> = own.iter().filter_map(value).collect();
                (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
            };
            let control = own.first().map_or("", |flow| &flow.control);
            figures.push(
                point,
                &[&group.label, control][..words.len()],
                [
                    group.count.to_string(),
                    format!("{:.2}", group.goodput_bps.total / 1e6),
                    format!("{:.2}", group.goodput_bps.mean / 1e6),
                    number(group.jain, 4),
                    number(mean(|flow| Some(flow.cwnd_mean)), 0),
                    number(mean(|flow| flow.rtt_mean_s.map(|rtt| rtt * 1e3)), 1),
                    sum(|flow| flow.retransmits),
                    sum(|flow| flow.duplicates),
                    sum(|flow| flow.timeouts),
                    sum(|flow| flow.window_cuts),
                ],
            );
        }
    }
    figures.over_seeds()
}

/// One row per group with transfers, and point.
fn transfers(sweep: &Sweep, results: &[PointResult]) -> Tables {
    let columns = [
        "started",
        "finished",
        "unfinished",
        "mean\nms",
        "median\nms",
        "90 %\nms",
        "99 %\nms",
        "longest\nms",
        "slowdown\nmean",
        "slowdown\nmedian",
        "slowdown\n99 %",
    ];
    let mut figures = Tables::new(sweep, results, &["flows"], &columns);
    for point in results {
        for group in &point.groups {
            let Some(transfers) = &group.transfers else { continue };
            let ms = |seconds: Option<f64>| number(seconds.map(|seconds| seconds * 1e3), 1);
            let slowdown = |pick: fn(&Percentiles) -> f64| number(transfers.slowdown.as_ref().map(pick), 2);
            figures.push(
                point,
                &[&group.label],
                [
                    transfers.started.to_string(),
                    transfers.finished.to_string(),
                    transfers.unfinished.to_string(),
                    ms(transfers.mean_s),
                    ms(transfers.p50_s),
                    ms(transfers.p90_s),
                    ms(transfers.p99_s),
                    ms(transfers.max_s),
                    slowdown(|it| it.mean),
                    slowdown(|it| it.p50),
                    slowdown(|it| it.p99),
                ],
            );
        }
    }
    figures.note = TRANSFERS;
    figures.over_seeds()
}

/// One row per class of sizes, group with transfers of several classes, and point.
fn sizes(sweep: &Sweep, results: &[PointResult]) -> Tables {
    let columns = [
        "finished",
        "mean\nms",
        "median\nms",
        "99 %\nms",
        "slowdown\nmean",
        "slowdown\nmedian",
        "slowdown\n99 %",
    ];
    let mut figures = Tables::new(sweep, results, &["flows", "size"], &columns);
    for point in results {
        for (group, class) in
            point.groups.iter().flat_map(|group| group.transfers_by_size.iter().map(move |it| (group, it)))
        {
            let size = match class.to_bytes {
                Some(most) => format!("up to {}", bytes(most)),
                None => format!("above {}", bytes(class.above_bytes)),
            };
            let ms = |seconds: f64| number(Some(seconds * 1e3), 1);
            let slowdown = |pick: fn(&Percentiles) -> f64| number(class.slowdown.as_ref().map(pick), 2);
            figures.push(
                point,
                &[&group.label, &size],
                [
                    class.finished.to_string(),
                    ms(class.time_s.mean),
                    ms(class.time_s.p50),
                    ms(class.time_s.p99),
                    slowdown(|it| it.mean),
                    slowdown(|it| it.p50),
                    slowdown(|it| it.p99),
                ],
            );
        }
    }
    figures.over_seeds()
}

/// One row per link with packets that waited or were lost, and point. Where packets were dropped for other
/// reasons than full queues, there is a column for each cause.
fn links(sweep: &Sweep, results: &[PointResult]) -> Tables {
    let all = || results.iter().flat_map(|point| &point.links);
    let causes: Vec<_> = match all().all(|link| link.drops == link.overflows) {
        true => Vec::new(),
        false => CAUSES.iter().filter(|(_, count)| all().any(|link| count(link) > 0)).collect(),
    };
    let mut columns = vec![
        "utilisation\n%",
        "queue mean\npackets",
        "queue max\npackets",
        "drops\npackets",
        "drop rate",
        "marks\npackets",
    ];
    let names: Vec<String> =
        causes.iter().map(|(name, _)| format!("{}\npackets", name.replace('_', " "))).collect();
    columns.extend(names.iter().map(String::as_str));
    let mut figures = Tables::new(sweep, results, &["link"], &columns);
    for point in results {
        for link in point.links.iter().filter(|link| link.is_telling()) {
            figures.push(
                point,
                &[&link.name],
                [
                    format!("{:.2}", link.utilisation * 100.0),
                    format!("{:.1}", link.queue_mean),
                    link.queue_max.to_string(),
                    link.drops.to_string(),
                    if link.drops == 0 { "0".to_owned() } else { format!("{:.2e}", link.drop_rate) },
                    link.marks.to_string(),
                ]
                .into_iter()
                .chain(causes.iter().map(|(_, count)| count(link).to_string())),
            );
        }
    }
    figures.over_seeds()
}

/// One row per unresponsive stream and point.
fn traffic(sweep: &Sweep, results: &[PointResult]) -> Tables {
    let mut figures = Tables::new(
        sweep,
        results,
        &["traffic"],
        &["throughput\nMbit/s", "sent\npackets", "delivered\npackets"],
    );
    for point in results {
        for stream in &point.traffic {
            figures.push(
                point,
                &[&stream.label],
                [
                    format!("{:.2}", stream.throughput_bps / 1e6),
                    stream.sent.to_string(),
                    stream.delivered.to_string(),
                ],
            );
        }
    }
    figures.over_seeds()
}

/// All tables that have rows.
pub fn all(sweep: &Sweep, results: &[PointResult]) -> Vec<Tables> {
    let tables = [groups, transfers, sizes, links, traffic].map(|of| of(sweep, results));
    tables.into_iter().filter(|table| !table.rows.is_empty()).collect()
}

/// Says which packets jitter delays, if any.
pub fn jitter(results: &[PointResult]) -> Option<String> {
    let late = results.iter().filter_map(PointResult::jitter).reduce(|a, b| (a.0.max(b.0), a.1.max(b.1)));
    late.map(|(flows, most)| {
        let whose = if flows == 1 { "one flow".to_owned() } else { format!("{flows} flows") };
        format!(
            "Jitter: packets of {whose} leave their hosts up to {} late, at random (jitter = \"off\" ends this).",
            Duration::from_secs_f64(most)
        )
    })
}

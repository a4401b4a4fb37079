//! A point of a sweep with its names in reports, pictures and files.

use super::names::{plain, seeded, short, slug};
use ackclock_scenario::results::PointResult;
use ackclock_scenario::series::{Sample, Series};
use std::ops::Range;

/// A point with its result and names.
pub struct PointView<'a> {
    /// What it is made of.
    pub result: &'a PointResult,
    /// Its name for people: its coordinates in the sweep. Empty if there is only one point.
    pub name: String,
    /// The same as the name of a directory. Empty if there is only one point.
    pub folder: String,
}

impl PointView<'_> {
    /// The label and the flows of each group.
    pub fn groups(&self) -> impl Iterator<Item = (&str, Range<usize>)> {
        let mut from = 0;
        self.result.groups.iter().map(move |group| {
            let flows = from..from + group.count;
            from = flows.end;
            (group.label.as_str(), flows)
        })
    }

    /// The name of a flow: the label of its group, with a number if the group has several flows.
    pub fn flow_name(&self, flow: usize) -> String {
        let (label, members) =
            self.groups().find(|(_, members)| members.contains(&flow)).unwrap_or(("flow", flow..flow + 1));
        if members.len() == 1 { label.to_owned() } else { format!("{label} {}", flow - members.start + 1) }
    }

    /// The links that appear in reports.
    pub fn links(&self) -> impl Iterator<Item = usize> {
        let links = self.result.links.iter().enumerate();
        links.filter(|(_, link)| link.is_telling()).map(|(number, _)| number)
    }

    /// The goodput and throughput of a flow since the sample before, bit/s.
    pub fn rates(&self, series: &Series, flow: usize, look: usize) -> (f64, f64) {
        let Some(before) = look.checked_sub(1) else { return (0.0, 0.0) };
        let per_second = 8.0 / series.at[look].since(series.at[before]).as_secs_f64();
        let (Sample { delivered, arrived, .. }, result) =
            (series.flows[flow][look], &self.result.flows[flow]);
        let rate = |segments: f32, bytes: u32| f64::from(segments) * f64::from(bytes) * per_second;
        (rate(delivered, result.payload_bytes), rate(arrived, result.segment_bytes))
    }

    /// The measuring window, if it is not the whole run.
    pub fn window(&self) -> Option<[f64; 2]> {
        let [from, to] = self.result.measure_s;
        (from > 0.0 || to < self.result.duration_s).then_some([from, to])
    }
}

/// All points with their names.
pub fn shown(results: &[PointResult]) -> Vec<PointView<'_>> {
    let seeded = seeded(results);
    let digits = results.len().to_string().len();
    let names = results.iter().map(|result| (result, name(result, seeded)));
    let shown = names.enumerate().map(|(number, (result, name))| {
        let folder = match results.len() {
            1 => String::new(),
            _ => format!("{:0digits$}-{}", number + 1, slug(&name)),
        };
        PointView { result, name, folder }
    });
    shown.collect()
}

/// The name of a point for people: its coordinates in the sweep, and its seed if there are several.
pub fn name(result: &PointResult, seeded: bool) -> String {
    let mut parts: Vec<String> = match result.parameters.len() {
        1 => result.parameters.values().map(plain).collect(),
        _ => result
            .parameters
            .iter()
            .map(|(axis, value)| format!("{} {}", short(axis), plain(value)))
            .collect(),
    };
    if seeded {
        parts.push(format!("seed {}", result.seed));
    }
    parts.join(", ")
}

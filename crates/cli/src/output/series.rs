//! The samples of the probes as CSV: one row per time and flow, link or variable.

use super::courses;
use super::csv::Csv;
use super::directory::OutputDirectory;
use crate::failure::Failure;
use ackclock_view::names::{plain, seconds};
use ackclock_view::shown::PointView;
use std::path::Path;

/// Writes the series of every point, and a table of the points if there are several.
pub(crate) fn write(to: &OutputDirectory, points: &[PointView<'_>], axes: &[String]) -> Result<(), Failure> {
    let folder = Path::new("series");
    for shown in points {
        if shown.result.series.is_some() {
            let folder = folder.join(&shown.folder);
            flows(to, &folder, shown)?;
            links(to, &folder, shown)?;
            inner(to, &folder, shown)?;
            courses::write(to, &folder, shown)?;
        }
    }
    if points.len() > 1 {
        let header: Vec<&str> =
            ["folder", "seed"].into_iter().chain(axes.iter().map(String::as_str)).collect();
        let mut file = Csv::open(to, folder, "points.csv", &header)?;
        for shown in points {
            let seed = shown.result.seed.to_string();
            let values = shown.result.parameters.values().map(plain);
            let row: Vec<String> = [shown.folder.clone(), seed].into_iter().chain(values).collect();
            file.row(&row)?;
        }
        file.finish()?;
    }
    Ok(())
}

fn flows(to: &OutputDirectory, folder: &Path, shown: &PointView<'_>) -> Result<(), Failure> {
    let Some(series) = &shown.result.series else { return Ok(()) };
    let header = [
        "time_s",
        "flow",
        "label",
        "cwnd_segments",
        "ssthresh_segments",
        "srtt_s",
        "in_flight_segments",
        "goodput_bps",
        "throughput_bps",
    ];
    let mut file = Csv::open(to, folder, "flows.csv", &header)?;
    for (look, at) in series.at.iter().enumerate() {
        let at = seconds(*at).to_string();
        for (flow, samples) in series.flows.iter().enumerate() {
            let sample = samples[look];
            let (goodput, throughput) = shown.rates(series, flow, look);
            let row = [
                &at,
                &flow.to_string(),
                &shown.result.flows[flow].label,
                &sample.cwnd.to_string(),
                &sample.ssthresh.to_string(),
                &sample.srtt_s.to_string(),
                &sample.in_flight.to_string(),
                &goodput.to_string(),
                &throughput.to_string(),
            ];
            file.row(row)?;
        }
    }
    file.finish()?;
    Ok(())
}

fn links(to: &OutputDirectory, folder: &Path, shown: &PointView<'_>) -> Result<(), Failure> {
    let Some(series) = &shown.result.series else { return Ok(()) };
    let mut file =
        Csv::open(to, folder, "links.csv", &["time_s", "link", "queue_packets", "throughput_bps"])?;
    for (look, at) in series.at.iter().enumerate() {
        let at = seconds(*at).to_string();
        for (link, samples) in shown.result.links.iter().zip(&series.links) {
            let (queue, throughput) = samples[look];
            let row = [&at, &link.name, &queue.to_string(), &throughput.to_string()];
            file.row(row)?;
        }
    }
    file.finish()?;
    Ok(())
}

fn inner(to: &OutputDirectory, folder: &Path, shown: &PointView<'_>) -> Result<(), Failure> {
    let Some(series) = &shown.result.series else { return Ok(()) };
    if series.inner.iter().all(|(names, _)| names.is_empty()) {
        return Ok(());
    }
    let mut file = Csv::open(to, folder, "inner.csv", &["time_s", "flow", "label", "variable", "value"])?;
    for (look, at) in series.at.iter().enumerate() {
        let at = seconds(*at).to_string();
        for (flow, (names, values)) in series.inner.iter().enumerate() {
            let looks = values.iter().skip(look * names.len());
            for (name, value) in names.iter().zip(looks) {
                let row = [&at, &flow.to_string(), &shown.result.flows[flow].label, name, &value.to_string()];
                file.row(row)?;
            }
        }
    }
    file.finish()?;
    Ok(())
}

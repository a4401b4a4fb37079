//! Results as files: one page that shows everything, and files for other programs.

mod courses;
mod csv;
mod directory;
mod series;
mod tidy;

pub(crate) use directory::{OutputDirectory, check};

use crate::failure::Failure;
use ackclock_scenario::Sweep;
use ackclock_scenario::results::{Expectation, PointResult, Timing};
use ackclock_study::captures::Captures;
use ackclock_view::charts::chart::Chart;
#[cfg(feature = "png")]
use ackclock_view::charts::png;
use ackclock_view::gallery::Gallery;
use ackclock_view::names::slug;
use ackclock_view::report;
use ackclock_view::request::Request;
use ackclock_view::shown::{PointView, shown};
use rayon::prelude::*;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The largest number of pictures that are all rendered as PNG, too.
const MAX_PAINTED: usize = 64;

/// Without the time that it took, which no two runs have in common.
fn lasting(mut document: Value) -> Value {
    document["points"].as_array_mut().into_iter().flatten().for_each(Timing::remove_from);
    document
}

/// The JSON contract. `over_points` are the verdicts on all points together.
pub(crate) fn document(sweep: &Sweep, results: &[PointResult], over_points: &[Expectation]) -> Value {
    let scenario = sweep.points.first().map(|point| point.scenario.to_json());
    let mut document = json!({"scenario": scenario, "points": results});
    if !over_points.is_empty() {
        document["expectations"] = json!(over_points);
    }
    document
}

/// Writes the charts of a report, and renders some of them as PNG.
fn write_pictures(gallery: &Gallery, to: &OutputDirectory, points: &[PointView<'_>]) -> Result<(), Failure> {
    let pictures = Path::new("pictures");
    let shared = gallery.across.iter().chain(&gallery.overlaid);
    let mut all: Vec<(PathBuf, &Chart)> = shared.map(|chart| (pictures.to_owned(), chart)).collect();
    let painted = all.len();
    for (charts, shown) in gallery.points.iter().zip(points) {
        all.extend(charts.iter().map(|chart| (pictures.join(&shown.folder), chart)));
    }
    // PNG takes time. If there are very many pictures, only those of the whole sweep are rendered.
    let painted = if all.len() <= MAX_PAINTED { all.len() } else { painted };
    let save = |(number, (folder, chart)): (usize, (PathBuf, &Chart))| {
        let file = folder.join(slug(&chart.id));
        to.write(file.with_extension("svg"), chart.to_svg().as_bytes())?;
        if number < painted { paint(to, &file, chart) } else { Ok(()) }
    };
    all.into_par_iter().enumerate().try_for_each(save)
}

#[cfg(feature = "png")]
fn paint(to: &OutputDirectory, file: &Path, chart: &Chart) -> Result<(), Failure> {
    to.write(file.with_extension("png"), &png::paint(chart)?)
}

#[cfg(not(feature = "png"))]
fn paint(_: &OutputDirectory, _: &Path, _: &Chart) -> Result<(), Failure> {
    Ok(())
}

/// Writes all files of the output directory, except for its last step.
pub(crate) fn write(
    to: &OutputDirectory,
    request: &Request,
    sweep: &Sweep,
    results: &[PointResult],
    over_points: &[Expectation],
) -> Result<(), Failure> {
    let points = shown(results);
    let gallery = Gallery::new(sweep, results, &points);
    write_pictures(&gallery, to, &points)?;
    series::write(to, &points, &sweep.axes)?;
    tidy::write(to, results, &sweep.axes)?;
    to.write("scenario.toml", request.text.as_bytes())?;
    let page = report::page(request, sweep, results, over_points, &gallery)?;
    to.write("report.html", page.as_bytes())?;
    let timing: Vec<Timing> = results.iter().map(PointResult::timing).collect();
    to.write("timing.json", format!("{:#}\n", json!({"points": timing})).as_bytes())?;
    to.write("results.json", format!("{:#}\n", lasting(document(sweep, results, over_points))).as_bytes())
}

/// Moves the captures of every point to its other files.
pub(crate) fn keep_captures(
    to: &OutputDirectory,
    captures: &Captures,
    sweep: &Sweep,
    results: &[PointResult],
) -> Result<(), Failure> {
    for (shown, point) in shown(results).iter().zip(&sweep.points) {
        let name = Captures::name(point);
        // Two points that are the same share one capture, which goes to the first.
        if captures.folder().kind(&name).is_some() {
            to.adopt(captures.folder(), &name, Path::new("capture").join(&shown.folder))?;
        }
    }
    Ok(())
}

//! Results as files: one page that shows everything, and beside it what other programs read.

mod across;
mod axis;
mod chart;
mod curves;
mod directory;
#[cfg(feature = "png")]
mod png;
mod report;
mod sequence;
mod series;
mod shown;

pub(crate) use directory::{OutputDirectory, check};
pub(crate) use shown::plain;

use crate::Failure;
use ackclock_scenario::Sweep;
use ackclock_scenario::results::PointResult;
use ackclock_study::captures::Captures;
use ackclock_study::reproduce::Pictured;
use chart::Chart;
use rayon::prelude::*;
use serde_json::{Value, json};
use shown::Shown;
use std::path::{Path, PathBuf};
#[cfg(feature = "png")]
use std::sync::LazyLock;

/// Points that get pictures of their own; beyond them the CSV files serve better.
const MOST_PICTURED: usize = 100;

/// Pictures that are painted as PNG, too.
const MOST_PAINTED: usize = 64;

/// What was asked for, in the words of the user.
pub(crate) struct Request {
    /// The scenario's text as given.
    pub(crate) text: String,
    /// Every `--set`.
    pub(crate) settings: Vec<String>,
    /// The command line.
    pub(crate) command: String,
    /// Are there captures, too?
    pub(crate) captured: bool,
}

impl Request {
    /// With the command line of this process.
    pub(crate) fn new(text: &str, settings: &[String]) -> Request {
        let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
        let quoted = words.map(|word| match shlex::try_quote(&word) {
            Ok(quoted) => quoted.into_owned(),
            Err(_) => word, // only a zero byte cannot be quoted, and no argument has one
        });
        let command = std::iter::once("ackclock".to_owned()).chain(quoted).collect::<Vec<_>>().join(" ");
        Request { text: text.to_owned(), settings: settings.to_vec(), command, captured: false }
    }
}

/// The JSON contract.
pub(crate) fn document(sweep: &Sweep, results: &[PointResult]) -> Value {
    let scenario = sweep.points.first().map(|point| point.scenario.to_json());
    json!({"scenario": scenario, "points": results})
}

/// The charts of a report.
struct Gallery {
    /// What was measured against a swept value.
    across: Vec<Chart>,
    /// All points in one.
    overlaid: Vec<Chart>,
    /// Point by point; one that is not pictured has none.
    points: Vec<Vec<Chart>>,
}

impl Gallery {
    fn new(sweep: &Sweep, results: &[PointResult], points: &[Shown<'_>]) -> Gallery {
        let pictured =
            |(number, shown)| if number < MOST_PICTURED { curves::of_point(shown) } else { Vec::new() };
        Gallery {
            across: across::charts(sweep, results),
            overlaid: curves::overlaid(points),
            points: points.iter().enumerate().map(pictured).collect(),
        }
    }

    fn write(&self, to: &OutputDirectory, points: &[Shown<'_>]) -> Result<(), Failure> {
        let pictures = Path::new("pictures");
        let shared = self.across.iter().chain(&self.overlaid);
        let mut all: Vec<(PathBuf, &Chart)> = shared.map(|chart| (pictures.to_owned(), chart)).collect();
        let painted = all.len();
        for (charts, shown) in self.points.iter().zip(points) {
            all.extend(charts.iter().map(|chart| (pictures.join(&shown.folder), chart)));
        }
        // Painting takes its time: of very many pictures only those of the whole sweep are painted.
        let painted = if all.len() <= MOST_PAINTED { all.len() } else { painted };
        let save = |(number, (folder, chart)): (usize, (PathBuf, &Chart))| {
            let file = folder.join(shown::slug(&chart.id));
            let svg = chart.to_svg();
            to.write(file.with_extension("svg"), svg.as_bytes())?;
            if number < painted { paint(to, &file, &svg) } else { Ok(()) }
        };
        all.into_par_iter().enumerate().try_for_each(save)
    }
}

#[cfg(feature = "png")]
fn paint(to: &OutputDirectory, file: &Path, svg: &str) -> Result<(), Failure> {
    static PAINTER: LazyLock<png::Painter> = LazyLock::new(png::Painter::new);
    to.write(file.with_extension("png"), &PAINTER.paint(svg)?)
}

#[cfg(not(feature = "png"))]
fn paint(_: &OutputDirectory, _: &Path, _: &str) -> Result<(), Failure> {
    Ok(())
}

/// A picture of an experiment's results, with its title, if they can be shown so: SVG.
pub(crate) fn picture(sweep: &Sweep, results: &[PointResult], what: Pictured) -> Option<(String, String)> {
    let across = |id| across::charts(sweep, results).into_iter().find(|chart| chart.id == id);
    let over_time = |in_flight| {
        let points = shown::shown(results);
        curves::one(&points, in_flight)
    };
    let chart = match what {
        Pictured::Goodput => across("across-goodput"),
        Pictured::Transmitted => across("across-transmitted"),
        Pictured::Received => across("across-received"),
        Pictured::Throughput => over_time(false),
        Pictured::InFlight => over_time(true),
    }?;
    Some((chart.title.clone(), chart.to_svg()))
}

/// Fills the output directory; it is finished by whoever began it.
pub(crate) fn write(
    to: &OutputDirectory,
    request: &Request,
    sweep: &Sweep,
    results: &[PointResult],
) -> Result<(), Failure> {
    let points = shown::shown(results);
    let gallery = Gallery::new(sweep, results, &points);
    gallery.write(to, &points)?;
    series::write(to, &points, &sweep.axes)?;
    to.write("scenario.toml", request.text.as_bytes())?;
    let page = report::page(request, sweep, results, &points, &gallery)?;
    to.write("report.html", page.as_bytes())?;
    to.write("results.json", format!("{:#}\n", document(sweep, results)).as_bytes())
}

/// Puts the captures of every point beside its other files.
pub(crate) fn keep_captures(
    to: &OutputDirectory,
    captures: &Captures,
    sweep: &Sweep,
    results: &[PointResult],
) -> Result<(), Failure> {
    for (shown, point) in shown::shown(results).iter().zip(&sweep.points) {
        let from = captures.folder(point);
        // Two points that are the same share one capture, which goes to the first.
        if from.exists() {
            to.adopt(&from, Path::new("capture").join(&shown.folder))?;
        }
    }
    Ok(())
}

//! The charts of a report, and single charts.

use super::charts::chart::Chart;
use super::charts::{across, curves, transfers};
use super::names::seeded;
use super::shown::{PointView, shown};
use ackclock_scenario::Sweep;
use ackclock_scenario::results::PointResult;
use ackclock_study::reproduce::Pictured;

/// The largest number of points with pictures of their own. With more points the CSV files are more useful.
pub const MAX_PICTURED: usize = 100;

/// The charts of a report.
pub struct Gallery {
    /// Results against a swept value, and times of transfers of all points.
    pub across: Vec<Chart>,
    /// All points in one chart.
    pub overlaid: Vec<Chart>,
    /// The charts of each point; none for points without pictures.
    pub points: Vec<Vec<Chart>>,
}

impl Gallery {
    /// All pictures of these results.
    pub fn new(sweep: &Sweep, results: &[PointResult], points: &[PointView<'_>]) -> Gallery {
        let pictured =
            |(number, shown)| if number < MAX_PICTURED { curves::of_point(shown) } else { Vec::new() };
        let mut across = across::charts(sweep, results);
        if !seeded(results) {
            across.extend(transfers::overlaid(points));
        }
        Gallery {
            across,
            overlaid: curves::overlaid(points),
            points: points.iter().enumerate().map(pictured).collect(),
        }
    }
}

/// A picture of an experiment's results as SVG, with its title, if they can be shown in this way.
pub fn picture(sweep: &Sweep, results: &[PointResult], what: Pictured) -> Option<(String, String)> {
    let across = |id| across::charts(sweep, results).into_iter().find(|chart| chart.id == id);
    let over_time = |in_flight| {
        let points = shown(results);
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

//! The pictures of the command line's report, for notebooks. They are drawn by the same code.

use ackclock_scenario::Sweep;
use ackclock_scenario::results::PointResult;
use ackclock_view::gallery::Gallery;
use ackclock_view::shown::shown;

/// A picture: its name, its title, and itself as SVG.
pub(crate) type Picture = (String, String, String);

/// All pictures of a report: those of all points together, then those of each point.
pub(crate) fn pictures(sweep: &Sweep, results: &[PointResult]) -> Vec<Picture> {
    let points = shown(results);
    let gallery = Gallery::new(sweep, results, &points);
    let shared = gallery.across.iter().chain(&gallery.overlaid).map(|chart| (String::new(), chart));
    let own = gallery.points.iter().zip(&points);
    let own = own.flat_map(|(charts, point)| charts.iter().map(|chart| (point.name.clone(), chart)));
    shared
        .chain(own)
        .map(|(point, chart)| {
            let title =
                if point.is_empty() { chart.title.clone() } else { format!("{}: {point}", chart.title) };
            (chart.id.clone(), title, chart.to_svg())
        })
        .collect()
}

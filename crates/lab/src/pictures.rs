//! Results as the page shows them: curves of all variants, tables, verdicts.

use ackclock_scenario::Sweep;
use ackclock_scenario::results::{Expectation, PointResult};
use ackclock_view::charts::across;
use ackclock_view::charts::banded::banded;
use ackclock_view::charts::chart::{Chart, Curve, MAX_CURVES};
use ackclock_view::charts::curves;
use ackclock_view::figures::{self, Tables};
use ackclock_view::seen::measurements;
use ackclock_view::shown::{PointView, name};
use serde::Serialize;
use serde_json::{Value, json};

/// The largest number of points of a curve that are sent to a page: more than it has columns.
const MAX_POINTS: usize = 4000;

/// A variant and what is known of its points; `None`: nothing yet.
pub(crate) struct Shown<'a> {
    pub(crate) name: &'a str,
    pub(crate) sweep: &'a Sweep,
    pub(crate) results: &'a [Option<PointResult>],
}

/// Pictures that stand together.
#[derive(Serialize)]
struct Column<'a> {
    name: &'a str,
    charts: Vec<Value>,
    /// What was left out.
    note: Option<String>,
}

/// The pictures of all variants: over each other, or each in its column.
pub(crate) fn pictures(variants: &[Shown<'_>], beside: bool) -> Value {
    let columns: Vec<Column<'_>> = if beside {
        variants.iter().map(|variant| column(variant.name, std::slice::from_ref(variant), false)).collect()
    } else {
        vec![column("", variants, variants.len() > 1)]
    };
    json!(columns)
}

fn column<'a>(name: &'a str, variants: &[Shown<'_>], named: bool) -> Column<'a> {
    let (charts, note) = charts(variants, named);
    Column { name, charts: charts.iter().map(|chart| json!(chart.to_data())).collect(), note }
}

/// All charts of these variants, and what was left out.
pub(crate) fn charts(variants: &[Shown<'_>], named: bool) -> (Vec<Chart>, Option<String>) {
    let rounds = rounds(variants, named);
    let mut left_out = 0;
    let of_round = |views: Vec<PointView<'_>>| match &views[..] {
        [] => Vec::new(),
        [one] => curves::of_point(one),
        all => {
            let mut room = MAX_CURVES;
            let fitting = all.iter().take_while(|view| {
                let needs = view.result.groups.len();
                let fits = needs <= room;
                room = room.saturating_sub(needs);
                fits
            });
            let count = fitting.count();
            left_out = all.len() - count;
            curves::overlaid(&all[..count])
        }
    };
    let mut charts = banded(rounds.into_iter().map(of_round).collect());
    for variant in variants {
        let results: Option<Vec<PointResult>> = variant.results.iter().cloned().collect();
        for mut chart in results.map(|results| across::charts(variant.sweep, &results)).unwrap_or_default() {
            if named {
                chart.title = format!("{}: {}", variant.name, chart.title);
            }
            chart.id = format!("{}-{}", chart.id, variant.name);
            charts.push(chart);
        }
    }
    charts.iter_mut().flat_map(|chart| &mut chart.curves).for_each(thin);
    let note = (left_out > 0).then(|| {
        format!("{left_out} points are left out of the curves: more than {MAX_CURVES} cannot be told apart.")
    });
    (charts, note)
}

/// For each seed: the points with that seed, with their names. The seeds of a point follow each other.
fn rounds<'a>(variants: &[Shown<'a>], named: bool) -> Vec<Vec<PointView<'a>>> {
    let mut rounds: Vec<Vec<PointView<'a>>> = Vec::new();
    for variant in variants {
        let known: Vec<&PointResult> = variant.results.iter().flatten().collect();
        for seeds in known.chunk_by(|a, b| a.parameters == b.parameters) {
            for (round, &result) in seeds.iter().enumerate() {
                let own = name(result, false);
                let name = match (named, own.is_empty()) {
                    (false, _) => own,
                    (true, true) => variant.name.to_owned(),
                    (true, false) => format!("{}: {own}", variant.name),
                };
                if rounds.len() <= round {
                    rounds.push(Vec::new());
                }
                rounds[round].push(PointView { result, name, folder: String::new() });
            }
        }
    }
    rounds
}

/// Of very many points the least and the greatest of each piece stay.
fn thin(curve: &mut Curve) {
    let every = curve.points.len().div_ceil(MAX_POINTS / 2);
    if curve.points.len() <= MAX_POINTS {
        return;
    }
    curve.tall.truncate(1);
    let mut kept = Vec::with_capacity(MAX_POINTS);
    for piece in curve.points.chunks(every) {
        let by = |a: &&(f64, f64), b: &&(f64, f64)| a.1.total_cmp(&b.1);
        let (Some(&low), Some(&high)) = (piece.iter().min_by(by), piece.iter().max_by(by)) else { continue };
        kept.extend(if low.0 <= high.0 { [low, high] } else { [high, low] });
    }
    curve.points = kept;
    curve.band = curve.band.iter().step_by(every).copied().collect();
}

/// A table of a variant.
#[derive(Serialize)]
struct Table<'a> {
    variant: &'a str,
    #[serde(flatten)]
    table: Tables,
}

/// An expectation of a variant, over all its points.
#[derive(Serialize)]
struct Verdict<'a> {
    variant: &'a str,
    that: &'a str,
    held: usize,
    of: usize,
    /// Where it fails first, and why.
    why: String,
}

/// What is known when all is computed. `over_points` are the verdicts on all points of each variant together.
pub(crate) fn findings(variants: &[(&str, &Sweep, &[PointResult], &[Expectation])]) -> Value {
    let mut tables = Vec::new();
    let mut verdicts: Vec<Verdict<'_>> = Vec::new();
    let mut warnings: Vec<Value> = Vec::new();
    for &(variant, sweep, results, over_points) in variants {
        tables.extend(figures::all(sweep, results).into_iter().map(|table| Table { variant, table }));
        let first = verdicts.len();
        for result in results {
            for expectation in &result.expectations {
                let place = (first..verdicts.len()).find(|&at| verdicts[at].that == expectation.that);
                let place = place.unwrap_or_else(|| {
                    verdicts.push(Verdict {
                        variant,
                        that: &expectation.that,
                        held: 0,
                        of: 0,
                        why: String::new(),
                    });
                    verdicts.len() - 1
                });
                note(&mut verdicts[place], expectation, &name(result, false));
            }
        }
        for expectation in over_points {
            let mut verdict =
                Verdict { variant, that: &expectation.that, held: 0, of: 0, why: String::new() };
            note(&mut verdict, expectation, "");
            verdicts.push(verdict);
        }
        for result in results {
            for warning in &result.warnings {
                let warning = json!({"variant": variant, "point": name(result, false), "text": warning});
                if !warnings.contains(&warning) {
                    warnings.push(warning);
                }
            }
        }
    }
    json!({"tables": tables, "verdicts": verdicts, "warnings": warnings})
}

fn note(verdict: &mut Verdict<'_>, expectation: &Expectation, point: &str) {
    verdict.of += 1;
    verdict.held += usize::from(expectation.holds);
    if !expectation.holds && verdict.why.is_empty() {
        let why = expectation.reason.clone().unwrap_or_else(|| measurements(&expectation.seen, false));
        verdict.why = if point.is_empty() { why } else { format!("{point}: {why}") };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinned_curves_keep_their_extremes() {
        let mut points: Vec<(f64, f64)> = (0..100_000).map(|at| (f64::from(at), 1.0)).collect();
        points[77_777].1 = 9.0;
        points[5].1 = -9.0;
        let mut curve = Curve { points, ..Curve::default() };
        thin(&mut curve);
        assert!(curve.points.len() <= MAX_POINTS, "{}", curve.points.len());
        assert!(curve.points.is_sorted_by(|a, b| a.0 <= b.0));
        for value in [9.0, -9.0] {
            assert!(curve.points.iter().any(|&(_, it)| it == value), "{value}");
        }
    }
}

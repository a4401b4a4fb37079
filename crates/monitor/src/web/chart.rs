//! A line over time, as SVG within a page.

use std::fmt::Write;

/// The size of the drawing, and of the margin where the scale stands. Units are those of SVG.
const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 160.0;
const LEFT: f64 = 90.0;
const BELOW: f64 = 22.0;
/// Points at most: of each column the least and the greatest value.
const COLUMNS: usize = 400;

/// Values at times, s, in order.
pub(super) type Points = Vec<(f64, f64)>;

/// Thins points out so that extremes stay.
fn thinned(points: &[(f64, f64)]) -> Points {
    if points.len() <= 2 * COLUMNS {
        return points.to_vec();
    }
    let mut kept = Points::new();
    for piece in points.chunks(points.len().div_ceil(COLUMNS)) {
        let order = |one: &&(f64, f64), other: &&(f64, f64)| one.1.total_cmp(&other.1);
        let (least, greatest) = (piece.iter().min_by(order), piece.iter().max_by(order));
        let mut both: Vec<(f64, f64)> = least.into_iter().chain(greatest).copied().collect();
        both.sort_by(|one, other| one.0.total_cmp(&other.0));
        kept.extend(both);
    }
    kept
}

/// Draws points between two times, s. The scale begins at zero. `label` says what the value is, `tell` how it
/// is written.
pub(super) fn chart(
    points: &[(f64, f64)],
    (from, to): (f64, f64),
    label: &str,
    tell: impl Fn(f64) -> String,
) -> String {
    let finite: Points = points.iter().copied().filter(|it| it.1.is_finite()).collect();
    let top = finite.iter().map(|it| it.1).fold(0.0, f64::max);
    let top = if top > 0.0 { top } else { 1.0 };
    let x = |at: f64| LEFT + (at - from) / (to - from).max(1e-9) * (WIDTH - LEFT);
    let y = |value: f64| (HEIGHT - BELOW) * (1.0 - value / top * 0.95);
    let mut svg = format!(
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{label}\" \
         xmlns=\"http://www.w3.org/2000/svg\">"
    );
    for share in [0.0, 0.5, 1.0] {
        let (value, height) = (top * share, y(top * share));
        // Writing to a text cannot fail.
        let _ = write!(
            svg,
            "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{WIDTH}\" y1=\"{height:.1}\" y2=\"{height:.1}\"/>\
             <text x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            LEFT - 8.0,
            height + 4.0,
            tell(value)
        );
    }
    let _ = write!(svg, "<polyline class=\"line\" points=\"");
    for (at, value) in thinned(&finite) {
        let _ = write!(svg, "{:.1},{:.1} ", x(at), y(value));
    }
    let _ = write!(svg, "\"/></svg>");
    svg
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_from_corner_to_corner() {
        let svg = chart(&[(0.0, 0.0), (10.0, 5.0)], (0.0, 10.0), "a line", |it| format!("{it} s"));
        assert!(svg.contains("points=\"90.0,138.0 900.0,6.9 \""), "{svg}");
        assert!(svg.contains(">2.5 s</text>") && svg.contains("aria-label=\"a line\""), "{svg}");
        let empty = chart(&[], (0.0, 0.0), "nothing", |it| it.to_string());
        assert!(empty.contains("points=\"\"") && !empty.contains("NaN"), "{empty}");
    }

    #[test]
    fn extremes_stay() {
        let mut points: Points = (0..100_000).map(|at| (f64::from(at), 1.0)).collect();
        (points[33_333].1, points[77_777].1) = (9.0, 0.1);
        let kept = thinned(&points);
        assert!(
            kept.len() <= 2 * COLUMNS && kept.contains(&(33_333.0, 9.0)) && kept.contains(&(77_777.0, 0.1))
        );
        assert!(kept.is_sorted_by(|one, other| one.0 <= other.0));
    }
}

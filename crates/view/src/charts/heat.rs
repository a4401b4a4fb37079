//! Heat maps: results over the two axes of a sweep that have the most values. Each is a table whose cells are
//! shaded, so that it needs no script, and can be read aloud and copied. With further axes there is a map for
//! each combination of their values.

use super::across::{QUANTITIES, Quantity};
use super::chart::Curve;
use crate::gallery::MAX_PICTURED;
use crate::names::{plain, short};
use crate::seen::number;
use crate::shown::PointView;
use ackclock_scenario::Sweep;
use serde::Serialize;

/// The most maps of a report, and the most cells of a map.
const MAX_MAPS: usize = 24;
const MAX_CELLS: usize = 900;
/// The darkest shade; 0 is none.
const SHADES: f64 = 10.0;

/// A map.
#[derive(Serialize)]
pub(crate) struct Heat {
    title: String,
    /// What its rows and its columns are.
    down: String,
    across: String,
    columns: Vec<String>,
    rows: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    name: String,
    cells: Vec<Cell>,
}

/// The mean over all points with the same values, which differ in their seeds.
#[derive(Serialize)]
struct Cell {
    text: String,
    level: u8,
    /// The section of the first of its points; empty if that has no pictures.
    anchor: String,
}

/// The distinct values of an axis, as they were written, in their order.
fn values(axis: &str, points: &[PointView<'_>]) -> Vec<String> {
    let mut values = Vec::new();
    for point in points {
        let value = value(axis, point);
        if !values.contains(&value) {
            values.push(value);
        }
    }
    values
}

fn value(axis: &str, point: &PointView<'_>) -> String {
    point.result.parameters.get(axis).map(plain).unwrap_or_default()
}

/// The maps of a sweep; none if fewer than two axes have several values.
pub(crate) fn maps(sweep: &Sweep, points: &[PointView<'_>]) -> Vec<Heat> {
    let mut axes: Vec<(&str, Vec<String>)> =
        sweep.axes.iter().map(|axis| (axis.as_str(), values(axis, points))).collect();
    axes.retain(|(_, values)| values.len() > 1);
    axes.sort_by_key(|(_, values)| std::cmp::Reverse(values.len())); // stable: of equal ones the first
    let [(across, columns), (down, rows), others @ ..] = &axes[..] else { return Vec::new() };
    let groups = points.first().map_or(0, |point| point.result.groups.len());
    let alike = points.iter().all(|point| point.result.groups.len() == groups);
    if !alike || columns.len() * rows.len() > MAX_CELLS {
        return Vec::new();
    }
    let name = |point: &PointView<'_>| {
        let words = others.iter().map(|(axis, _)| format!("{} {}", short(axis), value(axis, point)));
        words.collect::<Vec<_>>().join(", ")
    };
    let mut slices: Vec<(String, Vec<usize>)> = Vec::new();
    for (number, point) in points.iter().enumerate() {
        let name = name(point);
        match slices.iter_mut().find(|(known, _)| *known == name) {
            Some((_, members)) => members.push(number),
            None => slices.push((name, vec![number])),
        }
    }
    let mut maps = Vec::new();
    for quantity in &QUANTITIES {
        for group in 0..if quantity.of_groups { groups } else { 1 } {
            for (slice, members) in &slices {
                let whose = match quantity.of_groups && groups > 1 {
                    true => format!("{}: ", points[0].result.groups[group].label),
                    false => String::new(),
                };
                let at = if slice.is_empty() { String::new() } else { format!(", {slice}") };
                let plane = Plane { points, members, across, columns, down, rows };
                maps.extend(plane.map(quantity, group, |unit| {
                    let unit = if unit.is_empty() { String::new() } else { format!(" ({unit})") };
                    format!("{whose}{}{unit}{at}", quantity.title)
                }));
            }
        }
    }
    maps.truncate(MAX_MAPS);
    maps
}

/// The points of one map, and its axes.
struct Plane<'a> {
    points: &'a [PointView<'a>],
    members: &'a [usize],
    across: &'a str,
    columns: &'a [String],
    down: &'a str,
    rows: &'a [String],
}

impl Plane<'_> {
    /// The map of a quantity; none if it has no value, or everywhere the same.
    fn map(&self, quantity: &Quantity, group: usize, title: impl Fn(&str) -> String) -> Option<Heat> {
        let mut cells: Vec<(Vec<f64>, Option<usize>)> =
            vec![(Vec::new(), None); self.columns.len() * self.rows.len()];
        for &member in self.members {
            let point = &self.points[member];
            let place = |axis, names: &[String]| names.iter().position(|name| *name == value(axis, point));
            let (Some(column), Some(row)) = (place(self.across, self.columns), place(self.down, self.rows))
            else {
                continue;
            };
            let (values, first) = &mut cells[row * self.columns.len() + column];
            values.push((quantity.value)(point.result, group));
            first.get_or_insert(member);
        }
        let mean = |(values, _): &(Vec<f64>, _)| values.iter().sum::<f64>() / values.len() as f64;
        let points = cells.iter().map(|cell| (0.0, mean(cell))).collect();
        let mut curves = [Curve { points, ..Curve::default() }];
        let unit = quantity.unit.of(&mut curves);
        let means = curves[0].points.iter().map(|&(_, mean)| mean);
        let finite = || means.clone().filter(|mean| mean.is_finite());
        let (least, most) = (finite().reduce(f64::min)?, finite().reduce(f64::max)?);
        if least == most {
            return None;
        }
        let cell = |(mean, (_, first)): (f64, &(Vec<f64>, Option<usize>))| Cell {
            text: if mean.is_finite() { number(&mean.into()) } else { "-".to_owned() },
            level: ((mean - least) / (most - least) * SHADES).round() as u8,
            anchor: first
                .filter(|&first| first < MAX_PICTURED)
                .map(|first| self.points[first].folder.clone())
                .unwrap_or_default(),
        };
        let mut cells = means.clone().zip(&cells).map(cell);
        let rows = self
            .rows
            .iter()
            .map(|name| Row { name: name.clone(), cells: cells.by_ref().take(self.columns.len()).collect() });
        let rows = rows.collect();
        Some(Heat {
            title: title(unit),
            down: short(self.down),
            across: short(self.across),
            columns: self.columns.to_vec(),
            rows,
        })
    }
}

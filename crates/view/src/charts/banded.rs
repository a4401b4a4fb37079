//! The same charts for several seeds as one: means, and a band from the least to the greatest value.

use super::chart::{Chart, Curve};

/// The charts of each seed, merged. What is not there for every seed is as it is for the first.
pub fn banded(seeds: Vec<Vec<Chart>>) -> Vec<Chart> {
    let mut seeds = seeds.into_iter();
    let mut charts = seeds.next().unwrap_or_default();
    let others: Vec<Vec<Chart>> = seeds.collect();
    for chart in &mut charts {
        let same: Vec<&Chart> =
            others.iter().filter_map(|charts| charts.iter().find(|other| other.id == chart.id)).collect();
        let worth = worth(&chart.unit);
        for (number, curve) in chart.curves.iter_mut().enumerate() {
            let curves: Option<Vec<(&Curve, f64)>> = same
                .iter()
                .map(|other| {
                    let scale = self::worth(&other.unit) / worth;
                    other.curves.get(number).filter(|it| it.label == curve.label).map(|it| (it, scale))
                })
                .collect();
            if let Some(curves) = curves.filter(|curves| !curves.is_empty()) {
                merge(curve, &curves);
            }
        }
    }
    charts
}

/// How much a unit of a chart is of the unit without a prefix. Each seed's chart has the unit that suits it.
fn worth(unit: &str) -> f64 {
    match unit {
        "kbit/s" => 1e3,
        "Mbit/s" => 1e6,
        "Gbit/s" => 1e9,
        _ => 1.0,
    }
}

fn merge(curve: &mut Curve, others: &[(&Curve, f64)]) {
    curve.band.clear();
    for (at, value) in &mut curve.points {
        let values = others.iter().map(|(other, scale)| value_at(other, *at) * scale);
        let values: Vec<f64> = std::iter::once(*value).chain(values).filter(|it| it.is_finite()).collect();
        if values.is_empty() {
            continue;
        }
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        *value = values.iter().sum::<f64>() / values.len() as f64;
        curve.band.push((*at, low, high));
    }
}

/// The value of a curve at a place: on the line between its neighbours.
fn value_at(curve: &Curve, at: f64) -> f64 {
    let after = curve.points.partition_point(|&(place, _)| place < at);
    let Some(&(to, high)) = curve.points.get(after) else { return f64::NAN };
    match after.checked_sub(1).map(|before| curve.points[before]) {
        _ if to == at => high,
        None => f64::NAN,
        Some((from, low)) => low + (high - low) * (at - from) / (to - from),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(unit: &str, points: &[(f64, f64)]) -> Vec<Chart> {
        let curve = Curve { label: "a".to_owned(), points: points.to_vec(), ..Curve::default() };
        vec![Chart { id: "x".to_owned(), unit: unit.to_owned(), curves: vec![curve], ..Chart::default() }]
    }

    #[test]
    fn seeds_become_a_mean_and_a_band() {
        let one = chart("Mbit/s", &[(0.0, 1.0), (1.0, 2.0), (2.0, f64::NAN)]);
        let other = chart("kbit/s", &[(0.0, 3000.0), (2.0, 5000.0)]);
        let merged = banded(vec![one, other]);
        let curve = &merged[0].curves[0];
        assert_eq!(curve.points, [(0.0, 2.0), (1.0, 3.0), (2.0, 5.0)]);
        assert_eq!(curve.band, [(0.0, 1.0, 3.0), (1.0, 2.0, 4.0), (2.0, 5.0, 5.0)]);
    }

    #[test]
    fn one_seed_has_no_band() {
        let merged = banded(vec![chart("", &[(0.0, 1.0)])]);
        assert!(merged[0].curves[0].band.is_empty());
        assert!(banded(Vec::new()).is_empty());
    }
}

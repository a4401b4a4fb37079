//! Selects the points that an expression means.

use super::call::{refused, wrong};
use super::values::{from_json, number};
use ackclock_scenario::results::PointResult;
use minijinja::{Error, Value};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Results for expressions.
#[derive(Clone)]
pub struct View {
    sets: Arc<Vec<(String, Vec<PointResult>)>>,
}

impl View {
    /// The results of one scenario.
    pub fn new(points: Vec<PointResult>) -> View {
        View::of_several(vec![(String::new(), points)])
    }

    /// The results of several scenarios, by name.
    pub fn of_several(sets: Vec<(String, Vec<PointResult>)>) -> View {
        View { sets: Arc::new(sets) }
    }

    /// The results of the only scenario, as they came.
    pub(crate) fn into_points(self) -> Vec<PointResult> {
        self.into_sets().into_iter().flat_map(|(_, points)| points).collect()
    }

    /// The results, by scenario, as they came.
    pub(crate) fn into_sets(self) -> Vec<(String, Vec<PointResult>)> {
        Arc::try_unwrap(self.sets).unwrap_or_else(|shared| (*shared).clone())
    }

    /// The results, by scenario.
    pub fn sets(&self) -> &[(String, Vec<PointResult>)] {
        &self.sets
    }

    /// The seeds of all scenarios, if there are several. A scenario with a single one has it always.
    pub(super) fn seeds(&self) -> Vec<u64> {
        let of = |points: &[PointResult]| points.iter().map(|point| point.seed).collect::<BTreeSet<_>>();
        let sets = self.sets.iter().map(|(_, points)| of(points)).filter(|seeds| seeds.len() > 1);
        let common = sets.reduce(|common, set| common.intersection(&set).copied().collect());
        common.filter(|seeds| seeds.len() > 1).into_iter().flatten().collect()
    }

    /// The results of the scenario called `name`. Without a name: of the only scenario.
    pub(super) fn set(&self, name: Option<&str>) -> Result<(&str, &[PointResult]), Error> {
        let known =
            || self.sets.iter().map(|(name, _)| format!("in='{name}'")).collect::<Vec<_>>().join(", ");
        match (name, &self.sets[..]) {
            (_, []) => Err(wrong("there is no scenario to look into")),
            (None, [(only, points)]) => Ok((only, points)),
            (None, _) => Err(refused("there are several scenarios", format!("say {}", known()))),
            (Some(name), sets) => match sets.iter().find(|(known, _)| known == name) {
                Some((known, points)) => Ok((known, points)),
                None => {
                    Err(refused(format!("there is no scenario \"{name}\""), format!("there are {}", known())))
                }
            },
        }
    }
}

/// The points that match all of `wanted`. They may differ in their seed only.
pub(super) fn select<'a>(
    points: &'a [PointResult],
    wanted: &[(String, String)],
) -> Result<Vec<&'a PointResult>, Error> {
    for (axis, _) in wanted {
        full_name(points, axis)?;
    }
    let agrees = |point: &&PointResult| {
        wanted.iter().all(|(axis, value)| {
            point.parameters.iter().any(|(key, known)| names(key, axis) && plain(known) == *value)
        })
    };
    let matching: Vec<_> = points.iter().filter(agrees).collect();
    let Some(first) = matching.first() else {
        return Err(refused(format!("no point has {}", shown(wanted)), there_are(points, wanted)));
    };
    if let Some(other) = matching.iter().find(|point| point.parameters != first.parameters) {
        let differing =
            first.parameters.iter().find(|(key, value)| other.parameters.get(*key) != Some(value));
        let axis = differing.map_or("", |(key, _)| key);
        return Err(refused("several points match", format!("say which {}", short(axis))));
    }
    Ok(matching)
}

/// The values of the axes that are meant, for messages.
fn there_are(points: &[PointResult], wanted: &[(String, String)]) -> String {
    let values = |axis: &str| {
        let mut values: Vec<String> = Vec::new();
        for (_, value) in
            points.iter().flat_map(|point| &point.parameters).filter(|(key, _)| names(key, axis))
        {
            if !values.contains(&plain(value)) {
                values.push(plain(value));
            }
        }
        format!("{axis} is {}", values.join(", "))
    };
    wanted.iter().map(|(axis, _)| values(axis)).collect::<Vec<_>>().join("; ")
}

/// The full name of the axis that a keyword means.
fn full_name<'a>(points: &'a [PointResult], keyword: &str) -> Result<&'a str, Error> {
    let first = points.first().ok_or_else(|| wrong("the scenario has no points"))?;
    match first.parameters.keys().find(|key| names(key, keyword)) {
        Some(axis) => Ok(axis),
        None => {
            let axes: Vec<_> = first.parameters.keys().map(|axis| short(axis)).collect();
            let axes = if axes.is_empty() {
                "the scenario has no sweep".to_owned()
            } else {
                format!("the axes are {}", axes.join(", "))
            };
            Err(refused(format!("there is no axis \"{keyword}\""), axes))
        }
    }
}

/// The values of an axis, in order.
pub(super) fn axis(points: &[PointResult], keyword: &str) -> Result<Value, Error> {
    let name = full_name(points, keyword)?;
    let mut values: Vec<&serde_json::Value> = Vec::new();
    for point in points {
        if let Some(value) = point.parameters.get(name)
            && !values.contains(&value)
        {
            values.push(value);
        }
    }
    Ok(values.into_iter().map(from_json).collect())
}

/// True if a keyword means this axis. Its last part is enough: `rate` for
/// `topology.dumbbell.bottleneck.rate`.
fn names(axis: &str, keyword: &str) -> bool {
    axis == keyword || short(axis) == keyword
}

fn short(axis: &str) -> &str {
    axis.rsplit('.').next().unwrap_or(axis)
}

/// A JSON value as it would be written without quotes.
fn plain(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Number(number) => number.as_f64().unwrap_or(f64::NAN).to_string(),
        other => other.to_string(),
    }
}

/// The value of a keyword in the same form.
pub(super) fn written(value: &Value) -> String {
    number(value).map_or_else(|| value.to_string(), |number| number.to_string())
}

fn shown(wanted: &[(String, String)]) -> String {
    wanted.iter().map(|(axis, value)| format!("{axis} = {value}")).collect::<Vec<_>>().join(", ")
}

//! `[sweep]` and `seeds`: one file, many points.
//!
//! An axis is a key of the scenario with a list of values, or a free name with a list of tables that each
//! set several keys at once. The cross product of all axes is run, once per seed.

use super::Scenario;
use super::document::{Document, Node, Value};
use super::error::ScenarioError;
use super::reader::{At, Result};
use std::sync::Arc;

/// A scenario file with all its points.
pub struct Sweep {
    /// One entry per point, in the order of the file, seeds innermost.
    pub points: Vec<Point>,
    /// Names of the axes.
    pub axes: Vec<String>,
}

/// One point: a scenario and what distinguishes it.
pub struct Point {
    /// Axis and value, as written.
    pub parameters: Vec<(String, Value)>,
    /// The scenario.
    pub scenario: Scenario,
}

struct Axis {
    name: String,
    values: Vec<(Value, Vec<(String, Node)>)>,
}

/// Points beyond which a sweep is taken for a mistake.
const MOST_POINTS: usize = 100_000;

impl Sweep {
    /// Reads a file's text, applies `settings` (`key=value`), and expands its sweep.
    pub fn read(name: &str, text: &str, settings: &[String]) -> Result<Sweep> {
        let mut document = Document::parse(name, text)?;
        for setting in settings {
            document.set_from_text(setting)?;
        }
        Sweep::expand(document)
    }

    /// Expands a document.
    pub fn expand(mut document: Document) -> Result<Sweep> {
        let source = Arc::clone(&document.source);
        let sweep = document.take("sweep");
        let axes =
            sweep.map(|node| read_axes(&At::new(&node, "sweep", &source))).transpose()?.unwrap_or_default();
        let seeds =
            document.take("seeds").map(|node| read_seeds(&At::new(&node, "seeds", &source))).transpose()?;
        let total = axes.iter().try_fold(1_usize, |n, axis| n.checked_mul(axis.values.len()));
        let total = total.and_then(|n| n.checked_mul(seeds.as_ref().map_or(1, Vec::len)));
        if total.is_none_or(|total| total > MOST_POINTS) {
            let root = At::new(&document.root, "sweep", &source);
            return Err(root
                .error(format!("the sweep has more than {MOST_POINTS} points"))
                .help("sweep fewer values at once"));
        }
        let mut points = Vec::new();
        let mut choice = vec![0; axes.len()];
        loop {
            let mut at_point = document.clone();
            let mut parameters = Vec::new();
            for (axis, &pick) in axes.iter().zip(&choice) {
                let (shown, settings) = &axis.values[pick];
                parameters.push((axis.name.clone(), shown.clone()));
                for (path, node) in settings {
                    at_point.set(path, node.clone())?;
                }
            }
            match &seeds {
                None => points.push(Point { parameters, scenario: Scenario::read(at_point)? }),
                Some(seeds) => {
                    for node in seeds {
                        let mut seeded = at_point.clone();
                        seeded.set("seed", node.clone())?;
                        let scenario = Scenario::read(seeded)?;
                        points.push(Point { parameters: parameters.clone(), scenario });
                    }
                }
            }
            if !next(&mut choice, &axes) {
                break;
            }
        }
        Ok(Sweep { points, axes: axes.into_iter().map(|axis| axis.name).collect() })
    }
}

/// The next combination, the last axis fastest; false after the last one.
fn next(choice: &mut [usize], axes: &[Axis]) -> bool {
    for (pick, axis) in choice.iter_mut().zip(axes).rev() {
        *pick += 1;
        if *pick < axis.values.len() {
            return true;
        }
        *pick = 0;
    }
    false
}

fn read_axes(at: &At<'_>) -> Result<Vec<Axis>> {
    at.table()?.entries().map(|(name, at)| read_axis(name, &at)).collect()
}

fn read_axis(name: &str, at: &At<'_>) -> Result<Axis> {
    let items = at.list()?;
    if items.is_empty() {
        return Err(at
            .error("an axis needs at least one value")
            .help("for example [\"100 Mbit/s\", \"1 Gbit/s\"]"));
    }
    let values = items.iter().map(|item| read_value(name, item)).collect::<Result<_>>()?;
    Ok(Axis { name: name.to_owned(), values })
}

/// A value of an axis: itself for a key; for a free name a table of settings, `is` being the word for them.
fn read_value(name: &str, at: &At<'_>) -> Result<(Value, Vec<(String, Node)>)> {
    let Value::Table(entries) = &at.node.value else {
        return Ok((at.node.value.clone(), vec![(name.to_owned(), at.node.clone())]));
    };
    let table = at.table()?;
    let Some(word) = table.get("is") else {
        // A table as a key's value, for example { layered = { decrease = "variable" } }.
        return Ok((Value::Text(at.node.value.plain()), vec![(name.to_owned(), at.node.clone())]));
    };
    let shown = word.node.value.clone();
    if matches!(shown, Value::List(_) | Value::Table(_)) {
        return Err(word.error("the word for a group of settings is a text or a number"));
    }
    let settings = entries.iter().filter(|(key, _)| key != "is").cloned().collect();
    Ok((shown, settings))
}

fn read_seeds(at: &At<'_>) -> Result<Vec<Node>> {
    if let Value::Number(_) = at.node.value {
        let count = at.count(1, 10_000)?;
        let seed = |number| Node { value: Value::Number(number as f64), origin: at.node.origin.clone() };
        return Ok((1..=count).map(seed).collect());
    }
    let list =
        at.list().map_err(|error: ScenarioError| error.help("a number of seeds, or a list of them"))?;
    if list.is_empty() {
        return Err(at.error("there must be at least one seed"));
    }
    Ok(list.into_iter().map(|item| item.node.clone()).collect())
}

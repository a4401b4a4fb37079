//! `[sweep]` and `seeds`: one file, many points.
//!
//! An axis is a key of the scenario with a list of values, or a free name with a list of tables that set
//! several keys at once. All combinations of all axes run, once per seed.

use super::document::{Document, Node, Value, path_parts};
use super::error::ScenarioError;
use super::reader::{At, Result};
use super::{MAX_SEED, Scenario};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// A scenario file with all its points.
#[derive(Clone)]
pub struct Sweep {
    /// The points, in the order of the file. Seeds change fastest.
    pub points: Vec<Point>,
    /// The names of the axes.
    pub axes: Vec<String>,
}

/// A point: a scenario, and its coordinates in the sweep.
#[derive(Clone)]
pub struct Point {
    /// The axes and their values, as written.
    pub parameters: Vec<(String, Value)>,
    /// The scenario. Copies of a point share it.
    pub scenario: Arc<Scenario>,
}

#[derive(Clone)]
struct Axis {
    name: String,
    values: Vec<AxisValue>,
}

/// A value of an axis: its name, and its settings.
#[derive(Clone)]
struct AxisValue {
    shown: Value,
    settings: Vec<(String, Node)>,
}

/// The largest number of points. A larger sweep is taken for a mistake.
const MAX_POINTS: usize = 100_000;
/// The largest number of values in all points together. Each point keeps its own scenario.
const MAX_VALUES: usize = 20_000_000;

impl Point {
    /// The same point with another seed, as `seeds` in the file would have made it.
    ///
    /// # Errors
    ///
    /// [`ScenarioError`] if the seed is larger than seeds may be.
    pub fn with_seed(&self, seed: u64) -> Result<Point> {
        let mut document = self.scenario.document.clone();
        let origin = document.root.origin.clone();
        document.set("seed", Node { value: Value::Number(seed as f64), origin })?;
        Ok(Point { parameters: self.parameters.clone(), scenario: Arc::new(Scenario::read(document)?) })
    }
}

impl Sweep {
    /// Reads the text of a file, applies `settings` (`key=value`), and expands the sweep.
    ///
    /// # Errors
    ///
    /// [`ScenarioError`] if the text, a setting, or any point is not valid.
    pub fn read(name: &str, text: &str, settings: &[String]) -> Result<Sweep> {
        let mut document = Document::parse(name, text)?;
        for setting in settings {
            document.set_from_text(setting)?;
        }
        Sweep::expand(document)
    }

    /// Expands the sweep of a document.
    ///
    /// # Errors
    ///
    /// [`ScenarioError`] if the sweep or any point is not valid.
    pub fn expand(document: Document) -> Result<Sweep> {
        let expansion = Expansion::of(document)?;
        expansion.small_enough()?;
        let points = (0..expansion.count()).map(|number| expansion.point(number)).collect::<Result<_>>()?;
        Ok(Sweep { points, axes: expansion.axes.into_iter().map(|axis| axis.name).collect() })
    }
}

/// A sweep whose points are made one by one, when they are asked for. It may have more points than fit into
/// memory.
#[derive(Clone)]
pub struct Expansion {
    /// What all points have in common.
    document: Document,
    axes: Vec<Axis>,
    seeds: Option<Vec<Node>>,
    count: usize,
    /// Where the number of points comes from, for messages.
    origin: (Node, &'static str),
}

impl Expansion {
    /// Reads `sweep` and `seeds` of a document. Points are checked when they are made.
    ///
    /// # Errors
    ///
    /// [`ScenarioError`] if the sweep or the seeds are not valid, or make more points than can be counted.
    pub fn of(mut document: Document) -> Result<Expansion> {
        let source = Arc::clone(&document.source);
        let sweep = document.take("sweep");
        let mut axes = match &sweep {
            Some(node) => read_axes(&At::new(node, "sweep", &source))?,
            None => Vec::new(),
        };
        let mut seeds_node = document.take("seeds");
        command_line_first(&mut document, &mut axes, &mut seeds_node)?;
        contradictions(&document, &axes, seeds_node.as_ref())?;
        let seeds = match &seeds_node {
            Some(node) => Some(read_seeds(&At::new(node, "seeds", &source))?),
            None => None,
        };
        let path = if sweep.is_some() { "sweep" } else { "seeds" };
        let node = sweep.or(seeds_node).unwrap_or_else(|| document.root.clone());
        let count = axes.iter().try_fold(1_usize, |n, axis| n.checked_mul(axis.values.len()));
        let Some(count) = count.and_then(|n| n.checked_mul(seeds.as_ref().map_or(1, Vec::len))) else {
            return Err(At::new(&node, path, &source)
                .error("this makes more points than can be counted")
                .help("sweep less at once"));
        };
        Ok(Expansion { document, axes, seeds, count, origin: (node, path) })
    }

    /// The number of points.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The name of each axis, and its values as written.
    pub fn axes(&self) -> impl Iterator<Item = (&str, Vec<&Value>)> {
        self.axes.iter().map(|axis| (&*axis.name, axis.values.iter().map(|value| &value.shown).collect()))
    }

    /// The point with this number, from 0, in the order of the file: seeds change fastest, then the last
    /// axis.
    ///
    /// # Errors
    ///
    /// [`ScenarioError`] if the point is not valid.
    ///
    /// # Panics
    ///
    /// If there are not so many points.
    pub fn point(&self, number: usize) -> Result<Point> {
        assert!(number < self.count, "point {number} of {}", self.count);
        let (chosen, seed) = self.choice(number);
        let mut document = self.document.clone();
        let mut parameters = Vec::with_capacity(chosen.len());
        for (axis, AxisValue { shown, settings }) in chosen {
            parameters.push((axis.name.clone(), shown.clone()));
            for (path, node) in settings {
                document.set(path, node.clone())?;
            }
        }
        if let Some(seed) = seed {
            document.set("seed", seed.clone())?;
        }
        let scenario = Scenario::read(document).map_err(|error| explain(error, &self.axes))?;
        Ok(Point { parameters, scenario: Arc::new(scenario) })
    }

    /// The axes with the value of each, and the seed of `seeds`, of the point with this number.
    fn choice(&self, number: usize) -> (Vec<(&Axis, &AxisValue)>, Option<&Node>) {
        let (mut rest, seed) = match &self.seeds {
            Some(seeds) => (number / seeds.len(), Some(&seeds[number % seeds.len()])),
            None => (number, None),
        };
        let mut chosen = Vec::with_capacity(self.axes.len());
        for axis in self.axes.iter().rev() {
            chosen.push((axis, &axis.values[rest % axis.values.len()]));
            rest /= axis.values.len();
        }
        chosen.reverse();
        (chosen, seed)
    }

    /// What distinguishes the point with this number from others, whether it is valid or not: the value of
    /// each axis, and the seed if there are several.
    pub fn settings(&self, number: usize) -> (Vec<(&str, &Value)>, Option<&Value>) {
        let (chosen, seed) = self.choice(number);
        (
            chosen.into_iter().map(|(axis, value)| (&*axis.name, &value.shown)).collect(),
            seed.map(|seed| &seed.value),
        )
    }

    /// Refuses a sweep whose points do not fit into memory together.
    fn small_enough(&self) -> Result<()> {
        let values = self.document.root.value.size();
        if self.count <= MAX_POINTS && self.count.saturating_mul(values) <= MAX_VALUES {
            return Ok(());
        }
        let (node, path) = &self.origin;
        let message = format!("{} points of {values} values each are too many", self.count);
        let help = format!("at most {MAX_POINTS} points and {MAX_VALUES} values; sweep less at once");
        Err(At::new(node, *path, &self.document.source).error(message).help(help))
    }
}

/// The command line has priority over the file. A key that it sets is no longer swept, and a seed that it
/// sets replaces the seeds.
fn command_line_first(document: &mut Document, axes: &mut [Axis], seeds: &mut Option<Node>) -> Result<()> {
    let source = Arc::clone(&document.source);
    if let (Some(seed), Some(several)) = (document.entry("seed"), &*seeds) {
        match (seed.origin.is_command_line(), several.origin.is_command_line()) {
            (true, false) => *seeds = None,
            (false, true) => drop(document.take("seed")),
            _ => {
                return Err(At::new(seed, "seed", &source)
                    .error("the scenario has both a seed and seeds")
                    .help("seeds = [7, 8] runs it with each of these; remove one of the two keys"));
            }
        }
    }
    for axis in axes {
        let parts = path_parts(&axis.name).unwrap_or_default();
        let plain = axis.values.iter().all(|value| value.sets_only(&axis.name));
        if let (true, Some(node)) = (plain, document.at(&parts))
            && node.origin.is_command_line()
        {
            axis.values = vec![AxisValue::whole(&axis.name, node)];
            continue;
        }
        for (path, _) in axis.values.iter().flat_map(|value| &value.settings) {
            let given = document.at(&path_parts(path).unwrap_or_default()).and_then(Node::given_within);
            if let Some(origin) = given {
                let message = format!("the axis \"{}\" of the file's sweep sets this again", axis.name);
                return Err(ScenarioError::new(&source, origin, path, message)
                    .help("set the axis instead, or remove it from the file"));
            }
        }
    }
    Ok(())
}

/// Refuses two axes that set the same key: one of them would have no effect.
fn contradictions(document: &Document, axes: &[Axis], seeds: Option<&Node>) -> Result<()> {
    // All keys that an earlier axis sets, and all tables around them.
    let mut taken: HashMap<Vec<String>, &str> = HashMap::new();
    if seeds.is_some() {
        taken.insert(vec!["seed".to_owned()], "seeds");
    }
    for axis in axes {
        let mut own = HashSet::new();
        for (path, node) in axis.values.iter().flat_map(|value| &value.settings) {
            let parts = path_parts(path).unwrap_or_default();
            if let Some(other) = taken.get(&parts) {
                return Err(At::new(node, path.clone(), &document.source)
                    .error(format!("\"{other}\" sets this already"))
                    .help("an axis may refine what an earlier one sets, but not replace it"));
            }
            own.insert(parts);
        }
        for parts in own {
            taken.extend((1..=parts.len()).map(|length| (parts[..length].to_vec(), axis.name.as_str())));
        }
    }
    Ok(())
}

/// An unknown key without dots may have been meant as a free name. The error explains that.
fn explain(error: ScenarioError, axes: &[Axis]) -> ScenarioError {
    let name = error.key().to_owned();
    if !error.is_unknown_key() || name.contains('.') || axes.iter().all(|axis| axis.name != name) {
        return error;
    }
    error.help(format!(
        "an axis is a key of the scenario, such as \"flows.0.control\"; or a free name with tables that each \
         say what they are called: {name} = [{{ is = \"small\", ... }}, {{ is = \"large\", ... }}]"
    ))
}

fn read_axes(at: &At<'_>) -> Result<Vec<Axis>> {
    let mut axes = Vec::new();
    for (name, at) in at.table_like("[sweep] and below it seed = [1, 2, 3]")?.entries() {
        read_axis(name, &at, &mut axes)?;
    }
    Ok(axes)
}

/// Reads an axis. TOML makes tables of a name with dots outside quotes; this restores the name.
fn read_axis(name: &str, at: &At<'_>, axes: &mut Vec<Axis>) -> Result<()> {
    if let Value::Table(entries) = &at.node.value
        && !entries.is_empty()
    {
        for (key, inner) in at.table()?.entries() {
            read_axis(&format!("{name}.{key}"), &inner, axes)?;
        }
        return Ok(());
    }
    let items = match &at.node.value {
        Value::List(_) => at.list()?,
        _ => Vec::new(),
    };
    if items.is_empty() {
        return Err(at
            .error("an axis needs a list of at least one value")
            .help("for example [\"100 Mbit/s\", \"1 Gbit/s\"]"));
    }
    if items.len() > MAX_POINTS {
        return Err(at
            .error(format!("{} values are too many for an axis", items.len()))
            .help(format!("a sweep has at most {MAX_POINTS} points")));
    }
    let mut known = HashSet::new();
    let mut values = Vec::new();
    for item in &items {
        let value = read_value(name, item)?;
        if !known.insert(value.shown.plain()) {
            return Err(item
                .error(format!("\"{}\" is on this axis twice", value.shown.plain()))
                .help("remove one; to run a point several times with other random numbers use seeds = 5"));
        }
        values.push(value);
    }
    axes.push(Axis { name: name.to_owned(), values });
    Ok(())
}

impl AxisValue {
    /// A value of the axis of the key `name`.
    fn whole(name: &str, node: &Node) -> AxisValue {
        let shown = match &node.value {
            table @ Value::Table(_) => Value::Text(table.plain()), // { layered = { decrease = "variable" } }
            plain => plain.clone(),
        };
        AxisValue { shown, settings: vec![(name.to_owned(), node.clone())] }
    }

    fn sets_only(&self, name: &str) -> bool {
        self.settings.len() == 1 && self.settings[0].0 == name
    }
}

/// A value of an axis. For a key: the value itself. For a free name: a table of settings, with its name in
/// `is`.
fn read_value(name: &str, at: &At<'_>) -> Result<AxisValue> {
    let Value::Table(entries) = &at.node.value else { return Ok(AxisValue::whole(name, at.node)) };
    let table = at.table()?;
    let Some(word) = table.get("is") else { return Ok(AxisValue::whole(name, at.node)) };
    let shown = word.node.value.clone();
    if matches!(shown, Value::List(_) | Value::Table(_)) {
        return Err(word
            .error("the word for a group of settings is a text or a number")
            .help("for example { is = \"small\", \"flows.0.count\" = 2 }"));
    }
    let settings = entries.iter().filter(|(key, _)| key != "is").cloned().collect();
    Ok(AxisValue { shown, settings })
}

fn read_seeds(at: &At<'_>) -> Result<Vec<Node>> {
    const HELP: &str = "a number of seeds, for example 5, or a list of them, for example [7, 8]";
    const MAX_SEEDS: u64 = 10_000;
    match &at.node.value {
        Value::Number(_) => {
            let count = at.count(1, MAX_SEEDS).map_err(|error| error.help(HELP))?;
            let seed = |number| Node { value: Value::Number(number as f64), origin: at.node.origin.clone() };
            Ok((1..=count).map(seed).collect())
        }
        Value::List(items) if (1..=MAX_SEEDS as usize).contains(&items.len()) => {
            let mut known = HashSet::new();
            for item in at.list()? {
                item.count(0, MAX_SEED)?;
                if !known.insert(item.node.value.plain()) {
                    return Err(item
                        .error(format!("the seed {} is there twice", item.node.value.plain()))
                        .help("the same seed gives the same results; remove one"));
                }
            }
            Ok(items.clone())
        }
        _ => Err(at.error(format!("1 to {MAX_SEEDS} seeds are wanted here")).help(HELP)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCENARIO: &str = r#"
        duration = "1 s"
        seeds = [4, 9]
        [topology.dumbbell]
        bottleneck = { rate = "1 Mbit/s", delay = "10 ms" }
        [[flows]]
        control = "reno"
        [sweep]
        "flows.0.control" = ["reno", "cubic", "vegas"]
        "flows.0.count" = [1, 2]
    "#;

    #[test]
    fn points_one_by_one_are_those_of_the_whole_sweep() {
        let document = Document::parse("test", SCENARIO).expect("TOML");
        let expansion = Expansion::of(document.clone()).expect("a sweep");
        let sweep = Sweep::expand(document).expect("a sweep");
        assert_eq!((expansion.count(), sweep.points.len()), (12, 12));
        let shown = |point: &Point| {
            let values: Vec<_> =
                point.parameters.iter().map(|(axis, value)| (axis.clone(), value.plain())).collect();
            (values, point.scenario.seed, point.scenario.to_json())
        };
        for (number, point) in sweep.points.iter().enumerate() {
            assert_eq!(shown(&expansion.point(number).expect("a point")), shown(point));
            let (values, seed) = expansion.settings(number);
            let values: Vec<_> =
                values.into_iter().map(|(axis, value)| (axis.to_owned(), value.plain())).collect();
            assert_eq!(values, shown(point).0);
            assert_eq!(seed.map(Value::plain), Some(point.scenario.seed.to_string()));
        }
        // Seeds change fastest, then the last axis.
        assert_eq!(shown(&sweep.points[3]).0[1].1, "2");
        assert_eq!(sweep.points[3].scenario.seed, 9);
    }

    #[test]
    fn a_sweep_may_have_more_points_than_fit_into_memory() {
        let values: Vec<String> = (1..=1000).map(|value| value.to_string()).collect();
        let text = SCENARIO.replace("[1, 2]", &format!("[{}]", values.join(", "))).replace("[4, 9]", "10000");
        let document = Document::parse("test", &text).expect("TOML");
        let expansion = Expansion::of(document.clone()).expect("a sweep");
        assert_eq!(expansion.count(), 30_000_000);
        let last = expansion.point(29_999_999).expect("a point");
        assert_eq!((last.scenario.seed, last.scenario.flows()), (10_000, 1000));
        let error = Sweep::expand(document).err().expect("too many");
        assert!(error.to_string().contains("30000000 points"), "{error}");
    }
}

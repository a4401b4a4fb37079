//! Times that may be random: `"25 ms"`, or a table with the name of a distribution.

use super::document::Value;
use super::reader::{At, Result};
use ackclock_net::{BelowZero, Distribution};
use ackclock_units::Duration;

const KINDS: &[&str] = &["fixed", "uniform", "normal", "exponential", "pareto"];

/// Reads a time that is constant or random. `example` is a value for the error message.
pub(crate) fn read_variate(at: &At<'_>, example: &str) -> Result<Distribution> {
    match &at.node.value {
        Value::Text(word) if KINDS.contains(&word.trim()) => {
            let word = word.trim();
            return Err(at
                .error(format!("the distribution \"{word}\" has no mean"))
                .help(format!("say {}", example_of(word))));
        }
        Value::Text(_) | Value::Number(_) => return at.quantity().map(Distribution::Fixed),
        _ => {}
    }
    match at.choice_like(example)? {
        ("fixed", Some(inner)) => inner.quantity().map(Distribution::Fixed),
        ("uniform", Some(inner)) => {
            let (from, to) = pair(&inner, "uniform", "a lower and an upper bound")?;
            if to < from {
                return Err(inner
                    .error("the upper bound is below the lower one")
                    .help("write the shorter time first"));
            }
            Ok(Distribution::Uniform(from, to))
        }
        ("normal", Some(inner)) => {
            let (mean, deviation) = pair(&inner, "normal", "a mean and a standard deviation")?;
            Ok(Distribution::Normal { mean, deviation, below_zero: BelowZero::default() })
        }
        ("exponential", Some(inner)) => inner.quantity().map(Distribution::Exponential),
        ("pareto", Some(inner)) => read_pareto(&inner),
        (word, _) => Err(at.unknown("distribution", word, KINDS)),
    }
}

fn read_pareto(at: &At<'_>) -> Result<Distribution> {
    let table = at.table_like(example_of("pareto"))?;
    let mean = table
        .need_as("mean", &format!("a Pareto variate needs a mean: {}", example_of("pareto")))?
        .quantity()?;
    let shape_at = table.need("shape", "1.5")?;
    let shape = shape_at.number(0.0, 1e3)?;
    if shape <= 1.0 {
        return Err(shape_at
            .error(format!("a Pareto variate of shape {shape} has no mean"))
            .help("its shape must be above 1; heavy tails begin below 2"));
    }
    table.finish()?;
    Ok(Distribution::Pareto { mean, shape })
}

/// Reads a list of two times.
fn pair(at: &At<'_>, kind: &'static str, what: &str) -> Result<(Duration, Duration)> {
    match &at.list()?[..] {
        [first, second] => Ok((first.quantity()?, second.quantity()?)),
        _ => {
            Err(at.error(format!("{what} are wanted here")).help(format!("for example {}", example_of(kind))))
        }
    }
}

fn example_of(kind: &str) -> &'static str {
    match kind {
        "uniform" => "{ uniform = [\"0 ms\", \"50 ms\"] }",
        "normal" => "{ normal = [\"25 ms\", \"8 ms\"] }",
        "exponential" => "{ exponential = \"25 ms\" }",
        "pareto" => "{ pareto = { mean = \"15 s\", shape = 1.5 } }",
        _ => "\"25 ms\"",
    }
}

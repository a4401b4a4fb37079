//! `queue = { rem = ... }`, `{ pi = ... }`, `{ pie = ... }`: disciplines with a periodic update.

use super::queue::{Room, Scale, read_room};
use super::reader::{At, Result, Table};
use ackclock_net::{Pi, PiConfig, Pie, PieConfig, Queue, Rem, RemConfig, Stream};
use ackclock_units::Duration;

/// Such a discipline as the file describes it. A key that is not given has the source's default.
#[derive(Clone, Debug)]
pub(crate) struct AqmSpec {
    pub(crate) limit: Room,
    mark: bool,
    period: Option<Duration>,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Rem {
        gamma: Option<f64>,
        alpha: Option<f64>,
        phi: Option<f64>,
        weight: Option<f64>,
        target: Option<Room>,
    },
    Pi {
        a: Option<f64>,
        b: Option<f64>,
        target: Option<Room>,
    },
    Pie {
        alpha: Option<f64>,
        beta: Option<f64>,
        target: Option<Duration>,
        burst: Option<Duration>,
    },
}

/// Reads the discipline called `word`, with its settings in `inner`.
pub(crate) fn read_aqm(at: &At<'_>, word: &str, inner: Option<At<'_>>) -> Result<AqmSpec> {
    let example = format!("{{ {word} = {{ limit = \"1 bdp\" }} }}");
    let inner = inner.ok_or_else(|| {
        at.error(format!("the queue \"{word}\" needs a limit")).help(format!("for example {example}"))
    })?;
    let table = inner.table_like(&example)?;
    let kind = match word {
        "rem" => Kind::Rem {
            gamma: number(&table, "gamma", 0.0, 1e3)?,
            alpha: number(&table, "alpha", 0.0, 1e3)?,
            phi: number(&table, "phi", 1.0, 10.0)?,
            weight: number(&table, "weight", 1e-9, 1.0)?,
            target: room(&table, "target")?,
        },
        "pi" => Kind::Pi {
            a: number(&table, "a", 0.0, 1.0)?,
            b: number(&table, "b", 0.0, 1.0)?,
            target: room(&table, "target")?,
        },
        _ => Kind::Pie {
            alpha: number(&table, "alpha", 0.0, 1e3)?,
            beta: number(&table, "beta", 0.0, 1e3)?,
            target: time(&table, "target")?,
            burst: table.quantity("burst")?,
        },
    };
    let spec = AqmSpec {
        limit: read_room(&table.need("limit", "\"1 bdp\"")?)?,
        mark: table.get("mark").map(|at| at.flag()).transpose()?.unwrap_or(false),
        period: time(&table, "period")?,
        kind,
    };
    table.finish()?;
    Ok(spec)
}

pub(crate) fn number(table: &Table<'_>, key: &'static str, least: f64, most: f64) -> Result<Option<f64>> {
    table.get(key).map(|at| at.number(least, most)).transpose()
}

fn room(table: &Table<'_>, key: &'static str) -> Result<Option<Room>> {
    table.get(key).map(|at| read_room(&at)).transpose()
}

/// Reads a time of at least a microsecond.
pub(crate) fn time(table: &Table<'_>, key: &'static str) -> Result<Option<Duration>> {
    let given: Option<Duration> = table.quantity(key)?;
    match (given, table.get(key)) {
        (Some(span), Some(at)) if span < Duration::from_micros(1) => {
            Err(at.error(format!("{span} is too short a time")).help("it must be at least \"1 us\""))
        }
        _ => Ok(given),
    }
}

impl AqmSpec {
    pub(crate) fn build(&self, scale: &Scale, stream: Stream) -> Queue {
        let limit = scale.limit(self.limit);
        let packets = |room: Option<Room>, usual: f64| room.map_or(usual, |room| scale.packets(room));
        match &self.kind {
            Kind::Rem { gamma, alpha, phi, weight, target } => {
                let transmission = scale.rate.time_for(u64::from(scale.segment));
                let usual = RemConfig::usual(transmission, limit);
                let period = self.period.unwrap_or(usual.period);
                let config = RemConfig {
                    gamma: gamma.unwrap_or(usual.gamma),
                    alpha: alpha.unwrap_or(usual.alpha),
                    phi: phi.unwrap_or(usual.phi),
                    weight: weight.unwrap_or(usual.weight),
                    target: packets(*target, usual.target),
                    capacity: usual.capacity * period.as_secs_f64() / usual.period.as_secs_f64(),
                    period,
                    mark: self.mark,
                    ..usual
                };
                Queue::Rem(Box::new(Rem::new(config, stream)))
            }
            Kind::Pi { a, b, target } => {
                let usual = PiConfig::usual(limit);
                let config = PiConfig {
                    a: a.unwrap_or(usual.a),
                    b: b.unwrap_or(usual.b),
                    target: packets(*target, usual.target),
                    period: self.period.unwrap_or(usual.period),
                    mark: self.mark,
                    ..usual
                };
                Queue::Pi(Box::new(Pi::new(config, stream)))
            }
            Kind::Pie { alpha, beta, target, burst } => {
                let usual = PieConfig::usual(scale.rate, scale.segment, limit);
                let config = PieConfig {
                    alpha: alpha.unwrap_or(usual.alpha),
                    beta: beta.unwrap_or(usual.beta),
                    target: target.unwrap_or(usual.target),
                    burst: burst.unwrap_or(usual.burst),
                    period: self.period.unwrap_or(usual.period),
                    mark: self.mark,
                    ..usual
                };
                Queue::Pie(Box::new(Pie::new(config, stream)))
            }
        }
    }
}

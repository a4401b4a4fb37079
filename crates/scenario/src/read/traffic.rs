//! `[[traffic]]`: sources that do not react to congestion.

use super::document::Value;
use super::flows::{Ends, Start, read_ends, read_start};
use super::jitter::{JitterSpec, read_jitter};
use super::reader::{At, Result, Table};
use super::variate::read_variate;
use crate::traffic::Periods;
use ackclock_net::Distribution;
use ackclock_units::{Bytes, Duration, Rate};
use std::collections::HashSet;

/// Sources that differ only in their start and their draws.
#[derive(Clone)]
pub(crate) struct TrafficSpec {
    pub(crate) label: String,
    pub(crate) count: usize,
    pub(crate) rate: Rate,
    pub(crate) packet: u16,
    pub(crate) times: Times,
    pub(crate) start: Start,
    pub(crate) stop: Option<Duration>,
    /// The jitter at the sender, if there is any.
    pub(crate) jitter: Option<JitterSpec>,
    pub(crate) ends: Ends,
    pub(crate) path: String,
}

/// When packets are sent.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Times {
    /// At a constant rate, always or in on periods of the same length.
    Constant(Option<Duration>, Duration),
    /// At times that are drawn.
    Drawn(Periods),
}

impl TrafficSpec {
    /// The name of a source of the group, from 0.
    pub(crate) fn name(&self, member: usize) -> String {
        if self.count == 1 { self.label.clone() } else { format!("{} {}", self.label, member + 1) }
    }
}

const KINDS: &[&str] = &["cbr", "exponential", "pareto", "poisson"];
/// The defaults of ns-2's `Application/Traffic/Exponential` and `Pareto`.
const RATE: Rate = Rate::from_bps(64_000);
const PACKET: u64 = 210;
const PERIOD: Duration = Duration::from_millis(500);
const SHAPE: f64 = 1.5;
/// The default packet of `cbr`, bytes.
const CBR_PACKET: u64 = 1000;
/// The largest number of sources.
const MAX_SOURCES: usize = 100_000;

pub(crate) fn read_traffic(at: &At<'_>) -> Result<Vec<TrafficSpec>> {
    let mut labels: HashSet<String> = HashSet::new();
    let mut streams: Vec<TrafficSpec> = Vec::new();
    let mut sources = 0;
    for (number, at) in at.list()?.iter().enumerate() {
        let stream = read_group(at, number)?;
        // The label stands for all sources of the group together.
        let names: HashSet<String> =
            (0..stream.count).map(|member| stream.name(member)).chain([stream.label.clone()]).collect();
        if let Some(name) = names.iter().filter(|&name| labels.contains(name)).min() {
            return Err(at
                .error(format!("two streams of traffic are called \"{name}\""))
                .help("give each [[traffic]] a label of its own: label = \"...\""));
        }
        labels.extend(names);
        sources += stream.count;
        if sources > MAX_SOURCES {
            return Err(at
                .error(format!("with these the scenario has {sources} sources of traffic"))
                .help(format!("at most {MAX_SOURCES} in all")));
        }
        streams.push(stream);
    }
    Ok(streams)
}

fn read_group(at: &At<'_>, number: usize) -> Result<TrafficSpec> {
    let table = at.table_like("{ kind = \"cbr\", rate = \"500 Mbit/s\" }")?;
    let kind_at = table.need("kind", "\"cbr\"")?;
    let kind = kind_at.text()?;
    if !KINDS.contains(&kind) {
        return Err(kind_at.unknown("kind of traffic", kind, KINDS));
    }
    let (rate, packet) = read_rate(&table, kind)?;
    let times = match kind {
        "cbr" => read_constant(&table)?,
        "poisson" => Times::Drawn(Periods::Poisson),
        _ => read_periods(&table, kind)?,
    };
    let start =
        table.get("start").map(|at| read_start(&at)).transpose()?.unwrap_or(Start::At(Duration::ZERO));
    let stop: Option<Duration> = table.quantity("stop")?;
    if let (Some(stop), Start::At(start), Some(at)) = (stop, start, table.get("stop"))
        && stop <= start
    {
        return Err(at
            .error(format!("it would stop at {stop}, before it starts at {start}"))
            .help("let it stop later or start earlier"));
    }
    let count = table.get("count").map(|at| at.count(1, MAX_SOURCES as u64)).transpose()?.unwrap_or(1);
    let spec = TrafficSpec {
        label: match table.get("label") {
            Some(at) => at.text()?.to_owned(),
            None => format!("{kind} {}", number + 1),
        },
        count: count as usize,
        rate,
        packet,
        times,
        start,
        stop,
        jitter: table.get("jitter").map(|at| read_jitter(&at)).transpose()?,
        ends: read_ends(&table)?,
        path: at.path.clone(),
    };
    table.finish()?;
    Ok(spec)
}

/// The rate and the size of a packet, bytes.
fn read_rate(table: &Table<'_>, kind: &str) -> Result<(Rate, u16)> {
    let given =
        table.get("packet").map(|at| at.quantity::<Bytes>().map(|bytes| (bytes.0, at))).transpose()?;
    if let Some((bytes, at)) = &given
        && !(1..=65_535).contains(bytes)
    {
        return Err(at.error(format!("a packet of {bytes} B")).help("it must be 1 B to 65535 B"));
    }
    let cbr = kind == "cbr";
    let packet = given.map_or(if cbr { CBR_PACKET } else { PACKET }, |(bytes, _)| bytes);
    let rate_at = if cbr { Some(table.need("rate", "\"500 Mbit/s\"")?) } else { table.get("rate") };
    let Some(rate_at) = rate_at else { return Ok((RATE, packet as u16)) };
    let rate: Rate = rate_at.quantity()?;
    if rate.time_for(packet).is_zero() {
        return Err(rate_at
            .error(format!("{rate} of {packet} B packets is more than one in a nanosecond"))
            .help("lower the rate or make the packets larger"));
    }
    Ok((rate, packet as u16))
}

const ON: &str = "on = \"10 s\" and off = \"10 s\", or on = { exponential = \"500 ms\" }";

/// The on and off periods of `cbr`: constant, or drawn.
fn read_constant(table: &Table<'_>) -> Result<Times> {
    let period = |key| table.get(key).map(|at| read_variate(&at, "{ exponential = \"500 ms\" }")).transpose();
    let (on, off) = (period("on")?, period("off")?);
    let wrong = |key, problem: &str| {
        let at = table.get(key);
        Err(at.map_or_else(
            || unreachable!("it was read"),
            |at| at.error(problem).help(format!("for example {ON}")),
        ))
    };
    match (on, off) {
        (None, None) => Ok(Times::Constant(None, Duration::ZERO)),
        (Some(on), _) if on.mean().is_zero() => wrong("on", "an on period of no length"),
        (Some(_), None) => wrong("on", "on and off go together"),
        (None, Some(_)) => wrong("off", "on and off go together"),
        (Some(Distribution::Fixed(on)), Some(Distribution::Fixed(off))) => Ok(Times::Constant(Some(on), off)),
        (Some(on), Some(off)) => Ok(Times::Drawn(Periods::OnOff { on, off })),
    }
}

/// The means of the periods of `exponential` and `pareto`.
fn read_periods(table: &Table<'_>, kind: &str) -> Result<Times> {
    let shape = match table.get("shape") {
        Some(at) if kind == "pareto" => {
            let shape = at.number(0.0, 1e3)?;
            if shape <= 1.0 {
                return Err(at
                    .error(format!("a Pareto variate of shape {shape} has no mean"))
                    .help("its shape must be above 1; heavy tails begin below 2"));
            }
            shape
        }
        Some(at) => return Err(at.error("only pareto has a shape").help("remove it")),
        None => SHAPE,
    };
    let period = |key| -> Result<Distribution> {
        let mean = match table.get(key) {
            Some(at) if matches!(at.node.value, Value::Table(_)) => {
                return Err(at
                    .error(format!("the periods of {kind} traffic are {kind}; a mean is wanted here"))
                    .help("for example \"500 ms\"; other distributions go with kind = \"cbr\""));
            }
            Some(at) => at.quantity()?,
            None => PERIOD,
        };
        Ok(match kind {
            "pareto" => Distribution::Pareto { mean, shape },
            _ => Distribution::Exponential(mean),
        })
    };
    Ok(Times::Drawn(Periods::OnOff { on: period("on")?, off: period("off")? }))
}

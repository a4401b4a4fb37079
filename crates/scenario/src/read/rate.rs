//! `rate` of a link: constant, a schedule, or a trace of delivery opportunities.

use super::document::Value;
use super::reader::{At, Result, Table};
use super::text_file::read_text_file;
use ackclock_net::{Schedule, Trace, VariableRate};
use ackclock_units::{Duration, Rate};

/// A rate that changes, and where it was written.
#[derive(Clone, Debug)]
pub(crate) struct VariableRateSpec {
    pub(crate) rate: VariableRate,
    /// The dotted path in the file.
    pub(crate) path: String,
}

/// The rate of a link.
#[derive(Clone, Debug)]
pub(crate) enum RateSpec {
    Constant(Rate),
    Variable(VariableRateSpec),
}

const EXAMPLE: &str = "\"1 Gbit/s\", { schedule = [[\"0 s\", \"11 Mbit/s\"], [\"50 s\", \"2 Mbit/s\"]] } or { trace = \"file\" }";
const STEP: &str = "for example [[\"0 s\", \"11 Mbit/s\"], [\"50 s\", \"2 Mbit/s\"]]";
/// The largest number of rates in a schedule.
const MAX_STEPS: usize = 100_000;

pub(crate) fn read_rate(at: &At<'_>) -> Result<RateSpec> {
    if !matches!(at.node.value, Value::Table(_)) {
        return at.quantity().map(RateSpec::Constant);
    }
    let table = at.table_like(EXAMPLE)?;
    let rate = match (table.get("schedule"), table.get("trace")) {
        (Some(at), None) => VariableRate::Schedule(read_schedule(&at, &table)?),
        (None, Some(at)) => VariableRate::Trace(read_trace(&at)?),
        (Some(_), Some(at)) => {
            return Err(at.error("a rate has a schedule or a trace").help("remove one of them"));
        }
        (None, None) => {
            table.finish()?;
            return Err(at
                .error("a rate that changes needs a schedule or a trace")
                .help(format!("say {EXAMPLE}")));
        }
    };
    table.finish()?;
    Ok(RateSpec::Variable(VariableRateSpec { rate, path: at.path.clone() }))
}

/// Reads `[["0 s", "11 Mbit/s"], ["50 s", "2 Mbit/s"]]`, and the period of `repeat`.
fn read_schedule(at: &At<'_>, table: &Table<'_>) -> Result<Schedule> {
    let mut steps: Vec<(Duration, Rate)> = Vec::new();
    for step_at in at.list()? {
        let [from_at, rate_at] = &step_at.list()?[..] else {
            return Err(step_at.error("a time and a rate are wanted").help(STEP));
        };
        let from: Duration = from_at.quantity()?;
        match steps.last() {
            None if !from.is_zero() => {
                return Err(from_at
                    .error(format!("there is no rate before {from}"))
                    .help("let the first rate begin at \"0 s\""));
            }
            Some(&(before, _)) if from <= before => {
                return Err(from_at
                    .error(format!("{from} does not come after {before}"))
                    .help("write times in order"));
            }
            _ => {}
        }
        steps.push((from, read_step(rate_at)?));
    }
    let Some(&(last, last_rate)) = steps.last() else {
        return Err(at.error("a schedule without rates").help(STEP));
    };
    if steps.len() > MAX_STEPS {
        return Err(at
            .error(format!("{} rates are too many", steps.len()))
            .help(format!("at most {MAX_STEPS}; a trace may have more")));
    }
    let repeat_at = table.get("repeat");
    let period: Option<Duration> = repeat_at.as_ref().map(|at| at.quantity()).transpose()?;
    if let (Some(period), Some(at)) = (period, repeat_at)
        && period <= last
    {
        return Err(at
            .error(format!("the last rate would begin at {last}, and everything repeats after {period}"))
            .help("let repeat be later than the last rate's start"));
    }
    let nothing = |&(_, rate): &(Duration, Rate)| rate.bps() == 0;
    if steps.iter().all(nothing) || (period.is_some() && last.is_zero() && last_rate.bps() == 0) {
        return Err(at.error("this link never carries anything").help("give it a rate above zero"));
    }
    Ok(Schedule::new(steps, period))
}

/// Reads a rate that may be zero.
fn read_step(at: &At<'_>) -> Result<Rate> {
    let zero = match &at.node.value {
        Value::Number(number) => *number == 0.0,
        Value::Text(text) => text.split_whitespace().next().is_some_and(|word| word == "0"),
        _ => false,
    };
    if zero { Ok(Rate::from_bps(0)) } else { at.quantity() }
}

/// The largest trace: hours of a cellular link.
const MAX_TRACE: u64 = 32 << 20;
/// The largest number of its opportunities.
const MAX_OPPORTUNITIES: usize = 4_000_000;
const TRACE: &str =
    "each line is the time of an opportunity to deliver 1500 bytes, in whole milliseconds, in order";

/// Reads a trace in the form of Mahimahi.
fn read_trace(at: &At<'_>) -> Result<Trace> {
    let file = read_text_file(at, MAX_TRACE, TRACE)?;
    let wrong =
        |line: usize, problem: String| at.error(format!("{}:{}: {problem}", file.name, line + 1)).help(TRACE);
    let mut times: Vec<u32> = Vec::new();
    for (number, line) in file.text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() {
            continue;
        }
        let time: u32 = line
            .parse()
            .map_err(|_| wrong(number, format!("\"{}\" is no time in milliseconds", shortened(line))))?;
        if let Some(&before) = times.last()
            && time < before
        {
            return Err(wrong(number, format!("{time} comes after {before}")));
        }
        if times.len() == MAX_OPPORTUNITIES {
            return Err(wrong(number, format!("there are more than {MAX_OPPORTUNITIES} opportunities")));
        }
        times.push(time);
    }
    match times.last() {
        None => Err(at.error(format!("{} has no opportunities", file.name)).help(TRACE)),
        Some(0) => Err(at
            .error(format!("{} ends at 0 ms", file.name))
            .help("its last line is its length: it repeats from there")),
        Some(_) => Ok(Trace::new(times)),
    }
}

/// The beginning of a line that may be long.
fn shortened(line: &str) -> String {
    const SHOWN: usize = 20;
    match line.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line.to_owned(),
    }
}

/// What identifies a trace in results: its number of opportunities and a checksum (FNV-1a) of their times.
pub(crate) fn identity(trace: &Trace) -> (usize, String) {
    let times = trace.opportunities_ms();
    let bytes = times.iter().flat_map(|time| time.to_le_bytes());
    let sum = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    (times.len(), format!("{sum:016x}"))
}

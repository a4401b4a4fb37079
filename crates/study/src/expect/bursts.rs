//! Functions of the bursts that flows write: over all flows of a group, and over the whole run.

use super::call::{Answer, Arguments, refused};
use super::functions::{FunctionRegistry, group_flows};
use ackclock_scenario::results::{BurstResult, PointResult};
use minijinja::Error;

pub(super) fn add_all(w: &mut FunctionRegistry<'_>) {
    macro_rules! total {
        ($($name:literal => $field:expr),* $(,)?) => {$(
            w.add(concat!($name, "(label)"), |point, args| {
                let value: fn(&BurstResult) -> f64 = $field;
                Ok(written(point, args)?.into_iter().map(value).sum())
            });
        )*};
    }
    total! {
        "bursts_due" => |bursts| bursts.due as f64,
        "bursts_written" => |bursts| bursts.written as f64,
        "failed_cycles" => |bursts| bursts.failed_cycles as f64,
        "written_bytes" => |bursts| bursts.written_bytes as f64,
        "received_bytes" => |bursts| bursts.received_bytes as f64,
        "transmitted" => |bursts| bursts.transmitted_bps.unwrap_or(f64::NAN),
        "received" => |bursts| bursts.received_bps.unwrap_or(f64::NAN),
    }
    w.add("writing_time(label)", |point, args| {
        Ok(written(point, args)?.iter().map(|bursts| bursts.writing_s).fold(0.0, f64::max))
    });
    w.add("transmitted_between(label, from_s, to_s)", transmitted_between);
}

/// The bursts of the group that the first argument names.
fn written<'a>(point: &'a PointResult, args: &Arguments) -> Result<Vec<&'a BurstResult>, Error> {
    let label = args.text(0, "a group's label")?;
    let all: Vec<_> =
        group_flows(point, &label)?.into_iter().filter_map(|flow| flow.bursts.as_ref()).collect();
    if all.is_empty() {
        return Err(refused(
            format!("\"{label}\" writes no bursts"),
            "give the group bursts = { size = ... }",
        ));
    }
    Ok(all)
}

/// The bytes of the bursts whose writing ended within (from, to], per that time, bit/s. Times count from the
/// first burst.
fn transmitted_between(point: &PointResult, args: &Arguments) -> Answer {
    let (from, to) = (args.number(1, "a time in seconds")?, args.number(2, "a time in seconds")?);
    let bits = |bursts: &BurstResult| {
        let ended = bursts.ends_s.iter().filter(|&&end| end > from && end <= to).count();
        // All bursts have the same size. The socket may hold a part of one more.
        ended as f64 * bursts.size_bytes as f64 * 8.0
    };
    Ok(written(point, args)?.into_iter().map(bits).sum::<f64>() / (to - from))
}

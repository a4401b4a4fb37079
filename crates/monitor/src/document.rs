//! What is told as JSON: by the command line, and over HTTP. Absent values have a reason.

use crate::advice::{Advised, Path};
use crate::archive::{Archive, ArchiveError, Known};
use crate::forecast::Forecast;
use crate::reading::Report;
use crate::sample::{Moment, Quantity};
use crate::statistics::{Basis, Unknown};
use ackclock_units::{Bytes, Duration};
use serde_json::{Map, Value, json};

/// Routes that are told of.
const ROUTES: usize = 10;

fn basis(it: &Basis) -> Value {
    json!({
        "samples": it.samples,
        "age_s": it.age.as_secs_f64(),
        "interval_s": it.interval.as_secs_f64(),
    })
}

fn told<T: Copy + Into<Value>>(advice: &Result<Advised<T>, Unknown>) -> Value {
    match advice {
        Ok(it) => json!({ "value": it.value.into(), "basis": basis(&it.basis) }),
        Err(reason) => json!({ "unknown": reason.to_string() }),
    }
}

fn sized(advice: &Result<Advised<Bytes>, Unknown>) -> Value {
    told(&advice.map(|it| Advised { value: it.value.0, basis: it.basis }))
}

fn path(path: &Path) -> Value {
    json!({
        "capacity_bps": path.capacity, "rtt_s": path.rtt, "queue_bytes": path.queue,
        "queue_seen": path.queue_seen, "loss": path.loss,
    })
}

/// All advice on a host.
pub fn advice_document(report: &Report, now: Moment) -> Value {
    let Report { host, burst, advice, losses, step } = report;
    let [clean, lossy] = losses;
    let searched = clean.as_ref().or(lossy.as_ref()).map(|sample| {
        json!({
            "above_bps": clean.map(|it| it.value),
            "below_bps": lossy.map(|it| it.value),
            "age_s": now.since(sample.at).as_secs_f64(),
        })
    });
    json!({
        "host": host.name,
        "address": host.address,
        "buffer_bytes": sized(&advice.buffer),
        "first_window_segments": told(&advice.first_window),
        "burst": advice.burst.ok().map(|it| json!({ "size": it.value.0, "every_s": burst.as_secs_f64() })),
        "burst_bytes": sized(&advice.burst),
        "burst_period_s": burst.as_secs_f64(),
        "without_control_window_bytes": match &advice.without_control {
            Ok(it) => json!({ "value": it.value.0, "basis": basis(&it.basis) }),
            Err(against) => json!({ "against": against.to_string() }),
        },
        "path": match &advice.path {
            Ok(it) => json!({ "value": path(&it.value), "basis": basis(&it.basis) }),
            Err(reason) => json!({ "unknown": reason.to_string() }),
        },
        "losses_begin": searched,
        "clock_set_by_s": step.map(|(_, us)| us as f64 * 1e-6),
    })
}

/// What controllers would make of a path.
pub fn forecast_document(size: Bytes, forecasts: &[Forecast]) -> Value {
    let one = |it: &Forecast| {
        json!({
            "control": it.control, "bps": it.p50, "least_bps": it.least, "greatest_bps": it.greatest,
            "complete": it.complete,
        })
    };
    json!({ "size_bytes": size.0, "throughput": forecasts.iter().map(one).collect::<Vec<Value>>() })
}

/// What was measured on a host: of each quantity the newest sample, and what the samples of `span` have in
/// common.
pub(crate) fn info_document(
    archive: &Archive,
    host: &Known,
    span: Duration,
    now: Moment,
) -> Result<Value, ArchiveError> {
    let mut quantities = Map::new();
    for quantity in Quantity::ALL {
        let newest = archive.samples(host.id, quantity, (Moment(i64::MIN), now), 1)?;
        let Some(newest) = newest.last() else { continue };
        let mean = archive.mean(host.id, quantity, (now.before(span), now))?;
        let average = mean.map(|it| {
            json!({ "mean": it.mean, "least": it.least, "greatest": it.greatest, "samples": it.samples })
        });
        let value = json!({
            "newest": newest.value, "age_s": now.since(newest.at).as_secs_f64(), "average": average,
        });
        quantities.insert(quantity.name().to_owned(), value);
    }
    let routes = archive.routes(host.id, ROUTES)?;
    let route = |(at, route): &(Moment, crate::sample::Route)| {
        let hops: Vec<Value> = route.hops.iter().map(|hop| json!(hop.map(|it| it.to_string()))).collect();
        json!({ "since_s": at.0 as f64 * 1e-6, "hops": hops, "reached": route.reached })
    };
    Ok(json!({
        "host": host.name,
        "address": host.address,
        "average_over_s": span.as_secs_f64(),
        "quantities": quantities,
        "routes": routes.iter().map(route).collect::<Vec<Value>>(),
    }))
}

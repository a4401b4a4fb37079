//! `ackclock advise`.

use super::monitor::explained;
use crate::args::Advise;
use crate::failure::Failure;
use crate::interrupt;
use crate::view::table::plain_table;
use ackclock_monitor::{
    Advised, Archive, Basis, Forecast, Known, Moment, Path, PathAdvice, Quantity, Stated, Unknown, advise,
    controls, forecast, measured,
};
use ackclock_scenario::suggest;
use ackclock_study::run::RunError;
use ackclock_units::{Bytes, Duration};
use miette::{Report, miette};
use serde_json::{Value, json};

pub(crate) fn run(command: &Advise) -> Result<(), Failure> {
    let archive = Archive::open(&command.archive).map_err(|error| explained(&error))?;
    let host = find(&archive, &command.host)?;
    let now = Moment::now();
    if command.csv {
        return export(&archive, &host, now);
    }
    let chosen = chosen(&command.controls)?;
    let measured = measured(&archive, host.id, now).map_err(|error| explained(&error))?;
    let stated = Stated {
        uncontrolled: host.uncontrolled,
        ping: host.ping,
        transfer: host.transfer,
        burst: command.period,
    };
    let advice = advise(&measured, &stated, now);
    let forecasts = match &advice.path {
        Ok(path) => Some(forecasts(&path.value, command.size, &chosen)?),
        Err(_) => None,
    };
    let step = archive.last_step(now).map_err(|error| explained(&error))?;
    let recent = step.filter(|(at, _)| now.since(*at) < ackclock_monitor::OLDEST);
    if command.json {
        say!("{}", document(&host, &advice, forecasts.as_deref(), command, recent));
    } else {
        print(&host, &advice, forecasts.as_deref(), command);
        if let Some((at, us)) = recent {
            let ago = now.since(at).as_secs_f64();
            tell!("the system's clock was set by {} s, {ago:.0} s ago: ages may be wrong", us as f64 * 1e-6);
        }
    }
    Ok(())
}

fn find(archive: &Archive, wanted: &str) -> Result<Known, Report> {
    let hosts = archive.hosts().map_err(|error| explained(&error))?;
    if let Some(host) = hosts.iter().find(|it| it.name == wanted || it.address == wanted) {
        return Ok(host.clone());
    }
    let names: Vec<&str> = hosts.iter().map(|host| host.name.as_str()).collect();
    Err(miette!(help = suggest(wanted, &names), "{} knows no host \"{wanted}\"", archive.path().display()))
}

fn chosen(wanted: &[String]) -> Result<Vec<&'static str>, Report> {
    let all = controls();
    if wanted.is_empty() {
        return Ok(all);
    }
    let find = |name: &String| all.iter().copied().find(|known| known == name);
    let unknown =
        |name: &String| miette!(help = suggest(name, &all), "there is no controller called \"{name}\"");
    wanted.iter().map(|name| find(name).ok_or_else(|| unknown(name))).collect()
}

fn forecasts(path: &Path, size: Bytes, chosen: &[&'static str]) -> Result<Vec<Forecast>, Failure> {
    let stop = interrupt::listen()?;
    let mut forecasts = forecast(path, size, chosen, stop).map_err(|error| match error {
        RunError::Scenario(error) => Failure::from(error),
        RunError::Interrupted => Failure::Interrupted("interrupted".to_owned()),
        error @ RunError::Capture(_) => miette!("{error}").into(),
    })?;
    forecasts.sort_by(|one, other| other.p50.total_cmp(&one.p50));
    Ok(forecasts)
}

fn export(archive: &Archive, host: &Known, now: Moment) -> Result<(), Failure> {
    say!("quantity,time_s,value");
    for quantity in Quantity::ALL {
        let all = archive.samples(host.id, quantity, (Moment(i64::MIN), now), usize::MAX);
        for sample in all.map_err(|error| explained(&error))? {
            let (seconds, us) = (sample.at.0.div_euclid(1_000_000), sample.at.0.rem_euclid(1_000_000));
            say!("{},{seconds}.{us:06},{}", quantity.name(), sample.value);
        }
    }
    Ok(())
}

/// A time as people say it.
fn spoken(span: Duration) -> String {
    let seconds = span.as_secs_f64();
    match seconds {
        0.0..120.0 => format!("{seconds:.0} s"),
        120.0..7200.0 => format!("{:.0} min", seconds / 60.0),
        _ => format!("{:.1} h", seconds / 3600.0),
    }
}

fn from(basis: &Basis) -> String {
    let Basis { samples, age, interval } = basis;
    format!("{samples} samples over {}, the newest {} old", spoken(*interval), spoken(*age))
}

fn print(host: &Known, advice: &PathAdvice, forecasts: Option<&[Forecast]>, command: &Advise) {
    let mut rows = Vec::new();
    let mut add = |what: &str, said: Result<(String, Basis), String>| {
        rows.push(match said {
            Ok((value, basis)) => vec![what.to_owned(), value, from(&basis)],
            Err(reason) => vec![what.to_owned(), "unknown".to_owned(), reason],
        });
    };
    let why = |unknown: &Unknown| unknown.to_string();
    let sized = |it: &Advised<Bytes>| (format!("{} B", it.value.0), it.basis);
    add("buffer of the socket", advice.buffer.as_ref().map(sized).map_err(why));
    let window = advice.first_window.as_ref().map(|it| (format!("{} segments", it.value), it.basis));
    add("first window", window.map_err(why));
    add(&format!("burst every {}", command.period), advice.burst.as_ref().map(sized).map_err(why));
    rows.push(match &advice.without_control {
        Ok(it) => {
            vec![
                "without congestion control".to_owned(),
                format!("window of {} B", it.value.0),
                from(&it.basis),
            ]
        }
        Err(against) => vec!["without congestion control".to_owned(), "no".to_owned(), against.to_string()],
    });
    say!("{} ({})\n", host.name, host.address);
    say!("{}", plain_table(&["what", "advice", "from"], rows.into_iter()));
    let Some(forecasts) = forecasts else { return };
    say!("\n{} B over the measured path, simulated:\n", command.size.0);
    let mbit = |bps: f64| format!("{:.3}", bps / 1e6);
    let rows = forecasts.iter().map(|it| {
        let end = if it.complete { "" } else { " (has not ended)" };
        vec![format!("{}{end}", it.control), mbit(it.p50), mbit(it.least), mbit(it.greatest)]
    });
    say!("{}", plain_table(&["controller", "Mbit/s", "least", "greatest"], rows));
    if let Ok(path) = &advice.path {
        let Path { capacity, rtt, queue, queue_seen, loss } = path.value;
        let seen = if queue_seen { "" } else { " (not seen: one bandwidth-delay product)" };
        say!(
            "\nThe path: {} Mbit/s, {:.3} ms, queue {queue:.0} B{seen}, loss {loss}; {}",
            mbit(capacity),
            rtt * 1e3,
            from(&path.basis)
        );
    }
}

fn document(
    host: &Known,
    advice: &PathAdvice,
    forecasts: Option<&[Forecast]>,
    command: &Advise,
    step: Option<(Moment, i64)>,
) -> Value {
    let basis = |it: &Basis| {
        json!({
            "samples": it.samples,
            "age_s": it.age.as_secs_f64(),
            "interval_s": it.interval.as_secs_f64(),
        })
    };
    let value = |it: Value, from: &Basis| json!({ "value": it, "basis": basis(from) });
    let unknown = |reason: String| json!({ "unknown": reason });
    let sized = |it: &Result<Advised<Bytes>, Unknown>| match it {
        Ok(it) => value(json!(it.value.0), &it.basis),
        Err(reason) => unknown(reason.to_string()),
    };
    let throughputs = forecasts.map(|all| {
        let one = |it: &Forecast| {
            json!({
                "control": it.control, "bps": it.p50, "least_bps": it.least, "greatest_bps": it.greatest,
                "complete": it.complete,
            })
        };
        all.iter().map(one).collect::<Vec<Value>>()
    });
    json!({
        "host": host.name,
        "address": host.address,
        "buffer_bytes": sized(&advice.buffer),
        "first_window_segments": match &advice.first_window {
            Ok(it) => value(json!(it.value), &it.basis),
            Err(reason) => unknown(reason.to_string()),
        },
        "burst_bytes": sized(&advice.burst),
        "burst_period_s": command.period.as_secs_f64(),
        "without_control_window_bytes": match &advice.without_control {
            Ok(it) => value(json!(it.value.0), &it.basis),
            Err(against) => json!({ "against": against.to_string() }),
        },
        "path": match &advice.path {
            Ok(it) => value(
                json!({
                    "capacity_bps": it.value.capacity, "rtt_s": it.value.rtt, "queue_bytes": it.value.queue,
                    "queue_seen": it.value.queue_seen, "loss": it.value.loss,
                }),
                &it.basis,
            ),
            Err(reason) => unknown(reason.to_string()),
        },
        "size_bytes": command.size.0,
        "throughput": throughputs,
        "clock_set_by_s": step.map(|(_, us)| us as f64 * 1e-6),
    })
}

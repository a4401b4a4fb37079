//! `ackclock advise`.

use super::monitor::explained;
use crate::args::Advise;
use crate::failure::Failure;
use crate::interrupt;
use crate::view::table::plain_table;
use ackclock_monitor::{
    Archive, AskError, Forecast, Known, Moment, Path, Quantity, advice_document, ask, controls, encoded,
    forecast, forecast_document, report,
};
use ackclock_scenario::suggest;
use ackclock_study::run::RunError;
use ackclock_units::Bytes;
use miette::{Report, miette};
use serde_json::Value;

pub(crate) fn run(command: &Advise) -> Result<(), Failure> {
    let document = match &command.from {
        Some(monitor) => asked(command, monitor)?,
        None => {
            let archive = Archive::open(&command.archive).map_err(|error| explained(&error))?;
            let host = find(&archive, &command.host)?;
            if command.csv {
                return export(&archive, &host);
            }
            if command.hours {
                return export_hours(&archive, &host);
            }
            derived(command, &archive, &host)?
        }
    };
    if command.json {
        say!("{document}");
    } else {
        print(&document, command);
    }
    Ok(())
}

/// The advice, and forecasts if the path is known, from an archive.
fn derived(command: &Advise, archive: &Archive, host: &Known) -> Result<Value, Failure> {
    let now = Moment::now();
    let chosen = chosen(&command.controls)?;
    let report = report(archive, host, command.every, now).map_err(|error| explained(&error))?;
    let mut document = advice_document(&report, now);
    let made = match &report.advice.path {
        Ok(path) => Some(forecast_document(command.size, &forecasts(&path.value, command.size, &chosen)?)),
        Err(_) => None,
    };
    add(&mut document, command.size, made.as_ref());
    Ok(document)
}

/// The same from a running monitor, which also makes the forecasts.
fn asked(command: &Advise, monitor: &str) -> Result<Value, Failure> {
    let monitor = monitor.trim_end_matches('/');
    let get = |path: String| -> Result<Value, Failure> {
        let content = ask(monitor, &path).map_err(|error| refused(&error))?;
        let foreign = |_| miette!(help = "is this a monitor's address?", "{monitor} answers no JSON");
        Ok(serde_json::from_str(&content).map_err(foreign)?)
    };
    let host = encoded(&command.host);
    // The older of its two names, which monitors of earlier versions know, too.
    let every = encoded(&command.every.to_string());
    let mut document = get(format!("/api/v1/advice?host={host}&period={every}"))?;
    let made = if document["path"]["value"].is_object() {
        let mut path = format!("/api/v1/forecast?host={host}&size={}", encoded(&command.size.to_string()));
        for control in &command.controls {
            path.push_str(&format!("&control={}", encoded(control)));
        }
        Some(get(path)?)
    } else {
        None
    };
    add(&mut document, command.size, made.as_ref());
    Ok(document)
}

fn refused(error: &AskError) -> Report {
    let help = match error {
        AskError::Address(_) => "for example --from http://127.0.0.1:5311",
        AskError::Silent { .. } => "a monitor publishes if its file has a [publish]; it may be busy, too",
        AskError::Foreign(_) => "is this a monitor's address?",
        AskError::Refused { .. } => "the monitor that was asked knows only its own hosts and names",
    };
    miette!(help = help, "{error}")
}

/// Adds forecasts to advice, the best first.
fn add(document: &mut Value, size: Bytes, made: Option<&Value>) {
    let mut all = made.and_then(|made| made["throughput"].as_array()).cloned();
    if let Some(all) = &mut all {
        let bps = |it: &Value| it["bps"].as_f64().unwrap_or(0.0);
        all.sort_by(|one, other| bps(other).total_cmp(&bps(one)));
    }
    document["size_bytes"] = size.0.into();
    document["throughput"] = all.into();
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
    forecast(path, size, chosen, stop).map_err(|error| match error {
        RunError::Scenario(error) => Failure::from(error),
        RunError::Interrupted => Failure::Interrupted("interrupted".to_owned()),
        error @ (RunError::Capture(_) | RunError::Unfit(_)) => miette!("{error}").into(),
    })
}

/// An instant as CSV has it: seconds since 1970.
fn seconds(at: Moment) -> String {
    format!("{}.{:06}", at.0.div_euclid(1_000_000), at.0.rem_euclid(1_000_000))
}

fn export(archive: &Archive, host: &Known) -> Result<(), Failure> {
    say!("quantity,time_s,value");
    let all = (Moment(i64::MIN), Moment::now());
    for quantity in Quantity::ALL {
        for sample in
            archive.samples(host.id, quantity, all, usize::MAX).map_err(|error| explained(&error))?
        {
            say!("{},{},{}", quantity.name(), seconds(sample.at), sample.value);
        }
    }
    Ok(())
}

fn export_hours(archive: &Archive, host: &Known) -> Result<(), Failure> {
    say!("quantity,time_s,samples,mean,least,greatest");
    for quantity in Quantity::ALL {
        for hour in archive.hours(host.id, quantity).map_err(|error| explained(&error))? {
            let (name, from) = (quantity.name(), seconds(hour.from));
            say!("{name},{from},{},{},{},{}", hour.samples, hour.mean, hour.least, hour.greatest);
        }
    }
    Ok(())
}

/// A time as people say it.
fn spoken(seconds: f64) -> String {
    match seconds {
        0.0..120.0 => format!("{seconds:.0} s"),
        120.0..7200.0 => format!("{:.0} min", seconds / 60.0),
        _ => format!("{:.1} h", seconds / 3600.0),
    }
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(0.0)
}

fn from(advised: &Value) -> String {
    let basis = &advised["basis"];
    let (interval, age) = (spoken(number(&basis["interval_s"])), spoken(number(&basis["age_s"])));
    format!("{} samples over {interval}, the newest {age} old", number(&basis["samples"]))
}

/// What a document says, without control characters: it may come from elsewhere.
fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().chars().filter(|it| !it.is_control()).collect()
}

fn mbit(bps: &Value) -> String {
    format!("{:.3}", number(bps) / 1e6)
}

fn print(document: &Value, command: &Advise) {
    let row = |what: &str, key: &str, before: &str, behind: &str| {
        let told = &document[key];
        match (&told["value"], &told["against"]) {
            (Value::Number(value), _) => {
                vec![what.to_owned(), format!("{before}{value} {behind}"), from(told)]
            }
            (_, Value::String(_)) => vec![what.to_owned(), "no".to_owned(), text(&told["against"])],
            _ => vec![what.to_owned(), "unknown".to_owned(), text(&told["unknown"])],
        }
    };
    let mut rows = vec![
        row("buffer of the socket", "buffer_bytes", "", "B"),
        row("first window", "first_window_segments", "", "segments"),
        row("burst", "burst_bytes", "", &format!("B/{}", command.every)),
        row("without congestion control", "without_control_window_bytes", "window of ", "B"),
    ];
    let losses = &document["losses_begin"];
    if losses.is_object() {
        let said = match (&losses["above_bps"], &losses["below_bps"]) {
            (Value::Null, below) => format!("below {} Mbit/s", mbit(below)),
            (above, Value::Null) => format!("above {} Mbit/s", mbit(above)),
            (above, below) => format!("between {} and {} Mbit/s", mbit(above), mbit(below)),
        };
        let from = format!("a search, {} ago", spoken(number(&losses["age_s"])));
        rows.push(vec!["losses begin".to_owned(), said, from]);
    }
    say!("{} ({})\n", text(&document["host"]), text(&document["address"]));
    say!("{}", plain_table(&["what", "advice", "from"], rows.into_iter()));
    print_forecasts(document);
    if let Some(by) = document["clock_set_by_s"].as_f64() {
        tell!("the system's clock was set by {by} s within the last 15 minutes: ages may be wrong");
    }
}

fn print_forecasts(document: &Value) {
    let Some(forecasts) = document["throughput"].as_array() else { return };
    say!("\n{} B over the measured path, simulated:\n", number(&document["size_bytes"]));
    let rows = forecasts.iter().map(|it| {
        let end = if it["complete"] == false { " (has not ended)" } else { "" };
        let control = format!("{}{end}", text(&it["control"]));
        vec![control, mbit(&it["bps"]), mbit(&it["least_bps"]), mbit(&it["greatest_bps"])]
    });
    say!("{}", plain_table(&["controller", "Mbit/s", "least", "greatest"], rows));
    let path = &document["path"]["value"];
    if path.is_object() {
        let seen = if path["queue_seen"] == true { "" } else { " (not seen: one bandwidth-delay product)" };
        say!(
            "\nThe path: {} Mbit/s, {:.3} ms, queue {:.0} B{seen}, loss {}; {}",
            mbit(&path["capacity_bps"]),
            number(&path["rtt_s"]) * 1e3,
            number(&path["queue_bytes"]),
            number(&path["loss"]),
            from(&document["path"])
        );
    }
}

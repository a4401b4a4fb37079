//! The page: what is advised, and how the path was.

use super::chart::{Points, chart};
use crate::advice::SPAN;
use crate::archive::{Archive, ArchiveError, Known};
use crate::asking::encoded;
use crate::document::advice_document;
use crate::reading::report;
use crate::sample::{Moment, Quantity};
use ackclock_units::Duration;
use minijinja::{Environment, Value, context};

/// The page's style: it comes from here, as nothing is taken from elsewhere.
pub(super) const STYLE: &str = include_str!("style.css");
const PAGE: &str = include_str!("page.html");
/// How a value is written.
type Tell = fn(f64) -> String;
/// What is drawn.
const DRAWN: [(Quantity, &str, Tell); 6] = [
    (Quantity::Rtt, "Round-trip time", milliseconds),
    (Quantity::SocketRtt, "Round-trip time of all sockets", milliseconds),
    (Quantity::Capacity, "Capacity", megabits),
    (Quantity::Throughput, "Throughput of transfers", megabits),
    (Quantity::ClosingWindow, "Closing windows", segments),
    (Quantity::Retransmissions, "Retransmissions of this host", segments),
];
/// The samples of a day at most, of each quantity.
const MOST: usize = 90_000;
/// The period of bursts whose size is told.
const BURST: Duration = Duration::from_millis(10);
/// Routes that are shown.
const ROUTES: usize = 10;

fn milliseconds(seconds: f64) -> String {
    format!("{:.2} ms", seconds * 1e3)
}

fn megabits(bps: f64) -> String {
    format!("{:.2} Mbit/s", bps / 1e6)
}

fn segments(value: f64) -> String {
    format!("{value:.0}")
}

/// The page of a host, or of the only one; a list if there are several.
///
/// # Errors
///
/// [`ArchiveError`] if the archive cannot be read.
pub(super) fn page(archive: &Archive, host: Option<&Known>, now: Moment) -> Result<String, ArchiveError> {
    let hosts = archive.hosts()?;
    let chosen = host.or(if hosts.len() == 1 { hosts.first() } else { None });
    let link = |it: &Known| context! { name => &it.name, address => &it.address, query => encoded(&it.name) };
    let listed: Vec<Value> = hosts.iter().map(link).collect();
    let shown = chosen.map(|host| shown(archive, host, now)).transpose()?;
    let mut environment = Environment::new();
    // The name's ending makes all texts escaped. The template is a part of the program, so it is right.
    let made = environment
        .add_template("page.html", PAGE)
        .and_then(|()| environment.get_template("page.html"))
        .and_then(|template| template.render(context! { hosts => listed, host => shown }));
    Ok(made.unwrap_or_else(|error| format!("the page cannot be made: {error}")))
}

/// All that is shown of a host.
fn shown(archive: &Archive, host: &Known, now: Moment) -> Result<Value, ArchiveError> {
    let advice = advice_document(&report(archive, host, BURST, now)?, now);
    let mut charts = Vec::new();
    for (quantity, title, tell) in DRAWN {
        let seconds = |at: Moment| at.0 as f64 * 1e-6;
        let day = archive.samples(host.id, quantity, (now.before(SPAN), now), MOST)?;
        let hours = archive.hours(host.id, quantity)?;
        let day: Points = day.iter().map(|it| (seconds(it.at), it.value)).collect();
        let history: Points = hours.iter().map(|it| (seconds(it.from), it.mean)).collect();
        let draw = |points: &Points, from: f64, what: &str| {
            let label = format!("{title}, {what}");
            let svg = chart(points, (from, seconds(now)), &label, tell);
            (!points.is_empty()).then(|| context! { label, svg => Value::from_safe_string(svg) })
        };
        charts.extend(draw(&day, seconds(now.before(SPAN)), "the last day"));
        let first = history.first().map_or(0.0, |it| it.0);
        charts.extend(draw(&history, first, "means of hours, until two weeks ago"));
    }
    let routes: Vec<Value> = archive
        .routes(host.id, ROUTES)?
        .iter()
        .map(|(at, route)| {
            let hours = now.since(*at).as_secs_f64() / 3600.0;
            context! { age => format!("{hours:.1} h"), hops => route.to_string(), reached => route.reached }
        })
        .collect();
    Ok(context! {
        name => &host.name, address => &host.address, rows => rows(&advice), charts => charts, routes => routes,
    })
}

/// The advice as rows: what, the value, from what.
fn rows(advice: &serde_json::Value) -> Vec<[String; 3]> {
    let names = [
        ("buffer_bytes", "buffer of the socket", " B"),
        ("first_window_segments", "first window", " segments"),
        ("burst_bytes", "burst every 10 ms", " B"),
        ("without_control_window_bytes", "window without congestion control", " B"),
    ];
    let row = |(key, what, unit): (&str, &str, &str)| {
        let told = &advice[key];
        match told["value"].as_u64() {
            Some(value) => {
                let number = |key| told["basis"][key].as_f64().unwrap_or(0.0);
                let from = format!("{} samples, the newest {:.0} s old", number("samples"), number("age_s"));
                [what.to_owned(), format!("{value}{unit}"), from]
            }
            None => {
                let word = if told["against"].is_string() { "no" } else { "unknown" };
                let why = told["against"].as_str().or(told["unknown"].as_str()).unwrap_or_default();
                [what.to_owned(), word.to_owned(), why.to_owned()]
            }
        }
    };
    names.into_iter().map(row).collect()
}

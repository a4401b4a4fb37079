//! The report: one HTML file that needs no other file.

use super::assets::{CHARTS_CSS, STYLE_CSS, UPLOT_CSS, UPLOT_JS, report_script};
use super::charts::axis::grouped;
use super::charts::chart::Chart;
use super::charts::heat::{self, Heat};
use super::figures::{self, Tables};
use super::gallery::{Gallery, MAX_PICTURED};
use super::names::{plain, seeded, short};
use super::packets;
use super::request::Request;
use super::seen::measurements;
use super::shown::{PointView, shown};
use ackclock_scenario::Sweep;
use ackclock_scenario::results::{Evidence, Expectation, PointResult};
use miette::{IntoDiagnostic, Report};
use minijinja::Environment;
use minijinja::value::Serde;
use serde::Serialize;
use std::collections::BTreeSet;

const TEMPLATE: &str = include_str!("report.html");
/// How every page begins: its title, and its style.
const HEAD: &str = include_str!("head.html");
/// What pages have in common: pictures, and their scripts.
const PARTS: &str = include_str!("parts.html");

/// A chart in a page: the still picture, and the data from which the page's script draws one that answers.
#[derive(Serialize)]
pub struct Figure {
    svg: String,
    data: String,
}

impl Figure {
    /// Of this chart.
    pub fn of(chart: &Chart) -> Figure {
        Figure { svg: chart.to_inline(), data: chart.to_script() }
    }
}

/// Fills a template that begins as every page does. Texts are escaped, because its name ends in .html.
///
/// # Errors
///
/// If the template is wrong, or asks for data that is not there.
pub fn fill(template: &str, data: impl Serialize) -> Result<String, Report> {
    let mut templates = Environment::new();
    let safe = |text: &str| minijinja::Value::from_safe_string(text.to_owned());
    templates.add_global("style", safe(&[STYLE_CSS, UPLOT_CSS, CHARTS_CSS].join("\n")));
    templates.add_global("frames", safe(UPLOT_JS));
    templates.add_global("script", safe(&report_script()));
    templates.add_template("head.html", HEAD).into_diagnostic()?;
    templates.add_template("parts.html", PARTS).into_diagnostic()?;
    templates.add_template("page.html", template).into_diagnostic()?;
    let template = templates.get_template("page.html").into_diagnostic()?;
    template.render(Serde(data)).into_diagnostic()
}

/// The data of the template.
#[derive(Serialize)]
struct Page<'a> {
    title: &'a str,
    description: Option<&'a str>,
    summary: String,
    headlines: Vec<Headline>,
    verdicts: Vec<Verdict<'a>>,
    /// Names of points, and what to know before their numbers are believed.
    warnings: Vec<(&'a str, &'a str)>,
    tables: Vec<Tables>,
    /// True if the rows of the first table have the colours of the curves.
    swatches: bool,
    /// Are there points that differ in nothing but their seed?
    seeded: bool,
    across: Vec<Figure>,
    heats: Vec<Heat>,
    overlaid: Vec<Figure>,
    sections: Vec<Section>,
    unpictured: usize,
    window: Option<[f64; 2]>,
    text: &'a str,
    settings: &'a [String],
    command: &'a str,
    captured: bool,
    version: &'static str,
}

/// A number at the top of the report of a single run.
#[derive(Serialize)]
struct Headline {
    value: String,
    unit: &'static str,
    what: String,
}

/// The section of a point.
#[derive(Serialize)]
struct Section {
    name: String,
    anchor: String,
    charts: Vec<Figure>,
    small: Vec<Figure>,
    /// The data of its animations.
    packets: Vec<String>,
}

/// An expectation and its results.
#[derive(Serialize)]
struct Verdict<'a> {
    that: &'a str,
    held: usize,
    of: usize,
    /// The names of the points at which it fails, with the reason if it has no value there.
    fails_at: Vec<(&'a str, String)>,
}

/// Writes the page.
///
/// # Errors
///
/// If the template is wrong.
pub fn page(
    request: &Request,
    sweep: &Sweep,
    results: &[PointResult],
    over_points: &[Expectation],
    gallery: &Gallery,
) -> Result<String, Report> {
    let points = &shown(results)[..];
    let scenario = sweep.points.first().map(|point| point.scenario.to_json()).unwrap_or_default();
    let page = Page {
        title: sweep.points.first().map_or("", |point| &point.scenario.name),
        description: scenario["description"].as_str(),
        summary: summary(sweep, results, &scenario),
        headlines: headlines(results),
        verdicts: verdicts(points, over_points),
        warnings: points
            .iter()
            .flat_map(|point| point.result.warnings.iter().map(|it| (point.name.as_str(), it.as_str())))
            .collect(),
        tables: figures::all(sweep, results),
        swatches: !gallery.overlaid.is_empty() && !seeded(results),
        seeded: seeded(results),
        across: gallery.across.iter().map(Figure::of).collect(),
        heats: heat::maps(sweep, points),
        overlaid: gallery.overlaid.iter().map(Figure::of).collect(),
        sections: sections(points, gallery),
        unpictured: points.len().saturating_sub(MAX_PICTURED),
        window: points.first().and_then(PointView::window),
        text: &request.text,
        settings: &request.settings,
        command: &request.command,
        captured: request.captured,
        version: env!("CARGO_PKG_VERSION"),
    };
    fill(TEMPLATE, page)
}

fn verdicts<'a>(points: &'a [PointView<'_>], over_points: &'a [Expectation]) -> Vec<Verdict<'a>> {
    let mut verdicts: Vec<Verdict<'a>> = Vec::new();
    for shown in points {
        for Expectation { that, holds, reason, seen } in &shown.result.expectations {
            let place = verdicts.iter().position(|known| known.that == that).unwrap_or_else(|| {
                verdicts.push(Verdict { that, held: 0, of: 0, fails_at: Vec::new() });
                verdicts.len() - 1
            });
            let verdict = &mut verdicts[place];
            verdict.of += 1;
            verdict.held += usize::from(*holds);
            if !holds {
                verdict.fails_at.push((&shown.name, why(reason.as_ref(), seen)));
            }
        }
    }
    verdicts.extend(over_points.iter().map(|Expectation { that, holds, reason, seen }| Verdict {
        that,
        held: usize::from(*holds),
        of: 1,
        fails_at: if *holds { Vec::new() } else { vec![("", why(reason.as_ref(), seen))] },
    }));
    verdicts
}

/// Why an expectation does not hold.
fn why(reason: Option<&String>, seen: &[Evidence]) -> String {
    reason.cloned().unwrap_or_else(|| measurements(seen, false))
}

fn sections(points: &[PointView<'_>], gallery: &Gallery) -> Vec<Section> {
    let pictured = points.iter().zip(&gallery.points).filter(|(_, charts)| !charts.is_empty());
    pictured
        .map(|(shown, charts)| {
            let (small, large): (Vec<_>, Vec<_>) = charts.iter().partition(|chart| chart.small);
            Section {
                name: shown.name.clone(),
                anchor: shown.folder.clone(),
                charts: large.into_iter().map(Figure::of).collect(),
                small: small.into_iter().map(Figure::of).collect(),
                packets: packets::animations(shown),
            }
        })
        .collect()
}

/// The main numbers of a single run.
fn headlines(results: &[PointResult]) -> Vec<Headline> {
    let [result] = results else { return Vec::new() };
    let total: f64 = result.flows.iter().map(|flow| flow.goodput_bps).sum();
    let (value, unit) = match total {
        total if total >= 1e9 => (format!("{:.3}", total / 1e9), "Gbit/s"),
        total if total >= 1e6 => (format!("{:.1}", total / 1e6), "Mbit/s"),
        total => (format!("{:.1}", total / 1e3), "kbit/s"),
    };
    let mut headlines = vec![Headline { value, unit, what: "goodput".to_owned() }];
    // The longest queue: that of the bottleneck, whatever its name is.
    let busiest = result.links.iter().max_by(|a, b| a.queue_mean.total_cmp(&b.queue_mean));
    if let Some(link) = busiest {
        let mut add = |value, unit, what: &str| {
            headlines.push(Headline { value, unit, what: format!("{what} {}", link.name) });
        };
        add(format!("{:.1}", link.utilisation * 100.0), "%", "utilisation of");
        add(format!("{:.0}", link.queue_mean), "packets", "mean queue at");
        add(
            if link.drops == 0 { "0".to_owned() } else { format!("{:.1e}", link.drop_rate) },
            "",
            "drop rate at",
        );
    }
    if let (Some(jain), true) = (result.jain, result.flows.len() > 1) {
        headlines.push(Headline { value: format!("{jain:.3}"), unit: "", what: "Jain’s index".to_owned() });
    }
    headlines
}

/// One paragraph that says what was run.
fn summary(sweep: &Sweep, results: &[PointResult], scenario: &serde_json::Value) -> String {
    let Some(first) = results.first() else { return String::new() };
    let mut sentences = vec![format!(
        "{} over {}, for {} s of simulated time.",
        capital(&flows(results)),
        topology(results, scenario),
        distinct(results, |result| result.duration_s.to_string())
    )];
    let rtts = results.iter().flat_map(|result| &result.flows).filter_map(|flow| flow.rtt_min_s);
    let (least, most) = rtts.fold((f64::INFINITY, 0.0_f64), |(low, high), rtt| (low.min(rtt), high.max(rtt)));
    match (least.is_finite(), most <= least * 1.01) {
        (false, _) => {}
        (true, true) => sentences.push(format!("The shortest round trip took {:.1} ms.", least * 1e3)),
        (true, false) => {
            let text = format!(
                "The flows’ shortest round trips took {:.1} ms to {:.1} ms.",
                least * 1e3,
                most * 1e3
            );
            sentences.push(text);
        }
    }
    if first.measure_s == [0.0, first.duration_s] {
        sentences.push("Averages are taken over the whole run.".to_owned());
    } else {
        let [from, to] = first.measure_s;
        sentences.push(format!("Averages are taken from {from} s to {to} s."));
    }
    if results.len() > 1 {
        sentences.push(points(sweep, results));
    } else {
        sentences.push(format!("The random streams’ seed is {}.", first.seed));
    }
    sentences.extend(figures::jitter(results));
    let segments: u64 = results.iter().map(|result| result.delivered_segments).sum();
    let delivered = grouped(segments as f64);
    sentences.push(format!("In all {delivered} segments were delivered."));
    tight(&sentences.join(" "))
}

/// Keeps numbers and their units on one line.
fn tight(text: &str) -> String {
    let mut tight = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let binds = letter == ' '
            && tight.ends_with(|before: char| before.is_ascii_digit())
            && letters.peek().is_some_and(|next| next.is_ascii_alphabetic());
        tight.push(if binds { '\u{a0}' } else { letter });
    }
    tight
}

/// The distinct values over all points, in their order.
fn distinct(results: &[PointResult], value: impl Fn(&PointResult) -> String) -> String {
    let mut seen = BTreeSet::new();
    let values: Vec<String> = results.iter().map(value).filter(|value| seen.insert(value.clone())).collect();
    match &values[..] {
        [] => String::new(),
        [one] => one.clone(),
        [rest @ .., last] if values.len() <= 6 => format!("{} or {last}", rest.join(", ")),
        [first, .., last] => format!("{first} to {last}"),
    }
}

fn flows(results: &[PointResult]) -> String {
    let Some(first) = results.first() else { return String::new() };
    let mut from = 0;
    let groups: Vec<String> = first
        .groups
        .iter()
        .enumerate()
        .map(|(number, group)| {
            let member = from;
            from += group.count;
            let word = |value: fn(&ackclock_scenario::results::FlowResult) -> &String| {
                distinct(results, |result| result.flows.get(member).map(value).cloned().unwrap_or_default())
            };
            let count = distinct(results, |result| {
                result.groups.get(number).map_or(0, |group| group.count).to_string()
            });
            let noun = if count == "1" { "flow" } else { "flows" };
            format!("{count} {noun} of {} ({})", word(|flow| &flow.control), word(|flow| &flow.recovery))
        })
        .collect();
    let mut text = listed(&groups);
    if !first.traffic.is_empty() {
        text += &format!(
            ", beside unresponsive traffic ({})",
            listed(&first.traffic.iter().map(|t| t.label.clone()).collect::<Vec<_>>())
        );
    }
    text
}

fn topology(results: &[PointResult], scenario: &serde_json::Value) -> String {
    let kind =
        scenario["topology"].as_object().and_then(|table| table.keys().next()).map_or("", String::as_str);
    let rate = |result: &PointResult| {
        result
            .links
            .first()
            .map_or_else(String::new, |link| ackclock_units::Rate::from_bps(link.rate_bps as u64).to_string())
    };
    let links = results.first().map_or(0, |result| result.links.len());
    match kind {
        "dumbbell" => format!("a dumbbell whose bottleneck carries {}", distinct(results, rate)),
        "parking_lot" => format!("a parking lot of {} hops of {}", links / 2, distinct(results, rate)),
        "leaf_spine" => format!("a leaf-spine fabric of {links} links"),
        _ => format!("a network of {links} links"),
    }
}

fn points(sweep: &Sweep, results: &[PointResult]) -> String {
    let axes: Vec<String> = sweep
        .axes
        .iter()
        .map(|axis| {
            let value = |result: &PointResult| result.parameters.get(axis).map(plain).unwrap_or_default();
            format!("{} ({})", short(axis), distinct(results, value))
        })
        .collect();
    let seeds: BTreeSet<u64> = results.iter().map(|result| result.seed).collect();
    let over = if axes.is_empty() { String::new() } else { format!(", over {}", listed(&axes)) };
    match seeds.len() {
        0 | 1 => format!("There are {} points{over}.", results.len()),
        n => format!("There are {} points{over}, with {n} seeds.", results.len()),
    }
}

fn listed(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

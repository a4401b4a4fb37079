//! The page about a capture, or about two: one HTML file that needs no other file.

use super::{Capture, pictures, rows};
use crate::failure::Failure;
use ackclock_study::trace::Connection;
use ackclock_view::report::{Figure, fill};
use serde::Serialize;

const TEMPLATE: &str = include_str!("report.html");

/// The data of the template.
#[derive(Serialize)]
struct Page {
    title: String,
    summaries: Vec<String>,
    /// More than one capture?
    beside: bool,
    /// Capture, number, ends, time and bytes of each connection.
    overview: Vec<[String; 7]>,
    connections: Vec<Section>,
    /// The number of connections that have no section.
    left_out: usize,
    version: &'static str,
}

/// The connections with one number, with their pictures and numbers.
#[derive(Serialize)]
struct Section {
    number: usize,
    seen: Vec<Seen>,
    charts: Vec<Figure>,
    /// The columns' names.
    heads: Vec<String>,
    /// A number's name, and its value in each direction of each.
    rows: Vec<(&'static str, Vec<String>)>,
}

/// A connection in one of the captures.
#[derive(Serialize)]
struct Seen {
    capture: String,
    a: String,
    b: String,
    elapsed: String,
}

/// Writes the page about captures. The first `most` connections have a section.
pub(super) fn page(captures: &[Capture], most: usize) -> Result<String, Failure> {
    let beside = captures.len() > 1;
    let names: Vec<&str> = captures.iter().map(|capture| capture.name.as_str()).collect();
    let numbers = pictures::numbers(captures);
    let shown = numbers.iter().take(most);
    let overviews = captures.iter().flat_map(|capture| {
        capture.traced.connections.iter().map(|connection| overview(&capture.name, connection))
    });
    let page = Page {
        title: names.join(" and "),
        summaries: captures.iter().map(|capture| summary(capture, beside)).collect(),
        beside,
        overview: overviews.collect(),
        connections: shown.map(|&number| section(captures, number)).collect(),
        left_out: numbers.len().saturating_sub(most),
        version: env!("CARGO_PKG_VERSION"),
    };
    Ok(fill(TEMPLATE, page)?)
}

fn summary(Capture { name, traced, .. }: &Capture, beside: bool) -> String {
    let carried = |connection: &&Connection| connection.directions.iter().any(|it| it.data_packets > 0);
    format!(
        "{}{} packets, {} of them TCP, in {} connections, {} of which carried data.",
        if beside { format!("{name}: ") } else { String::new() },
        traced.packets,
        traced.tcp_packets,
        traced.connections.len(),
        traced.connections.iter().filter(carried).count()
    )
}

fn overview(capture: &str, connection: &Connection) -> [String; 7] {
    let Connection { number, ends: [a, b], elapsed_s, directions: [there, back], .. } = connection;
    [
        capture.to_owned(),
        number.to_string(),
        a.to_string(),
        b.to_string(),
        format!("{elapsed_s:.3}"),
        there.unique_bytes.to_string(),
        back.unique_bytes.to_string(),
    ]
}

fn section(captures: &[Capture], number: usize) -> Section {
    let all = pictures::numbered(captures, number);
    let found = || captures.iter().zip(&all).filter_map(|(capture, it)| Some((capture, (*it)?)));
    let seen = found().map(|(capture, Connection { ends: [a, b], elapsed_s, .. })| Seen {
        capture: capture.name.clone(),
        a: a.to_string(),
        b: b.to_string(),
        elapsed: format!("{elapsed_s:.6}"),
    });
    let behind = |name: &str| if captures.len() > 1 { format!(", {name}") } else { String::new() };
    let heads = found()
        .flat_map(|(capture, _)| ["a to b", "b to a"].map(|way| format!("{way}{}", behind(&capture.name))));
    let mut numbers: Vec<(&'static str, Vec<String>)> = Vec::new();
    for direction in found().flat_map(|(_, connection)| &connection.directions) {
        for (place, (name, value)) in rows(direction).into_iter().enumerate() {
            match numbers.get_mut(place) {
                Some((_, values)) => values.push(value),
                None => numbers.push((name, vec![value])),
            }
        }
    }
    Section {
        number,
        seen: seen.collect(),
        charts: pictures::of(captures, number).iter().map(Figure::of).collect(),
        heads: heads.collect(),
        rows: numbers,
    }
}

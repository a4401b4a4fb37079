//! The page about a capture: one HTML file that needs no other file.

use super::pictures::Drawn;
use super::rows;
use crate::failure::Failure;
use ackclock_study::trace::{Connection, Trace};
use ackclock_view::report::{Figure, fill};
use serde::Serialize;

const TEMPLATE: &str = include_str!("report.html");

/// The data of the template.
#[derive(Serialize)]
struct Page<'a> {
    title: &'a str,
    summary: String,
    /// Number, ends, time and bytes of each connection.
    overview: Vec<[String; 6]>,
    connections: Vec<Section>,
    /// The number of connections that have no section.
    left_out: usize,
    version: &'static str,
}

/// A connection with its pictures and numbers.
#[derive(Serialize)]
struct Section {
    number: usize,
    a: String,
    b: String,
    elapsed: String,
    charts: Vec<Figure>,
    /// A number's name, and its value in either direction.
    rows: Vec<(&'static str, String, String)>,
}

/// Writes the page about the capture called `name`. The first `most` connections have a section.
pub(super) fn page(name: &str, traced: &Trace, drawn: &Drawn, most: usize) -> Result<String, Failure> {
    let shown = &traced.connections[..traced.connections.len().min(most)];
    let carried = |connection: &Connection| connection.directions.iter().any(|it| it.data_packets > 0);
    let page = Page {
        title: name,
        summary: format!(
            "{} packets, {} of them TCP, in {} connections, {} of which carried data.",
            traced.packets,
            traced.tcp_packets,
            traced.connections.len(),
            traced.connections.iter().filter(|it| carried(it)).count()
        ),
        overview: traced.connections.iter().map(overview).collect(),
        connections: shown.iter().map(|connection| section(connection, drawn)).collect(),
        left_out: traced.connections.len() - shown.len(),
        version: env!("CARGO_PKG_VERSION"),
    };
    Ok(fill(TEMPLATE, page)?)
}

fn overview(connection: &Connection) -> [String; 6] {
    let Connection { number, ends: [a, b], elapsed_s, directions: [there, back], .. } = connection;
    [
        number.to_string(),
        a.to_string(),
        b.to_string(),
        format!("{elapsed_s:.3}"),
        there.unique_bytes.to_string(),
        back.unique_bytes.to_string(),
    ]
}

fn section(connection: &Connection, drawn: &Drawn) -> Section {
    let Connection { number, ends: [a, b], elapsed_s, directions: [there, back], .. } = connection;
    let both = rows(there).into_iter().zip(rows(back));
    Section {
        number: *number,
        a: a.to_string(),
        b: b.to_string(),
        elapsed: format!("{elapsed_s:.6}"),
        charts: drawn.of(connection).iter().map(Figure::of).collect(),
        rows: both.map(|((name, there), (_, back))| (name, there, back)).collect(),
    }
}

//! Metrics in the text format of Prometheus, version 0.0.4.

use crate::archive::{Archive, ArchiveError};
use crate::reading::report;
use crate::sample::{Moment, Quantity};
use ackclock_units::Duration;
use std::fmt::Write;

/// The period of bursts whose size is told.
const BURST: Duration = Duration::from_millis(10);

/// What a quantity is, for people.
fn meaning(quantity: Quantity) -> &'static str {
    match quantity {
        Quantity::Rtt => "Round-trip time of the newest echo request.",
        Quantity::Lost => "Was the newest echo request lost?",
        Quantity::Capacity => "What the path carries, with headers, by the newest transfer.",
        Quantity::Throughput => "Payload over time of the newest transfer.",
        Quantity::Transferred => "Payload of the newest transfer.",
        Quantity::ClosingWindow => "Congestion window of the newest session when it ended.",
        Quantity::Waiting => "Longest time in queues that the newest transfer has seen.",
        Quantity::Sent => "What this host sends to all.",
        Quantity::Retransmissions => "Segments that this host retransmitted in the newest period.",
        Quantity::LossFree => "Greatest rate of the newest search at which nothing was lost.",
        Quantity::Lossy => "Smallest rate of the newest search at which something was lost.",
        Quantity::SocketRtt => "Median smoothed round-trip time of all sockets towards the host.",
        Quantity::SocketRetransmissions => "Segments that all sockets towards the host retransmitted.",
    }
}

/// A family of metrics: its name, what it is, and a value of each host.
fn family(text: &mut String, name: &str, help: &str, values: &[(String, f64)]) {
    if values.is_empty() {
        return;
    }
    // Writing to a text cannot fail.
    let _ = writeln!(text, "# HELP ackclock_{name} {help}\n# TYPE ackclock_{name} gauge");
    for (labels, value) in values {
        let _ = writeln!(text, "ackclock_{name}{{{labels}}} {value}");
    }
}

/// A label's value: backslashes, quotes and line feeds are escaped.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// All metrics of all hosts.
///
/// # Errors
///
/// [`ArchiveError`] if the archive cannot be read.
pub(super) fn metrics(archive: &Archive, now: Moment) -> Result<String, ArchiveError> {
    let (mut text, mut ages) = (String::new(), Vec::new());
    let hosts = archive.hosts()?;
    let labels =
        |name: &str, address: &str| format!("host=\"{}\",address=\"{}\"", escaped(name), escaped(address));
    for quantity in Quantity::ALL {
        let mut values = Vec::new();
        for host in &hosts {
            let newest = archive.samples(host.id, quantity, (Moment(i64::MIN), now), 1)?;
            let Some(newest) = newest.last() else { continue };
            let labels = labels(&host.name, &host.address);
            let age = now.since(newest.at).as_secs_f64();
            ages.push((format!("{labels},quantity=\"{}\"", quantity.name()), age));
            values.push((labels, newest.value));
        }
        family(&mut text, quantity.name(), meaning(quantity), &values);
    }
    family(&mut text, "sample_age_seconds", "Age of the newest sample.", &ages);
    let mut advised: [Vec<(String, f64)>; 4] = Default::default();
    for host in &hosts {
        let labels = labels(&host.name, &host.address);
        let advice = report(archive, host, BURST, now)?.advice;
        let values = [
            advice.buffer.ok().map(|it| it.value.0 as f64),
            advice.first_window.ok().map(|it| it.value as f64),
            advice.burst.ok().map(|it| it.value.0 as f64),
            Some(advice.without_control.map_or(0.0, |it| it.value.0 as f64)),
        ];
        for (all, value) in advised.iter_mut().zip(values) {
            all.extend(value.map(|value| (labels.clone(), value)));
        }
    }
    let names = [
        ("advice_buffer_bytes", "Advised buffer of a socket."),
        ("advice_first_window_segments", "Advised first window."),
        ("advice_burst_bytes", "Advised burst every 10 ms."),
        ("advice_without_control_window_bytes", "Window without congestion control; 0: it must stay."),
    ];
    for ((name, help), values) in names.iter().zip(&advised) {
        family(&mut text, name, help, values);
    }
    Ok(text)
}

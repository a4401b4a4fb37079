//! Verdicts and their numbers in words.

use ackclock_sim::reproduce::{Case, Judged, Verdict};
use serde_json::Value;

pub(super) fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Holds => "holds",
        Verdict::Fails => "FAILS",
        Verdict::Untestable => "untestable",
    }
}

/// What the source says: in words, and the numbers that were looked at.
pub(super) fn published(claim: &Judged) -> String {
    let mut parts: Vec<String> = claim.published.iter().cloned().collect();
    for seen in claim.cases.iter().flat_map(|case| &case.seen).filter(|seen| seen.published) {
        let text = format!("{} = {}", seen.call.trim_start_matches("published."), number(&seen.value));
        if !parts.contains(&text) {
            parts.push(text);
        }
    }
    parts.join("\n")
}

/// What was measured, a line per case; why and what was tried where there is more to say.
pub(super) fn measured(claim: &Judged, markdown: bool) -> Vec<String> {
    let mut lines: Vec<String> =
        claim.cases.iter().map(|case| case_line(case, claim.cases.len() > 1, markdown)).collect();
    lines.retain(|line| !line.is_empty());
    lines.extend(claim.untestable.clone());
    if claim.verdict == Verdict::Fails {
        lines.extend(claim.tried.iter().map(|tried| format!("tried: {tried}")));
    }
    lines
}

fn case_line(case: &Case, several: bool, markdown: bool) -> String {
    let quote = if markdown { "`" } else { "" };
    let seen = case.seen.iter().filter(|seen| !seen.published && seen.depth == 0);
    let seen: Vec<_> = seen
        .map(|seen| {
            let std = seen.std.map(|std| format!(" ± {}", shown(std))).unwrap_or_default();
            format!("{quote}{}{quote} = {}{std}", seen.call, number(&seen.value))
        })
        .collect();
    let mark = if !several || case.holds { "" } else { "✗ " };
    format!("{mark}{}", seen.join(", "))
}

/// A number, or several, short enough for a table.
fn number(value: &Value) -> String {
    match value {
        Value::Number(number) => shown(number.as_f64().unwrap_or(f64::NAN)),
        Value::Object(entries) => entries
            .iter()
            .map(|(key, value)| format!("{key} {}", number(value)))
            .collect::<Vec<_>>()
            .join(", "),
        Value::Array(items) => items.iter().map(number).collect::<Vec<_>>().join(", "),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn shown(number: f64) -> String {
    let size = number.abs();
    match size {
        0.0 => "0".to_owned(),
        _ if !(1e-3..1e6).contains(&size) => format!("{number:.3e}"),
        _ if size >= 1000.0 => format!("{number:.0}"),
        _ => {
            let digits = (3 - size.log10().floor() as i32).clamp(0, 5) as usize;
            let text = format!("{number:.digits$}");
            if text.contains('.') {
                text.trim_end_matches('0').trim_end_matches('.').to_owned()
            } else {
                text
            }
        }
    }
}

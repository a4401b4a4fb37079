//! The numbers behind an expression, for people.

use ackclock_scenario::results::Evidence;
use serde_json::Value;

/// The calls of the expression itself with their values, in one line.
pub(crate) fn measurements(seen: &[Evidence], markdown: bool) -> String {
    let quote = if markdown { "`" } else { "" };
    let own = seen.iter().filter(|seen| !seen.published && seen.depth == 0);
    let shown = own.map(|seen| {
        let std = seen.std.map(|std| format!(" ± {}", shown(std))).unwrap_or_default();
        format!("{quote}{}{quote} = {}{std}", seen.call, number(&seen.value))
    });
    shown.collect::<Vec<_>>().join(", ")
}

/// A number, or several, short enough for a table.
pub(crate) fn number(value: &Value) -> String {
    match value {
        Value::Number(number) => shown(number.as_f64().unwrap_or(f64::NAN)),
        Value::Object(entries) => entries
            .iter()
            .map(|(key, value)| format!("{key} {}", number(value)))
            .collect::<Vec<_>>()
            .join(", "),
        Value::Array(items) => items.iter().map(number).collect::<Vec<_>>().join(", "),
        Value::String(text) => text.clone(),
        Value::Null => "no value".to_owned(),
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

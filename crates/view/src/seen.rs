//! The numbers behind an expression, for people.

use ackclock_scenario::results::Evidence;
use serde_json::Value;

/// An expression with more calls than this does not show all of them.
const MAX_CALLS: usize = 24;
/// It shows so many.
const SHOWN_CALLS: usize = 12;

/// The calls of the expression itself with their values, in one line.
pub fn measurements(seen: &[Evidence], markdown: bool) -> String {
    let quote = if markdown { "`" } else { "" };
    let own = || seen.iter().filter(|seen| !seen.published && seen.depth == 0);
    let count = own().count();
    let most = if count > MAX_CALLS { SHOWN_CALLS } else { count };
    let mut texts: Vec<String> = own()
        .take(most)
        .map(|seen| {
            let std = seen.std.map(|std| format!(" ± {}", shown(std))).unwrap_or_default();
            format!("{quote}{}{quote} = {}{std}", seen.call, number(&seen.value))
        })
        .collect();
    if count > most {
        texts.push(format!("and {} more", count - most));
    }
    texts.join(", ")
}

/// A number, or several, short enough for a table.
pub fn number(value: &Value) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn evidence(count: usize) -> Vec<Evidence> {
        let one = |at: usize| {
            let (call, value) = (format!("f({at})"), Value::from(at));
            Evidence { call, value, std: None, depth: 0, published: false }
        };
        (0..count).map(one).collect()
    }

    #[test]
    fn thousands_of_calls_are_counted_and_not_shown() {
        assert_eq!(measurements(&evidence(2), true), "`f(0)` = 0, `f(1)` = 1");
        assert_eq!(measurements(&evidence(24), false).matches(" = ").count(), 24);
        let many = measurements(&evidence(6000), false);
        assert!(many.starts_with("f(0) = 0, ") && many.ends_with("f(11) = 11, and 5988 more"), "{many}");
    }
}

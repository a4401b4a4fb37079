//! Values of expressions: from JSON, as numbers, and as they are written.

use minijinja::Value;

/// Converts JSON to a value of the language.
pub(crate) fn from_json(json: &serde_json::Value) -> Value {
    Value::from(minijinja::value::Serde(json))
}

pub(crate) fn number(value: &Value) -> Option<f64> {
    if value.is_number() { f64::try_from(value.clone()).ok() } else { None }
}

/// A value as written in an expression.
pub(crate) fn shown_value(value: &Value) -> String {
    match (number(value), value.as_str()) {
        (Some(number), _) => shown_number(number),
        (_, Some(text)) => format!("'{text}'"),
        _ => value.to_string(),
    }
}

/// A number as written in an expression, with six digits.
pub(crate) fn shown_number(number: f64) -> String {
    let rounded: f64 = format!("{number:.5e}").parse().unwrap_or(number);
    if rounded != 0.0 && !(1e-3..1e7).contains(&rounded.abs()) {
        format!("{rounded:e}")
    } else {
        rounded.to_string()
    }
}

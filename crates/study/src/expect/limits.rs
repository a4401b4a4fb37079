//! Bounds of expressions. No expression can exhaust the stack or the memory, or run for too long.
//!
//! The parser limits its own recursion. But a chain of operators or filters becomes a tree that is as deep as
//! the chain is long. And a filter such as `indent` makes texts of any length. An expression has no loops, so
//! its length limits its work, except for the functions that it defines and calls.

use super::call::refused;
use minijinja::value::{Rest, ValueKind};
use minijinja::{Environment, Error, State, Value};
use std::sync::LazyLock;

/// The largest length of an expression, bytes.
const MAX_BYTES: usize = 20_000;
/// The largest number of operators, filters, calls and brackets in an expression. The published experiments
/// need up to 200.
const MAX_OPERATORS: usize = 500;
/// The largest volume of a filter's argument or result: letters, entries, or the product of both.
const MAX_VOLUME: usize = 1_000_000;
/// The largest depth of definitions that call definitions.
pub(super) const MAX_DEPTH: usize = 30;
/// The largest number of calls of definitions in one evaluation.
pub(super) const MAX_CALLS: usize = 100_000;

/// Operators that are words.
const WORDS: [&str; 7] = ["and", "or", "not", "in", "is", "if", "else"];

/// Filters whose result can be larger than their arguments: by the product of these at most.
const GROWING: [&str; 6] = ["batch", "format", "indent", "join", "replace", "slice"];
/// Filters that go through all of a list.
const READING: [&str; 19] = [
    "chain", "dictsort", "first", "groupby", "items", "last", "length", "count", "list", "map", "max", "min",
    "reject", "reverse", "select", "sort", "sum", "unique", "zip",
];

/// Refuses an expression that is too long to be parsed safely.
pub(super) fn check(expression: &str) -> Result<(), Error> {
    if expression.len() > MAX_BYTES {
        return Err(refused(format!("it is longer than {MAX_BYTES} bytes"), "divide it into several"));
    }
    if operators(expression) > MAX_OPERATORS {
        return Err(refused(
            format!("it has more than {MAX_OPERATORS} operators, filters and calls"),
            "divide it into several",
        ));
    }
    Ok(())
}

/// The number of operators, outside of texts in quotes.
fn operators(expression: &str) -> usize {
    let (mut count, mut quote, mut escaped, mut word) = (0, None, false, String::new());
    for letter in expression.chars().chain([' ']) {
        if let Some(end) = quote {
            if !escaped && letter == end {
                quote = None;
            }
            escaped = !escaped && letter == '\\';
            continue;
        }
        if letter.is_alphanumeric() || letter == '_' {
            word.push(letter);
            continue;
        }
        count += usize::from(WORDS.contains(&word.as_str()));
        word.clear();
        match letter {
            '\'' | '"' => quote = Some(letter),
            letter if letter.is_whitespace() => {}
            _ => count += 1,
        }
    }
    count
}

/// The filters of the language without these bounds.
static UNBOUNDED: LazyLock<Environment<'static>> = LazyLock::new(Environment::new);

/// Puts bounds around the filters.
pub(super) fn add_all(env: &mut Environment<'static>) {
    for (name, growing) in
        GROWING.map(|name| (name, true)).into_iter().chain(READING.map(|name| (name, false)))
    {
        env.add_filter(name, move |_: &State<'_, '_>, given: Rest<Value>| -> Result<Value, Error> {
            let volume = given.iter().map(|value| volume(value, growing).max(1));
            let volume = volume.reduce(|one, other| match growing {
                true => one.saturating_mul(other),
                false => one.max(other),
            });
            if volume.is_some_and(|volume| volume > MAX_VOLUME) {
                return Err(refused(
                    format!("the filter {name} would work on more than {MAX_VOLUME} letters or entries"),
                    "give it less",
                ));
            }
            UNBOUNDED.empty_state().apply_filter(name, &given)
        });
    }
}

/// The number of letters and entries of a value. For a number that may be a count: the number.
fn volume(value: &Value, counts: bool) -> usize {
    match value.kind() {
        ValueKind::Number if counts => value.as_usize().unwrap_or(if value.is_integer() { 1 } else { 0 }),
        // Widths within a format.
        ValueKind::String if counts => value.as_str().map_or(0, |text| text.len().max(longest_number(text))),
        ValueKind::String => value.as_str().map_or(0, str::len),
        ValueKind::Seq | ValueKind::Iterable => {
            let Some(length) = value.len() else { return usize::MAX };
            if length > MAX_VOLUME {
                return length;
            }
            let Ok(entries) = value.try_iter() else { return length };
            let mut sum = length;
            for entry in entries {
                sum = sum.saturating_add(volume(&entry, false));
                if sum > MAX_VOLUME {
                    break;
                }
            }
            sum
        }
        _ => 1,
    }
}

/// The largest number that is written in a text.
fn longest_number(text: &str) -> usize {
    let numbers = text.split(|letter: char| !letter.is_ascii_digit()).filter(|digits| !digits.is_empty());
    numbers.map(|digits| digits.parse().unwrap_or(usize::MAX)).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_within_quotes_do_not_count() {
        assert_eq!(operators("goodput('a+b-c') > 0.9 * rate(\"x\\\"-y\")"), 7);
        assert_eq!(operators("a and not b or c in d"), 4);
        assert_eq!(operators("android + island"), 1);
    }
}

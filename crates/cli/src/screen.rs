//! What is printed, on standard output and on standard error.
//!
//! Labels and names come from scenarios, which may be somebody else's. Control characters in them never reach
//! a terminal.

use std::borrow::Cow;
use std::io::{ErrorKind, Write};

/// Prints a line. It is no failure if the reader has gone away, as in `| head`.
macro_rules! say {
    ($($format:tt)*) => {
        crate::screen::print(&format!($($format)*))
    };
}

/// Prints a line on standard error. It is no failure if nobody reads it.
macro_rules! tell {
    ($($format:tt)*) => {
        crate::screen::print_error(&format!($($format)*))
    };
}

pub(crate) fn print(text: &str) {
    match writeln!(std::io::stdout(), "{}", visible(text, false)) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => crate::failure::cannot_print(&error),
        _ => {}
    }
}

pub(crate) fn print_error(text: &str) {
    // Standard error is the last resort: where it fails there is nobody to tell.
    let _ = writeln!(std::io::stderr(), "{}", visible(text, true));
}

/// The text with control characters spelled out as JSON spells them, except for line feeds and tabs. Colours
/// may stay where messages have them: they do no harm.
fn visible(text: &str, colours: bool) -> Cow<'_, str> {
    let harmful = |letter: char| (letter.is_control() && !matches!(letter, '\n' | '\t')) || turns(letter);
    if !text.contains(harmful) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        if colours && let Some(length) = colour(rest) {
            shown.push_str(&rest[..length]);
            rest = &rest[length..];
            continue;
        }
        if harmful(letter) {
            shown.push_str(&format!("\\u{:04x}", u32::from(letter)))
        } else {
            shown.push(letter)
        }
        rest = &rest[letter.len_utf8()..];
    }
    Cow::Owned(shown)
}

/// Does this letter turn the direction of what follows? So a line could show something other than it says.
fn turns(letter: char) -> bool {
    matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The length of the colour code (ECMA-48, SGR) with which the text begins, if it does.
fn colour(text: &str) -> Option<usize> {
    let inside = text.strip_prefix("\u{1b}[")?;
    let length = inside.find(|letter: char| !(letter.is_ascii_digit() || letter == ';'))?;
    inside[length..].starts_with('m').then_some(length + 3)
}

#[cfg(test)]
mod tests {
    use super::visible;

    #[test]
    fn control_characters_are_spelled_out() {
        assert_eq!(visible("a\tb\nç", false), "a\tb\nç");
        assert_eq!(
            visible("\u{1b}[31mred\u{1b}]0;title\u{7}", false),
            "\\u001b[31mred\\u001b]0;title\\u0007"
        );
        assert_eq!(visible("\u{1b}[1;31mred\u{1b}[0m\u{1b}[2J", true), "\u{1b}[1;31mred\u{1b}[0m\\u001b[2J");
        assert_eq!(visible("\u{202e}txet\r", true), "\\u202etxet\\u000d");
        assert_eq!(visible("\u{1b}", true), "\\u001b");
    }
}

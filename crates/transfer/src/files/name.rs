//! Names that a file may have at its receiver.

use super::PART;
use std::fmt;

/// The longest name, bytes: with [`PART`] a file system's 255 suffice.
const MAX_NAME: usize = 240;

/// Why a name is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WrongName(&'static str);

impl fmt::Display for WrongName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for WrongName {}

/// A base name of a visible file, and nothing that leads elsewhere or controls a terminal.
///
/// # Errors
///
/// [`WrongName`] with what is wrong.
pub fn check_name(name: &str) -> Result<(), WrongName> {
    // Marks that change the direction of text make a name look like another one (Unicode 9, section 3.3).
    let turns = |letter| matches!(letter, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let wrong = match name {
        "" => "it is empty",
        _ if name.contains('/') || name.contains('\\') => "it names a directory",
        _ if name.starts_with('.') => "it begins with a dot, so it would be hidden; give it another name",
        _ if name.chars().any(|letter| letter.is_control() || turns(letter)) => "it has control characters",
        _ if name.len() > MAX_NAME => "it is longer than 240 bytes",
        _ if name.ends_with(PART) => "it is the name of an unfinished transfer",
        _ => return Ok(()),
    };
    Err(WrongName(wrong))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        for name in ["file", "a b.tar.gz", "-x", "été", "a..b", "CON"] {
            assert_eq!(check_name(name), Ok(()), "{name}");
        }
        let long = "x".repeat(241);
        for name in [
            "",
            ".",
            "..",
            "../x",
            "/etc/passwd",
            "a/b",
            "a\\b",
            ".bashrc",
            "a\nb",
            "a\0",
            "\u{1b}[2J",
            "a\u{9b}",
            "gpj\u{202e}exe",
            "x.ackclock.part",
            &long,
        ] {
            assert!(check_name(name).is_err(), "{name:?}");
        }
    }
}

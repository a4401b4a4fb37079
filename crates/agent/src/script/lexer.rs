//! The words of a script. A `#` begins a comment, which ends with its line.

use super::error::{Fault, Span};

/// A word, a text in quotes, or a sign.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Token<'a> {
    /// A keyword, a name, a number, or the address of a host; an IPv6 address with its brackets.
    Word(&'a str),
    /// What stands between double quotes.
    Text(&'a str),
    /// One of `{}()=,;:`.
    Sign(char),
    /// The end of the script.
    End,
}

impl std::fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Token::Word(word) => write!(f, "\"{}\"", short(word)),
            Token::Text(text) => write!(f, "the text \"{}\"", short(text)),
            Token::Sign(sign) => write!(f, "\"{sign}\""),
            Token::End => f.write_str("the end of the script"),
        }
    }
}

/// The beginning of what may be very long.
pub(super) fn short(text: &str) -> String {
    const SHOWN: usize = 40;
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

/// Reads one token after the other.
pub(super) struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

const SIGNS: &str = "{}()=,;:";

fn is_word(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-' | '_' | '+')
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Lexer<'a> {
        Lexer { text, at: 0 }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn skip_blanks_and_comments(&mut self) {
        loop {
            let rest = self.rest();
            let blank = rest.len() - rest.trim_start().len();
            self.at += blank;
            if !self.rest().starts_with('#') {
                return;
            }
            self.at += self.rest().find('\n').unwrap_or(self.rest().len());
        }
    }

    /// The next token, and where it is.
    pub(super) fn next(&mut self) -> Result<(Token<'a>, Span), Fault> {
        self.skip_blanks_and_comments();
        let (start, rest) = (self.at, self.rest());
        let Some(first) = rest.chars().next() else {
            return Ok((Token::End, Span { start, end: start }));
        };
        let (token, length) = match first {
            sign if SIGNS.contains(sign) => (Token::Sign(sign), 1),
            '"' => {
                let inside = &rest[1..];
                let end = inside.find(['"', '\n']).filter(|&end| inside[end..].starts_with('"'));
                let end = end.ok_or_else(|| {
                    let span = Span { start, end: start + 1 };
                    Fault::new(span, "this text has no end", "close it with a \" on the same line")
                })?;
                (Token::Text(&inside[..end]), end + 2)
            }
            '[' => {
                let end = rest.find(']').filter(|&end| rest[1..end].chars().all(in_address));
                let end = end.ok_or_else(|| {
                    let span = Span { start, end: start + 1 };
                    Fault::new(span, "this is no IPv6 address", "write it like [2001:db8::1]")
                })?;
                (Token::Word(&rest[..=end]), end + 1)
            }
            letter if is_word(letter) => {
                let end = rest.find(|letter| !is_word(letter)).unwrap_or(rest.len());
                (Token::Word(&rest[..end]), end)
            }
            other => {
                let span = Span { start, end: start + other.len_utf8() };
                let help =
                    "a script has words, numbers, texts in double quotes, and the signs { } ( ) = , ; :";
                return Err(Fault::new(span, format!("{other:?} means nothing here"), help));
            }
        };
        self.at += length;
        Ok((token, Span { start, end: self.at }))
    }
}

/// The letters of an IPv6 address, with an IPv4 address or a zone at its end.
fn in_address(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, ':' | '.' | '%' | '-' | '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Result<Vec<Token<'_>>, Fault> {
        let mut lexer = Lexer::new(text);
        let mut tokens = Vec::new();
        loop {
            match lexer.next()?.0 {
                Token::End => return Ok(tokens),
                token => tokens.push(token),
            }
        }
    }

    #[test]
    fn words_texts_and_signs() {
        let tokens = all("test a-b.c:42 { # a comment {\n x=\"1 s\"; } [::1]").expect("tokens");
        assert_eq!(
            tokens[..5],
            [
                Token::Word("test"),
                Token::Word("a-b.c"),
                Token::Sign(':'),
                Token::Word("42"),
                Token::Sign('{')
            ]
        );
        assert_eq!(tokens[7], Token::Text("1 s"));
        assert_eq!(tokens.last(), Some(&Token::Word("[::1]")));
    }

    #[test]
    fn what_means_nothing_is_named_with_its_place() {
        assert_eq!(all("a $").expect_err("a fault").span, Span { start: 2, end: 3 });
        assert_eq!(all("a \"b\n\"").expect_err("a fault").span, Span { start: 2, end: 3 });
        assert!(all("[x y]").is_err() && all("[::1").is_err());
        assert_eq!(all("é").expect_err("a fault").span, Span { start: 0, end: 2 });
    }
}

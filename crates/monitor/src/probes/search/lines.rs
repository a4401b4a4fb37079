//! What the two ends of a search tell each other: lines of a stream that come in pieces.

use std::fmt;
use std::io::{self, ErrorKind};

/// The longest line, bytes.
const LONGEST: usize = 200;

/// A line, after the first words of both ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Said {
    /// The sink renews its consent.
    Consent,
    /// The source has ended a round.
    Round {
        /// Its number.
        number: u64,
        /// The datagrams that were sent.
        sent: u64,
    },
    /// The sink reports on a round.
    Arrived {
        /// Its number.
        number: u64,
        /// The datagrams that arrived.
        datagrams: u64,
        /// From the first of them to the last, us.
        us: u64,
    },
}

impl Said {
    /// Reads a line. `None`: it is none of these.
    fn read(line: &str) -> Option<Said> {
        let mut words = line.split_whitespace();
        let first = words.next()?;
        let numbers: Vec<u64> = words.map(|word| word.parse().ok()).collect::<Option<_>>()?;
        match (first, &numbers[..]) {
            ("consent", []) => Some(Said::Consent),
            ("round", &[number, sent]) => Some(Said::Round { number, sent }),
            ("arrived", &[number, datagrams, us]) => Some(Said::Arrived { number, datagrams, us }),
            _ => None,
        }
    }
}

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Said::Consent => write!(f, "consent"),
            Said::Round { number, sent } => write!(f, "round {number} {sent}"),
            Said::Arrived { number, datagrams, us } => write!(f, "arrived {number} {datagrams} {us}"),
        }
    }
}

/// Puts pieces together to lines of limited length.
#[derive(Default)]
pub struct Lines(Vec<u8>);

impl Lines {
    /// Takes more bytes in.
    pub fn push(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// The next whole line.
    ///
    /// # Errors
    ///
    /// If it is too long, or not one of these.
    pub fn next_line(&mut self) -> io::Result<Option<Said>> {
        let Some(end) = self.0.iter().take(LONGEST).position(|&byte| byte == b'\n') else {
            return if self.0.len() < LONGEST { Ok(None) } else { Err(ErrorKind::InvalidData.into()) };
        };
        let line: Vec<u8> = self.0.drain(..=end).collect();
        let said = std::str::from_utf8(&line).ok().and_then(Said::read);
        said.map(Some).ok_or_else(|| ErrorKind::InvalidData.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_no_line_of_a_search_is_refused() {
        let mut lines = Lines::default();
        lines.push(&[b'x'; LONGEST - 1]);
        assert_eq!(lines.next_line().expect("it may still end"), None);
        lines.push(b"x");
        assert!(lines.next_line().is_err());
        for line in [
            "\n",
            "consent 1\n",
            "round 1\n",
            "round x 1 2\n",
            "arrived 1 2\n",
            "arrived -1 2 3\n",
            "rounds 1 2\n",
        ] {
            let mut lines = Lines::default();
            lines.push(line.as_bytes());
            assert!(lines.next_line().is_err(), "{line}");
        }
        let mut lines = Lines::default();
        lines.push(b"\xff\n");
        assert!(lines.next_line().is_err());
    }

    fn said() -> impl Strategy<Value = Said> {
        prop_oneof![
            Just(Said::Consent),
            any::<[u64; 2]>().prop_map(|[number, sent]| Said::Round { number, sent }),
            any::<[u64; 3]>().prop_map(|[number, datagrams, us]| Said::Arrived { number, datagrams, us }),
        ]
    }

    proptest! {
        #[test]
        fn pieces_make_the_same_lines_however_they_are_cut(
            told in prop::collection::vec(said(), 0..8), cut in 1usize..9,
        ) {
            let text: String = told.iter().map(|it| format!("{it}\n")).collect();
            let (mut found, mut read) = (Vec::new(), Lines::default());
            for piece in text.as_bytes().chunks(cut) {
                read.push(piece);
                while let Some(it) = read.next_line().expect("our own lines") {
                    found.push(it);
                }
            }
            prop_assert_eq!(found, told);
        }
    }
}

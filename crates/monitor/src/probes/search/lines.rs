//! Lines of a stream that come in pieces.

use std::io::{self, ErrorKind};

/// The longest line, bytes.
const LONGEST: usize = 200;

/// Puts pieces together to lines of limited length.
#[derive(Default)]
pub(super) struct Lines(Vec<u8>);

impl Lines {
    /// Takes more bytes in.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// The words of the next whole line.
    ///
    /// # Errors
    ///
    /// If it is too long, or no text.
    pub(super) fn next(&mut self) -> io::Result<Option<Vec<String>>> {
        let Some(end) = self.0.iter().take(LONGEST).position(|&byte| byte == b'\n') else {
            return if self.0.len() < LONGEST { Ok(None) } else { Err(ErrorKind::InvalidData.into()) };
        };
        let line: Vec<u8> = self.0.drain(..=end).collect();
        let line = std::str::from_utf8(&line).map_err(|_| ErrorKind::InvalidData)?;
        Ok(Some(line.split_whitespace().map(str::to_owned).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_line_that_never_ends_is_refused() {
        let mut lines = Lines::default();
        lines.push(&[b'x'; LONGEST - 1]);
        assert_eq!(lines.next().expect("it may still end"), None);
        lines.push(b"x");
        assert!(lines.next().is_err());
        let mut lines = Lines::default();
        lines.push(b"\xff\n");
        assert!(lines.next().is_err());
    }

    proptest! {
        #[test]
        fn pieces_make_the_same_lines_however_they_are_cut(
            lines in prop::collection::vec("[a-c ]{0,20}", 0..8), cut in 1usize..9,
        ) {
            let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
            let (mut found, mut read) = (Vec::new(), Lines::default());
            for piece in text.as_bytes().chunks(cut) {
                read.push(piece);
                while let Some(words) = read.next().expect("short lines") {
                    found.push(words.join(" "));
                }
            }
            let wanted: Vec<String> =
                lines.iter().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
            prop_assert_eq!(found, wanted);
        }
    }
}

//! Messages from bytes: lines of limited length.

use serde::Serialize;
use thiserror::Error;

/// The longest message, bytes, its line feed included.
pub const MAX_LINE: usize = 64 << 10;

/// A message is longer than [`MAX_LINE`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("a message is longer than {MAX_LINE} bytes")]
pub struct TooLong;

/// Puts pieces of a stream together to lines.
#[derive(Default, Debug)]
pub struct Lines {
    kept: Vec<u8>,
    /// So much of `kept` holds no line feed.
    searched: usize,
}

impl Lines {
    /// Takes more bytes in.
    pub fn push(&mut self, bytes: &[u8]) {
        self.kept.extend_from_slice(bytes);
    }

    /// The next whole line, without its line feed.
    ///
    /// # Errors
    ///
    /// If it is too long, whether or not it is whole.
    pub fn next_line(&mut self) -> Result<Option<Vec<u8>>, TooLong> {
        match self.kept[self.searched..].iter().position(|&byte| byte == b'\n') {
            Some(end) => {
                let end = self.searched + end;
                if end >= MAX_LINE {
                    return Err(TooLong);
                }
                let rest = self.kept.split_off(end + 1);
                let mut line = std::mem::replace(&mut self.kept, rest);
                line.pop();
                self.searched = 0;
                Ok(Some(line))
            }
            None if self.kept.len() >= MAX_LINE => Err(TooLong),
            None => {
                self.searched = self.kept.len();
                Ok(None)
            }
        }
    }
}

/// A message as a line.
///
/// # Errors
///
/// If it would be too long.
pub fn to_line(message: &impl Serialize) -> Result<Vec<u8>, TooLong> {
    let mut line = serde_json::to_vec(message).map_err(|_| TooLong)?;
    line.push(b'\n');
    if line.len() > MAX_LINE { Err(TooLong) } else { Ok(line) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_line_that_never_ends_is_refused() {
        let mut lines = Lines::default();
        lines.push(&[b'x'; MAX_LINE - 1]);
        assert_eq!(lines.next_line(), Ok(None));
        lines.push(b"x");
        assert_eq!(lines.next_line(), Err(TooLong));
        let mut lines = Lines::default();
        lines.push(&[b'x'; MAX_LINE - 1]);
        lines.push(b"\nrest");
        assert_eq!(lines.next_line().map(|line| line.map(|line| line.len())), Ok(Some(MAX_LINE - 1)));
        assert_eq!(lines.next_line(), Ok(None));
    }

    proptest! {
        #[test]
        fn pieces_make_the_same_lines_however_they_are_cut(
            text in "[a-c\n]{0,200}", cuts in prop::collection::vec(0_usize..20, 0..60),
        ) {
            let mut lines = Lines::default();
            let (mut rest, mut found) = (text.as_bytes(), Vec::new());
            for cut in cuts.into_iter().chain([usize::MAX]) {
                let (piece, after) = rest.split_at(cut.min(rest.len()));
                rest = after;
                lines.push(piece);
                while let Some(line) = lines.next_line().expect("short lines") {
                    found.push(String::from_utf8(line).expect("ASCII"));
                }
            }
            let mut wanted: Vec<&str> = text.split('\n').collect();
            wanted.pop();
            prop_assert_eq!(found, wanted);
        }
    }
}

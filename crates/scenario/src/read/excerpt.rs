//! The excerpt of a source in a message: the line and its neighbours, or a part of a very long line.

use miette::{MietteError, MietteSpanContents, SourceCode, SourceSpan, SpanContents};

/// Longer lines are shown in part, bytes.
const LONG: usize = 200;
/// The bytes shown before and after the position.
const AROUND: usize = 60;

/// A text that is shown in part.
#[derive(Debug)]
pub struct Excerpt {
    /// The name of the source.
    pub name: String,
    /// The whole source.
    pub text: String,
}

impl Excerpt {
    /// The length of the marked span, at most `length` bytes. In a long line only its start is marked.
    pub fn clip(&self, start: usize, length: usize) -> usize {
        if !self.is_long(start, length) {
            return length;
        }
        let line = self.text[start..].find('\n').unwrap_or(length).max(1);
        self.boundary(start + length.min(AROUND).min(line)) - start
    }

    /// True if a line of the excerpt is too long: the lines of the span, one before and one after.
    fn is_long(&self, start: usize, length: usize) -> bool {
        let text = self.text.as_bytes();
        let is_end = |byte: &u8| *byte == b'\n';
        let before = text[..start].rsplit(is_end).take(2).any(|line| line.len() > LONG);
        let inside = text[start..start + length].split(is_end).any(|line| line.len() > LONG);
        let behind = text[start + length..].split(is_end).take(2).any(|line| line.len() > LONG);
        before || inside || behind
    }

    /// The character boundary at or before `at`.
    fn boundary(&self, at: usize) -> usize {
        (0..=at).rev().find(|&at| self.text.is_char_boundary(at)).unwrap_or(0)
    }
}

impl SourceCode for Excerpt {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        before: usize,
        after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let (start, length) = (span.offset(), span.len());
        let Some(head) = self.text.get(..start).filter(|_| start + length <= self.text.len()) else {
            return Err(MietteError::OutOfBounds);
        };
        let name = self.name.clone();
        if !self.is_long(start, length) {
            let all = self.text.read_span(span, before, after)?;
            let (line, column, count) = (all.line(), all.column(), all.line_count());
            let shown = MietteSpanContents::new_named(name, all.data(), *all.span(), line, column, count);
            return Ok(Box::new(shown));
        }
        let column = start - head.rfind('\n').map_or(0, |end| end + 1);
        let begin = self.boundary(start - column.min(AROUND));
        let rest = &self.text[start + length..];
        let end = self.boundary(start + length + rest.find('\n').unwrap_or(rest.len()).min(AROUND));
        let data = &self.text.as_bytes()[begin..end];
        let (line, column) = (head.matches('\n').count(), column - (start - begin).min(column));
        Ok(Box::new(MietteSpanContents::new_named(name, data, (begin, end - begin).into(), line, column, 1)))
    }
}

//! Source texts, and places in them.

use std::ops::Range;

/// A text in a [`SourceMap`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct SourceId(u32);

/// A range of bytes in a source.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct SourceSpan {
    source: SourceId,
    start: u32,
    end: u32,
}

impl SourceSpan {
    /// Creates the span of the bytes from `start` to before `end`.
    pub fn new(source: SourceId, start: usize, end: usize) -> Self {
        let [start, end] = [start, end].map(|at| u32::try_from(at).unwrap_or(u32::MAX));
        Self { source, start, end: end.max(start) }
    }

    /// Returns the source.
    pub fn source(self) -> SourceId {
        self.source
    }

    /// Returns the range of bytes.
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// A span in lines and columns, which count from one; columns count characters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Location {
    /// The path of the file as the user wrote it.
    pub file: String,
    /// The line of its first character.
    pub line: usize,
    /// The column of its first character.
    pub column: usize,
    /// The line of its end.
    pub end_line: usize,
    /// The column after its last character.
    pub end_column: usize,
}

/// All source texts with their names.
#[derive(Clone, Default, Debug)]
pub struct SourceMap {
    files: Vec<SourceText>,
}

#[derive(Clone, Debug)]
struct SourceText {
    name: String,
    text: String,
    /// The first byte of each line.
    lines: Vec<usize>,
}

impl SourceMap {
    /// Adds a text with the path as the user wrote it.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<String>) -> SourceId {
        let text = text.into();
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let lines = std::iter::once(0).chain(breaks.map(|(at, _)| at + 1)).collect();
        self.files.push(SourceText { name: name.into(), text, lines });
        SourceId(u32::try_from(self.files.len() - 1).unwrap_or(u32::MAX))
    }

    /// Returns the path as the user wrote it.
    pub fn name(&self, source: SourceId) -> &str {
        self.get(source).map_or("", |source| &source.name)
    }

    /// Returns the whole text.
    pub fn text(&self, source: SourceId) -> &str {
        self.get(source).map_or("", |source| &source.text)
    }

    /// Returns the text of a span.
    pub fn slice(&self, span: SourceSpan) -> &str {
        self.text(span.source).get(span.range()).unwrap_or("")
    }

    /// Returns the span of a part of a scalar, given by its bytes in the text of the scalar.
    ///
    /// The span of the whole scalar, if the file spells the text differently.
    pub fn within(&self, span: SourceSpan, text: &str, part: Range<usize>) -> SourceSpan {
        let start = self.slice(span).find(text).filter(|_| text.get(part.clone()).is_some());
        match start {
            Some(start) => {
                let start = span.range().start + start;
                SourceSpan::new(span.source, start + part.start, start + part.end)
            }
            None => span,
        }
    }

    /// Replaces a secret with stars, because reports end up in logs.
    ///
    /// The length of the text does not change, so all spans stay valid.
    pub fn mask(&mut self, span: SourceSpan) {
        let Some(file) = self.files.get_mut(span.source.0 as usize) else { return };
        let Some(secret) = file.text.get(span.range()) else { return };
        let masked: String =
            secret.bytes().map(|byte| if byte == b'\n' { '\n' } else { '*' }).collect();
        file.text.replace_range(span.range(), &masked);
    }

    /// Returns the lines and columns of a span.
    pub fn place(&self, span: SourceSpan) -> Location {
        let (line, column) = self.position(span.source, span.start as usize);
        let (end_line, end_column) = self.position(span.source, span.end as usize);
        Location { file: self.name(span.source).to_owned(), line, column, end_line, end_column }
    }

    /// Returns the bytes of a line, counted from one, without its line break.
    pub fn line(&self, source: SourceId, line: usize) -> Range<usize> {
        let Some(file) = self.get(source) else { return 0..0 };
        let start = line.checked_sub(1).and_then(|index| file.lines.get(index));
        let Some(&start) = start else { return file.text.len()..file.text.len() };
        let end = file.lines.get(line).copied().unwrap_or(file.text.len());
        let text = file.text.get(start..end).unwrap_or("");
        let text = text.strip_suffix('\n').unwrap_or(text);
        start..start + text.strip_suffix('\r').unwrap_or(text).len()
    }

    /// Returns the line and column of a byte, both counted from one.
    pub fn position(&self, source: SourceId, byte: usize) -> (usize, usize) {
        let Some(file) = self.get(source) else { return (1, 1) };
        let byte = byte.min(file.text.len());
        let line = file.lines.partition_point(|start| *start <= byte).max(1);
        let start = file.lines.get(line - 1).copied().unwrap_or(0);
        // The byte order mark before the first line is not a column.
        let before = file.text.get(start..byte).unwrap_or("").trim_start_matches('\u{feff}');
        (line, before.chars().count() + 1)
    }

    fn get(&self, source: SourceId) -> Option<&SourceText> {
        self.files.get(source.0 as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters_and_lines_end_with_or_without_carriage_return() {
        let mut sources = SourceMap::default();
        let source = sources.add("a.yaml", "\u{feff}é: 1\r\nkey: ü2\n");
        for (start, end, expected) in [
            (3, 5, (1, 1, 1, 2)),
            (7, 8, (1, 4, 1, 5)),
            (10, 13, (2, 1, 2, 4)),
            (15, 18, (2, 6, 2, 8)),
            (19, 19, (3, 1, 3, 1)),
            (900, 901, (3, 1, 3, 1)),
        ] {
            let place = sources.place(SourceSpan::new(source, start, end));
            let found = (place.line, place.column, place.end_line, place.end_column);
            assert_eq!(found, expected, "{start}..{end}");
        }
        assert_eq!(sources.line(source, 1), 0..8);
        assert_eq!(sources.line(source, 2), 10..18);
        assert_eq!(sources.line(source, 3), 19..19);
        assert_eq!(sources.line(source, 9), 19..19);
    }
}

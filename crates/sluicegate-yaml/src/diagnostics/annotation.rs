//! Conversion of a diagnostic for the renderer.

use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Snippet};

use super::sanitize::{printable, push};
use crate::diagnostics::{Diagnostic, Severity};
use crate::diagnostics::{SourceMap, SourceSpan};

/// The number of characters of a line that the renderer gets, which shortens lines itself.
const WIDE: usize = 4096;
/// The number of characters before the marker that a cut line keeps.
const BEFORE: usize = 200;
/// The number of lines between two places from which they are shown as separate pieces.
const NEAR: usize = 40;

/// A place with its marker.
struct Mark {
    span: SourceSpan,
    line: usize,
    label: String,
    kind: AnnotationKind,
}

/// Converts a diagnostic and its source lines.
pub(super) fn groups<'a>(sources: &SourceMap, diagnostic: &Diagnostic) -> [Group<'a>; 1] {
    let level = match diagnostic.severity() {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let title = level.primary_title(printable(diagnostic.message())).id(diagnostic.code());
    let mut group = Group::with_title(title);
    let mark = |span: SourceSpan, label: &str, kind| {
        let (line, _) = sources.position(span.source(), span.range().start);
        Mark { span, line, label: printable(label), kind }
    };
    let mut pieces =
        vec![vec![mark(diagnostic.span(), diagnostic.label_text(), AnnotationKind::Primary)]];
    for (span, text) in diagnostic.related_places() {
        let mark = mark(*span, text, AnnotationKind::Context);
        let near = |piece: &&mut Vec<Mark>| {
            piece.iter().all(|other| {
                other.span.source() == span.source() && other.line.abs_diff(mark.line) <= NEAR
            })
        };
        match pieces.iter_mut().find(near) {
            Some(piece) => piece.push(mark),
            None => pieces.push(vec![mark]),
        }
    }
    for piece in pieces {
        group = render_piece(sources, &piece, group);
    }
    if let Some(help) = diagnostic.help_text() {
        group = group.element(Level::HELP.message(printable(help)));
    }
    [group]
}

/// Adds the lines from the first to the last mark.
///
/// The renderer gets a text of these lines only, because it would scan the whole file, and does not
/// check positions.
fn render_piece<'a>(sources: &SourceMap, piece: &[Mark], group: Group<'a>) -> Group<'a> {
    let lines = piece.iter().map(|mark| mark.line);
    let (Some(first), Some(last)) = (lines.clone().min(), lines.max()) else { return group };
    let Some(head) = piece.first() else { return group };
    let source = head.span.source();
    let mut text = String::new();
    let mut annotations = Vec::new();
    let mut cut = false;
    for line in first..=last {
        let bytes = sources.line(source, line);
        let marked = piece.iter().filter(|mark| mark.line == line).collect::<Vec<_>>();
        let anchor = marked.iter().map(|mark| mark.span.range().start).min();
        let window = LineWindow::around(sources.text(source), bytes, anchor);
        cut |= window.cut;
        let start = text.len();
        text.push_str(&window.shown);
        for mark in marked {
            let range = window.range(&mark.span.range());
            let label = Some(mark.label.clone()).filter(|label| !label.is_empty());
            let annotation = mark.kind.span(start + range.start..start + range.end).label(label);
            annotations.push(annotation);
        }
        text.push('\n');
    }
    let path = printable(sources.name(source));
    let snippet = Snippet::source(text).line_start(first).annotations(annotations);
    if cut {
        // The renderer would count columns from the start of the window.
        let place = sources.place(head.span);
        let origin = Origin::path(path).line(place.line).char_column(place.column);
        return group.element(origin).element(snippet);
    }
    group.element(snippet.path(path))
}

/// The part of a line that is shown, with the positions of its characters in the file.
struct LineWindow {
    shown: String,
    /// Whether the start of the line was cut off.
    cut: bool,
    /// The byte in the file and the byte in `shown` of each character and of the end.
    positions: Vec<(usize, usize)>,
}

impl LineWindow {
    fn around(text: &str, line: Range<usize>, anchor: Option<usize>) -> Self {
        let letters = text.get(line.clone()).unwrap_or("");
        // Scanning only a window after the marker keeps very long lines cheap.
        let before = anchor.and_then(|anchor| text.get(line.start..anchor.min(line.end)));
        let before = before.map_or(0, |before| before.chars().count());
        let wide = letters.chars().nth(WIDE).is_some();
        let skipped = if wide { before.saturating_sub(BEFORE) } else { 0 };

        let mut shown = String::new();
        let mut positions = Vec::new();
        if skipped > 0 {
            shown.push('…');
        }
        let mut end = line.end;
        for (count, (at, letter)) in letters.char_indices().skip(skipped).enumerate() {
            if count == WIDE {
                end = line.start + at;
                break;
            }
            positions.push((line.start + at, shown.len()));
            // The byte order mark at the start of a file is not shown.
            if letter != '\u{feff}' || line.start + at > 0 {
                push(&mut shown, letter);
            }
        }
        positions.push((end, shown.len()));
        if end < line.end {
            shown.push('…');
        }
        Self { shown, cut: skipped > 0, positions }
    }

    /// Converts a range of the file into one of the shown text, up to the end of the line.
    fn range(&self, span: &Range<usize>) -> Range<usize> {
        let find = |byte: usize| {
            let index = self.positions.partition_point(|(at, _)| *at < byte);
            let found = self.positions.get(index).or(self.positions.last());
            found.map_or(0, |(_, shown)| *shown)
        };
        let start = find(span.start);
        start..find(span.end).max(start)
    }
}

//! A finding in the form that the renderer draws.

use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Snippet};

use super::printable::{printable, push};
use crate::finding::{Finding, Severity};
use crate::source::{Sources, Span};

/// Of longer lines the renderer gets a part only; it shortens all lines to the width of a terminal.
const WIDE: usize = 4096;
/// How much of such a line is left before the marker.
const BEFORE: usize = 200;
/// Places further apart than this are shown as separate pieces.
const NEAR: usize = 40;

/// A place to be marked.
struct Mark {
    span: Span,
    line: usize,
    label: String,
    kind: AnnotationKind,
}

/// The finding with the lines it is about.
pub(super) fn groups<'a>(sources: &Sources, finding: &Finding) -> [Group<'a>; 1] {
    let level = match finding.severity() {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let title = level.primary_title(printable(finding.message())).id(finding.code());
    let mut group = Group::with_title(title);
    let mark = |span: Span, label: &str, kind| {
        let (line, _) = sources.position(span.source(), span.range().start);
        Mark { span, line, label: printable(label), kind }
    };
    let mut pieces =
        vec![vec![mark(finding.span(), finding.label_text(), AnnotationKind::Primary)]];
    for (span, text) in finding.related_places() {
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
        group = draw(sources, &piece, group);
    }
    if let Some(help) = finding.help_text() {
        group = group.element(Level::HELP.message(printable(help)));
    }
    [group]
}

/// Adds the lines from the first to the last mark. The renderer gets a text made for it and not
/// the file: it would walk through all of it, and believes every position it is given.
fn draw<'a>(sources: &Sources, piece: &[Mark], group: Group<'a>) -> Group<'a> {
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
        let window = Window::around(sources.text(source), bytes, anchor);
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
        // The renderer would count columns from where the window starts.
        let place = sources.place(head.span);
        let origin = Origin::path(path).line(place.line).char_column(place.column);
        return group.element(origin).element(snippet);
    }
    group.element(snippet.path(path))
}

/// The part of a line that is shown, and which byte of the file became which byte of it.
struct Window {
    shown: String,
    /// Whether the start of the line is missing.
    cut: bool,
    /// Byte in the file and byte in `shown` of every character, and of the end.
    positions: Vec<(usize, usize)>,
}

impl Window {
    fn around(text: &str, line: Range<usize>, anchor: Option<usize>) -> Self {
        let letters = text.get(line.clone()).unwrap_or("");
        // Looking no further than a window beyond the marker keeps endless lines cheap.
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
            // The mark at the start of some files is not part of what was written.
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

    /// Where a range of the file is in what is shown, cut off at the end of the line.
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

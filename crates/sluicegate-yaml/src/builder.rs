//! Construction of the tree from the events of the parser.

mod anchors;
mod map_keys;
mod scalars;

use granit_parser::{Event, StructureStyle};

use self::anchors::{Anchors, TreeSize};
use super::parse::Environment;
use crate::diagnostics::{Diagnostic, Diagnostics};
use crate::diagnostics::{SourceId, SourceSpan};
use crate::node::{MapEntry, MapKey, Node, Value};

/// The largest nesting depth of lists and maps.
const DEEPEST: usize = 64;
/// The largest number of values in a file, including those that aliases repeat.
const NODES: usize = 1_000_000;
/// The largest amount of text in a file, with aliases and variables expanded.
const BYTES: usize = 64 << 20;

/// Parsing has to stop; a diagnostic has the reason.
pub(crate) struct Stop;

/// The state of the construction of a tree.
pub(crate) struct TreeBuilder<'a> {
    source: SourceId,
    text: &'a str,
    env: Environment<'a>,
    diagnostics: &'a mut Diagnostics,
    open: Vec<Open>,
    anchors: Anchors,
    left: TreeSize,
    root: Option<Node>,
}

/// A list or map whose end has not been read yet.
struct Open {
    start: usize,
    /// The end of its last item.
    end: usize,
    flow: bool,
    anchor: usize,
    inside: Inside,
}

enum Inside {
    List(Vec<Node>),
    Map { entries: Vec<MapEntry>, key: Awaited },
}

/// The next part of a map: a key, or the value of one.
enum Awaited {
    Name,
    ValueOf(MapKey),
    /// The value of an invalid key, which is skipped.
    Skipped,
}

impl<'a> TreeBuilder<'a> {
    pub(crate) fn new(
        source: SourceId,
        text: &'a str,
        env: Environment<'a>,
        diagnostics: &'a mut Diagnostics,
    ) -> Self {
        let left = TreeSize { nodes: NODES, bytes: BYTES, height: DEEPEST };
        let (open, anchors) = (Vec::new(), Anchors::default());
        Self { source, text, env, diagnostics, open, anchors, left, root: None }
    }

    /// Returns the diagnostics, which the tree borrows.
    pub(crate) fn diagnostics(&mut self) -> &mut Diagnostics {
        self.diagnostics
    }

    /// Whether a whole document was read.
    pub(crate) fn is_complete(&self) -> bool {
        self.root.is_some() && self.open.is_empty()
    }

    /// Returns the place of the innermost open bracket or brace.
    pub(crate) fn flow(&self) -> Option<usize> {
        self.open.last().filter(|open| open.flow).map(|open| open.start)
    }

    /// Returns the document.
    pub(crate) fn finish(self) -> Option<Node> {
        self.root
    }

    /// Processes the next event.
    pub(crate) fn take(
        &mut self,
        event: Event<'_>,
        span: &granit_parser::Span,
    ) -> Result<(), Stop> {
        let range = span.byte_range().unwrap_or_default();
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                if tag.is_some() {
                    self.refuse_tag(span);
                }
                self.spend(
                    range.start,
                    range.end,
                    TreeSize { nodes: 1, bytes: text.len(), height: 0 },
                )?;
                let node = self.scalar(&text, style, &range);
                self.close(node, anchor)
            }
            Event::SequenceStart(style, anchor, tag) => {
                if tag.is_some() {
                    self.refuse_tag(span);
                }
                let start = self.list_start(range.start, style);
                self.start(start, style, anchor, Inside::List(Vec::new()))
            }
            Event::MappingStart(style, anchor, tag) => {
                if tag.is_some() {
                    self.refuse_tag(span);
                }
                let inside = Inside::Map { entries: Vec::new(), key: Awaited::Name };
                self.start(range.start, style, anchor, inside)
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(range.end),
            Event::Alias(anchor) => self.alias(anchor, self.span(range.start, range.end)),
            _ => Ok(()),
        }
    }

    fn start(
        &mut self,
        start: usize,
        style: StructureStyle,
        anchor: usize,
        inside: Inside,
    ) -> Result<(), Stop> {
        if self.open.len() >= DEEPEST {
            self.diagnostics.push(too_deep(self.span(start, start + 1)));
            return Err(Stop);
        }
        self.spend(start, start + 1, TreeSize { nodes: 1, bytes: 0, height: 0 })?;
        let flow = style == StructureStyle::Flow;
        self.open.push(Open { start, end: start, flow, anchor, inside });
        Ok(())
    }

    fn end(&mut self, end: usize) -> Result<(), Stop> {
        let Some(open) = self.open.pop() else { return Ok(()) };
        // The parser ends a block at the start of the next value, which is too late.
        let span = self.span(open.start, if open.flow { end } else { open.end });
        let value = match open.inside {
            Inside::List(items) => Value::List(items),
            Inside::Map { entries, .. } => Value::Map(map_keys::finish(entries, self.diagnostics)),
        };
        self.close(Node { span, value }, open.anchor)
    }

    /// Adds a finished node to the tree, and to the anchors if it has one.
    fn close(&mut self, node: Node, anchor: usize) -> Result<(), Stop> {
        if anchor > 0 {
            let range = node.span.range();
            let size = TreeSize::of(&node);
            // The copy for aliases counts as well.
            self.spend(range.start, range.end, size)?;
            self.anchors.insert(anchor, node.clone(), size);
        }
        self.place(node);
        Ok(())
    }

    fn place(&mut self, node: Node) {
        let Some(open) = self.open.last_mut() else {
            self.root = Some(node);
            return;
        };
        if node.span.source() == self.source {
            open.end = open.end.max(node.span.range().end);
        }
        match &mut open.inside {
            Inside::List(items) => items.push(node),
            Inside::Map { entries, key } => match std::mem::replace(key, Awaited::Name) {
                Awaited::Name => *key = map_keys::key(node, self.diagnostics),
                Awaited::ValueOf(key) => entries.push(MapEntry { key, value: node }),
                Awaited::Skipped => {}
            },
        }
    }

    /// Whether the next node is the name of a field.
    fn expects_key(&self) -> bool {
        let inside = self.open.last().map(|open| &open.inside);
        matches!(inside, Some(Inside::Map { key: Awaited::Name, .. }))
    }

    /// Returns the start of a list: its first dash, if the list is not indented below its key.
    fn list_start(&self, start: usize, style: StructureStyle) -> usize {
        let in_map = matches!(self.open.last().map(|open| &open.inside), Some(Inside::Map { .. }));
        if style == StructureStyle::Flow || !in_map {
            return start;
        }
        let before = self.text.get(..start).unwrap_or("");
        let line = before.rfind('\n').map_or(0, |at| at + 1);
        let dash = before.get(line..).unwrap_or("").trim_end().strip_suffix('-');
        match dash {
            Some(indent) if indent.trim().is_empty() => line + indent.len(),
            _ => start,
        }
    }

    /// Returns a span within the text and between characters.
    fn span(&self, start: usize, end: usize) -> SourceSpan {
        super::parse::span(self.source, self.text, start, end)
    }

    fn refuse_tag(&mut self, span: &granit_parser::Span) {
        let tag = span.tag_span().and_then(|tag| tag.byte_range());
        let range = tag.or(span.byte_range()).unwrap_or_default();
        let message = "tags are not supported";
        let help = "remove the tag; write a text in quotes";
        let span = self.span(range.start, range.end);
        self.diagnostics.push(Diagnostic::error(span, "tag", message).help(help));
    }
}

/// Returns the diagnostic for a nesting that is too deep.
pub(crate) fn too_deep(span: SourceSpan) -> Diagnostic {
    let message = format!("lists and maps are nested more than {DEEPEST} deep");
    Diagnostic::error(span, "too-deep", message)
}

//! The tree that grows while the events of the parser come in.

mod anchors;
mod fields;
mod scalars;

use granit_parser::{Event, StructureStyle};

use self::anchors::{Anchors, Size};
use super::Environment;
use crate::finding::{Finding, Findings};
use crate::node::{Entry, Key, Node, Value};
use crate::source::{SourceId, Span};

/// Lists and maps inside each other; deeper ones are never meant.
const DEEPEST: usize = 64;
/// Values in one file, with those that aliases repeat.
const NODES: usize = 1_000_000;
/// Text in one file, with what aliases repeat and variables fill in.
const BYTES: usize = 64 << 20;

/// A finding says why the rest of the file is not worth reading.
pub(super) struct Stop;

/// What was read so far.
pub(super) struct Tree<'a> {
    source: SourceId,
    text: &'a str,
    env: Environment<'a>,
    findings: &'a mut Findings,
    open: Vec<Open>,
    anchors: Anchors,
    left: Size,
    root: Option<Node>,
}

/// A list or map whose end has not come yet.
struct Open {
    start: usize,
    /// Where the last thing in it ends.
    end: usize,
    flow: bool,
    anchor: usize,
    inside: Inside,
}

enum Inside {
    List(Vec<Node>),
    Map { entries: Vec<Entry>, key: Awaited },
}

/// Whether a map waits for a key or for the value of one.
enum Awaited {
    Name,
    ValueOf(Key),
    /// The key was no good; its value is passed over.
    Skipped,
}

impl<'a> Tree<'a> {
    pub(super) fn new(
        source: SourceId,
        text: &'a str,
        env: Environment<'a>,
        findings: &'a mut Findings,
    ) -> Self {
        let left = Size { nodes: NODES, bytes: BYTES, height: DEEPEST };
        let (open, anchors) = (Vec::new(), Anchors::default());
        Self { source, text, env, findings, open, anchors, left, root: None }
    }

    /// The list of findings while the tree has it.
    pub(super) fn findings(&mut self) -> &mut Findings {
        self.findings
    }

    /// Whether a document was read to its end.
    pub(super) fn is_complete(&self) -> bool {
        self.root.is_some() && self.open.is_empty()
    }

    /// The bracket or brace that was opened last and not closed.
    pub(super) fn flow(&self) -> Option<usize> {
        self.open.last().filter(|open| open.flow).map(|open| open.start)
    }

    /// The document.
    pub(super) fn finish(self) -> Option<Node> {
        self.root
    }

    /// Takes the next event.
    pub(super) fn take(
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
                    Size { nodes: 1, bytes: text.len(), height: 0 },
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
            self.findings.push(too_deep(self.span(start, start + 1)));
            return Err(Stop);
        }
        self.spend(start, start + 1, Size { nodes: 1, bytes: 0, height: 0 })?;
        let flow = style == StructureStyle::Flow;
        self.open.push(Open { start, end: start, flow, anchor, inside });
        Ok(())
    }

    fn end(&mut self, end: usize) -> Result<(), Stop> {
        let Some(open) = self.open.pop() else { return Ok(()) };
        // A block ends where the parser meets the next thing, which is too late.
        let span = self.span(open.start, if open.flow { end } else { open.end });
        let value = match open.inside {
            Inside::List(items) => Value::List(items),
            Inside::Map { entries, .. } => Value::Map(fields::settle(entries, self.findings)),
        };
        self.close(Node { span, value }, open.anchor)
    }

    /// Puts a finished node where it belongs.
    fn close(&mut self, node: Node, anchor: usize) -> Result<(), Stop> {
        if anchor > 0 {
            let range = node.span.range();
            let size = Size::of(&node);
            // The copy that is kept for aliases counts as well.
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
                Awaited::Name => *key = fields::key(node, self.findings),
                Awaited::ValueOf(key) => entries.push(Entry { key, value: node }),
                Awaited::Skipped => {}
            },
        }
    }

    /// Whether the next node is the name of a field.
    fn expects_key(&self) -> bool {
        let inside = self.open.last().map(|open| &open.inside);
        matches!(inside, Some(Inside::Map { key: Awaited::Name, .. }))
    }

    /// A list under a key that is not indented further is reported at its first item.
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

    /// A span that is certain to lie in the text and between characters.
    fn span(&self, start: usize, end: usize) -> Span {
        super::span(self.source, self.text, start, end)
    }

    fn refuse_tag(&mut self, span: &granit_parser::Span) {
        let tag = span.tag_span().and_then(|tag| tag.byte_range());
        let range = tag.or(span.byte_range()).unwrap_or_default();
        let message = "tags have no meaning here";
        let help = "remove it; what has to stay text goes into quotes";
        let span = self.span(range.start, range.end);
        self.findings.push(Finding::error(span, "tag", message).help(help));
    }
}

/// The finding for what goes too far down.
pub(super) fn too_deep(span: Span) -> Finding {
    let message = format!("lists and maps may be nested {DEEPEST} deep, and this is deeper");
    Finding::error(span, "too-deep", message)
}

//! What `&name` marks and `*name` repeats, and how much of it there may be.

use std::collections::HashMap;

use super::{Awaited, BYTES, DEEPEST, Inside, NODES, Stop, Tree};
use crate::finding::Finding;
use crate::node::{Node, Value};
use crate::source::Span;

/// The marked nodes by the number that the parser gives each.
#[derive(Default)]
pub(super) struct Anchors {
    nodes: HashMap<usize, (Node, Size)>,
}

impl Anchors {
    pub(super) fn insert(&mut self, anchor: usize, node: Node, size: Size) {
        self.nodes.insert(anchor, (node, size));
    }
}

/// How much a tree holds.
#[derive(Clone, Copy)]
pub(super) struct Size {
    pub(super) nodes: usize,
    pub(super) bytes: usize,
    /// Lists and maps inside each other.
    pub(super) height: usize,
}

impl Size {
    /// Measures a node with all that is in it.
    pub(super) fn of(node: &Node) -> Self {
        let parts: Box<dyn Iterator<Item = &Node>> = match &node.value {
            Value::Null => return Self { nodes: 1, bytes: 0, height: 0 },
            Value::Scalar(scalar) => {
                return Self { nodes: 1, bytes: scalar.text().len(), height: 0 };
            }
            Value::List(items) => Box::new(items.iter()),
            Value::Map(entries) => Box::new(entries.iter().map(|entry| &entry.value)),
        };
        let names = node.entries().iter().map(|entry| entry.key.text.len()).sum();
        let whole = Self { nodes: 1, bytes: names, height: 0 };
        let whole = parts.map(Self::of).fold(whole, |sum, part| Self {
            nodes: sum.nodes + part.nodes,
            bytes: sum.bytes + part.bytes,
            height: sum.height.max(part.height),
        });
        Self { height: whole.height + 1, ..whole }
    }
}

impl Tree<'_> {
    /// Puts a copy of the marked node in the place of the alias.
    pub(super) fn alias(&mut self, anchor: usize, span: Span) -> Result<(), Stop> {
        if let Some(Inside::Map { key: key @ Awaited::Name, .. }) =
            self.open.last_mut().map(|open| &mut open.inside)
        {
            *key = Awaited::Skipped;
            let message = "an alias cannot be the name of a field";
            self.findings.push(Finding::error(span, "field-name", message).help("write it out"));
            return Ok(());
        }
        let Some(size) = self.anchors.nodes.get(&anchor).map(|(_, size)| *size) else {
            let message = "this alias stands inside of what it repeats";
            let finding = Finding::error(span, "alias", message);
            self.findings.push(finding.help("move it out, or write the value out"));
            return Err(Stop);
        };
        if self.open.len() + size.height > DEEPEST {
            self.findings.push(super::too_deep(span));
            return Err(Stop);
        }
        // Paid for before the copy is made.
        let range = span.range();
        self.spend(range.start, range.end, size)?;
        let copy = self.anchors.nodes.get(&anchor).map(|(node, _)| node.clone());
        // What is repeated lies elsewhere; the list or map it is put into reaches to the alias.
        if let Some(open) = self.open.last_mut() {
            open.end = open.end.max(range.end);
        }
        if let Some(copy) = copy {
            self.place(copy);
        }
        Ok(())
    }

    /// Takes from what may still be read.
    pub(super) fn spend(&mut self, start: usize, end: usize, size: Size) -> Result<(), Stop> {
        let nodes = self.left.nodes.checked_sub(size.nodes);
        let bytes = self.left.bytes.checked_sub(size.bytes);
        let (Some(nodes), Some(bytes)) = (nodes, bytes) else {
            return Err(self.too_much(self.span(start, end)));
        };
        (self.left.nodes, self.left.bytes) = (nodes, bytes);
        Ok(())
    }

    fn too_much(&mut self, span: Span) -> Stop {
        let message = "the file grows too large here";
        let help = format!(
            "with all aliases written out, a file may have {NODES} values and {} MiB of text",
            BYTES >> 20
        );
        self.findings.push(Finding::error(span, "too-large", message).help(help));
        Stop
    }
}

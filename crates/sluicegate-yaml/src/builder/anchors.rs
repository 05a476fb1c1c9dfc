//! Anchors (`&name`) and aliases (`*name`), with a limit on their expansion.

use std::collections::HashMap;

use super::{Awaited, BYTES, DEEPEST, Inside, NODES, Stop, TreeBuilder};
use crate::diagnostics::Diagnostic;
use crate::diagnostics::SourceSpan;
use crate::node::{Node, Value};

/// The nodes with an anchor, by the number that the parser gives to it.
#[derive(Default)]
pub(super) struct Anchors {
    nodes: HashMap<usize, (Node, TreeSize)>,
}

impl Anchors {
    pub(super) fn insert(&mut self, anchor: usize, node: Node, size: TreeSize) {
        self.nodes.insert(anchor, (node, size));
    }
}

/// The size of a tree.
#[derive(Clone, Copy)]
pub(super) struct TreeSize {
    pub(super) nodes: usize,
    pub(super) bytes: usize,
    /// The nesting depth of lists and maps.
    pub(super) height: usize,
}

impl TreeSize {
    /// Measures a node with all of its content.
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

impl TreeBuilder<'_> {
    /// Replaces an alias with a copy of the node that has the anchor.
    pub(super) fn alias(&mut self, anchor: usize, span: SourceSpan) -> Result<(), Stop> {
        if let Some(Inside::Map { key: key @ Awaited::Name, .. }) =
            self.open.last_mut().map(|open| &mut open.inside)
        {
            *key = Awaited::Skipped;
            let message = "an alias cannot be the name of a field";
            self.diagnostics
                .push(Diagnostic::error(span, "field-name", message).help("write the name itself"));
            return Ok(());
        }
        let Some(size) = self.anchors.nodes.get(&anchor).map(|(_, size)| *size) else {
            let message = "this alias is inside of the value that it repeats";
            let diagnostic = Diagnostic::error(span, "alias", message);
            self.diagnostics
                .push(diagnostic.help("move the alias out of it, or write the value itself"));
            return Err(Stop);
        };
        if self.open.len() + size.height > DEEPEST {
            self.diagnostics.push(super::too_deep(span));
            return Err(Stop);
        }
        // The limit is checked before the copy is made.
        let range = span.range();
        self.spend(range.start, range.end, size)?;
        let copy = self.anchors.nodes.get(&anchor).map(|(node, _)| node.clone());
        // The copy has the span of the anchor, so the list or map is extended to the alias here.
        if let Some(open) = self.open.last_mut() {
            open.end = open.end.max(range.end);
        }
        if let Some(copy) = copy {
            self.place(copy);
        }
        Ok(())
    }

    /// Subtracts a size from the remaining limits.
    pub(super) fn spend(&mut self, start: usize, end: usize, size: TreeSize) -> Result<(), Stop> {
        let nodes = self.left.nodes.checked_sub(size.nodes);
        let bytes = self.left.bytes.checked_sub(size.bytes);
        let (Some(nodes), Some(bytes)) = (nodes, bytes) else {
            return Err(self.too_much(self.span(start, end)));
        };
        (self.left.nodes, self.left.bytes) = (nodes, bytes);
        Ok(())
    }

    fn too_much(&mut self, span: SourceSpan) -> Stop {
        let message = "the file is too large from here on";
        let help = format!(
            "a file may have at most {NODES} values and {} MiB of text after the expansion of \
             aliases",
            BYTES >> 20
        );
        self.diagnostics.push(Diagnostic::error(span, "too-large", message).help(help));
        Stop
    }
}

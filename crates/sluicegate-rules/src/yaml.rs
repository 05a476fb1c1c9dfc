//! YAML text read into a tree of nodes.

mod syntax;
#[cfg(test)]
mod tests;
mod tree;
mod variables;

use granit_parser::{Event, Parser};

use self::tree::{Stop, Tree};
use crate::finding::{Finding, Findings};
use crate::node::{Node, Value};
use crate::source::{SourceId, Span};

/// The name of the variable to look up, and what it is set to.
pub(crate) type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The one document of a file. `None` when the text cannot be understood, which is then the last
/// of the findings; a tree can be read in spite of smaller mistakes.
pub(crate) fn parse(
    source: SourceId,
    text: &str,
    env: Environment<'_>,
    findings: &mut Findings,
) -> Option<Node> {
    let options = granit_parser::options! { emit_comments: false };
    let mut tree = Tree::new(source, text, env, findings);
    // Where the last thing that was understood ends.
    let mut understood = 0;
    for event in Parser::new_from_str_with_options(text, options) {
        let (event, span) = match event {
            Ok(read) => read,
            Err(error) => {
                let finding = syntax::explain(source, text, &error, understood, tree.flow());
                findings.push(finding);
                return None;
            }
        };
        let range = span.byte_range().unwrap_or_default();
        if matches!(event, Event::DocumentStart(..)) && tree.is_complete() {
            let span = Span::new(source, range.start, range.end);
            let message = "a file holds one document, and here a second one starts";
            let help = "remove the line with `---`, or put what follows it into a file of its own";
            tree.findings().push(Finding::error(span, "second-document", message).help(help));
            break;
        }
        understood = understood.max(range.end);
        if let Err(Stop) = tree.take(event, &span) {
            return None;
        }
    }
    let empty = Node { span: Span::new(source, 0, 0), value: Value::Map(Vec::new()) };
    match tree.finish() {
        Some(root) if !root.is_null() => Some(root),
        _ => Some(empty),
    }
}

/// A span that is certain to lie in the text and between characters.
fn span(source: SourceId, text: &str, start: usize, end: usize) -> Span {
    let floor = |at: usize| {
        let at = at.min(text.len());
        (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
    };
    Span::new(source, floor(start), floor(end))
}

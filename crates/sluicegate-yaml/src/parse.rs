//! Parsing of a YAML text into a tree of nodes.

#[cfg(test)]
mod tests;

use granit_parser::{Event, Parser};

use crate::builder::{Stop, TreeBuilder};
use crate::diagnostics::{Diagnostic, Diagnostics};
use crate::diagnostics::{SourceId, SourceSpan};
use crate::node::{Node, Value};

/// Looks up an environment variable by its name.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Parses the only document of a file.
///
/// Returns `None` after a syntax error, which is then the last of the diagnostics. Other mistakes
/// are reported, and the tree is returned all the same.
pub fn parse(
    source: SourceId,
    text: &str,
    env: Environment<'_>,
    diagnostics: &mut Diagnostics,
) -> Option<Node> {
    let options = granit_parser::options! { emit_comments: false };
    let mut tree = TreeBuilder::new(source, text, env, diagnostics);
    // The end of the last event that was parsed.
    let mut parsed = 0;
    for event in Parser::new_from_str_with_options(text, options) {
        let (event, span) = match event {
            Ok(read) => read,
            Err(error) => {
                let diagnostic =
                    crate::syntax_error::explain(source, text, &error, parsed, tree.flow());
                diagnostics.push(diagnostic);
                return None;
            }
        };
        let range = span.byte_range().unwrap_or_default();
        if matches!(event, Event::DocumentStart(..)) && tree.is_complete() {
            let span = SourceSpan::new(source, range.start, range.end);
            let message = "a second document starts here, and a file may have one";
            let help =
                "remove the line with `---`, or move the second document into a file of its own";
            tree.diagnostics().push(Diagnostic::error(span, "second-document", message).help(help));
            break;
        }
        parsed = parsed.max(range.end);
        if let Err(Stop) = tree.take(event, &span) {
            return None;
        }
    }
    let empty = Node { span: SourceSpan::new(source, 0, 0), value: Value::Map(Vec::new()) };
    match tree.finish() {
        Some(root) if !root.is_null() => Some(root),
        _ => Some(empty),
    }
}

/// Returns a span within the text and between characters.
pub(crate) fn span(source: SourceId, text: &str, start: usize, end: usize) -> SourceSpan {
    let floor = |at: usize| {
        let at = at.min(text.len());
        (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
    };
    SourceSpan::new(source, floor(start), floor(end))
}

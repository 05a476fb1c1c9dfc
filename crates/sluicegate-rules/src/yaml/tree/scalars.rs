//! A single value: where exactly it is written, and the variables in it.

use std::ops::Range;

use granit_parser::ScalarStyle;

use super::super::variables::{self, Problem, Reason};
use super::Tree;
use crate::finding::Finding;
use crate::node::{Node, Scalar, Value};
use crate::report::shortened;
use crate::source::Span;

impl Tree<'_> {
    pub(super) fn scalar(&mut self, text: &str, style: ScalarStyle, range: &Range<usize>) -> Node {
        let plain = style == ScalarStyle::Plain;
        let span = self.written(style, range);
        if self.expects_key() {
            // An empty name is written as nothing at all; `~` and `null` can be names.
            let name = if span.range().is_empty() { "" } else { text };
            return Node { span, value: Value::Scalar(Scalar::literal(name, !plain)) };
        }
        if plain && matches!(text, "" | "~" | "null" | "Null" | "NULL") {
            return Node { span, value: Value::Null };
        }
        let scalar = if variables::has_any(text) {
            self.fill(text, !plain, span)
        } else {
            Scalar::literal(text, !plain)
        };
        Node { span, value: Value::Scalar(scalar) }
    }

    /// Where the text stands.
    fn written(&self, style: ScalarStyle, range: &Range<usize>) -> Span {
        let slice = self.text.get(range.clone()).unwrap_or("");
        if range.is_empty() && self.text.get(range.start..).is_some_and(|it| it.starts_with(':')) {
            // A field without a value: what is missing is missing after the colon.
            return self.span(range.start + 1, range.start + 1);
        }
        let end = match style {
            // The line breaks after a block belong to it, but nobody would mark them.
            ScalarStyle::Literal | ScalarStyle::Folded => range.start + slice.trim_end().len(),
            _ => range.end,
        };
        self.span(range.start, end.max(range.start))
    }

    fn fill(&mut self, written: &str, quoted: bool, span: Span) -> Scalar {
        let filled = variables::fill(written, self.env);
        self.left.bytes = self.left.bytes.saturating_sub(filled.text.len());
        if filled.problems.is_empty() {
            return Scalar::filled(filled.text, quoted, written, filled.secret);
        }
        let mut from = span.range().start;
        for problem in filled.problems {
            let place = self.find(&problem, from..span.range().end).unwrap_or(span);
            from = place.range().end;
            self.findings.push(explain(&problem, place));
        }
        Scalar::broken(written, quoted)
    }

    /// The place of a variable; escapes in quotes and line breaks can hide it.
    fn find(&self, problem: &Problem, range: Range<usize>) -> Option<Span> {
        let start = range.start + self.text.get(range)?.find(&problem.written)?;
        Some(self.span(start, start + problem.written.len()))
    }
}

fn explain(problem: &Problem, span: Span) -> Finding {
    let written = shortened(&problem.written, 60);
    match &problem.reason {
        Reason::NotSet(name) => {
            let message = format!("the environment variable `{name}` is not set");
            Finding::error(span, "missing-variable", message)
                .help(format!("set it, or write `${{{name}:-default}}`"))
        }
        Reason::NotClosed => {
            Finding::error(span, "bad-variable", "`${` is not followed by a closing `}`")
                .help("write `${NAME}`, or `$${` if the dollar sign is meant")
        }
        Reason::BadName => {
            let message = format!("`{written}` does not name an environment variable");
            Finding::error(span, "bad-variable", message).help(
                "write `${NAME}` or `${NAME:-default}` with letters, digits and `_` in the name, \
                 or `$${` if the dollar sign is meant",
            )
        }
    }
}

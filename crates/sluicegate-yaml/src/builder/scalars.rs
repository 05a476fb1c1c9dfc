//! Scalars: their exact spans, and the variables in them.

use std::ops::Range;

use granit_parser::ScalarStyle;

use super::TreeBuilder;
use crate::diagnostics::Diagnostic;
use crate::diagnostics::SourceSpan;
use crate::diagnostics::shortened;
use crate::node::{Node, Scalar, Value};
use crate::variables::{self, VariableError, VariableErrorKind};

impl TreeBuilder<'_> {
    pub(super) fn scalar(&mut self, text: &str, style: ScalarStyle, range: &Range<usize>) -> Node {
        let plain = style == ScalarStyle::Plain;
        let span = self.text_span(style, range);
        if self.expects_key() {
            // Only an empty key has no name; `~` and `null` are valid names.
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

    /// Returns the span of the text.
    fn text_span(&self, style: ScalarStyle, range: &Range<usize>) -> SourceSpan {
        let slice = self.text.get(range.clone()).unwrap_or("");
        if range.is_empty() && self.text.get(range.start..).is_some_and(|it| it.starts_with(':')) {
            // The value of the field is missing, and its place is after the colon.
            return self.span(range.start + 1, range.start + 1);
        }
        let end = match style {
            // The line breaks after a block belong to it, but are not worth marking.
            ScalarStyle::Literal | ScalarStyle::Folded => range.start + slice.trim_end().len(),
            _ => range.end,
        };
        self.span(range.start, end.max(range.start))
    }

    fn fill(&mut self, written: &str, quoted: bool, span: SourceSpan) -> Scalar {
        let filled = variables::fill(written, self.env);
        self.left.bytes = self.left.bytes.saturating_sub(filled.text.len());
        if filled.problems.is_empty() {
            return Scalar::filled(filled.text, quoted, written, filled.secret);
        }
        let mut from = span.range().start;
        for problem in filled.problems {
            let place = self.find(&problem, from..span.range().end).unwrap_or(span);
            from = place.range().end;
            self.diagnostics.push(explain(&problem, place));
        }
        Scalar::broken(written, quoted)
    }

    /// Returns the place of a variable, unless escapes in quotes or line breaks hide it.
    fn find(&self, problem: &VariableError, range: Range<usize>) -> Option<SourceSpan> {
        let start = range.start + self.text.get(range)?.find(&problem.written)?;
        Some(self.span(start, start + problem.written.len()))
    }
}

fn explain(problem: &VariableError, span: SourceSpan) -> Diagnostic {
    let written = shortened(&problem.written, 60);
    match &problem.reason {
        VariableErrorKind::NotSet(name) => {
            let message = format!("the environment variable `{name}` is not set");
            Diagnostic::error(span, "missing-variable", message)
                .help(format!("set it, or write `${{{name}:-default}}`"))
        }
        VariableErrorKind::NotClosed => {
            Diagnostic::error(span, "bad-variable", "the closing `}` of this `${` is missing")
                .help("write `${NAME}`, or `$${` for a literal dollar sign")
        }
        VariableErrorKind::BadName => {
            let message = format!("`{written}` is not the name of an environment variable");
            Diagnostic::error(span, "bad-variable", message).help(
                "write `${NAME}` or `${NAME:-default}` with letters, digits and `_` in the name, \
                 or `$${` for a literal dollar sign",
            )
        }
    }
}

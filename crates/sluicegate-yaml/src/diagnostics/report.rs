//! A report: all diagnostics of a rule set in order, and their presentation.

#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use annotate_snippets::Renderer;

use crate::diagnostics::{Diagnostic, Diagnostics, Severity};
use crate::diagnostics::{Location, SourceMap};

/// The largest number of diagnostics that are shown.
const SHOWN: usize = 100;

/// All diagnostics about a set of files.
#[derive(Clone, Default, Debug)]
pub struct Report {
    sources: SourceMap,
    diagnostics: Vec<Diagnostic>,
    /// The numbers of errors and warnings that were not kept.
    dropped: [usize; 2],
}

/// The whole report, without colour.
impl std::fmt::Display for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.render(false))
    }
}

impl std::error::Error for Report {}

impl Report {
    /// Sorts the diagnostics by file and position.
    pub fn new(sources: SourceMap, diagnostics: Diagnostics) -> Self {
        let (mut diagnostics, dropped) = diagnostics.into_parts();
        // Each use of an alias repeats its diagnostics; after sorting, equal ones are adjacent.
        diagnostics.sort_by(|one, other| {
            let key = |diagnostic: &Diagnostic| (diagnostic.span(), diagnostic.code());
            key(one).cmp(&key(other)).then_with(|| one.message().cmp(other.message()))
        });
        diagnostics.dedup();
        Self { sources, diagnostics, dropped }
    }

    /// Returns the diagnostics by file and position.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// Returns the source texts.
    pub fn sources(&self) -> &SourceMap {
        &self.sources
    }

    /// Whether there are errors, so that the files cannot be used.
    pub fn has_errors(&self) -> bool {
        self.errors() > 0
    }

    /// Returns the number of errors.
    pub fn errors(&self) -> usize {
        self.count(Severity::Error) + self.dropped[0]
    }

    /// Returns the number of warnings.
    pub fn warnings(&self) -> usize {
        self.count(Severity::Warning) + self.dropped[1]
    }

    /// Returns the place of a diagnostic in lines and columns.
    pub fn locate(&self, diagnostic: &Diagnostic) -> Location {
        self.sources.place(diagnostic.span())
    }

    /// Returns the diagnostics with their source lines; empty if there are none.
    pub fn render(&self, colour: bool) -> String {
        let mut text = String::new();
        for (_, diagnostic) in self.rendered(colour) {
            text.push_str(&diagnostic);
            text.push_str("\n\n");
        }
        let all = self.errors() + self.warnings() + self.count(Severity::Note);
        let left = all.saturating_sub(SHOWN);
        if left > 0 {
            let _ = writeln!(text, "and {left} more");
        }
        text + &self.summary()
    }

    /// Returns the last line of a report, with the numbers of diagnostics; empty if there are none.
    pub fn summary(&self) -> String {
        let notes = self.count(Severity::Note);
        let counts = [(self.errors(), "error"), (self.warnings(), "warning"), (notes, "note")];
        let counts = counts.into_iter().filter(|(count, _)| *count > 0).map(|(count, noun)| {
            let plural = if count == 1 { "" } else { "s" };
            format!("{count} {noun}{plural}")
        });
        let summary = counts.collect::<Vec<_>>().join(", ");
        if summary.is_empty() { summary } else { summary + "\n" }
    }

    /// Returns the first hundred diagnostics, each with its source lines.
    pub fn rendered(&self, colour: bool) -> impl Iterator<Item = (Severity, String)> {
        let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
        self.diagnostics.iter().take(SHOWN).map(move |diagnostic| {
            let text =
                renderer.render(&crate::diagnostics::annotation::groups(&self.sources, diagnostic));
            (diagnostic.severity(), text)
        })
    }

    fn count(&self, severity: Severity) -> usize {
        self.diagnostics.iter().filter(|diagnostic| diagnostic.severity() == severity).count()
    }
}

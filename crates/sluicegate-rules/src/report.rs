//! All findings of one reading, in order, and how they are shown.

mod printable;
mod snippet;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use annotate_snippets::Renderer;

pub(crate) use self::printable::shortened;
use crate::finding::{Finding, Findings, Severity};
use crate::source::{Place, Sources};

/// More than this at once helps nobody.
const SHOWN: usize = 100;

/// What was found in the files that were read.
#[derive(Clone, Default, Debug)]
pub struct Report {
    sources: Sources,
    findings: Vec<Finding>,
    /// Errors and warnings that were counted but not kept.
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
    /// Puts the findings in the order of the files.
    pub fn new(sources: Sources, findings: Findings) -> Self {
        let (mut findings, dropped) = findings.into_parts();
        // What an alias repeats is found once for each use; in this order equals are neighbours.
        findings.sort_by(|one, other| {
            let key = |finding: &Finding| (finding.span(), finding.code());
            key(one).cmp(&key(other)).then_with(|| one.message().cmp(other.message()))
        });
        findings.dedup();
        Self { sources, findings, dropped }
    }

    /// The findings by file and position.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// The texts they are about.
    pub fn sources(&self) -> &Sources {
        &self.sources
    }

    /// Whether the files cannot be used.
    pub fn has_errors(&self) -> bool {
        self.errors() > 0
    }

    /// How many errors there are.
    pub fn errors(&self) -> usize {
        self.count(Severity::Error) + self.dropped[0]
    }

    /// How many warnings there are.
    pub fn warnings(&self) -> usize {
        self.count(Severity::Warning) + self.dropped[1]
    }

    /// Where a finding is, in lines and columns.
    pub fn locate(&self, finding: &Finding) -> Place {
        self.sources.place(finding.span())
    }

    /// The findings with the lines they are about, for a person; empty when there are none.
    pub fn render(&self, colour: bool) -> String {
        let mut text = String::new();
        for (_, finding) in self.rendered(colour) {
            text.push_str(&finding);
            text.push_str("\n\n");
        }
        let (errors, warnings) = (self.errors(), self.warnings());
        let notes = self.count(Severity::Note);
        let left = (errors + warnings + notes).saturating_sub(SHOWN);
        if left > 0 {
            let _ = writeln!(text, "and {left} more");
        }
        let counts = [(errors, "error"), (warnings, "warning"), (notes, "note")];
        let counts = counts.into_iter().filter(|(count, _)| *count > 0).map(|(count, noun)| {
            let plural = if count == 1 { "" } else { "s" };
            format!("{count} {noun}{plural}")
        });
        let summary = counts.collect::<Vec<_>>().join(", ");
        if !summary.is_empty() {
            let _ = writeln!(text, "{summary}");
        }
        text
    }

    /// The findings one by one, each with the lines it is about; no more than anybody reads.
    pub fn rendered(&self, colour: bool) -> impl Iterator<Item = (Severity, String)> {
        let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
        self.findings.iter().take(SHOWN).map(move |finding| {
            let text = renderer.render(&snippet::groups(&self.sources, finding));
            (finding.severity(), text)
        })
    }

    fn count(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|finding| finding.severity() == severity).count()
    }
}

//! One thing that is wrong with what was read, and the list of them.

use crate::source::Span;

/// How bad a finding is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Severity {
    /// The files cannot be used.
    Error,
    /// The files can be used, but probably do not say what was meant.
    Warning,
    /// The files can be used; whether they say what was meant depends on the upstream.
    Note,
}

/// A mistake at a place, with what would be right.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    severity: Severity,
    code: &'static str,
    span: Span,
    message: String,
    label: String,
    help: Option<String>,
    related: Vec<(Span, String)>,
}

impl Finding {
    /// A mistake that makes the files unusable.
    pub fn error(span: Span, code: &'static str, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, span, code, message.into())
    }

    /// Something that is allowed, but hardly meant.
    pub fn warning(span: Span, code: &'static str, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, span, code, message.into())
    }

    /// Something that may be meant, and has a consequence that is easily missed.
    pub fn note(span: Span, code: &'static str, message: impl Into<String>) -> Self {
        Self::new(Severity::Note, span, code, message.into())
    }

    fn new(severity: Severity, span: Span, code: &'static str, message: String) -> Self {
        let (label, help, related) = (String::new(), None, Vec::new());
        Self { severity, code, span, message, label, help, related }
    }

    /// Puts a text next to the marker.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// Says how to put it right.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Shows another place that has to do with it.
    #[must_use]
    pub fn related(mut self, span: Span, text: impl Into<String>) -> Self {
        self.related.push((span, text.into()));
        self
    }

    /// How bad it is.
    pub fn severity(&self) -> Severity {
        self.severity
    }

    /// The short name of this kind of mistake.
    pub fn code(&self) -> &'static str {
        self.code
    }

    /// Where it is.
    pub fn span(&self) -> Span {
        self.span
    }

    /// What is wrong.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The text next to the marker; empty when the message says it all.
    pub fn label_text(&self) -> &str {
        &self.label
    }

    /// How to put it right.
    pub fn help_text(&self) -> Option<&str> {
        self.help.as_deref()
    }

    /// Other places that have to do with it.
    pub fn related_places(&self) -> &[(Span, String)] {
        &self.related
    }
}

/// Nobody reads further than this; keeping more would let a broken file fill the memory.
const KEPT: usize = 10_000;

/// What all readers put their findings into.
#[derive(Clone, Default, Debug)]
pub struct Findings {
    kept: Vec<Finding>,
    /// Errors and warnings that were counted but not kept.
    dropped: [usize; 2],
}

impl Findings {
    /// Adds one.
    pub fn push(&mut self, finding: Finding) {
        if self.kept.len() < KEPT {
            self.kept.push(finding);
        } else {
            let [errors, warnings] = &mut self.dropped;
            match finding.severity {
                Severity::Error => *errors += 1,
                Severity::Warning => *warnings += 1,
                Severity::Note => {}
            }
        }
    }

    /// Whether one of them is an error.
    pub fn has_errors(&self) -> bool {
        let [errors, _] = self.dropped;
        errors > 0 || self.kept.iter().any(|finding| finding.severity == Severity::Error)
    }

    /// The findings in the order they came, and how many errors and warnings were not kept.
    pub(crate) fn into_parts(self) -> (Vec<Finding>, [usize; 2]) {
        (self.kept, self.dropped)
    }
}

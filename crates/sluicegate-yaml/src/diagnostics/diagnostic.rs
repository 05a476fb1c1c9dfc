//! A diagnostic, and a list of them.

use crate::diagnostics::SourceSpan;

/// The severity of a diagnostic.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Severity {
    /// The files cannot be used.
    Error,
    /// The files can be used, but are probably not meant so.
    Warning,
    /// The files can be used; whether they are right depends on the upstream.
    Note,
}

/// A mistake at a place, with its fix.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    severity: Severity,
    code: &'static str,
    span: SourceSpan,
    message: String,
    label: String,
    help: Option<String>,
    related: Vec<(SourceSpan, String)>,
}

impl Diagnostic {
    /// Creates an error: the files cannot be used.
    pub fn error(span: SourceSpan, code: &'static str, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, span, code, message.into())
    }

    /// Creates a warning: valid, but probably not meant.
    pub fn warning(span: SourceSpan, code: &'static str, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, span, code, message.into())
    }

    /// Creates a note: probably meant, but with a consequence that is easily missed.
    pub fn note(span: SourceSpan, code: &'static str, message: impl Into<String>) -> Self {
        Self::new(Severity::Note, span, code, message.into())
    }

    fn new(severity: Severity, span: SourceSpan, code: &'static str, message: String) -> Self {
        let (label, help, related) = (String::new(), None, Vec::new());
        Self { severity, code, span, message, label, help, related }
    }

    /// Sets the text next to the marker.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// Sets the help: how to fix the mistake.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Adds a related place.
    #[must_use]
    pub fn related(mut self, span: SourceSpan, text: impl Into<String>) -> Self {
        self.related.push((span, text.into()));
        self
    }

    /// Returns the severity.
    pub fn severity(&self) -> Severity {
        self.severity
    }

    /// Returns the short name of this kind of mistake.
    pub fn code(&self) -> &'static str {
        self.code
    }

    /// Returns the place of the mistake.
    pub fn span(&self) -> SourceSpan {
        self.span
    }

    /// Returns the description of the mistake.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns the text next to the marker, which may be empty.
    pub fn label_text(&self) -> &str {
        &self.label
    }

    /// Returns the help: how to fix the mistake.
    pub fn help_text(&self) -> Option<&str> {
        self.help.as_deref()
    }

    /// Returns the related places.
    pub fn related_places(&self) -> &[(SourceSpan, String)] {
        &self.related
    }
}

/// The largest number of diagnostics that are kept, because a broken file could fill the memory.
const KEPT: usize = 10_000;

/// The list to which all parts of a reader add their diagnostics.
#[derive(Clone, Default, Debug)]
pub struct Diagnostics {
    kept: Vec<Diagnostic>,
    /// The numbers of errors and warnings that were not kept.
    dropped: [usize; 2],
}

impl Diagnostics {
    /// Adds a diagnostic.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        if self.kept.len() < KEPT {
            self.kept.push(diagnostic);
        } else {
            let [errors, warnings] = &mut self.dropped;
            match diagnostic.severity {
                Severity::Error => *errors += 1,
                Severity::Warning => *warnings += 1,
                Severity::Note => {}
            }
        }
    }

    /// Returns the number of diagnostics that were kept.
    pub fn len(&self) -> usize {
        self.kept.len()
    }

    /// Whether there are no diagnostics.
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty() && self.dropped == [0; 2]
    }

    /// Removes the warnings with a code after the first `start` diagnostics.
    ///
    /// Returns whether there was one.
    pub fn remove_warnings(&mut self, start: usize, code: &str) -> bool {
        let before = self.kept.len();
        let mut index = 0;
        self.kept.retain(|diagnostic| {
            index += 1;
            let is_warning = diagnostic.severity == Severity::Warning;
            index <= start || !is_warning || diagnostic.code != code
        });
        self.kept.len() < before
    }

    /// Whether there is an error.
    pub fn has_errors(&self) -> bool {
        let [errors, _] = self.dropped;
        errors > 0 || self.kept.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
    }

    /// Returns the diagnostics in order, and the numbers of errors and warnings not kept.
    pub fn into_parts(self) -> (Vec<Diagnostic>, [usize; 2]) {
        (self.kept, self.dropped)
    }
}

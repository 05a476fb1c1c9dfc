//! The errors of reading traces.

use std::fmt;

/// An error in a trace file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceReadError {
    /// The file; empty for values from the command line.
    pub file: String,
    /// The line; 0 for the file as a whole.
    pub line: u64,
    /// The problem, and what was expected.
    pub what: String,
}

impl fmt::Display for TraceReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.file.as_str(), self.line) {
            ("", _) => {}
            (file, 0) => write!(f, "{file}: ")?,
            (file, line) => write!(f, "{file}:{line}: ")?,
        }
        f.write_str(&self.what)
    }
}

/// The errors that make traces unreadable.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TraceErrors {
    faults: Vec<TraceReadError>,
}

impl TraceErrors {
    /// The number of errors kept.
    pub const SHOWN: usize = 20;

    /// Returns the errors, up to [`TraceErrors::SHOWN`].
    pub fn faults(&self) -> &[TraceReadError] {
        &self.faults
    }

    pub(crate) fn push(&mut self, file: &str, line: u64, what: impl Into<String>) {
        self.faults.push(TraceReadError { file: file.to_owned(), line, what: what.into() });
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.faults.is_empty()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.faults.len() >= Self::SHOWN
    }
}

impl fmt::Display for TraceErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cannot read the trace")?;
        self.faults.iter().try_for_each(|fault| write!(f, "\n  {fault}"))?;
        if self.is_full() {
            f.write_str("\n  there may be more: reading stopped here")?;
        }
        Ok(())
    }
}

impl std::error::Error for TraceErrors {}

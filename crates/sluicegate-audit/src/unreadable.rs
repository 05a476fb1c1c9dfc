//! Why traces cannot be read: all that is wrong with them, up to a point.

use std::fmt;

/// Something in a file that is not a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Which file; empty for what was said on the command line.
    pub file: String,
    /// Which line of it; 0 for the file as a whole.
    pub line: u64,
    /// What was found, and what was expected.
    pub what: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.file.as_str(), self.line) {
            ("", _) => {}
            (file, 0) => write!(f, "{file}: ")?,
            (file, line) => write!(f, "{file}:{line}: ")?,
        }
        f.write_str(&self.what)
    }
}

/// Why traces cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Unreadable {
    faults: Vec<Fault>,
}

impl Unreadable {
    /// How many faults are shown.
    pub const SHOWN: usize = 20;

    /// All that was found, up to [`Unreadable::SHOWN`].
    pub fn faults(&self) -> &[Fault] {
        &self.faults
    }

    pub(crate) fn push(&mut self, file: &str, line: u64, what: impl Into<String>) {
        self.faults.push(Fault { file: file.to_owned(), line, what: what.into() });
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.faults.is_empty()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.faults.len() >= Self::SHOWN
    }
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cannot read the trace")?;
        self.faults.iter().try_for_each(|fault| write!(f, "\n  {fault}"))?;
        if self.is_full() {
            f.write_str("\n  there may be more: reading stopped here")?;
        }
        Ok(())
    }
}

impl std::error::Error for Unreadable {}

//! Why a pattern was refused, where, and what to write instead.

use core::fmt;
use core::ops::Range;

/// A pattern that could never match, or that surely means something else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PatternError {
    /// The bytes of the pattern's text that are at fault.
    pub(crate) range: Range<usize>,
    /// What was found.
    pub(crate) message: String,
    /// What would be right.
    pub(crate) help: String,
}

impl PatternError {
    pub(crate) fn new(
        range: Range<usize>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        Self { range, message: message.into(), help: help.into() }
    }
}

impl fmt::Display for PatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.message, self.help)
    }
}

impl core::error::Error for PatternError {}

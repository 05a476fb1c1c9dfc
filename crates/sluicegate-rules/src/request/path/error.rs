//! The error of an invalid pattern, with its range and a hint.

use core::fmt;
use core::ops::Range;

/// The error for a pattern that can never match, or was certainly meant differently.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PatternError {
    /// The invalid range of the pattern's text.
    pub(crate) range: Range<usize>,
    /// The description of the error.
    pub(crate) message: String,
    /// The hint how to fix it.
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

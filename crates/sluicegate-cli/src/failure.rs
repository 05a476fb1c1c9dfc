//! Why the program ends without having done what it was asked, and how it says so.

use std::fmt;
use std::process::ExitCode;

use sluicegate_rules::Unreadable;

/// Why the program ends without having done what it was asked.
#[derive(Debug)]
pub(crate) struct Failure {
    code: u8,
    error: anyhow::Error,
}

impl Failure {
    /// What the arguments ask for cannot be done by anybody: the same code as for arguments that
    /// cannot be read.
    pub(crate) fn usage(error: anyhow::Error) -> Self {
        Self { code: 2, error }
    }

    /// The code to end with.
    pub(crate) fn code(&self) -> ExitCode {
        self.code.into()
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self { code: 1, error }
    }
}

impl From<Unreadable> for Failure {
    fn from(unreadable: Unreadable) -> Self {
        let (path, reason) = (unreadable.path().display(), unreadable.reason());
        let hint = "give the path of a rule file, or of a folder with `.yaml` files";
        Self::usage(anyhow::anyhow!("cannot read `{path}`: {reason}\nhint: {hint}"))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {:#}", self.error)
    }
}

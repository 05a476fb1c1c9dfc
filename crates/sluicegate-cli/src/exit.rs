//! Errors that end the program, with their exit codes.

use std::fmt;
use std::process::ExitCode;

use sluicegate_rules::UnreadableFile;

/// An error that ends the program.
#[derive(Debug)]
pub(crate) struct CliError {
    code: u8,
    error: anyhow::Error,
}

impl CliError {
    /// An error in the arguments; its exit code is the one that clap uses.
    pub(crate) fn usage(error: anyhow::Error) -> Self {
        Self { code: 2, error }
    }

    /// The exit code.
    pub(crate) fn code(&self) -> ExitCode {
        self.code.into()
    }
}

impl From<anyhow::Error> for CliError {
    fn from(error: anyhow::Error) -> Self {
        Self { code: 1, error }
    }
}

impl From<UnreadableFile> for CliError {
    fn from(unreadable: UnreadableFile) -> Self {
        let (path, reason) = (unreadable.path().display(), unreadable.reason());
        let hint = "give the path of a rule file, or of a folder with `.yaml` files";
        Self::usage(anyhow::anyhow!("cannot read `{path}`: {reason}\nhint: {hint}"))
    }
}

impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {:#}", self.error)
    }
}

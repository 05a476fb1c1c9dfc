//! Output to standard output and standard error.

use std::io::{self, ErrorKind, Write};

use anyhow::{Context, Result};

/// Prints the result of a command on standard output.
///
/// A closed pipe, as by `head`, is not an error; a full disk is.
pub(crate) fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(error).context("cannot write to standard output")
        }
        _ => Ok(()),
    }
}

/// Prints a status line on standard output, and ignores errors.
pub(crate) fn print_status(text: &str) {
    let _ = print(text);
}

/// Prints to standard error, and ignores errors because there is no other place to report them.
pub(crate) fn print_error(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}

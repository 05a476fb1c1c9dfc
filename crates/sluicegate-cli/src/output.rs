//! What the program has to say.

use std::io::{self, ErrorKind, Write};

use anyhow::{Context, Result};

/// Prints what was asked for, on standard output.
///
/// Who stops reading, as `head` does, has read enough; a full disk is an error.
pub(crate) fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(error).context("cannot write to standard output")
        }
        _ => Ok(()),
    }
}

/// Says something beside the point: who does not read it misses nothing that is needed.
pub(crate) fn say(text: &str) {
    let _ = print(text);
}

/// Says what is wrong, on standard error. With that gone there is nobody left to tell.
pub(crate) fn complain(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}

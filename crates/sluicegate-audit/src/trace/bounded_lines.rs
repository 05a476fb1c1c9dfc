//! Reading lines of a file with a bounded length.

use std::io::{self, BufRead, ErrorKind, Read};

/// The longest line in bytes.
const LONGEST: u64 = 1 << 20;

/// The lines of a file.
pub(crate) struct BoundedLines {
    from: Box<dyn BufRead>,
    line: Vec<u8>,
    number: u64,
}

impl BoundedLines {
    pub(crate) fn new(from: Box<dyn BufRead>) -> Self {
        Self { from, line: Vec::new(), number: 0 }
    }

    /// Returns the number of the last line.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Returns the next line that is not empty, and its number.
    pub(crate) fn next_line(&mut self) -> io::Result<Option<(&[u8], u64)>> {
        loop {
            self.line.clear();
            self.number += 1;
            let read = (&mut self.from).take(LONGEST).read_until(b'\n', &mut self.line)?;
            if read == 0 {
                return Ok(None);
            }
            if read as u64 == LONGEST && !self.line.ends_with(b"\n") {
                let what = format!("the line is longer than {LONGEST} bytes; no entry is");
                return Err(io::Error::new(ErrorKind::InvalidData, what));
            }
            if !self.line.trim_ascii().is_empty() {
                break;
            }
        }
        Ok(Some((self.line.trim_ascii(), self.number)))
    }
}

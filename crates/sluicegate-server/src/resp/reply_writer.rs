//! Writes RESP replies, in version 2 or 3 of the protocol.

use std::fmt::{self, Write};

/// The version of RESP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Version {
    /// RESP2: arrays, texts and whole numbers.
    #[default]
    Two,
    /// RESP3: also maps, sets and nulls.
    Three,
}

impl Version {
    pub(super) const fn number(self) -> i64 {
        match self {
            Self::Two => 2,
            Self::Three => 3,
        }
    }
}

/// The buffer of replies that have not been sent yet.
#[derive(Debug, Default)]
pub(super) struct ReplyWriter {
    pub(super) bytes: Vec<u8>,
}

impl ReplyWriter {
    /// Writes a simple string.
    pub(super) fn simple(&mut self, text: &'static str) {
        self.line(b'+', text.as_bytes());
    }

    pub(super) fn ok(&mut self) {
        self.simple("OK");
    }

    /// Writes an error; its first word is the kind.
    pub(super) fn error(&mut self, text: impl fmt::Display) {
        self.bytes.push(b'-');
        // Writing to a `Vec` does not fail.
        let _ = write!(OneLine(&mut self.bytes), "{text}");
        self.bytes.extend_from_slice(b"\r\n");
    }

    pub(super) fn integer(&mut self, number: i64) {
        self.number(b':', number);
    }

    pub(super) fn bulk(&mut self, text: impl AsRef<[u8]>) {
        let text = text.as_ref();
        self.count(b'$', text.len());
        self.bytes.extend_from_slice(text);
        self.bytes.extend_from_slice(b"\r\n");
    }

    /// Writes a verbatim string, a text of several lines.
    pub(super) fn verbatim(&mut self, text: &str, version: Version) {
        if version == Version::Two {
            return self.bulk(text);
        }
        self.count(b'=', text.len() + 4);
        for part in ["txt:", text, "\r\n"] {
            self.bytes.extend_from_slice(part.as_bytes());
        }
    }

    pub(super) fn null(&mut self, version: Version) {
        self.bytes.extend_from_slice(match version {
            Version::Two => b"$-1\r\n",
            Version::Three => b"_\r\n",
        });
    }

    /// Writes the head of an array; its items follow.
    pub(super) fn array(&mut self, items: usize) {
        self.count(b'*', items);
    }

    /// Writes the head of a set; its items follow.
    pub(super) fn set(&mut self, items: usize, version: Version) {
        self.count(if version == Version::Two { b'*' } else { b'~' }, items);
    }

    /// Writes the head of a map; alternating names and values follow.
    pub(super) fn map(&mut self, entries: usize, version: Version) {
        match version {
            Version::Two => self.count(b'*', entries * 2),
            Version::Three => self.count(b'%', entries),
        }
    }

    fn count(&mut self, kind: u8, count: usize) {
        self.number(kind, i64::try_from(count).unwrap_or(i64::MAX));
    }

    /// Writes a line with a number; the reply to a throttle has five.
    #[inline]
    fn number(&mut self, kind: u8, number: i64) {
        // The kind, a sign, 19 digits, and the line end.
        let mut line = [0; 23];
        let mut start = line.len();
        let mut put = |byte| {
            start -= 1;
            line[start] = byte;
        };
        put(b'\n');
        put(b'\r');
        let mut rest = number.unsigned_abs();
        loop {
            // Below ten, so that the conversion succeeds.
            put(b'0' + u8::try_from(rest % 10).unwrap_or_default());
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        if number < 0 {
            put(b'-');
        }
        put(kind);
        self.bytes.extend_from_slice(&line[start..]);
    }

    fn line(&mut self, kind: u8, text: &[u8]) {
        self.bytes.push(kind);
        self.bytes.extend_from_slice(text);
        self.bytes.extend_from_slice(b"\r\n");
    }
}

/// A writer that replaces line ends, so that a text stays on its line.
struct OneLine<'a>(&'a mut Vec<u8>);

impl fmt::Write for OneLine<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.extend(
            text.bytes().map(|byte| if matches!(byte, b'\r' | b'\n') { b' ' } else { byte }),
        );
        Ok(())
    }
}

/// The readable start of an argument, for error messages.
pub(super) struct Excerpt<'a>(pub(super) &'a [u8]);

impl Excerpt<'_> {
    /// The most bytes of an excerpt.
    pub(super) const MAX: usize = 128;
}

impl fmt::Display for Excerpt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.0.get(..Self::MAX).unwrap_or(self.0);
        f.write_str(&String::from_utf8_lossy(shown))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl FnOnce(&mut ReplyWriter)) -> String {
        let mut replies = ReplyWriter::default();
        write(&mut replies);
        String::from_utf8(replies.bytes).unwrap()
    }

    #[test]
    fn integers_are_written_with_all_digits() {
        for number in [0, 7, -1, 10, 99, 100, 4_096, -10, i64::MAX, i64::MIN] {
            assert_eq!(written(|replies| replies.integer(number)), format!(":{number}\r\n"));
        }
    }

    #[test]
    fn line_ends_in_errors_are_replaced() {
        let error = written(|replies| replies.error("ERR a\r\n+OK\nb"));
        assert_eq!(error, "-ERR a  +OK b\r\n");
    }

    #[test]
    fn maps_texts_and_nulls_depend_on_the_version() {
        for (version, expected) in [
            (Version::Two, "*4\r\n$-1\r\n$2\r\nhi\r\n*1\r\n"),
            (Version::Three, "%2\r\n_\r\n=6\r\ntxt:hi\r\n~1\r\n"),
        ] {
            let found = written(|replies| {
                replies.map(2, version);
                replies.null(version);
                replies.verbatim("hi", version);
                replies.set(1, version);
            });
            assert_eq!(found, expected);
        }
    }
}

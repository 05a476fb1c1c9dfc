//! Commands that are a line, as people type them: words, some of them in quotes.

use super::{Argument, LONGEST_LINE, Parsed, Violation};

/// Reads the line that begins at `start`. Quoted words are unquoted where they stand: they only
/// become shorter.
pub(super) fn parse(
    bytes: &mut [u8],
    start: usize,
    arguments: &mut Vec<Argument>,
) -> Result<Parsed, Violation> {
    let Some(line) = bytes.get_mut(start..) else { return Ok(Parsed::Short { needs: 1 }) };
    let end = line.iter().position(|byte| *byte == b'\n');
    if end.unwrap_or(line.len()) > LONGEST_LINE {
        return Err(Violation::LongLine);
    }
    let Some(end) = end else { return Ok(Parsed::Short { needs: line.len() + 1 }) };
    let line = line.get_mut(..end).unwrap_or_default();
    let mut words = Words { line, at: 0, written: 0 };
    while let Some((from, to)) = words.next()? {
        arguments.push(Argument { start: start + from, end: start + to });
    }
    Ok(Parsed::Whole { length: end + 1 })
}

/// The words of a line.
struct Words<'a> {
    line: &'a mut [u8],
    /// What is read next.
    at: usize,
    /// Where the next byte of a word is put: never behind `at`.
    written: usize,
}

impl Words<'_> {
    /// The next word, if there is one.
    fn next(&mut self) -> Result<Option<(usize, usize)>, Violation> {
        while self.peek().is_some_and(is_space) {
            self.at += 1;
        }
        if self.peek().is_none() {
            return Ok(None);
        }
        self.written = self.at;
        let start = self.at;
        while let Some(byte) = self.peek() {
            match byte {
                b'"' | b'\'' => {
                    self.at += 1;
                    self.quoted(byte)?;
                    // Behind a quote a word ends.
                    if self.peek().is_some_and(|byte| !is_space(byte)) {
                        return Err(Violation::Quotes);
                    }
                    break;
                }
                byte if is_space(byte) => break,
                byte => {
                    self.at += 1;
                    self.put(byte);
                }
            }
        }
        Ok(Some((start, self.written)))
    }

    /// Reads up to the quote that ends what this one began.
    fn quoted(&mut self, quote: u8) -> Result<(), Violation> {
        loop {
            let byte = self.peek().ok_or(Violation::Quotes)?;
            self.at += 1;
            match byte {
                byte if byte == quote => return Ok(()),
                b'\\' if quote == b'"' => {
                    let escaped = self.escaped()?;
                    self.put(escaped);
                }
                b'\\' if self.peek() == Some(quote) => {
                    self.at += 1;
                    self.put(quote);
                }
                byte => self.put(byte),
            }
        }
    }

    /// What a backslash and the bytes behind it stand for.
    fn escaped(&mut self) -> Result<u8, Violation> {
        let byte = self.peek().ok_or(Violation::Quotes)?;
        self.at += 1;
        Ok(match byte {
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'b' => 0x08,
            b'a' => 0x07,
            b'x' => match self.hexadecimal() {
                Some(byte) => {
                    self.at += 2;
                    byte
                }
                None => b'x',
            },
            other => other,
        })
    }

    fn hexadecimal(&self) -> Option<u8> {
        let digits = str::from_utf8(self.line.get(self.at..self.at + 2)?).ok()?;
        let both = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        both.then(|| u8::from_str_radix(digits, 16).ok())?
    }

    fn peek(&self) -> Option<u8> {
        self.line.get(self.at).copied()
    }

    fn put(&mut self, byte: u8) {
        if let Some(place) = self.line.get_mut(self.written) {
            *place = byte;
        }
        self.written += 1;
    }
}

/// What C takes for space.
fn is_space(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == 0x0b
}

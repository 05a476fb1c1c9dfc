//! Parser for inline commands: a line of words, which may be quoted.

use super::{Argument, MAX_LINE, ParsedCommand, ProtocolError};

/// Parses the line that begins at `start`.
///
/// Quoted words are unquoted in place, because they only become shorter.
pub(super) fn parse(
    bytes: &mut [u8],
    start: usize,
    arguments: &mut Vec<Argument>,
) -> Result<ParsedCommand, ProtocolError> {
    let line = &mut bytes[start..];
    let end = line.iter().position(|byte| *byte == b'\n');
    if end.unwrap_or(line.len()) > MAX_LINE {
        return Err(ProtocolError::LongLine);
    }
    let Some(end) = end else { return Ok(ParsedCommand::Incomplete { needs: line.len() + 1 }) };
    let mut words = InlineArguments { line: &mut line[..end], at: 0, written: 0 };
    while let Some((from, to)) = words.next()? {
        arguments.push(Argument { start: start + from, end: start + to });
    }
    Ok(ParsedCommand::Complete { length: end + 1 })
}

/// The words of a line.
struct InlineArguments<'a> {
    line: &'a mut [u8],
    /// The position of the next byte to read.
    at: usize,
    /// The position of the next byte to write: never after `at`.
    written: usize,
}

impl InlineArguments<'_> {
    /// Returns the start and end of the next word, if there is one.
    fn next(&mut self) -> Result<Option<(usize, usize)>, ProtocolError> {
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
                    // A closing quote ends the word.
                    if self.peek().is_some_and(|byte| !is_space(byte)) {
                        return Err(ProtocolError::Quotes);
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

    /// Reads up to the closing quote.
    fn quoted(&mut self, quote: u8) -> Result<(), ProtocolError> {
        loop {
            let byte = self.peek().ok_or(ProtocolError::Quotes)?;
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

    /// Reads the byte of an escape sequence, after its backslash.
    fn escaped(&mut self) -> Result<u8, ProtocolError> {
        let byte = self.peek().ok_or(ProtocolError::Quotes)?;
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
        self.line[self.written] = byte;
        self.written += 1;
    }
}

/// Returns whether a byte is white space in C.
fn is_space(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == 0x0b
}

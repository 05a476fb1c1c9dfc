//! Parser for RESP commands: arrays of bulk strings, and inline commands.
//!
//! The result is positions in the bytes; nothing is copied. An incomplete command is parsed again
//! from its start, but only after the current argument is complete, in however many pieces it
//! arrives.

mod error;
mod inline;
#[cfg(test)]
mod tests;

pub(super) use self::error::ProtocolError;

/// The most arguments of a command, including its name.
pub(super) const MAX_ARGUMENTS: usize = 1_024;
/// The longest argument.
pub(super) const MAX_ARGUMENT: usize = 64 * 1_024;
/// The longest inline command.
pub(super) const MAX_LINE: usize = 64 * 1_024;
/// The longest command.
pub(super) const MAX_COMMAND: usize = 128 * 1_024;

/// The fewest bytes of an argument: `$0` and two line ends.
const SHORTEST: usize = 6;
/// The most digits of a negative number, as many as 64 bits have.
const MAX_DIGITS: usize = 19;
const LINE_END: &[u8] = b"\r\n";

/// The position of an argument in the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Argument {
    start: usize,
    end: usize,
}

impl Argument {
    /// Returns the bytes of the argument.
    pub(super) fn of(self, bytes: &[u8]) -> &[u8] {
        &bytes[self.start..self.end]
    }
}

/// The result of parsing the next bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ParsedCommand {
    /// A command of `length` bytes, whose arguments were added; none for an empty command.
    Complete { length: usize },
    /// The start of a command, to be parsed again once it has `needs` bytes.
    Incomplete { needs: usize },
}

/// Parses the command that begins at `start`, and adds its arguments.
pub(super) fn parse(
    bytes: &mut [u8],
    start: usize,
    arguments: &mut Vec<Argument>,
) -> Result<ParsedCommand, ProtocolError> {
    let before = arguments.len();
    let parsed = match bytes.get(start) {
        None => Ok(ParsedCommand::Incomplete { needs: 1 }),
        Some(b'*') => ParserState { bytes, start, at: start + 1 }.array(arguments),
        Some(_) => inline::parse(bytes, start, arguments),
    };
    if !matches!(parsed, Ok(ParsedCommand::Complete { .. })) {
        arguments.truncate(before);
    }
    parsed
}

/// A command that is being parsed.
struct ParserState<'a> {
    bytes: &'a [u8],
    start: usize,
    at: usize,
}

/// The number in a line: the count of arguments, or the length of one.
enum ParsedNumber {
    Valid(usize),
    /// Below zero.
    Negative,
    /// Its line is incomplete.
    Incomplete,
    /// It is not a number, or above the maximum.
    Invalid,
}

impl ParserState<'_> {
    fn array(mut self, arguments: &mut Vec<Argument>) -> Result<ParsedCommand, ProtocolError> {
        let count = match self.number(MAX_ARGUMENTS) {
            ParsedNumber::Valid(count) => count,
            ParsedNumber::Negative => 0,
            ParsedNumber::Incomplete => return Ok(self.incomplete()),
            ParsedNumber::Invalid => return Err(ProtocolError::Count),
        };
        for left in (0..count).rev() {
            match self.bytes.get(self.at) {
                Some(b'$') => self.at += 1,
                Some(other) => return Err(ProtocolError::NotBulk { found: *other }),
                None => return Ok(self.incomplete()),
            }
            let length = match self.number(MAX_ARGUMENT) {
                ParsedNumber::Valid(length) => length,
                ParsedNumber::Incomplete => return Ok(self.incomplete()),
                ParsedNumber::Negative | ParsedNumber::Invalid => {
                    return Err(ProtocolError::Length);
                }
            };
            let (start, end) = (self.at, self.at + length);
            self.at = end + LINE_END.len();
            if self.at + left * SHORTEST - self.start > MAX_COMMAND {
                return Err(ProtocolError::TooLong);
            }
            match self.bytes.get(end..self.at) {
                Some(LINE_END) => arguments.push(Argument { start, end }),
                Some(_) => return Err(ProtocolError::NoLineEnd { length }),
                None => return Ok(ParsedCommand::Incomplete { needs: self.at - self.start }),
            }
        }
        Ok(ParsedCommand::Complete { length: self.at - self.start })
    }

    /// Parses a number up to the end of its line.
    #[inline]
    fn number(&mut self, max: usize) -> ParsedNumber {
        let rest = &self.bytes[self.at..];
        // Fast path: most numbers have one or two digits, and are never too large.
        match rest {
            [ones @ b'0'..=b'9', b'\r', b'\n', ..] => {
                self.at += 1 + LINE_END.len();
                return ParsedNumber::Valid(usize::from(ones - b'0'));
            }
            [tens @ b'1'..=b'9', ones @ b'0'..=b'9', b'\r', b'\n', ..] => {
                self.at += 2 + LINE_END.len();
                return ParsedNumber::Valid(
                    usize::from(tens - b'0') * 10 + usize::from(ones - b'0'),
                );
            }
            _ => {}
        }
        let mut number = 0_usize;
        for (place, byte) in rest.iter().enumerate() {
            match byte {
                // Leading zeros are invalid.
                b'0'..=b'9' if place == 0 || number > 0 => {
                    number = number * 10 + usize::from(byte - b'0');
                    if number > max {
                        return ParsedNumber::Invalid;
                    }
                }
                b'\r' if place > 0 => {
                    return match rest.get(place + 1) {
                        Some(b'\n') => {
                            self.at += place + LINE_END.len();
                            ParsedNumber::Valid(number)
                        }
                        Some(_) => ParsedNumber::Invalid,
                        None => ParsedNumber::Incomplete,
                    };
                }
                b'-' if place == 0 => return self.negative(),
                _ => return ParsedNumber::Invalid,
            }
        }
        ParsedNumber::Incomplete
    }

    #[cold]
    fn negative(&mut self) -> ParsedNumber {
        let digits = &self.bytes[self.at + 1..];
        let count = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if count > MAX_DIGITS || digits.first() == Some(&b'0') {
            return ParsedNumber::Invalid;
        }
        match (count, &digits[count..]) {
            (_, []) | (1.., [b'\r']) => ParsedNumber::Incomplete,
            (1.., [b'\r', b'\n', ..]) => {
                self.at += 1 + count + LINE_END.len();
                ParsedNumber::Negative
            }
            _ => ParsedNumber::Invalid,
        }
    }

    /// Returns the result for an incomplete command: one more byte is needed.
    fn incomplete(&self) -> ParsedCommand {
        ParsedCommand::Incomplete { needs: self.bytes.len() - self.start + 1 }
    }
}

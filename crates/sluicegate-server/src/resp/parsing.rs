//! Commands out of bytes: arrays of bulk strings as clients send them, and lines as people type them.
//!
//! What is found are places in the bytes, nothing is copied. A command that is not whole yet is read
//! again from its start when there is more of it to be learned: not before an argument that has
//! begun is whole, in however many pieces it comes.

mod inline;
#[cfg(test)]
mod tests;
mod violation;

pub(super) use self::violation::Violation;

/// The most arguments of a command, its name included.
pub(super) const MOST_ARGUMENTS: usize = 1_024;
/// The longest argument.
pub(super) const LONGEST_ARGUMENT: usize = 64 * 1_024;
/// The longest command that is a line.
pub(super) const LONGEST_LINE: usize = 64 * 1_024;
/// The longest command.
pub(super) const LONGEST_COMMAND: usize = 128 * 1_024;

/// The bytes of an argument that is empty, which is as few as there are: `$0`, and two line ends.
const SHORTEST: usize = 6;
/// No negative number that means anything has more digits.
const MOST_DIGITS: usize = 19;
const LINE_END: &[u8] = b"\r\n";

/// Where an argument stands in the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Argument {
    start: usize,
    end: usize,
}

impl Argument {
    /// The argument itself.
    pub(super) fn of(self, bytes: &[u8]) -> &[u8] {
        bytes.get(self.start..self.end).unwrap_or_default()
    }
}

/// What the next bytes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Parsed {
    /// A command of so many bytes, whose arguments were added; without any it asks for nothing.
    Whole { length: usize },
    /// The start of a command. Nothing is learned before there are so many bytes of it.
    Short { needs: usize },
}

/// Reads the command that begins at `start`, and adds its arguments.
pub(super) fn parse(
    bytes: &mut [u8],
    start: usize,
    arguments: &mut Vec<Argument>,
) -> Result<Parsed, Violation> {
    let before = arguments.len();
    let parsed = match bytes.get(start) {
        None => Ok(Parsed::Short { needs: 1 }),
        Some(b'*') => Reading { bytes, start, at: start + 1 }.array(arguments),
        Some(_) => inline::parse(bytes, start, arguments),
    };
    if !matches!(parsed, Ok(Parsed::Whole { .. })) {
        arguments.truncate(before);
    }
    parsed
}

/// A command that is being read.
struct Reading<'a> {
    bytes: &'a [u8],
    start: usize,
    at: usize,
}

/// The number of a line: how many arguments, or bytes, are to come.
enum Number {
    Is(usize),
    /// Below zero.
    Negative,
    /// Its line is not whole.
    Short,
    /// It is none, or it is more than `most`.
    Wrong,
}

impl Reading<'_> {
    fn array(mut self, arguments: &mut Vec<Argument>) -> Result<Parsed, Violation> {
        let count = match self.number(MOST_ARGUMENTS) {
            Number::Is(count) => count,
            Number::Negative => 0,
            Number::Short => return Ok(self.short()),
            Number::Wrong => return Err(Violation::Count),
        };
        for left in (0..count).rev() {
            match self.bytes.get(self.at) {
                Some(b'$') => self.at += 1,
                Some(other) => return Err(Violation::NotBulk { found: *other }),
                None => return Ok(self.short()),
            }
            let length = match self.number(LONGEST_ARGUMENT) {
                Number::Is(length) => length,
                Number::Short => return Ok(self.short()),
                Number::Negative | Number::Wrong => return Err(Violation::Length),
            };
            let (start, end) = (self.at, self.at + length);
            self.at = end + LINE_END.len();
            if self.at + left * SHORTEST - self.start > LONGEST_COMMAND {
                return Err(Violation::TooLong);
            }
            match self.bytes.get(end..self.at) {
                Some(LINE_END) => arguments.push(Argument { start, end }),
                Some(_) => return Err(Violation::NoLineEnd { length }),
                None => return Ok(Parsed::Short { needs: self.at - self.start }),
            }
        }
        Ok(Parsed::Whole { length: self.at - self.start })
    }

    /// Reads a number up to the end of its line.
    #[inline]
    fn number(&mut self, most: usize) -> Number {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        // Most have one digit or two, and are never too large.
        match rest {
            [ones @ b'0'..=b'9', b'\r', b'\n', ..] => {
                self.at += 1 + LINE_END.len();
                return Number::Is(usize::from(ones - b'0'));
            }
            [tens @ b'1'..=b'9', ones @ b'0'..=b'9', b'\r', b'\n', ..] => {
                self.at += 2 + LINE_END.len();
                return Number::Is(usize::from(tens - b'0') * 10 + usize::from(ones - b'0'));
            }
            _ => {}
        }
        let mut number = 0_usize;
        for (place, byte) in rest.iter().enumerate() {
            match byte {
                // A zero in front of other digits is none.
                b'0'..=b'9' if place == 0 || number > 0 => {
                    number = number * 10 + usize::from(byte - b'0');
                    if number > most {
                        return Number::Wrong;
                    }
                }
                b'\r' if place > 0 => {
                    return match rest.get(place + 1) {
                        Some(b'\n') => {
                            self.at += place + LINE_END.len();
                            Number::Is(number)
                        }
                        Some(_) => Number::Wrong,
                        None => Number::Short,
                    };
                }
                b'-' if place == 0 => return self.negative(),
                _ => return Number::Wrong,
            }
        }
        Number::Short
    }

    #[cold]
    fn negative(&mut self) -> Number {
        let digits = self.bytes.get(self.at + 1..).unwrap_or_default();
        let count = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if count > MOST_DIGITS || digits.first() == Some(&b'0') {
            return Number::Wrong;
        }
        match (count, digits.get(count..).unwrap_or_default()) {
            (_, []) | (1.., [b'\r']) => Number::Short,
            (1.., [b'\r', b'\n', ..]) => {
                self.at += 1 + count + LINE_END.len();
                Number::Negative
            }
            _ => Number::Wrong,
        }
    }

    /// The next byte says more.
    fn short(&self) -> Parsed {
        Parsed::Short { needs: self.bytes.len() - self.start + 1 }
    }
}

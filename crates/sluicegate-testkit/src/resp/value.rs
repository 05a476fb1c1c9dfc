//! A value of the protocols RESP2 and RESP3, and its parser.

/// One value, in either version of the protocol.
#[derive(Clone, Debug, PartialEq)]
pub enum RespValue {
    /// Null.
    Null,
    /// A whole number.
    Integer(i64),
    /// A floating-point number.
    Double(f64),
    /// A boolean.
    Boolean(bool),
    /// A text of any type, or a number too big for the others.
    Text(Vec<u8>),
    /// An error of the server.
    Error(String),
    /// Several values; sets too.
    Array(Vec<RespValue>),
    /// Pairs, in the server's order.
    Map(Vec<(RespValue, RespValue)>),
    /// A message without a request, such as an invalidation.
    Push(Vec<RespValue>),
}

/// Why a value could not be parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ParseFailure {
    /// The value is incomplete; more bytes are needed.
    Incomplete,
    /// The value is malformed.
    Malformed,
}

/// The most levels of nesting; servers use a handful.
const DEEPEST: usize = 32;

impl RespValue {
    /// The first value in `bytes`, and its length.
    pub(crate) fn read(bytes: &[u8]) -> Result<(Self, usize), ParseFailure> {
        let mut reader = ValueReader { bytes, at: 0 };
        let value = reader.value(0)?;
        Ok((value, reader.at))
    }

    /// The value as a number.
    #[track_caller]
    pub fn integer(&self) -> i64 {
        match self {
            Self::Integer(number) => *number,
            other => panic!("expected a whole number from the server, got {other:?}"),
        }
    }

    /// The value as a text.
    #[track_caller]
    pub fn text(&self) -> String {
        match self {
            Self::Text(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            other => panic!("expected a text from the server, got {other:?}"),
        }
    }

    /// The values of a list.
    #[track_caller]
    pub fn items(&self) -> &[RespValue] {
        match self {
            Self::Array(items) => items,
            other => panic!("expected several values from the server, got {other:?}"),
        }
    }

    /// Adds every text and number in it, each on a line, to `plain`.
    pub(crate) fn append_to(&self, plain: &mut Vec<u8>) {
        match self {
            Self::Null => {}
            Self::Integer(number) => plain.extend(format!("{number}\n").bytes()),
            Self::Double(number) => plain.extend(format!("{number}\n").bytes()),
            Self::Boolean(yes) => plain.extend(format!("{yes}\n").bytes()),
            Self::Text(bytes) => {
                plain.extend(bytes);
                plain.push(b'\n');
            }
            Self::Error(said) => plain.extend(format!("{said}\n").bytes()),
            Self::Array(items) | Self::Push(items) => {
                for item in items {
                    item.append_to(plain);
                }
            }
            Self::Map(pairs) => {
                for (key, value) in pairs {
                    key.append_to(plain);
                    value.append_to(plain);
                }
            }
        }
    }
}

/// The position of the parser.
struct ValueReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> ValueReader<'a> {
    fn value(&mut self, depth: usize) -> Result<RespValue, ParseFailure> {
        if depth > DEEPEST {
            return Err(ParseFailure::Malformed);
        }
        let kind = *self.bytes.get(self.at).ok_or(ParseFailure::Incomplete)?;
        if !b"+-:$*_#,(!=%~>|".contains(&kind) {
            return Err(ParseFailure::Malformed);
        }
        self.at += 1;
        let line = self.line()?;
        match kind {
            b'+' | b'(' => Ok(RespValue::Text(line.to_vec())),
            b'-' => Ok(RespValue::Error(String::from_utf8_lossy(line).into_owned())),
            b':' => number(line).map(RespValue::Integer),
            b',' => number(line).map(RespValue::Double),
            b'_' => Ok(RespValue::Null),
            b'#' => match line {
                b"t" => Ok(RespValue::Boolean(true)),
                b"f" => Ok(RespValue::Boolean(false)),
                _ => Err(ParseFailure::Malformed),
            },
            b'$' | b'*' if line == b"-1" => Ok(RespValue::Null),
            b'$' => Ok(RespValue::Text(self.bulk(number(line)?)?.to_vec())),
            b'=' => {
                // Three letters and a colon specify the format of the text.
                let text = self.bulk(number(line)?)?;
                Ok(RespValue::Text(text.get(4..).ok_or(ParseFailure::Malformed)?.to_vec()))
            }
            b'!' => {
                let said = self.bulk(number(line)?)?;
                Ok(RespValue::Error(String::from_utf8_lossy(said).into_owned()))
            }
            b'*' | b'~' => self.values(number(line)?, depth).map(RespValue::Array),
            b'>' => self.values(number(line)?, depth).map(RespValue::Push),
            b'%' => self.pairs(number(line)?, depth).map(RespValue::Map),
            // Attributes of the value that follows them.
            _ => {
                self.pairs(number(line)?, depth)?;
                self.value(depth + 1)
            }
        }
    }

    fn values(&mut self, count: usize, depth: usize) -> Result<Vec<RespValue>, ParseFailure> {
        (0..count).map(|_| self.value(depth + 1)).collect()
    }

    fn pairs(
        &mut self,
        count: usize,
        depth: usize,
    ) -> Result<Vec<(RespValue, RespValue)>, ParseFailure> {
        (0..count).map(|_| Ok((self.value(depth + 1)?, self.value(depth + 1)?))).collect()
    }

    /// The bytes up to the end of the line, which is skipped.
    fn line(&mut self) -> Result<&'a [u8], ParseFailure> {
        let rest = self.bytes.get(self.at..).ok_or(ParseFailure::Incomplete)?;
        let length =
            rest.windows(2).position(|pair| pair == b"\r\n").ok_or(ParseFailure::Incomplete)?;
        self.at += length + 2;
        rest.get(..length).ok_or(ParseFailure::Incomplete)
    }

    /// This number of bytes, and the end of a line.
    fn bulk(&mut self, length: usize) -> Result<&'a [u8], ParseFailure> {
        let end = self.at.checked_add(length).ok_or(ParseFailure::Malformed)?;
        let bytes = self.bytes.get(self.at..end).ok_or(ParseFailure::Incomplete)?;
        match self.bytes.get(end..end.saturating_add(2)) {
            Some(b"\r\n") => {}
            Some(_) => return Err(ParseFailure::Malformed),
            None => return Err(ParseFailure::Incomplete),
        }
        self.at = end + 2;
        Ok(bytes)
    }
}

fn number<N: std::str::FromStr>(line: &[u8]) -> Result<N, ParseFailure> {
    std::str::from_utf8(line).ok().and_then(|text| text.parse().ok()).ok_or(ParseFailure::Malformed)
}

#[cfg(test)]
mod tests;

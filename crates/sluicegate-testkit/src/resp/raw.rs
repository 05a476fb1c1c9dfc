//! The parser of the protocols RESP2 and RESP3, and the encoding of commands.

/// One value as it was sent, with the byte that names its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RawValue<'a> {
    /// Null of any type.
    Null,
    /// A text or a number that ends with its line.
    Line(u8, &'a [u8]),
    /// A text with a length.
    Bulk(u8, &'a [u8]),
    /// Several values; the keys and values of a map in turn.
    Items(u8, Vec<RawValue<'a>>),
}

/// Why a value could not be parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParseFailure {
    /// The value is incomplete; more bytes are needed.
    Incomplete,
    /// The value is malformed.
    Malformed,
}

/// The most levels of nesting; servers use a handful.
const DEEPEST: usize = 32;

impl<'a> RawValue<'a> {
    /// Reads the first value in `bytes`; returns its length with it.
    pub fn read(bytes: &'a [u8]) -> Result<(Self, usize), ParseFailure> {
        let mut reader = ValueReader { bytes, at: 0 };
        let value = reader.value(0)?;
        Ok((value, reader.at))
    }
}

/// Encodes a command as an array of bulk strings.
pub fn encode_command<W: AsRef<[u8]>>(words: &[W]) -> Vec<u8> {
    let mut request = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        let word = word.as_ref();
        request.extend(format!("${}\r\n", word.len()).bytes());
        request.extend(word);
        request.extend(b"\r\n");
    }
    request
}

/// Parses the text of a number.
pub(crate) fn number<N: std::str::FromStr>(line: &[u8]) -> Result<N, ParseFailure> {
    std::str::from_utf8(line).ok().and_then(|text| text.parse().ok()).ok_or(ParseFailure::Malformed)
}

/// The position of the parser.
struct ValueReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> ValueReader<'a> {
    fn value(&mut self, depth: usize) -> Result<RawValue<'a>, ParseFailure> {
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
            b'_' => Ok(RawValue::Null),
            b'$' | b'*' if line == b"-1" => Ok(RawValue::Null),
            b'$' | b'=' | b'!' => Ok(RawValue::Bulk(kind, self.bulk(number(line)?)?)),
            b'*' | b'~' | b'>' => {
                Ok(RawValue::Items(kind, self.values(number::<usize>(line)?, depth)?))
            }
            b'%' => Ok(RawValue::Items(kind, self.pairs(line, depth)?)),
            b'|' => {
                // Attributes of the value that follows them.
                self.pairs(line, depth)?;
                self.value(depth + 1)
            }
            _ => Ok(RawValue::Line(kind, line)),
        }
    }

    fn values(&mut self, count: usize, depth: usize) -> Result<Vec<RawValue<'a>>, ParseFailure> {
        (0..count).map(|_| self.value(depth + 1)).collect()
    }

    fn pairs(&mut self, line: &[u8], depth: usize) -> Result<Vec<RawValue<'a>>, ParseFailure> {
        let count = number::<usize>(line)?.checked_mul(2).ok_or(ParseFailure::Malformed)?;
        self.values(count, depth)
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

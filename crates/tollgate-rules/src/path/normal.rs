//! Writes one reading of a path in its normal spelling.

use smallvec::SmallVec;

/// Room for the readings of an ordinary path without going to the heap.
pub(super) type Buffer = SmallVec<[u8; 96]>;

/// How the upstream is taken to read what is ambiguous.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    /// `%2F` separates segments, instead of being text within one.
    pub(super) slash_separates: bool,
    /// `%5C` separates segments, instead of being text within one.
    pub(super) backslash_separates: bool,
    /// ASCII letters are folded to lower case.
    pub(super) ignore_case: bool,
}

/// Which encoded slashes occurred.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    pub(super) slash: bool,
    pub(super) backslash: bool,
}

/// Appends one reading of `path` to `out`.
pub(super) fn write(path: &[u8], reading: Reading, out: &mut Buffer) -> Seen {
    let mut seen = Seen::default();
    let mut segments = Segments::start(out);
    let mut in_parameters = false;
    let mut rest = path;
    while let Some((unit, behind)) = first_unit(rest) {
        rest = behind;
        let separates = match unit {
            Unit::Raw(byte) => matches!(byte, b'/' | b'\\'),
            Unit::Encoded(b'/') => {
                seen.slash = true;
                reading.slash_separates
            }
            Unit::Encoded(b'\\') => {
                seen.backslash = true;
                reading.backslash_separates
            }
            Unit::Encoded(_) => false,
        };
        if separates {
            segments.close();
            segments.open();
            in_parameters = false;
        } else if unit == Unit::Raw(b';') {
            in_parameters = true;
        } else if !in_parameters {
            push(segments.out, unit, reading.ignore_case);
        }
    }
    segments.finish();
    seen
}

/// One character of the path: as it stands, or from behind a percent sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Raw(u8),
    Encoded(u8),
}

/// The first character of `text`, and what stands behind it.
///
/// A percent sign without two hexadecimal digits is text.
pub(super) fn first_unit(text: &[u8]) -> Option<(Unit, &[u8])> {
    if let [b'%', high, low, behind @ ..] = text
        && let (Some(high), Some(low)) = (hex_value(*high), hex_value(*low))
    {
        return Some((Unit::Encoded(high << 4 | low), behind));
    }
    let (&first, behind) = text.split_first()?;
    Some((Unit::Raw(first), behind))
}

/// The value of one hexadecimal digit.
fn hex_value(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

/// Appends one character in its normal spelling.
pub(super) fn push(out: &mut Buffer, unit: Unit, ignore_case: bool) {
    // Decoded, these would read as structure: they stay text by staying encoded.
    let escape = match unit {
        Unit::Encoded(b'/') => Some(*b"%2F"),
        Unit::Encoded(b'\\') => Some(*b"%5C"),
        Unit::Encoded(b'?') => Some(*b"%3F"),
        Unit::Encoded(b'#') => Some(*b"%23"),
        Unit::Encoded(b';') => Some(*b"%3B"),
        Unit::Encoded(_) | Unit::Raw(_) => None,
    };
    if let Some(mut escape) = escape {
        if ignore_case {
            escape.make_ascii_lowercase();
        }
        out.extend_from_slice(&escape);
        return;
    }
    let (Unit::Raw(byte) | Unit::Encoded(byte)) = unit;
    out.push(if ignore_case { byte.to_ascii_lowercase() } else { byte });
    keep_percent_text(out);
}

/// Encodes a percent sign that was text, once the two bytes behind it make it look like more.
///
/// Escapes are appended whole, so a sign two bytes before a single byte is always text.
fn keep_percent_text(out: &mut Buffer) {
    if let [.., b'%', high, low] = out.as_slice()
        && hex_value(*high).is_some()
        && hex_value(*low).is_some()
    {
        let behind_sign = out.len() - 2;
        out.insert_from_slice(behind_sign, b"25");
    }
}

/// The segments of one reading while they are written.
struct Segments<'b> {
    out: &'b mut Buffer,
    /// Where this reading starts.
    start: usize,
    /// Where the slash of the open segment stands.
    slash: usize,
}

impl<'b> Segments<'b> {
    fn start(out: &'b mut Buffer) -> Self {
        let start = out.len();
        let mut segments = Self { out, start, slash: start };
        segments.open();
        segments
    }

    fn open(&mut self) {
        self.slash = self.out.len();
        self.out.push(b'/');
    }

    /// Ends the open segment; an empty one and a dot leave nothing, two dots take one back.
    fn close(&mut self) {
        match self.out.get(self.slash..).unwrap_or_default() {
            b"/" | b"/." => self.out.truncate(self.slash),
            b"/.." => {
                self.out.truncate(self.slash);
                let kept = self.out.get(self.start..).unwrap_or_default();
                let parent = kept.iter().rposition(|&byte| byte == b'/').unwrap_or(0);
                self.out.truncate(self.start + parent);
            }
            _ => {}
        }
    }

    fn finish(mut self) {
        self.close();
        if self.out.len() == self.start {
            self.out.push(b'/');
        }
    }
}

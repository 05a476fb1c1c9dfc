//! Normalization of one reading of a path.

use smallvec::SmallVec;

use super::folding::Folding;

/// Holds the readings of an ordinary path without a heap allocation.
pub(super) type Buffer = SmallVec<[u8; 96]>;

/// The way an upstream reads a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Interpretation {
    /// The meaning of `%2F`.
    pub(super) encoded_slash: Slash,
    /// The meaning of `%5C`.
    pub(super) encoded_backslash: Slash,
    /// The meaning of `\`.
    pub(super) backslash: Slash,
    pub(super) parameters: PathParameters,
    pub(super) dots: Dots,
}

/// The meaning of a character that may be a slash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slash {
    Separates,
    Text,
}

/// The treatment of `;` and the rest of its segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PathParameters {
    Cut,
    Text,
}

/// The treatment of the segments `.` and `..`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dots {
    /// Two dots remove the last segment that is not empty.
    Resolved,
    /// Two dots remove the last segment, even an empty one: `/a//../b` is `/a/b`.
    ResolvedAmongEmpty,
    Text,
    /// Dots are text, and empty segments stay.
    TextAmongEmpty,
}

impl Interpretation {
    /// Whether this character ends a segment.
    fn separates(self, unit: PathChar) -> bool {
        let slash = match unit {
            PathChar::Raw(b'/') => Slash::Separates,
            PathChar::Raw(b'\\') => self.backslash,
            PathChar::Encoded(b'/') => self.encoded_slash,
            PathChar::Encoded(b'\\') => self.encoded_backslash,
            PathChar::Raw(_) | PathChar::Encoded(_) => Slash::Text,
        };
        slash == Slash::Separates
    }
}

/// Which ambiguous parts occurred.
#[derive(Clone, Copy, Debug, Default)]
#[allow(clippy::struct_excessive_bools, reason = "five independent observations, no hidden states")]
pub(super) struct Observed {
    pub(super) encoded_slash: bool,
    pub(super) encoded_backslash: bool,
    pub(super) backslash: bool,
    pub(super) parameters: bool,
    /// A segment was one or two dots.
    pub(super) dots: bool,
}

impl Observed {
    fn note(&mut self, unit: PathChar) {
        match unit {
            PathChar::Encoded(b'/') => self.encoded_slash = true,
            PathChar::Encoded(b'\\') => self.encoded_backslash = true,
            PathChar::Raw(b'\\') => self.backslash = true,
            PathChar::Raw(b';') => self.parameters = true,
            PathChar::Raw(_) | PathChar::Encoded(_) => {}
        }
    }
}

/// Appends one reading of `path` to `out`.
pub(super) fn write(
    path: &[u8],
    reading: Interpretation,
    folding: Folding,
    out: &mut Buffer,
) -> Observed {
    let mut seen = Observed::default();
    let mut segments = Segments::start(out, reading.dots, folding);
    let mut in_parameters = false;
    let mut rest = path;
    while let Some((unit, behind)) = first_unit(rest) {
        rest = behind;
        seen.note(unit);
        if reading.separates(unit) {
            segments.close();
            segments.open();
            in_parameters = false;
        } else if unit == PathChar::Raw(b';') && reading.parameters == PathParameters::Cut {
            in_parameters = true;
        } else if !in_parameters {
            push(segments.out, as_text(unit), folding.ignores_case());
        }
    }
    seen.dots = segments.finish();
    seen
}

/// Encodes a character that is text here but would read as structure.
fn as_text(unit: PathChar) -> PathChar {
    match unit {
        PathChar::Raw(byte @ (b';' | b'\\')) => PathChar::Encoded(byte),
        _ => unit,
    }
}

/// One character of the path: raw, or percent-encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PathChar {
    Raw(u8),
    Encoded(u8),
}

/// The first character of `text`, and the rest.
///
/// A percent sign without two hexadecimal digits is text.
pub(super) fn first_unit(text: &[u8]) -> Option<(PathChar, &[u8])> {
    if let [b'%', high, low, behind @ ..] = text
        && let (Some(high), Some(low)) = (hex_value(*high), hex_value(*low))
    {
        return Some((PathChar::Encoded(high << 4 | low), behind));
    }
    let (&first, behind) = text.split_first()?;
    Some((PathChar::Raw(first), behind))
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

/// Appends one character in its normalized spelling.
pub(super) fn push(out: &mut Buffer, unit: PathChar, ignore_case: bool) {
    // Decoded, these would read as structure, so they stay encoded.
    let escape = match unit {
        PathChar::Encoded(b'/') => Some(*b"%2F"),
        PathChar::Encoded(b'\\') => Some(*b"%5C"),
        PathChar::Encoded(b'?') => Some(*b"%3F"),
        PathChar::Encoded(b'#') => Some(*b"%23"),
        PathChar::Encoded(b';') => Some(*b"%3B"),
        PathChar::Encoded(_) | PathChar::Raw(_) => None,
    };
    if let Some(mut escape) = escape {
        if ignore_case {
            escape.make_ascii_lowercase();
        }
        out.extend_from_slice(&escape);
        return;
    }
    let (PathChar::Raw(byte) | PathChar::Encoded(byte)) = unit;
    out.push(if ignore_case { byte.to_ascii_lowercase() } else { byte });
    keep_percent_text(out);
}

/// Encodes a literal percent sign if the two bytes after it make it look like an escape.
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

/// A writer for the segments of one reading.
struct Segments<'b> {
    out: &'b mut Buffer,
    dots: Dots,
    folding: Folding,
    /// Whether a segment of one or two dots has been closed.
    dots_seen: bool,
    /// The start of this reading.
    start: usize,
    /// The position of the slash of the open segment.
    slash: usize,
}

impl<'b> Segments<'b> {
    fn start(out: &'b mut Buffer, dots: Dots, folding: Folding) -> Self {
        let start = out.len();
        let mut segments = Self { out, dots, folding, dots_seen: false, start, slash: start };
        segments.open();
        segments
    }

    fn open(&mut self) {
        self.slash = self.out.len();
        self.out.push(b'/');
    }

    /// Ends the open segment. Unless dots are text, `.` is dropped and `..` removes the parent.
    fn close(&mut self) {
        let segment = self.out.get(self.slash + 1..).unwrap_or_default();
        let kept = self.slash + 1 + self.folding.trimmed(segment).len();
        self.out.truncate(kept);
        let open = self.out.get(self.slash..).unwrap_or_default();
        let (empty, two_dots) = (open == b"/", open == b"/..");
        let dots = two_dots || open == b"/.";
        self.dots_seen |= dots;
        let stays = match self.dots {
            Dots::Resolved => !empty && !dots,
            // An empty segment stays until the end, because `..` may remove it.
            Dots::ResolvedAmongEmpty => !dots,
            Dots::Text => !empty,
            // The root is not a segment, and every path begins with it.
            Dots::TextAmongEmpty => !empty || self.slash > self.start,
        };
        if !stays {
            self.out.truncate(self.slash);
            if two_dots {
                self.remove_parent();
            }
        }
    }

    fn remove_parent(&mut self) {
        let kept = self.out.get(self.start..).unwrap_or_default();
        let parent = kept.iter().rposition(|&byte| byte == b'/').unwrap_or(0);
        self.out.truncate(self.start + parent);
    }

    /// Ends the reading, and returns whether a segment was one or two dots.
    fn finish(mut self) -> bool {
        self.close();
        if self.dots == Dots::ResolvedAmongEmpty {
            self.drop_empty();
        }
        if self.out.len() == self.start {
            self.out.push(b'/');
        }
        self.dots_seen
    }

    /// Removes the empty segments that were kept until the dots were resolved.
    fn drop_empty(&mut self) {
        let start = self.start;
        let (mut at, mut after_slash) = (0, false);
        self.out.retain(|byte| {
            let slash = at >= start && *byte == b'/';
            let stays = !(slash && after_slash);
            after_slash = slash;
            at += 1;
            stays
        });
        if self.out.len() > start && self.out.last() == Some(&b'/') {
            self.out.pop();
        }
    }
}

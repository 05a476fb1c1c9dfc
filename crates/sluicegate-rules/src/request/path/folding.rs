//! Spellings of a path that upstreams do not distinguish.

use std::borrow::Cow;

/// The spellings of a segment that count as one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Folding {
    ignore_case: bool,
    /// The ASCII characters that are ignored at the end of a segment, a bit for each.
    trailing: u128,
}

impl Folding {
    pub(crate) const fn new(ignore_case: bool) -> Self {
        Self { ignore_case, trailing: 0 }
    }

    /// Adds a character that is ignored at the end of a segment.
    pub(crate) const fn ignoring_trailing(self, character: u8) -> Self {
        Self { trailing: self.trailing | 1 << (character & 0x7f), ..self }
    }

    pub(super) const fn ignores_case(self) -> bool {
        self.ignore_case
    }

    /// Whether any character is ignored at the end of a segment.
    pub(super) const fn trims_any(self) -> bool {
        self.trailing != 0
    }

    /// Whether this character is ignored at the end of a segment.
    pub(super) const fn trims(self, byte: u8) -> bool {
        byte.is_ascii() && self.trailing >> (byte & 0x7f) & 1 == 1
    }

    /// A segment without the characters that are ignored at its end.
    ///
    /// One or two dots stay, because a segment of dots has a meaning of its own.
    pub(super) fn trimmed(self, segment: &[u8]) -> &[u8] {
        let mut kept = segment;
        while let [before @ .., last] = kept
            && self.trims(*last)
            && !matches!(kept, b"." | b"..")
        {
            kept = before;
        }
        kept
    }

    /// A decoded segment, folded to one spelling.
    pub(crate) fn folded(self, segment: &[u8]) -> Cow<'_, [u8]> {
        let trimmed = self.trimmed(segment);
        if self.ignore_case { trimmed.to_ascii_lowercase().into() } else { trimmed.into() }
    }
}

//! The arguments of one command.

use super::parsing::Argument;

/// The arguments of one command, its name first.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arguments<'a> {
    /// What was read …
    pub(super) bytes: &'a [u8],
    /// … and where they stand in it.
    pub(super) places: &'a [Argument],
}

impl<'a> Arguments<'a> {
    pub(super) fn len(self) -> usize {
        self.places.len()
    }

    /// The name of the command.
    pub(super) fn name(self) -> &'a [u8] {
        self.get(0).unwrap_or_default()
    }

    pub(super) fn get(self, index: usize) -> Option<&'a [u8]> {
        Some(self.places.get(index)?.of(self.bytes))
    }

    /// Whether an argument is this word, in whatever case.
    pub(super) fn is(self, index: usize, word: &str) -> bool {
        self.get(index).is_some_and(|found| found.eq_ignore_ascii_case(word.as_bytes()))
    }

    /// All from this one on.
    pub(super) fn from(self, index: usize) -> impl Iterator<Item = &'a [u8]> {
        let places = self.places.get(index..).unwrap_or_default();
        places.iter().map(move |place| place.of(self.bytes))
    }
}

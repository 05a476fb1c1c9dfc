//! The arguments of one command.

use super::parser::Argument;

/// The arguments of one command, its name first.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arguments<'a> {
    /// The bytes that were read …
    pub(super) bytes: &'a [u8],
    /// … and the positions of the arguments in them.
    pub(super) positions: &'a [Argument],
}

impl<'a> Arguments<'a> {
    pub(super) fn len(self) -> usize {
        self.positions.len()
    }

    /// Returns the name of the command.
    pub(super) fn name(self) -> &'a [u8] {
        self.at(0)
    }

    /// Returns an argument that is known to be there.
    pub(super) fn at(self, index: usize) -> &'a [u8] {
        self.positions[index].of(self.bytes)
    }

    pub(super) fn get(self, index: usize) -> Option<&'a [u8]> {
        Some(self.positions.get(index)?.of(self.bytes))
    }

    /// Returns whether an argument is this word, in any case.
    pub(super) fn is(self, index: usize, word: &str) -> bool {
        self.get(index).is_some_and(|found| found.eq_ignore_ascii_case(word.as_bytes()))
    }

    /// Returns the arguments from an index on.
    pub(super) fn from(self, index: usize) -> impl Iterator<Item = &'a [u8]> {
        self.positions.iter().skip(index).map(move |position| position.of(self.bytes))
    }
}

//! Globs: segments with stars, like `*.pdf`.

use super::folding::Folding;

/// Fixed texts with any text between adjacent ones: `a*b` is `a` and `b`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Glob {
    first: Box<[u8]>,
    middle: Box<[Box<[u8]>]>,
    last: Box<[u8]>,
}

impl Glob {
    /// Creates a glob of the texts around its stars; the error is the text of a glob without a
    /// star.
    pub(super) fn of(mut pieces: Vec<Box<[u8]>>) -> Result<Self, Box<[u8]>> {
        let last = pieces.pop().unwrap_or_default();
        if pieces.is_empty() {
            return Err(last);
        }
        let first = pieces.remove(0);
        Ok(Self { first, middle: pieces.into(), last })
    }

    pub(super) fn matches(&self, text: &[u8]) -> bool {
        let Some(text) = text.strip_prefix(&*self.first) else { return false };
        let Some(mut text) = text.strip_suffix(&*self.last) else { return false };
        // The leftmost place for each piece leaves the most room for the next.
        for piece in self.middle.iter().filter(|piece| !piece.is_empty()) {
            let found = text.windows(piece.len()).position(|window| window == &**piece);
            let Some(at) = found else { return false };
            text = text.get(at + piece.len()..).unwrap_or_default();
        }
        true
    }

    pub(super) fn folded(&self, folding: Folding) -> Self {
        let cased = |piece: &[u8]| {
            if folding.ignores_case() { piece.to_ascii_lowercase().into() } else { piece.into() }
        };
        Self {
            first: cased(&self.first),
            middle: self.middle.iter().map(|piece| cased(piece)).collect(),
            last: (*folding.folded(&self.last)).into(),
        }
    }
}

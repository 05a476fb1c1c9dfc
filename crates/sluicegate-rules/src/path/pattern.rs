//! A path pattern, like `/users/{id}` or `/reports/**`.

use core::fmt;

use super::error::PatternError;
use super::folding::Folding;
use super::segment::{Segment, Steps, lay};
use super::{inclusion, parse};

/// Which normal paths are meant.
///
/// `{name}` and `*` stand for one segment, `*` within a segment for any text, and `**` for
/// any number of segments, none included: `/reports/**` takes in `/reports`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pattern {
    text: Box<str>,
    segments: Box<[Segment]>,
}

impl Pattern {
    /// Reads a pattern, or says what is wrong with it.
    pub(crate) fn parse(text: &str) -> Result<Self, PatternError> {
        let (text, segments) = parse::read(text)?;
        Ok(Self { text, segments })
    }

    /// The same pattern for paths that were read with this folding.
    pub(crate) fn folded(&self, folding: Folding) -> Self {
        let segments = self.segments.iter().map(|segment| segment.folded(folding)).collect();
        Self { text: self.text.clone(), segments }
    }

    /// Whether it is one path, without `*` or a name.
    pub(crate) fn is_literal(&self) -> bool {
        self.segments.iter().all(|segment| matches!(segment, Segment::Literal(_)))
    }

    /// Whether it is every path.
    pub(crate) fn is_everything(&self) -> bool {
        matches!(*self.segments, [Segment::Gap])
    }

    /// Whether a normal path is meant. What is no path (`*`) is meant by `/**` alone.
    pub(crate) fn matches(&self, path: &[u8]) -> bool {
        match Steps::of(path) {
            Some(steps) => lay(&self.segments, steps, |_, _| ()),
            None => self.is_everything(),
        }
    }

    /// The segment of a matching path that `{name}` stands for.
    pub(crate) fn capture<'p>(&self, path: &'p [u8], name: &str) -> Option<&'p [u8]> {
        let mut captured = None;
        let matches = lay(&self.segments, Steps::of(path)?, |segment, step| {
            if segment.name() == Some(name) {
                captured = Some(step);
            }
        });
        captured.filter(|_| matches)
    }

    /// The names in braces, in the order they are written.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.segments.iter().filter_map(Segment::name)
    }

    /// True only if every path that `other` matches is surely matched by this pattern too.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        inclusion::covers(&self.segments, &other.segments)
    }

    pub(super) fn segments(&self) -> &[Segment] {
        &self.segments
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

//! A path pattern, like `/users/{id}` or `/reports/**`.

use core::fmt;

use super::error::PatternError;
use super::folding::Folding;
use super::parse;
use super::segment::{PatternSegment, Steps, align};

/// A pattern for normalized paths.
///
/// `{name}` and `*` match one segment, `*` within a segment any text, and `**` any number of
/// segments, including none: `/reports/**` matches `/reports`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pattern {
    text: Box<str>,
    segments: Box<[PatternSegment]>,
}

impl Pattern {
    /// Parses a pattern; the error has a message and a hint.
    pub(crate) fn parse(text: &str) -> Result<Self, PatternError> {
        let (text, segments) = parse::read(text)?;
        Ok(Self { text, segments })
    }

    /// The pattern for paths that were normalized with this folding.
    pub(crate) fn folded(&self, folding: Folding) -> Self {
        let segments = self.segments.iter().map(|segment| segment.folded(folding)).collect();
        Self { text: self.text.clone(), segments }
    }

    /// Whether it matches a single path, as it has no `*` and no name.
    pub(crate) fn is_literal(&self) -> bool {
        self.segments.iter().all(|segment| matches!(segment, PatternSegment::Literal(_)))
    }

    /// Whether it matches every path.
    pub(crate) fn is_everything(&self) -> bool {
        matches!(*self.segments, [PatternSegment::Gap])
    }

    /// Whether it matches a normalized path. Only `/**` matches the target `*`.
    pub(crate) fn matches(&self, path: &[u8]) -> bool {
        match Steps::of(path) {
            Some(steps) => align(&self.segments, steps, |_, _| ()),
            None => self.is_everything(),
        }
    }

    /// The segment of a matching path that `{name}` captures.
    pub(crate) fn capture<'p>(&self, path: &'p [u8], name: &str) -> Option<&'p [u8]> {
        let mut captured = None;
        let matches = align(&self.segments, Steps::of(path)?, |segment, step| {
            if segment.name() == Some(name) {
                captured = Some(step);
            }
        });
        captured.filter(|_| matches)
    }

    /// The names in braces, in order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.segments.iter().filter_map(PatternSegment::name)
    }

    pub(super) fn segments(&self) -> &[PatternSegment] {
        &self.segments
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

//! The segments of a pattern, and how they match the steps of a path.

use super::folding::Folding;
use super::glob::Glob;

/// One segment of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PatternSegment {
    /// Exactly this text, normalized.
    Literal(Box<[u8]>),
    /// Any one segment: `*`, or `{name}` with its name.
    Any(Option<Box<str>>),
    /// Text with stars.
    Glob(Glob),
    /// `**`: any number of segments, including none.
    Gap,
}

impl PatternSegment {
    pub(super) fn name(&self) -> Option<&str> {
        match self {
            Self::Any(name) => name.as_deref(),
            Self::Literal(_) | Self::Glob(_) | Self::Gap => None,
        }
    }

    pub(super) fn folded(&self, folding: Folding) -> Self {
        match self {
            Self::Literal(text) => Self::Literal((*folding.folded(text)).into()),
            Self::Glob(glob) => Self::Glob(glob.folded(folding)),
            Self::Any(_) | Self::Gap => self.clone(),
        }
    }

    fn is_gap(&self) -> bool {
        matches!(self, Self::Gap)
    }

    /// Whether this segment matches one step of a path.
    fn takes(&self, step: &[u8]) -> bool {
        match self {
            Self::Literal(text) => **text == *step,
            Self::Any(_) | Self::Gap => true,
            Self::Glob(glob) => glob.matches(step),
        }
    }
}

/// The remaining steps of a path, taken from either end.
#[derive(Clone, Debug)]
pub(super) struct Steps<'p>(Option<&'p [u8]>);

impl<'p> Steps<'p> {
    /// The steps of a path; `None` for a target like `*`.
    pub(super) fn of(path: &'p [u8]) -> Option<Self> {
        let behind_root = path.strip_prefix(b"/")?;
        Some(Self((!behind_root.is_empty()).then_some(behind_root)))
    }
}

impl<'p> Iterator for Steps<'p> {
    type Item = &'p [u8];

    fn next(&mut self) -> Option<&'p [u8]> {
        let text = self.0?;
        let slash = text.iter().position(|&byte| byte == b'/');
        self.0 = slash.and_then(|at| text.get(at + 1..));
        text.get(..slash.unwrap_or(text.len()))
    }
}

impl DoubleEndedIterator for Steps<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        let text = self.0?;
        let slash = text.iter().rposition(|&byte| byte == b'/');
        self.0 = slash.and_then(|at| text.get(..at));
        slash.map_or(Some(text), |at| text.get(at + 1..))
    }
}

/// Matches segments against all steps, and reports the step of each segment.
///
/// The part before the first gap must match at the front and the part after the last gap at the
/// end; parts between gaps match at their leftmost position. No part is ever retried with a
/// different gap before it, so the cost is at most the path length times the pattern length.
/// Several steps may be reported for a segment; if the result is true, the last one is valid.
pub(super) fn align<'p>(
    segments: &[PatternSegment],
    mut steps: Steps<'p>,
    mut took: impl FnMut(&PatternSegment, &'p [u8]),
) -> bool {
    let mut parts = segments.split(PatternSegment::is_gap);
    let front = parts.next().unwrap_or_default();
    if !take_front(front, &mut steps, &mut took) {
        return false;
    }
    let Some(back) = parts.next_back() else { return steps.next().is_none() };
    for segment in back.iter().rev() {
        match steps.next_back() {
            Some(step) if segment.takes(step) => took(segment, step),
            _ => return false,
        }
    }
    parts.all(|part| {
        loop {
            let mut attempt = steps.clone();
            if take_front(part, &mut attempt, &mut took) {
                steps = attempt;
                return true;
            }
            if steps.next().is_none() {
                return false;
            }
        }
    })
}

fn take_front<'p>(
    segments: &[PatternSegment],
    steps: &mut Steps<'p>,
    took: &mut impl FnMut(&PatternSegment, &'p [u8]),
) -> bool {
    segments.iter().all(|segment| match steps.next() {
        Some(step) if segment.takes(step) => {
            took(segment, step);
            true
        }
        _ => false,
    })
}

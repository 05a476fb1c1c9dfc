//! The segments of a pattern, and the steps of a path they are laid over.

use super::folding::Folding;
use super::glob::Glob;
use super::inclusion::Place;

/// One segment of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Segment {
    /// Exactly this text, in its normal spelling.
    Literal(Box<[u8]>),
    /// Any one segment: `*`, or `{name}` with its name.
    Any(Option<Box<str>>),
    /// Text with stars in it.
    Glob(Glob),
    /// `**`: any number of segments, none included.
    Gap,
}

impl Segment {
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

    /// Whether this segment takes one step of a path.
    fn takes(&self, step: &[u8]) -> bool {
        match self {
            Self::Literal(text) => **text == *step,
            Self::Any(_) | Self::Gap => true,
            Self::Glob(glob) => glob.matches(step),
        }
    }
}

impl Place for Segment {
    fn is_gap(&self) -> bool {
        matches!(self, Self::Gap)
    }

    fn covers_one(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Any(_), _) => true,
            (Self::Literal(text), Self::Literal(other)) => text == other,
            (Self::Glob(glob), Self::Literal(text)) => glob.matches(text),
            (Self::Glob(glob), Self::Glob(other)) => glob.covers(other),
            (Self::Literal(_) | Self::Glob(_) | Self::Gap, _) => false,
        }
    }
}

/// What is left of a path, taken segment by segment from either end.
#[derive(Clone, Debug)]
pub(super) struct Steps<'p>(Option<&'p [u8]>);

impl<'p> Steps<'p> {
    /// The steps of a path, or `None` for what is no path, like `*`.
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

/// Lays segments over all the steps, telling which step each segment took.
///
/// The part before the first gap is bound to the front and the part behind the last gap to
/// the end; parts between gaps take their leftmost place. Nothing is ever tried twice with a
/// different gap before it, so a long path costs no more than its length times the pattern's.
/// A segment may be told several steps; when the answer is true, the last one counts.
pub(super) fn lay<'p>(
    segments: &[Segment],
    mut steps: Steps<'p>,
    mut took: impl FnMut(&Segment, &'p [u8]),
) -> bool {
    let mut parts = segments.split(Segment::is_gap);
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
    segments: &[Segment],
    steps: &mut Steps<'p>,
    took: &mut impl FnMut(&Segment, &'p [u8]),
) -> bool {
    segments.iter().all(|segment| match steps.next() {
        Some(step) if segment.takes(step) => {
            took(segment, step);
            true
        }
        _ => false,
    })
}

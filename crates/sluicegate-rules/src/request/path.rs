//! The path of a request, normalized for comparison with rules.
//!
//! A client can spell one route in hundreds of ways, and the rule of the route must match all of
//! them. So the path is normalized first: decoded once, dots resolved, doubled and trailing slashes
//! removed, `;parameters` cut off. Characters that would change the meaning of the text (`%2F`,
//! `%5C`, `%3F`, `%23`, `%3B`, and `%25` before two hexadecimal digits) stay encoded, so that
//! normalizing twice changes nothing.

mod error;
mod folding;
mod glob;
mod normalize;
mod parse;
mod pattern;
mod router;
mod segment;
#[cfg(test)]
mod tests;

use smallvec::SmallVec;

pub(crate) use self::error::PatternError;
pub(crate) use self::folding::Folding;
pub(crate) use self::pattern::Pattern;
pub(crate) use self::router::Router;

use self::normalize::{Buffer, Dots, Interpretation, Observed, PathParameters, Slash};

/// The normalized path of one request, in every reading of upstreams.
///
/// Upstreams differ on encoded slashes (`%2F`, `%5C`), backslashes, `;parameters` and dots: one
/// reads them as structure, another as text. Nearly every path has none of these and one reading; a
/// path with some has as many as differ, at most eight. A rule applies if *any* reading matches its
/// pattern; an exemption must require that *every* reading does.
#[derive(Debug)]
pub(crate) struct Paths<'r> {
    /// The path as it was sent, if that is already normalized.
    as_sent: Option<&'r [u8]>,
    /// The readings that had to be written, concatenated.
    written: Buffer,
    /// The end of each written reading.
    ends: SmallVec<[usize; 4]>,
    /// The path with its empty segments, if slashes are doubled.
    with_empty: Option<Box<Buffer>>,
}

impl<'r> Paths<'r> {
    /// Parses a request target: `/path?query`, `http://host/path`, or `*`.
    pub(crate) fn of(target: &'r [u8], folding: Folding) -> Self {
        match already_normal(target, folding) {
            Some(path) => Self::as_sent(path),
            None => match path_part(target) {
                path @ b"*" => Self::as_sent(path),
                path => Self::written(path, folding),
            },
        }
    }

    /// All distinct readings of the path.
    pub(crate) fn readings(&self) -> impl Iterator<Item = &[u8]> {
        let mut start = 0;
        let written = self.ends.iter().map(move |&end| {
            let reading = self.written.get(start..end).unwrap_or_default();
            start = end;
            reading
        });
        self.as_sent.into_iter().chain(written)
    }

    /// The reading in which every slash separates, encoded or not, and dots are resolved.
    pub(crate) fn main(&self) -> &[u8] {
        self.readings().next().unwrap_or(b"/")
    }

    /// The segment that `capture` finds, if it is the same in every reading.
    ///
    /// The reading with empty segments may lack the segment, but must not have another one.
    pub(crate) fn agreed<'p>(
        &'p self,
        capture: impl Fn(&'p [u8]) -> Option<&'p [u8]>,
    ) -> Option<&'p [u8]> {
        let mut captured = self.readings().map(&capture);
        let first = captured.next()??;
        let other = self.with_empty.as_ref().and_then(|path| capture(path));
        // With the maximum number of readings there may be others that differ.
        let agree = captured.all(|other| other == Some(first)) && self.ends.len() < MOST;
        (agree && other.is_none_or(|other| other == first)).then_some(first)
    }

    /// The segments that `capture` finds in all readings.
    pub(crate) fn captured<'p>(
        &'p self,
        capture: impl Fn(&'p [u8]) -> Option<&'p [u8]>,
    ) -> impl Iterator<Item = &'p [u8]> {
        let with_empty = self.with_empty.iter().map(|path| path.as_slice());
        self.readings().chain(with_empty).filter_map(capture)
    }

    fn as_sent(path: &'r [u8]) -> Self {
        let (written, ends) = (Buffer::new(), SmallVec::new());
        Self { as_sent: Some(path), written, ends, with_empty: None }
    }

    fn written(path: &[u8], folding: Folding) -> Self {
        let (written, ends) = (Buffer::new(), SmallVec::new());
        let mut paths = Self { as_sent: None, written, ends, with_empty: None };
        if path.windows(2).any(|pair| pair == b"//") {
            normalize::write(path, WITH_EMPTY, folding, paths.with_empty.get_or_insert_default());
        }
        let seen = paths.add(path, MAIN, folding);
        for other in seen.others() {
            if paths.ends.len() == MOST {
                break;
            }
            paths.add(path, other, folding);
        }
        paths
    }

    /// Writes one more reading, unless it equals an earlier one.
    fn add(&mut self, path: &[u8], reading: Interpretation, folding: Folding) -> Observed {
        let start = self.written.len();
        let seen = normalize::write(path, reading, folding, &mut self.written);
        let added = self.written.get(start..).unwrap_or_default();
        if self.readings().any(|earlier| earlier == added) {
            self.written.truncate(start);
        } else {
            self.ends.push(self.written.len());
        }
        seen
    }
}

/// The main reading, used wherever only one is possible.
const MAIN: Interpretation = Interpretation {
    encoded_slash: Slash::Separates,
    encoded_backslash: Slash::Separates,
    backslash: Slash::Separates,
    parameters: PathParameters::Cut,
    dots: Dots::Resolved,
};

/// No character but `/` and `%2F` has a meaning of its own.
const LITERAL: Interpretation = Interpretation { dots: Dots::Text, ..UNIX };

/// The literal reading with empty segments, for upstreams that do not merge slashes.
const WITH_EMPTY: Interpretation = Interpretation { dots: Dots::TextAmongEmpty, ..LITERAL };

/// A backslash and `;` are text, and dots are resolved.
const UNIX: Interpretation = Interpretation { parameters: PathParameters::Text, ..BACKSLASH_TEXT };

/// A backslash is text, and the rest as in the main reading.
const BACKSLASH_TEXT: Interpretation =
    Interpretation { encoded_backslash: Slash::Text, backslash: Slash::Text, ..MAIN };

/// Dots are resolved as in RFC 3986.
const AMONG_EMPTY: Interpretation = Interpretation { dots: Dots::ResolvedAmongEmpty, ..MAIN };

/// The path is read as by browsers.
const BROWSER: Interpretation = Interpretation {
    encoded_slash: Slash::Text,
    encoded_backslash: Slash::Text,
    parameters: PathParameters::Text,
    ..AMONG_EMPTY
};

/// The most readings of one path.
const MOST: usize = 8;

/// All readings but the main one, the likeliest first.
///
/// Seven always fit, and later ones if earlier ones are equal.
const OTHERS: [Interpretation; 12] = [
    Interpretation { encoded_slash: Slash::Text, ..MAIN },
    Interpretation { encoded_backslash: Slash::Text, ..MAIN },
    Interpretation { encoded_slash: Slash::Text, encoded_backslash: Slash::Text, ..MAIN },
    LITERAL,
    AMONG_EMPTY,
    UNIX,
    BROWSER,
    BACKSLASH_TEXT,
    Interpretation { parameters: PathParameters::Text, ..MAIN },
    Interpretation { encoded_slash: Slash::Text, ..LITERAL },
    Interpretation { dots: Dots::ResolvedAmongEmpty, ..UNIX },
    Interpretation { dots: Dots::ResolvedAmongEmpty, ..BACKSLASH_TEXT },
];

impl Interpretation {
    /// The reading reduced to the aspects that matter for a path with these ambiguous parts.
    fn of_seen(self, seen: Observed) -> Self {
        Self {
            encoded_slash: if seen.encoded_slash { self.encoded_slash } else { MAIN.encoded_slash },
            encoded_backslash: if seen.encoded_backslash {
                self.encoded_backslash
            } else {
                MAIN.encoded_backslash
            },
            backslash: if seen.backslash { self.backslash } else { MAIN.backslash },
            parameters: if seen.parameters { self.parameters } else { MAIN.parameters },
            dots: if seen.dots { self.dots } else { MAIN.dots },
        }
    }
}

impl Observed {
    /// The readings that may differ from the main one and from each other.
    fn others(self) -> impl Iterator<Item = Interpretation> {
        OTHERS.iter().enumerate().filter_map(move |(at, other)| {
            let other = other.of_seen(self);
            let mut earlier = OTHERS.iter().take(at).map(|earlier| earlier.of_seen(self));
            (other != MAIN && earlier.all(|earlier| earlier != other)).then_some(other)
        })
    }
}

/// The path within `target`, if it is already normalized, as in most requests.
fn already_normal(target: &[u8], folding: Folding) -> Option<&[u8]> {
    if target.first() != Some(&b'/') {
        return None;
    }
    let (mut path, ignores_case) = (target, folding.ignores_case());
    for (at, byte) in target.iter().enumerate() {
        match byte {
            b'/' => {
                let behind = target.get(at + 1..).unwrap_or_default();
                if behind.first() == Some(&b'/') || starts_with_dots(behind) {
                    return None;
                }
            }
            b'%' | b';' | b'\\' => return None,
            b'A'..=b'Z' if ignores_case => return None,
            b'?' | b'#' => {
                path = target.get(..at).unwrap_or_default();
                break;
            }
            _ => {}
        }
    }
    let ends_trimmed = |segment: &[u8]| segment.last().is_some_and(|last| folding.trims(*last));
    if folding.trims_any() && path.split(|byte| *byte == b'/').any(ends_trimmed) {
        return None;
    }
    match path {
        b"/" => Some(path),
        _ => Some(path.strip_suffix(b"/").unwrap_or(path)),
    }
}

/// Whether the text starts with a segment that is `.` or `..`.
fn starts_with_dots(text: &[u8]) -> bool {
    let Some(rest) = text.strip_prefix(b".") else { return false };
    let rest = rest.strip_prefix(b".").unwrap_or(rest);
    matches!(rest.first(), None | Some(b'/' | b'?' | b'#' | b';' | b'\\' | b'%'))
}

/// The target without scheme, authority, query and fragment.
fn path_part(target: &[u8]) -> &[u8] {
    let target = until(target, |byte| matches!(byte, b'?' | b'#'));
    let Some(authority) = after_scheme(target) else { return target };
    let host = until(authority, |byte| matches!(byte, b'/' | b'\\'));
    authority.get(host.len()..).unwrap_or_default()
}

/// The text after `scheme://`, if the target starts with one.
fn after_scheme(target: &[u8]) -> Option<&[u8]> {
    let in_scheme = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    let scheme = until(target, |byte| !in_scheme(byte));
    scheme.first()?.is_ascii_alphabetic().then_some(())?;
    target.get(scheme.len()..)?.strip_prefix(b"://")
}

fn until(text: &[u8], ends: impl Fn(u8) -> bool) -> &[u8] {
    let end = text.iter().position(|&byte| ends(byte)).unwrap_or(text.len());
    text.get(..end).unwrap_or_default()
}

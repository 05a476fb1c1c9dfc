//! Parser for path patterns.

mod foreign_syntax;

use core::ops::Range;

use super::error::PatternError;
use super::glob::Glob;
use super::normalize::{Buffer, PathChar, first_unit, push};
use super::segment::PatternSegment;

/// More segments than any route has; bounds the depth of a lookup.
const MOST_SEGMENTS: usize = 128;

/// Parses a pattern into its normalized text and its segments.
pub(super) fn read(text: &str) -> Result<(Box<str>, Box<[PatternSegment]>), PatternError> {
    starts_at_root(text)?;
    foreign_syntax::refuse(text)?;
    let mut tidy = String::new();
    let mut segments: Vec<PatternSegment> = Vec::new();
    let mut start = 0;
    for part in text.split('/') {
        let range = start..start + part.len();
        start = range.end + 1;
        // Paths never have empty segments, so a doubled or trailing slash means nothing.
        if part.is_empty() {
            continue;
        }
        let segment = read_segment(part, &range, &segments)?;
        // A gap after a gap means nothing either.
        if segment == PatternSegment::Gap && segments.last() == Some(&PatternSegment::Gap) {
            continue;
        }
        if segments.len() == MOST_SEGMENTS {
            let message = format!("this pattern has more than {MOST_SEGMENTS} segments");
            return Err(PatternError::new(range, message, "shorten it and end it with `**`"));
        }
        segments.push(segment);
        tidy.push('/');
        tidy.push_str(part);
    }
    if tidy.is_empty() {
        tidy.push('/');
    }
    Ok((tidy.into(), segments.into()))
}

fn starts_at_root(text: &str) -> Result<(), PatternError> {
    if text.starts_with('/') {
        return Ok(());
    }
    if text.is_empty() {
        return Err(PatternError::new(0..0, "this pattern is empty", "write `/**` for every path"));
    }
    if let Some((_, rest)) = text.split_once("://") {
        let path_start = rest.find('/').map_or(text.len(), |at| text.len() - rest.len() + at);
        let path = text.get(path_start..).filter(|path| !path.is_empty()).unwrap_or("/");
        let message = "a pattern is a path, and this is a whole URL";
        return Err(PatternError::new(0..path_start, message, format!("write `{path}`")));
    }
    let first = text.chars().next().map_or(0, char::len_utf8);
    if text.starts_with('^') && text.contains(['(', '[', '$', '\\']) {
        let message = "`^` belongs to a regular expression, and this is a path pattern";
        return Err(PatternError::new(
            0..1,
            message,
            "write it as in `/users/{id}` or `/files/**`",
        ));
    }
    let help = match text.trim_start_matches(['^', ' ']) {
        "*" | "**" => "write `/**` for every path".to_owned(),
        rest if rest.starts_with('/') => format!("write `{rest}`"),
        rest => format!("write `/{rest}`"),
    };
    Err(PatternError::new(0..first, "this pattern does not start with `/`", help))
}

fn read_segment(
    part: &str,
    range: &Range<usize>,
    earlier: &[PatternSegment],
) -> Result<PatternSegment, PatternError> {
    let refuse = |message: &str, help: &str| Err(PatternError::new(range.clone(), message, help));
    match part {
        "**" => return Ok(PatternSegment::Gap),
        "*" => return Ok(PatternSegment::Any(None)),
        "." | ".." => {
            let message = format!("`{part}` is resolved before a path is compared with a pattern");
            return refuse(&message, "write the path that it leads to");
        }
        _ => {}
    }
    if part.contains("***") {
        return refuse("`***` has no meaning", "write `**` for any number of segments");
    }
    if part.contains('{') || part.contains('}') {
        return read_name(part, range, earlier).map(|name| PatternSegment::Any(Some(name.into())));
    }
    if part.contains("**") {
        let help = "write `*` for any text within a segment, or `/**` for any number of segments";
        return refuse("`**` is only part of this segment", help);
    }
    read_text(part, range.start)
}

fn read_name<'t>(
    part: &'t str,
    range: &Range<usize>,
    earlier: &[PatternSegment],
) -> Result<&'t str, PatternError> {
    let refuse = |message: &str, help: &str| Err(PatternError::new(range.clone(), message, help));
    let Some(open) = part.find('{') else {
        return refuse("this `}` has no `{` before it", "write `{name}` as a whole segment");
    };
    if part.rfind('}') < Some(open) {
        return refuse("this `{` is not closed within its segment", "write `{name}`");
    }
    let enclosed = part.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    let Some(name) = enclosed.filter(|name| !name.contains(['{', '}'])) else {
        let help = "write `{name}` as a whole segment, or `*` for any text within one";
        return refuse("a name in braces is only part of this segment", help);
    };
    if name.is_empty() {
        return refuse(
            "these braces have no name in them",
            "write `{id}`, or `*` to leave it unnamed",
        );
    }
    if name.starts_with('*') || name.ends_with("...") {
        let help = "write `**` for any number of segments";
        return refuse("a name stands for one segment only", help);
    }
    let plain = name.split(|c: char| !is_in_name(c)).next().unwrap_or_default();
    if plain != name || name.starts_with(|c: char| c.is_ascii_digit() || c == '-') {
        let good = if plain.starts_with(|c: char| c.is_ascii_alphabetic()) { plain } else { "id" };
        let message = format!("`{name}` is not a name: it takes letters, digits, `_` and `-`");
        return refuse(&message, &format!("write `{{{good}}}`"));
    }
    if earlier.iter().any(|segment| segment.name() == Some(name)) {
        let message = format!("the name `{name}` is used twice");
        return refuse(&message, "give each segment a name of its own");
    }
    Ok(name)
}

fn is_in_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

/// Parses a segment of text, with or without stars, into the spelling of normalized paths.
fn read_text(part: &str, start: usize) -> Result<PatternSegment, PatternError> {
    let mut pieces: Vec<Box<[u8]>> = Vec::new();
    let mut piece = Buffer::new();
    let mut rest = part.as_bytes();
    while let Some((unit, after)) = first_unit(rest) {
        let at = start + part.len() - rest.len();
        let range = at..at + rest.len() - after.len();
        rest = after;
        match unit {
            PathChar::Raw(b'*') => pieces.push(core::mem::take(&mut piece).as_slice().into()),
            PathChar::Raw(b'%') => {
                let message = "this `%` is not followed by two hexadecimal digits";
                return Err(PatternError::new(range, message, "write `%25` for a percent sign"));
            }
            PathChar::Encoded(byte) if is_unreserved(byte) => {
                let plain = char::from(byte);
                let message = format!("paths are decoded first, so `{plain}` never stays encoded");
                return Err(PatternError::new(range, message, format!("write `{plain}`")));
            }
            unit => push(&mut piece, unit, false),
        }
    }
    pieces.push(piece.as_slice().into());
    Ok(Glob::of(pieces).map_or_else(PatternSegment::Literal, PatternSegment::Glob))
}

fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

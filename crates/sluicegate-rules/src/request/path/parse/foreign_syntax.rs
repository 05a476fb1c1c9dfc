//! Detection of foreign syntax in patterns: regular expressions and other routers.

use crate::request::path::error::PatternError;

const SEGMENT_HELP: &str = "write `*` or `{name}` for any one segment";
const WHOLE_HELP: &str = "a pattern always stands for the whole path; leave it out";

/// Signs of a regular expression that have no meaning in a path.
const EXPRESSIONS: [(&str, &str); 10] = [
    ("(.*)", "write `**` for any number of segments, `*` for one"),
    ("(.+)", "write `**` for any number of segments, `*` for one"),
    ("(?", SEGMENT_HELP),
    ("([", SEGMENT_HELP),
    ("(\\", SEGMENT_HELP),
    ("\\d", SEGMENT_HELP),
    ("\\w", SEGMENT_HELP),
    ("[^", SEGMENT_HELP),
    ("|", "write one pattern for each alternative"),
    ("^", WHOLE_HELP),
];

/// Refuses text that no normalized path can have, or that belongs to another notation.
pub(super) fn refuse(text: &str) -> Result<(), PatternError> {
    refuse_expressions(text)?;
    refuse_other_routers(text)?;
    refuse_characters(text)
}

fn refuse_expressions(text: &str) -> Result<(), PatternError> {
    let first = EXPRESSIONS
        .iter()
        .filter_map(|&(sign, help)| text.find(sign).map(|at| (at, sign, help)))
        .min_by_key(|&(at, ..)| at);
    // Elsewhere a dollar sign is text (`/$metadata`); at the end it is an anchor.
    let last = text.len().saturating_sub(1);
    let anchor = text.ends_with('$').then_some((last, "$", WHOLE_HELP));
    let Some((at, sign, help)) = first.or(anchor) else { return Ok(()) };
    let message = format!("`{sign}` belongs to a regular expression, and this is a path pattern");
    Err(PatternError::new(at..at + sign.len(), message, help))
}

fn refuse_other_routers(text: &str) -> Result<(), PatternError> {
    let mut start = 0;
    for part in text.split('/') {
        let range = start..start + part.len();
        start = range.end + 1;
        if matches!(part, ".*" | ".+") {
            let message = format!("`{part}` belongs to a regular expression");
            let help = "write `**` for any number of segments, `*` for one";
            return Err(PatternError::new(range, message, help));
        }
        let enclosed = |open, close| part.strip_prefix(open)?.strip_suffix(close);
        let named = part
            .strip_prefix(':')
            .or_else(|| enclosed('<', '>'))
            .or_else(|| enclosed('[', ']'))
            .map(|name| name.rsplit(':').next().unwrap_or(name))
            .map(|name| name.trim_end_matches('?'));
        if let Some(name) = named.filter(|name| is_name(name)) {
            let message = format!("`{part}` is how other routers name a segment");
            return Err(PatternError::new(range, message, format!("write `{{{name}}}`")));
        }
    }
    Ok(())
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(super::is_in_name)
}

fn refuse_characters(text: &str) -> Result<(), PatternError> {
    for (at, found) in text.char_indices() {
        let sign = at..at + found.len_utf8();
        let (range, message, help) = match found {
            '?' => (at..text.len(), "a pattern has no query", "leave out everything from `?` on"),
            '#' => {
                (at..text.len(), "a pattern has no fragment", "leave out everything from `#` on")
            }
            ';' => {
                let message = "text after `;` is cut off before paths are compared";
                (sign, message, "leave it out up to the next `/`")
            }
            '\\' => (sign, "a backslash is read as a slash", "write `/`"),
            '[' | ']' | '<' | '>' if !in_braces(text, at) => (
                sign,
                "this sign has no meaning in a pattern",
                "write `{name}` for any one segment",
            ),
            ' ' => (sign, "there is a space in this pattern", "leave it out, or write `%20`"),
            _ if found.is_whitespace() || found.is_control() => {
                (sign, "there is an invisible character in this pattern", "leave it out")
            }
            _ => continue,
        };
        return Err(PatternError::new(range, message, help));
    }
    Ok(())
}

/// Whether a position is within braces, where the check of the name gives a better message.
fn in_braces(text: &str, at: usize) -> bool {
    let before = text.get(..at).unwrap_or_default();
    before.rfind('{') > before.rfind('}')
}

//! Descriptions of kinds and values for messages.

use super::ValueKind;
use crate::node::{Node, Value};

/// Describes what a kind accepts, for the middle of a sentence.
pub(super) fn expected(kind: &ValueKind) -> String {
    choice(&alternatives(kind))
}

/// The alternatives that a kind accepts, to be joined by a single "or".
fn alternatives(kind: &ValueKind) -> Vec<String> {
    let only = |words: &str| vec![words.to_owned()];
    match kind {
        ValueKind::Text => only("a text"),
        ValueKind::Whole => only("a whole number"),
        ValueKind::Flag => ["`true`", "`false`"].map(str::to_owned).to_vec(),
        ValueKind::Null => only("nothing"),
        ValueKind::Literal(word) => vec![format!("`{word}`")],
        ValueKind::OneOf(words) | ValueKind::OneOfWith { words, .. } => {
            words.iter().map(|word| format!("`{word}`")).collect()
        }
        ValueKind::Pattern { what, example, .. } => vec![format!("{what} such as `{example}`")],
        ValueKind::List(kind) => vec![list(kind)],
        ValueKind::OneOrMany(kind) => {
            let mut words = alternatives(kind);
            words.push(list(kind));
            words
        }
        ValueKind::Object(object) => vec![format!("the fields of {}", object.name)],
        ValueKind::Map { what, .. } => vec![format!("a name and a value for each {}", bare(what))],
        ValueKind::Any(kinds) => kinds.iter().flat_map(alternatives).collect(),
    }
}

fn list(of: &ValueKind) -> String {
    plural(of).map_or_else(|| "a list".to_owned(), |items| format!("a list of {items}"))
}

/// Describes a value that was found instead.
pub(super) fn found(node: &Node) -> String {
    match &node.value {
        Value::Null => "nothing".to_owned(),
        Value::List(_) => "a list".to_owned(),
        Value::Map(_) => "a map".to_owned(),
        // A value from the environment is not even described, because it may be secret.
        Value::Scalar(scalar) if scalar.is_secret() => format!("`{}`", scalar.shown()),
        Value::Scalar(scalar) if !scalar.is_bare() => format!("the text \"{}\"", scalar.shown()),
        Value::Scalar(scalar) if scalar.flag().is_some() => format!("`{}`", scalar.shown()),
        Value::Scalar(scalar) if scalar.text().parse::<f64>().is_ok_and(f64::is_finite) => {
            format!("the number {}", scalar.shown())
        }
        Value::Scalar(scalar) => format!("the text `{}`", scalar.shown()),
    }
}

/// Joins words as in "a, b or c".
pub(super) fn choice(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [only] => only.clone(),
        [others @ .., last] => format!("{} or {last}", others.join(", ")),
    }
}

/// Returns a noun without its article.
pub(super) fn bare(noun: &'static str) -> &'static str {
    ["a ", "an ", "the "].iter().find_map(|article| noun.strip_prefix(article)).unwrap_or(noun)
}

/// Returns the plural noun of a kind, if there is a short one.
fn plural(kind: &ValueKind) -> Option<String> {
    let noun = match kind {
        ValueKind::Text => "text",
        ValueKind::Whole => "whole number",
        ValueKind::Pattern { what, .. } => bare(what),
        ValueKind::Object(object) => bare(object.name),
        _ => return None,
    };
    // Appending a letter would not make a plural of a longer description.
    if noun.split(' ').count() > 3 || noun.contains([',', '(', '`']) {
        return None;
    }
    let consonant = |stem: &str| !stem.ends_with(['a', 'e', 'i', 'o', 'u']);
    Some(match noun.strip_suffix('y').filter(|stem| consonant(stem)) {
        Some(stem) => format!("{stem}ies"),
        None if noun.ends_with(['s', 'x', 'z']) || noun.ends_with("ch") => format!("{noun}es"),
        None => format!("{noun}s"),
    })
}

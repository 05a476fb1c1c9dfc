//! Validation of a tree against the tables.

use super::describe::{choice, expected, found};
use super::{Field, Hint, Object, ValueKind};
use crate::diagnostics::closest;
use crate::diagnostics::{Diagnostic, Diagnostics};
use crate::node::{MapEntry, Node, Scalar, Value};

/// Reports every mistake in the tree and returns whether there is none.
pub fn validate(node: &Node, kind: &ValueKind, diagnostics: &mut Diagnostics) -> bool {
    if node.scalar().is_some_and(Scalar::is_broken) {
        return false;
    }
    match (kind, &node.value) {
        (ValueKind::Text | ValueKind::Pattern { .. }, Value::Scalar(_))
        // A field may be left empty, as when all of its items are commented out.
        | (
            ValueKind::Null
            | ValueKind::List(_)
            | ValueKind::OneOrMany(_)
            | ValueKind::Map { .. },
            Value::Null,
        ) => true,
        (
            ValueKind::Whole
            | ValueKind::Flag
            | ValueKind::Literal(_)
            | ValueKind::OneOf(_)
            | ValueKind::OneOfWith { .. },
            Value::Scalar(scalar),
        ) => {
            accepts(scalar, kind) || refuse_scalar(node, scalar, kind, diagnostics)
        }
        (ValueKind::List(of) | ValueKind::OneOrMany(of), Value::List(items)) => {
            every(items, |item| validate(item, of, diagnostics))
        }
        (ValueKind::OneOrMany(of), Value::Scalar(_) | Value::Map(_)) if fits(of, node) => {
            validate(node, of, diagnostics)
        }
        (ValueKind::Object(table), Value::Map(entries)) => {
            object(node, entries, table, diagnostics)
        }
        (ValueKind::Object(table), Value::Null) if !requires_field(table) => true,
        (ValueKind::Map { of, .. }, Value::Map(entries)) => {
            every(entries, |entry| validate(&entry.value, of, diagnostics))
        }
        (ValueKind::Any(kinds), _) => any(node, kinds, kind, diagnostics),
        _ => refuse(node, kind, diagnostics),
    }
}

fn requires_field(table: &Object) -> bool {
    table.fields.iter().any(|field| field.required)
}

/// Returns whether all items are good; unlike `all`, it does not stop at the first bad one.
fn every<T>(items: &[T], mut good: impl FnMut(&T) -> bool) -> bool {
    items.iter().filter(|item| !good(item)).count() == 0
}

/// Whether a node is a map, list or scalar as the kind requires, regardless of its content.
fn fits(kind: &ValueKind, node: &Node) -> bool {
    match kind {
        ValueKind::Text
        | ValueKind::Whole
        | ValueKind::Flag
        | ValueKind::Literal(_)
        | ValueKind::OneOf(_)
        | ValueKind::OneOfWith { .. }
        | ValueKind::Pattern { .. } => matches!(node.value, Value::Scalar(_)),
        ValueKind::Null => node.is_null(),
        ValueKind::List(_) => matches!(node.value, Value::List(_)),
        ValueKind::OneOrMany(of) => matches!(node.value, Value::List(_)) || fits(of, node),
        ValueKind::Object(_) | ValueKind::Map { .. } => matches!(node.value, Value::Map(_)),
        ValueKind::Any(kinds) => kinds.iter().any(|kind| fits(kind, node)),
    }
}

fn any(node: &Node, kinds: &[ValueKind], all: &ValueKind, diagnostics: &mut Diagnostics) -> bool {
    let fitting = kinds.iter().filter(|kind| fits(kind, node)).collect::<Vec<_>>();
    match fitting.as_slice() {
        [] => refuse(node, all, diagnostics),
        [only] => validate(node, only, diagnostics),
        [first, ..] => {
            let mut quiet = Diagnostics::default();
            if fitting.iter().any(|kind| validate(node, kind, &mut quiet)) {
                return true;
            }
            match node.scalar() {
                Some(_) => refuse(node, all, diagnostics),
                None => validate(node, first, diagnostics),
            }
        }
    }
}

fn accepts(scalar: &Scalar, kind: &ValueKind) -> bool {
    match kind {
        ValueKind::Whole => scalar.whole().is_some(),
        ValueKind::Flag => scalar.flag().is_some(),
        ValueKind::Literal(word) => scalar.text() == *word,
        ValueKind::OneOf(words) | ValueKind::OneOfWith { words, .. } => {
            words.contains(&scalar.text())
        }
        _ => true,
    }
}

fn refuse(node: &Node, kind: &ValueKind, diagnostics: &mut Diagnostics) -> bool {
    let message = format!("expected {}, found {}", expected(kind), found(node));
    let diagnostic = Diagnostic::error(node.span, "wrong-type", message);
    diagnostics.push(match node.value {
        Value::Null => diagnostic.help("write a value, or remove it"),
        _ => diagnostic,
    });
    false
}

fn refuse_scalar(
    node: &Node,
    scalar: &Scalar,
    kind: &ValueKind,
    diagnostics: &mut Diagnostics,
) -> bool {
    let message = format!("expected {}, found {}", expected(kind), found(node));
    let (code, help) = match kind {
        ValueKind::OneOf(words) => ("unknown-value", suggested_word(scalar, words)),
        ValueKind::OneOfWith { words, foreign } => {
            ("unknown-value", translated(scalar, foreign).or_else(|| suggested_word(scalar, words)))
        }
        ValueKind::Literal(word) => ("unknown-value", suggested_word(scalar, &[word])),
        ValueKind::Flag => ("wrong-type", suggested_flag(scalar)),
        _ => {
            let unquoted = Scalar::literal(scalar.text(), false);
            let quoted = !scalar.is_bare() && accepts(&unquoted, kind);
            ("wrong-type", quoted.then(|| "remove the quotes".to_owned()))
        }
    };
    let diagnostic = Diagnostic::error(node.span, code, message);
    diagnostics.push(match help {
        Some(help) => diagnostic.help(help),
        None => diagnostic,
    });
    false
}

/// The help for a word that other systems use.
fn translated(scalar: &Scalar, foreign: &[(&str, &str)]) -> Option<String> {
    if scalar.is_secret() {
        return None;
    }
    let word = scalar.text().to_ascii_lowercase().replace(['-', ' '], "_");
    foreign.iter().find(|(known, _)| *known == word).map(|(_, help)| (*help).to_owned())
}

fn suggested_word(scalar: &Scalar, words: &[&'static str]) -> Option<String> {
    // A suggestion would reveal a value from the environment.
    let word = closest(scalar.text(), words.iter().copied()).filter(|_| !scalar.is_secret())?;
    Some(format!("did you mean `{word}`?"))
}

fn suggested_flag(scalar: &Scalar) -> Option<String> {
    if scalar.is_secret() {
        return None;
    }
    let flag = match scalar.text().to_ascii_lowercase().as_str() {
        "yes" | "y" | "on" | "true" | "1" => "true",
        "no" | "n" | "off" | "false" | "0" => "false",
        _ => return None,
    };
    Some(format!("write `{flag}`"))
}

fn object(
    node: &Node,
    entries: &[MapEntry],
    object: &Object,
    diagnostics: &mut Diagnostics,
) -> bool {
    // A misspelt field is not reported as missing as well.
    let mut meant = Vec::new();
    let known = every(entries, |entry| {
        let name = entry.key.text.as_str();
        if let Some(field) = object.field(name) {
            return validate(&entry.value, &field.kind, diagnostics);
        }
        if let Some(free) = object.free_fields.filter(|free| (free.names)(name)) {
            return validate(&entry.value, free.kind, diagnostics);
        }
        let hint = object.hint.and_then(|hint| hint(entry, node));
        let hint = hint.unwrap_or_else(|| misspelt(name, object));
        meant.extend(hint.field);
        let message = format!("there is no field `{}` in {}", entry.key.shown(), object.name);
        let diagnostic = Diagnostic::error(entry.key.span, "unknown-field", message);
        diagnostics.push(diagnostic.help(hint.help));
        false
    });
    let required =
        object.fields.iter().filter(|field| field.required && node.get(field.name).is_none());
    let missing = required.filter(|field| !meant.contains(&field.name)).collect::<Vec<_>>();
    for field in &missing {
        diagnostics.push(missing_field(node, object, field));
    }
    known && missing.is_empty()
}

fn missing_field(node: &Node, object: &Object, field: &Field) -> Diagnostic {
    let message = format!("{} needs the field `{}`", object.name, field.name);
    let example = field.example.map(|example| format!("; as in `{}: {example}`", field.name));
    // In the schema the description is a sentence; here it is part of one.
    let about = field.about.trim_end_matches('.');
    let mut letters = about.chars();
    let first = letters.next().map(|letter| letter.to_ascii_lowercase());
    let about = first.into_iter().chain(letters).collect::<String>();
    let help = format!("add `{}`: {about}{}", field.name, example.unwrap_or_default());
    Diagnostic::error(node.span, "missing-field", message).help(help)
}

/// The closest field, or all fields if none is close.
fn misspelt(name: &str, object: &Object) -> Hint {
    let field = closest(name, object.fields.iter().map(|field| field.name));
    let help = if let Some(field) = field {
        format!("did you mean `{field}`?")
    } else {
        let fields = object.fields.iter().map(|field| format!("`{}`", field.name));
        let free = object.free_fields.map(|free| format!("the name of {}", free.what));
        format!("expected {}", choice(&fields.chain(free).collect::<Vec<_>>()))
    };
    Hint { help, field }
}

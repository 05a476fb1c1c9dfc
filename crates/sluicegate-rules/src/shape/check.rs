//! Whether a tree has the shape it should have.

use super::words::{choice, expected, found};
use super::{Field, Kind, Others, Shape};
use crate::finding::{Finding, Findings};
use crate::node::{Entry, Node, Scalar, Value};
use crate::spelling::closest;

/// Reports every mistake in the tree; true if there is none.
pub(crate) fn check(node: &Node, kind: &Kind, findings: &mut Findings) -> bool {
    if node.scalar().is_some_and(Scalar::is_broken) {
        return false;
    }
    match (kind, &node.value) {
        (Kind::Text | Kind::Pattern { .. }, Value::Scalar(_))
        // A field whose items are all commented out.
        | (Kind::Null | Kind::List(_) | Kind::OneOrMany(_) | Kind::Map { .. }, Value::Null) => true,
        (Kind::Whole | Kind::Flag | Kind::Literal(_) | Kind::OneOf(_), Value::Scalar(scalar)) => {
            accepts(scalar, kind) || refuse_scalar(node, scalar, kind, findings)
        }
        (Kind::List(of) | Kind::OneOrMany(of), Value::List(items)) => {
            every(items, |item| check(item, of, findings))
        }
        (Kind::OneOrMany(of), Value::Scalar(_) | Value::Map(_)) if fits(of, node) => {
            check(node, of, findings)
        }
        (Kind::Object(shape), Value::Map(entries)) => object(node, entries, shape, findings),
        (Kind::Object(shape), Value::Null) if !shape.fields.iter().any(|field| field.required) => {
            true
        }
        (Kind::Map { of, .. }, Value::Map(entries)) => {
            every(entries, |entry| check(&entry.value, of, findings))
        }
        (Kind::Any(kinds), _) => any(node, kinds, kind, findings),
        _ => refuse(node, kind, findings),
    }
}

/// Unlike `all`, it goes on after the first that fails.
fn every<T>(items: &[T], mut good: impl FnMut(&T) -> bool) -> bool {
    items.iter().filter(|item| !good(item)).count() == 0
}

/// Whether a node is of the sort that a kind asks for, whatever is in it.
fn fits(kind: &Kind, node: &Node) -> bool {
    match kind {
        Kind::Text
        | Kind::Whole
        | Kind::Flag
        | Kind::Literal(_)
        | Kind::OneOf(_)
        | Kind::Pattern { .. } => matches!(node.value, Value::Scalar(_)),
        Kind::Null => node.is_null(),
        Kind::List(_) => matches!(node.value, Value::List(_)),
        Kind::OneOrMany(of) => matches!(node.value, Value::List(_)) || fits(of, node),
        Kind::Object(_) | Kind::Map { .. } => matches!(node.value, Value::Map(_)),
        Kind::Any(kinds) => kinds.iter().any(|kind| fits(kind, node)),
    }
}

fn any(node: &Node, kinds: &[Kind], all: &Kind, findings: &mut Findings) -> bool {
    let fitting = kinds.iter().filter(|kind| fits(kind, node)).collect::<Vec<_>>();
    match fitting.as_slice() {
        [] => refuse(node, all, findings),
        [only] => check(node, only, findings),
        [first, ..] => {
            let mut quiet = Findings::default();
            if fitting.iter().any(|kind| check(node, kind, &mut quiet)) {
                return true;
            }
            match node.scalar() {
                Some(_) => refuse(node, all, findings),
                None => check(node, first, findings),
            }
        }
    }
}

fn accepts(scalar: &Scalar, kind: &Kind) -> bool {
    match kind {
        Kind::Whole => scalar.whole().is_some(),
        Kind::Flag => scalar.flag().is_some(),
        Kind::Literal(word) => scalar.text() == *word,
        Kind::OneOf(words) => words.contains(&scalar.text()),
        _ => true,
    }
}

fn refuse(node: &Node, kind: &Kind, findings: &mut Findings) -> bool {
    let message = format!("expected {}, found {}", expected(kind), found(node));
    let finding = Finding::error(node.span, "wrong-type", message);
    findings.push(match node.value {
        Value::Null => finding.help("write a value, or remove it"),
        _ => finding,
    });
    false
}

fn refuse_scalar(node: &Node, scalar: &Scalar, kind: &Kind, findings: &mut Findings) -> bool {
    let message = format!("expected {}, found {}", expected(kind), found(node));
    let (code, help) = match kind {
        Kind::OneOf(words) => ("unknown-value", meant(scalar, words)),
        Kind::Literal(word) => ("unknown-value", meant(scalar, &[word])),
        Kind::Flag => ("wrong-type", flag_meant(scalar)),
        _ => {
            let unquoted = Scalar::literal(scalar.text(), false);
            let quoted = !scalar.is_bare() && accepts(&unquoted, kind);
            ("wrong-type", quoted.then(|| "remove the quotes".to_owned()))
        }
    };
    let finding = Finding::error(node.span, code, message);
    findings.push(match help {
        Some(help) => finding.help(help),
        None => finding,
    });
    false
}

fn meant(scalar: &Scalar, words: &[&'static str]) -> Option<String> {
    // A guess at what the environment said would give it away.
    let word = closest(scalar.text(), words.iter().copied()).filter(|_| !scalar.is_secret())?;
    Some(format!("did you mean `{word}`?"))
}

fn flag_meant(scalar: &Scalar) -> Option<String> {
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

fn object(node: &Node, entries: &[Entry], shape: &Shape, findings: &mut Findings) -> bool {
    // A misspelt field is not missing as well.
    let mut meant = Vec::new();
    let known = every(entries, |entry| {
        let name = entry.key.text.as_str();
        if let Some(field) = shape.field(name) {
            return check(&entry.value, &field.kind, findings);
        }
        if let Some(others) = shape.others.filter(|others| (others.names)(name)) {
            return check(&entry.value, others.kind, findings);
        }
        let guess = closest(name, shape.fields.iter().map(|field| field.name));
        meant.extend(guess);
        findings.push(unknown(entry, shape, guess));
        false
    });
    let needed =
        shape.fields.iter().filter(|field| field.required && node.get(field.name).is_none());
    let missing = needed.filter(|field| !meant.contains(&field.name)).collect::<Vec<_>>();
    for field in &missing {
        findings.push(lacks(node, shape, field));
    }
    known && missing.is_empty()
}

fn lacks(node: &Node, shape: &Shape, field: &Field) -> Finding {
    let message = format!("{} needs the field `{}`", shape.name, field.name);
    let example = field.example.map(|example| format!("; as in `{}: {example}`", field.name));
    // Within a phrase, what is a sentence in the schema.
    let about = field.about.trim_end_matches('.');
    let mut letters = about.chars();
    let first = letters.next().map(|letter| letter.to_ascii_lowercase());
    let about = first.into_iter().chain(letters).collect::<String>();
    let help = format!("add `{}`: {about}{}", field.name, example.unwrap_or_default());
    Finding::error(node.span, "missing-field", message).help(help)
}

fn unknown(entry: &Entry, shape: &Shape, guess: Option<&str>) -> Finding {
    let message = format!("there is no field `{}` in {}", entry.key.shown(), shape.name);
    let help = if let Some(name) = guess {
        format!("did you mean `{name}`?")
    } else {
        let fields = shape.fields.iter().map(|field| format!("`{}`", field.name));
        let others = shape.others.map(|Others { what, .. }| format!("the name of {what}"));
        format!("expected {}", choice(&fields.chain(others).collect::<Vec<_>>()))
    };
    Finding::error(entry.key.span, "unknown-field", message).help(help)
}

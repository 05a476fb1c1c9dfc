//! The names of a map: what can be one, that none comes twice, and what `<<` takes over.

use std::collections::HashMap;

use super::Awaited;
use crate::finding::{Finding, Findings};
use crate::node::{Entry, Key, Node, Value};
use crate::source::Span;

/// The name that takes over the fields of another map.
const MERGE: &str = "<<";

/// What to wait for after a node that stands where a name belongs.
pub(super) fn key(node: Node, findings: &mut Findings) -> Awaited {
    let (message, help) = match node.value {
        Value::Scalar(scalar) if !scalar.text().is_empty() => {
            return Awaited::ValueOf(Key { text: scalar.text().to_owned(), span: node.span });
        }
        Value::Null | Value::Scalar(_) => {
            ("the name of the field is missing", "write a name before the `:`")
        }
        Value::List(_) => {
            ("a list cannot be the name of a field", "write a name, or put it in quotes")
        }
        Value::Map(_) => (
            "a map cannot be the name of a field",
            "put it in quotes; a value that starts with `{` needs them as well",
        ),
    };
    findings.push(Finding::error(node.span, "field-name", message).help(help));
    Awaited::Skipped
}

/// The fields of a finished map.
pub(super) fn settle(entries: Vec<Entry>, findings: &mut Findings) -> Vec<Entry> {
    let mut first = HashMap::<String, Span>::with_capacity(entries.len());
    let mut settled = Vec::with_capacity(entries.len());
    let mut merged = None;
    for entry in entries {
        if let Some(earlier) = first.get(&entry.key.text) {
            let message = format!("the field `{}` is written twice", entry.key.shown());
            let finding = Finding::error(entry.key.span, "duplicate-field", message);
            let finding = finding.label("written again here");
            findings.push(finding.related(*earlier, "first written here"));
            continue;
        }
        first.insert(entry.key.text.clone(), entry.key.span);
        if entry.key.text == MERGE {
            merged = Some(entry);
        } else {
            settled.push(entry);
        }
    }
    if let Some(merge) = merged {
        take_over(merge, &mut first, &mut settled, findings);
    }
    settled
}

/// Adds the fields of the maps under `<<` that are not written in the map itself. Where several
/// have the same field, the first one counts.
fn take_over(
    merge: Entry,
    first: &mut HashMap<String, Span>,
    settled: &mut Vec<Entry>,
    findings: &mut Findings,
) {
    let maps = match merge.value.value {
        Value::List(items) => items,
        value => vec![Node { span: merge.value.span, value }],
    };
    for map in maps {
        let Value::Map(entries) = map.value else {
            let message = "`<<` takes over the fields of a map, and this is none";
            let help = "write `<<: *name`, where `&name` stands before a map";
            let finding = Finding::error(map.span, "merge", message);
            findings.push(finding.related(merge.key.span, "taken over here").help(help));
            continue;
        };
        for entry in entries {
            if !first.contains_key(&entry.key.text) {
                first.insert(entry.key.text.clone(), entry.key.span);
                settled.push(entry);
            }
        }
    }
}

//! Keys of maps: their validity, duplicates, and merging with `<<`.

use std::collections::HashMap;

use super::Awaited;
use crate::diagnostics::SourceSpan;
use crate::diagnostics::{Diagnostic, Diagnostics};
use crate::node::{MapEntry, MapKey, Node, Value};

/// The key that merges the fields of another map.
const MERGE: &str = "<<";

/// Reads a node in the place of a key.
pub(super) fn key(node: Node, diagnostics: &mut Diagnostics) -> Awaited {
    let (message, help) = match node.value {
        Value::Scalar(scalar) if !scalar.text().is_empty() => {
            return Awaited::ValueOf(MapKey { text: scalar.text().to_owned(), span: node.span });
        }
        Value::Null | Value::Scalar(_) => {
            ("the name of the field is missing", "write a name before the `:`")
        }
        Value::List(_) => {
            ("a list cannot be the name of a field", "write a name, or put the text in quotes")
        }
        Value::Map(_) => (
            "a map cannot be the name of a field",
            "write a name, or put the text in quotes, also if it is a value that starts with `{`",
        ),
    };
    diagnostics.push(Diagnostic::error(node.span, "field-name", message).help(help));
    Awaited::Skipped
}

/// Returns the fields of a finished map, without duplicates and with merged fields.
pub(super) fn finish(entries: Vec<MapEntry>, diagnostics: &mut Diagnostics) -> Vec<MapEntry> {
    let mut first = HashMap::<String, SourceSpan>::with_capacity(entries.len());
    let mut finished = Vec::with_capacity(entries.len());
    let mut merged = None;
    for entry in entries {
        if let Some(earlier) = first.get(&entry.key.text) {
            let message = format!("the field `{}` is written twice", entry.key.shown());
            let diagnostic = Diagnostic::error(entry.key.span, "duplicate-field", message);
            let diagnostic = diagnostic.label("written again here");
            diagnostics.push(diagnostic.related(*earlier, "first written here"));
            continue;
        }
        first.insert(entry.key.text.clone(), entry.key.span);
        if entry.key.text == MERGE {
            merged = Some(entry);
        } else {
            finished.push(entry);
        }
    }
    if let Some(merge) = merged {
        merge_fields(merge, &mut first, &mut finished, diagnostics);
    }
    finished
}

/// Adds the fields of the maps under `<<`, unless the map has them itself.
///
/// If several maps have the same field, the first one counts.
fn merge_fields(
    merge: MapEntry,
    first: &mut HashMap<String, SourceSpan>,
    finished: &mut Vec<MapEntry>,
    diagnostics: &mut Diagnostics,
) {
    let maps = match merge.value.value {
        Value::List(items) => items,
        value => vec![Node { span: merge.value.span, value }],
    };
    for map in maps {
        let Value::Map(entries) = map.value else {
            let message = "`<<` merges the fields of a map, and this is not a map";
            let help = "write `<<: *name`, where `&name` is the anchor of a map";
            let diagnostic = Diagnostic::error(map.span, "merge", message);
            diagnostics.push(diagnostic.related(merge.key.span, "merged here").help(help));
            continue;
        };
        for entry in entries {
            if !first.contains_key(&entry.key.text) {
                first.insert(entry.key.text.clone(), entry.key.span);
                finished.push(entry);
            }
        }
    }
}

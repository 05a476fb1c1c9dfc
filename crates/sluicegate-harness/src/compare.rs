//! Differences between an expected answer and the one that came.

use serde_json::Value;

/// The paths at which two answers differ, with both values.
pub(crate) fn differences(expected: &Value, found: &Value) -> Vec<String> {
    let mut out = Vec::new();
    walk("", expected, found, &mut out);
    out
}

fn walk(path: &str, expected: &Value, found: &Value, out: &mut Vec<String>) {
    match (expected, found) {
        (Value::Object(one), Value::Object(other)) => {
            for (name, value) in one {
                let inner = format!("{path}.{name}");
                match other.get(name) {
                    Some(found) => walk(&inner, value, found, out),
                    None => out.push(format!("{inner}: expected {value}, found nothing")),
                }
            }
            for (name, value) in other.iter().filter(|(name, _)| !one.contains_key(*name)) {
                out.push(format!("{path}.{name}: expected nothing, found {value}"));
            }
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            for (place, (value, found)) in one.iter().zip(other).enumerate() {
                walk(&format!("{path}[{place}]"), value, found, out);
            }
        }
        _ if expected == found => {}
        _ => out.push(format!("{path}: expected {expected}, found {found}")),
    }
}

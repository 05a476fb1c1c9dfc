//! A YAML reader that produces JSON for validation against the schema.
//!
//! Independent of the reader of rule files, so that each checks the other.

use granit_parser::{Event, Parser, ScalarStyle};
use serde_json::{Map, Number, Value};

/// An unfinished list or map; a map with the key of its next value.
enum Open {
    List(Vec<Value>),
    Map(Map<String, Value>, Option<String>),
}

/// Parses a document.
pub(super) fn read(text: &str) -> Value {
    let mut open: Vec<Open> = Vec::new();
    let mut root = Value::Null;
    for event in Parser::new_from_str(text) {
        let (event, _) = event.expect("it is YAML");
        let value = match event {
            Event::Scalar(text, ScalarStyle::Plain, ..) => plain(&text),
            Event::Scalar(text, ..) => Value::String(text.into_owned()),
            Event::SequenceStart(..) => {
                open.push(Open::List(Vec::new()));
                continue;
            }
            Event::MappingStart(..) => {
                open.push(Open::Map(Map::new(), None));
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                Some(Open::List(items)) => Value::Array(items),
                Some(Open::Map(entries, _)) => Value::Object(entries),
                None => panic!("something ends that never began"),
            },
            Event::Alias(_) => panic!("aliases are not for policies"),
            _ => continue,
        };
        match open.last_mut() {
            None => root = value,
            Some(Open::List(items)) => items.push(value),
            Some(Open::Map(entries, key)) => match key.take() {
                None => {
                    *key = Some(value.as_str().map_or_else(|| value.to_string(), str::to_owned));
                }
                Some(key) => _ = entries.insert(key, value),
            },
        }
    }
    root
}

/// The value of an unquoted text in YAML's core schema.
fn plain(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ => {
            let whole = text.parse::<i64>().ok().map(Number::from);
            let number = whole.or_else(|| text.parse::<f64>().ok().and_then(Number::from_f64));
            number.map_or_else(|| Value::String(text.to_owned()), Value::Number)
        }
    }
}

#[test]
fn reads_yaml_as_an_editor_does() {
    let text =
        "a: 1\nb: [x, 'y', \"2\", 2.5, ~]\nc: { d: true, 401: e }\nf: 1_000\ng: 10/s burst 20\n";
    let expected = serde_json::json!({
        "a": 1,
        "b": ["x", "y", "2", 2.5, null],
        "c": { "d": true, "401": "e" },
        "f": "1_000",
        "g": "10/s burst 20",
    });
    assert_eq!(read(text), expected);
}

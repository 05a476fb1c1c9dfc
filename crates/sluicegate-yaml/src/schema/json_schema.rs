//! The JSON schema of a kind, for editors.

use serde_json::{Map, Value, json};

use super::describe::bare;
use super::{Object, ValueKind};

/// The name of the definition for values from the environment, which are allowed everywhere.
const VARIABLE: &str = "variable";

/// Writes the JSON schema (draft 2020-12) of a kind.
///
/// The schema accepts everything that [`validate`](super::validate) accepts, and more where a text
/// has a format of its own but no pattern.
pub fn json_schema(title: &str, kind: &ValueKind) -> Value {
    let mut definitions = Definitions::default();
    let described = definitions.describe(kind);
    let mut schema = Map::new();
    schema.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
    schema.insert("title".to_owned(), json!(title));
    if let Value::Object(described) = described {
        schema.extend(described);
    }
    let variable = json!({
        "description": "filled in from the environment: ${NAME} or ${NAME:-default}",
        "type": "string",
        "pattern": r"\$\{[A-Za-z_][A-Za-z0-9_]*(:-[^}]*)?\}",
    });
    definitions.made.insert(VARIABLE.to_owned(), variable);
    schema.insert("$defs".to_owned(), Value::Object(definitions.made));
    Value::Object(schema)
}

/// The objects found so far, each described once.
#[derive(Default)]
struct Definitions {
    made: Map<String, Value>,
    /// The object that each name stands for.
    names: Vec<(String, &'static Object)>,
}

impl Definitions {
    fn describe(&mut self, kind: &ValueKind) -> Value {
        match kind {
            ValueKind::Text => json!({ "type": ["string", "number", "boolean"] }),
            // Editors read `1_000` as a text.
            ValueKind::Whole => json!({ "anyOf": [
                { "type": "integer", "minimum": 0 },
                { "type": "string", "pattern": "^[0-9]+(_[0-9]+)+$" },
                variable(),
            ] }),
            ValueKind::Flag => json!({ "anyOf": [{ "type": "boolean" }, variable()] }),
            ValueKind::Null => json!({ "type": "null" }),
            ValueKind::Literal(word) => json!({ "anyOf": [{ "const": word }, variable()] }),
            ValueKind::OneOf(words) | ValueKind::OneOfWith { words, .. } => {
                json!({ "anyOf": [{ "enum": spellings(words) }, variable()] })
            }
            ValueKind::Pattern { what, example, regex } => json!({
                "description": format!("{what} such as {example}"),
                "examples": [example],
                "anyOf": [
                    // A value that editors read as a number is still a text here.
                    { "type": ["string", "number", "boolean"], "pattern": regex },
                    variable(),
                ],
            }),
            ValueKind::List(of) => {
                json!({ "type": ["array", "null"], "items": self.describe(of) })
            }
            ValueKind::OneOrMany(of) => {
                let one = self.describe(of);
                json!({ "anyOf": [one, { "type": ["array", "null"], "items": one }] })
            }
            ValueKind::Object(object) => self.refer(object),
            ValueKind::Map { what, of } => json!({
                "description": format!("names and values, each {what}"),
                "type": ["object", "null"],
                "additionalProperties": self.describe(of),
            }),
            ValueKind::Any(kinds) => {
                let kinds = kinds.iter().map(|kind| self.describe(kind)).collect::<Vec<_>>();
                json!({ "anyOf": kinds })
            }
        }
    }

    /// Returns a reference to an object, and describes it at its first occurrence.
    fn refer(&mut self, object: &'static Object) -> Value {
        let known = self.names.iter().find(|(_, known)| std::ptr::eq(*known, object));
        let name = if let Some((name, _)) = known {
            name.clone()
        } else {
            let name = self.free_name(&bare(object.name).replace(' ', "-"));
            // Registered before it is described, because an object may contain itself.
            self.names.push((name.clone(), object));
            self.made.insert(name.clone(), Value::Null);
            let described = self.object(object);
            self.made.insert(name.clone(), described);
            name
        };
        json!({ "$ref": format!("#/$defs/{name}") })
    }

    fn free_name(&self, wanted: &str) -> String {
        let taken = |name: &str| name == VARIABLE || self.made.contains_key(name);
        let numbered = (2_u64..).map(|number| format!("{wanted}-{number}"));
        let mut names = std::iter::once(wanted.to_owned()).chain(numbered);
        names.find(|name| !taken(name)).unwrap_or_default()
    }

    fn object(&mut self, object: &'static Object) -> Value {
        let mut properties = Map::new();
        for field in object.fields {
            let mut described = Map::new();
            described.insert("description".to_owned(), json!(field.about));
            if let Some(example) = field.example {
                described.insert("examples".to_owned(), json!([example]));
            }
            if let Value::Object(kind) = self.describe(&field.kind) {
                for (name, value) in kind {
                    // The description of the field is more specific than that of its kind.
                    described.entry(name).or_insert(value);
                }
            }
            properties.insert(field.name.to_owned(), Value::Object(described));
        }
        let required = object.fields.iter().filter(|field| field.required);
        let required = required.map(|field| field.name).collect::<Vec<_>>();
        let mut described = Map::new();
        described.insert("description".to_owned(), json!(object.about));
        // As in validation, a map without a required field may be left empty.
        let types = if required.is_empty() { json!(["object", "null"]) } else { json!("object") };
        described.insert("type".to_owned(), types);
        described.insert("properties".to_owned(), Value::Object(properties));
        if !required.is_empty() {
            described.insert("required".to_owned(), json!(required));
        }
        let rest = match object.free_fields {
            Some(free) => {
                let fields = object.fields.iter().map(|field| field.name).collect::<Vec<_>>();
                let names = json!({ "anyOf": [{ "enum": fields }, { "pattern": free.regex }] });
                described.insert("propertyNames".to_owned(), names);
                self.describe(free.kind)
            }
            None => json!(false),
        };
        described.insert("additionalProperties".to_owned(), rest);
        Value::Object(described)
    }
}

/// The words as editors read them, which take `401` without quotes for a number.
fn spellings(words: &[&str]) -> Vec<Value> {
    let numbers = words.iter().filter_map(|word| word.parse::<u64>().ok()).map(Value::from);
    words.iter().map(|word| json!(word)).chain(numbers).collect()
}

fn variable() -> Value {
    json!({ "$ref": format!("#/$defs/{VARIABLE}") })
}

//! The fields of a body, and the values found in them.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, Visitor};
use sluicegate_rules::closest_word;

use super::value::{Depth, JsonValue};
use sluicegate_http::FieldError;

/// The most unknown fields that are reported individually.
///
/// Without a limit, a body of unknown fields would get a response many times its length.
const MAX_UNKNOWN: usize = 16;
/// The most letters of an unknown field in an error message.
const MAX_NAME: usize = 60;
/// The most fields of a kind of body.
const MAX_FIELDS: usize = 8;

/// The fields that a kind of body may have.
pub(in crate::http) trait JsonField: Copy + PartialEq + 'static {
    /// All fields.
    const ALL: &'static [Self];
    /// A valid body, for error messages.
    const EXAMPLE: &'static str;

    /// Returns its name.
    fn as_str(self) -> &'static str;

    /// Returns the depth to which its value is read, if it is a list or an object.
    fn depth(self) -> u8 {
        0
    }

    /// Creates an error of this field.
    fn error(self, detail: impl Into<String>) -> FieldError {
        FieldError::new(self.as_str(), detail)
    }
}

/// The values of a body, by field.
#[derive(Debug)]
pub(in crate::http) struct Fields<'a, F> {
    found: [Option<JsonValue<'a>>; MAX_FIELDS],
    repeated: [bool; MAX_FIELDS],
    unknown: Vec<String>,
    more_unknown: usize,
    kind: PhantomData<F>,
}

/// Parses the body as an object.
pub(in crate::http) fn object<F: JsonField>(body: &[u8]) -> Result<Fields<'_, F>, Vec<FieldError>> {
    read(body).map_err(|detail| vec![FieldError::new("body", detail)])
}

fn read<F: JsonField>(body: &[u8]) -> Result<Fields<'_, F>, String> {
    let text = str::from_utf8(body).map_err(|error| {
        format!("it is not UTF-8 from byte {} on; send JSON as UTF-8", error.valid_up_to())
    })?;
    let start = text.trim_start();
    if start.is_empty() {
        return Err(format!("it is empty; send an object, as in {}", F::EXAMPLE));
    }
    let not_json = |error: serde_json::Error| format!("it is not JSON: {error}");
    if start.starts_with('{') {
        let mut json = serde_json::Deserializer::from_str(text);
        let mut fields = Fields::default();
        fields.deserialize(&mut json).and_then(|()| json.end()).map_err(not_json)?;
        return Ok(fields);
    }
    let found: JsonValue<'_> = serde_json::from_str(text).map_err(not_json)?;
    Err(format!("found {found}; send an object, as in {}", F::EXAMPLE))
}

impl<'a, F: JsonField> Fields<'a, F> {
    /// Returns the value of a field.
    pub(in crate::http) fn get(&self, field: F) -> Option<&JsonValue<'a>> {
        self.found.get(index_of(field)).and_then(Option::as_ref)
    }

    /// Takes the value of a field.
    pub(in crate::http) fn take(&mut self, field: F) -> Option<JsonValue<'a>> {
        self.found.get_mut(index_of(field)).and_then(Option::take)
    }

    /// Returns the errors of the fields themselves: unknown and repeated ones.
    pub(in crate::http) fn errors(&self) -> Vec<FieldError> {
        if self.unknown.is_empty() && !self.repeated.contains(&true) {
            return Vec::new();
        }
        let repeated = F::ALL.iter().zip(self.repeated).filter(|(_, repeated)| *repeated);
        let repeated = repeated.map(|(field, _)| {
            field.error("it is given more than once; give it once, or leave it out")
        });
        let unknown =
            self.unknown.iter().map(|name| FieldError::new(name.clone(), unknown::<F>(name)));
        let mut errors: Vec<_> = repeated.chain(unknown).collect();
        if self.more_unknown > 0 {
            let detail = format!("there are {} more unknown fields", self.more_unknown);
            errors.push(FieldError::new("body", detail));
        }
        errors
    }

    fn put(&mut self, field: F, found: JsonValue<'a>) {
        let index = index_of(field);
        if let (Some(previous), Some(repeated)) =
            (self.found.get_mut(index), self.repeated.get_mut(index))
        {
            *repeated |= previous.replace(found).is_some();
        }
    }

    fn put_unknown(&mut self, name: String) {
        if self.unknown.contains(&name) {
            return;
        }
        if self.unknown.len() < MAX_UNKNOWN {
            self.unknown.push(name);
        } else {
            self.more_unknown += 1;
        }
    }
}

fn index_of<F: JsonField>(field: F) -> usize {
    const { assert!(F::ALL.len() <= MAX_FIELDS, "a body has more fields than fit") }
    F::ALL.iter().position(|other| *other == field).unwrap_or(MAX_FIELDS)
}

fn unknown<F: JsonField>(name: &str) -> String {
    let known: Vec<_> = F::ALL.iter().map(|field| field.as_str()).collect();
    let meant = closest_word(name, known.iter().copied());
    let meant = meant.map(|meant| format!("did you mean `{meant}`? ")).unwrap_or_default();
    match known.as_slice() {
        [only] => format!("there is no such field; {meant}the only field is {only}"),
        known => format!("there is no such field; {meant}the fields are {}", known.join(", ")),
    }
}

impl<F> Default for Fields<'_, F> {
    fn default() -> Self {
        Self {
            found: Default::default(),
            repeated: Default::default(),
            unknown: Vec::new(),
            more_unknown: 0,
            kind: PhantomData,
        }
    }
}

/// Parses an object into fields in place, because they are too large to move.
impl<'de, F: JsonField> DeserializeSeed<'de> for &mut Fields<'de, F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de, F: JsonField> Visitor<'de> for &mut Fields<'de, F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<(), A::Error> {
        while let Some(name) = object.next_key_seed(FieldNameSeed::<F>(PhantomData))? {
            let depth = match &name {
                FieldName::Field(field) => field.depth(),
                FieldName::Unknown(_) => 0,
            };
            let found = object.next_value_seed(Depth { depth })?;
            match name {
                FieldName::Field(field) => self.put(field, found),
                FieldName::Unknown(name) => self.put_unknown(name),
            }
        }
        Ok(())
    }
}

/// Parses the name of a field.
struct FieldNameSeed<F>(PhantomData<F>);

/// A parsed name: a field of the body, or an unknown one.
enum FieldName<F> {
    Field(F),
    /// The start of the name, for error messages.
    Unknown(String),
}

impl<'de, F: JsonField> DeserializeSeed<'de> for FieldNameSeed<F> {
    type Value = FieldName<F>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<FieldName<F>, D::Error> {
        from.deserialize_str(self)
    }
}

impl<F: JsonField> Visitor<'_> for FieldNameSeed<F> {
    type Value = FieldName<F>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a field")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<FieldName<F>, E> {
        let field = F::ALL.iter().find(|field| field.as_str() == name);
        let unknown = || FieldName::Unknown(name.chars().take(MAX_NAME).collect());
        Ok(field.map_or_else(unknown, |field| FieldName::Field(*field)))
    }
}

//! The fields of a body: which there are, and what was found in each.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, Visitor};
use sluicegate_rules::closest_word;

use super::found::{Found, Looking};
use crate::http::problem::Mistake;

/// Unknown fields that are told one by one. A body of nothing else would otherwise be
/// answered with many times its length.
const UNKNOWN_TOLD: usize = 16;
/// Letters of an unknown field that are repeated.
const LETTERS_TOLD: usize = 60;
/// No kind of body has more fields.
const MOST_FIELDS: usize = 8;

/// The fields that a kind of body may have.
pub(in crate::http) trait Field: Copy + PartialEq + 'static {
    /// All of them.
    const ALL: &'static [Self];
    /// A body that is right, for those whose is not.
    const EXAMPLE: &'static str;

    /// Its name.
    fn as_str(self) -> &'static str;

    /// How deep its value is looked into, if it is a list or an object.
    fn depth(self) -> u8 {
        0
    }

    /// What is wrong with it.
    fn mistake(self, detail: impl Into<String>) -> Mistake {
        Mistake::new(self.as_str(), detail)
    }
}

/// What a body says, field by field.
#[derive(Debug)]
pub(in crate::http) struct Fields<'a, F> {
    found: [Option<Found<'a>>; MOST_FIELDS],
    repeated: [bool; MOST_FIELDS],
    unknown: Vec<String>,
    unknown_untold: usize,
    kind: PhantomData<F>,
}

/// The body as an object, or why it is none.
pub(in crate::http) fn object<F: Field>(body: &[u8]) -> Result<Fields<'_, F>, Vec<Mistake>> {
    read(body).map_err(|detail| vec![Mistake::new("body", detail)])
}

fn read<F: Field>(body: &[u8]) -> Result<Fields<'_, F>, String> {
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
    let found: Found<'_> = serde_json::from_str(text).map_err(not_json)?;
    Err(format!("found {found}; send an object, as in {}", F::EXAMPLE))
}

impl<'a, F: Field> Fields<'a, F> {
    /// What was found in a field.
    pub(in crate::http) fn get(&self, field: F) -> Option<&Found<'a>> {
        self.found.get(place(field)).and_then(Option::as_ref)
    }

    /// Takes out what was found in a field.
    pub(in crate::http) fn take(&mut self, field: F) -> Option<Found<'a>> {
        self.found.get_mut(place(field)).and_then(Option::take)
    }

    /// What is wrong with the fields themselves, whatever their values.
    pub(in crate::http) fn mistakes(&self) -> Vec<Mistake> {
        if self.unknown.is_empty() && !self.repeated.contains(&true) {
            return Vec::new();
        }
        let repeated = F::ALL.iter().zip(self.repeated).filter(|(_, repeated)| *repeated);
        let repeated = repeated.map(|(field, _)| {
            field.mistake("it is given more than once; give it once, or leave it out")
        });
        let unknown =
            self.unknown.iter().map(|name| Mistake::new(name.clone(), unknown::<F>(name)));
        let mut mistakes: Vec<_> = repeated.chain(unknown).collect();
        if self.unknown_untold > 0 {
            let detail = format!("there are {} more unknown fields", self.unknown_untold);
            mistakes.push(Mistake::new("body", detail));
        }
        mistakes
    }

    fn put(&mut self, field: F, found: Found<'a>) {
        let place = place(field);
        if let (Some(found_before), Some(repeated)) =
            (self.found.get_mut(place), self.repeated.get_mut(place))
        {
            *repeated |= found_before.replace(found).is_some();
        }
    }

    fn put_unknown(&mut self, name: String) {
        if self.unknown.contains(&name) {
            return;
        }
        if self.unknown.len() < UNKNOWN_TOLD {
            self.unknown.push(name);
        } else {
            self.unknown_untold += 1;
        }
    }
}

fn place<F: Field>(field: F) -> usize {
    const { assert!(F::ALL.len() <= MOST_FIELDS, "a body has more fields than there are places") }
    F::ALL.iter().position(|other| *other == field).unwrap_or(MOST_FIELDS)
}

fn unknown<F: Field>(name: &str) -> String {
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
            unknown_untold: 0,
            kind: PhantomData,
        }
    }
}

/// Reads an object into fields where they are: they are too large to be handed about.
impl<'de, F: Field> DeserializeSeed<'de> for &mut Fields<'de, F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de, F: Field> Visitor<'de> for &mut Fields<'de, F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<(), A::Error> {
        while let Some(name) = object.next_key_seed(Name::<F>(PhantomData))? {
            let depth = match &name {
                Named::Field(field) => field.depth(),
                Named::Unknown(_) => 0,
            };
            let found = object.next_value_seed(Looking { depth })?;
            match name {
                Named::Field(field) => self.put(field, found),
                Named::Unknown(name) => self.put_unknown(name),
            }
        }
        Ok(())
    }
}

/// Reads the name of a field.
struct Name<F>(PhantomData<F>);

/// The field that has a name, if there is one.
enum Named<F> {
    Field(F),
    /// As much of the name as is told.
    Unknown(String),
}

impl<'de, F: Field> DeserializeSeed<'de> for Name<F> {
    type Value = Named<F>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Named<F>, D::Error> {
        from.deserialize_str(self)
    }
}

impl<F: Field> Visitor<'_> for Name<F> {
    type Value = Named<F>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a field")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Named<F>, E> {
        let field = F::ALL.iter().find(|field| field.as_str() == name);
        let unknown = || Named::Unknown(name.chars().take(LETTERS_TOLD).collect());
        Ok(field.map_or_else(unknown, |field| Named::Field(*field)))
    }
}

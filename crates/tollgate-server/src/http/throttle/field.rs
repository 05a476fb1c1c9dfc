//! The fields of a body: which there are, and what was found in each.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};

use super::found::Found;
use super::spelling;
use crate::http::problem::Mistake;

/// Unknown fields that are told one by one. A body of nothing else would otherwise be
/// answered with many times its length.
const UNKNOWN_TOLD: usize = 16;
/// Letters of an unknown field that are repeated.
const LETTERS_TOLD: usize = 60;

/// A field that a body may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    Key,
    Quota,
    Algorithm,
    Cost,
    Slices,
    Strict,
}

impl Field {
    const ALL: [Self; 6] =
        [Self::Key, Self::Quota, Self::Algorithm, Self::Cost, Self::Slices, Self::Strict];

    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Key => "key",
            Self::Quota => "quota",
            Self::Algorithm => "algorithm",
            Self::Cost => "cost",
            Self::Slices => "slices",
            Self::Strict => "strict",
        }
    }

    pub(super) fn mistake(self, detail: impl Into<String>) -> Mistake {
        Mistake::new(self.as_str(), detail)
    }
}

/// What a body says, field by field.
#[derive(Debug, Default)]
pub(super) struct Fields<'a> {
    found: [Option<Found<'a>>; Field::ALL.len()],
    repeated: [bool; Field::ALL.len()],
    unknown: Vec<String>,
    unknown_untold: usize,
}

impl<'a> Fields<'a> {
    /// Takes out what was found in a field.
    pub(super) fn take(&mut self, field: Field) -> Option<Found<'a>> {
        self.found[field as usize].take()
    }

    /// What is wrong with the fields themselves, whatever their values.
    pub(super) fn mistakes(&self) -> Vec<Mistake> {
        let repeated = Field::ALL.into_iter().filter(|field| self.repeated[*field as usize]);
        let repeated = repeated.map(|field| {
            field.mistake("it is given more than once; give it once, or leave it out")
        });
        let unknown = self.unknown.iter().map(|name| Mistake::new(name.clone(), unknown(name)));
        let mut mistakes: Vec<_> = repeated.chain(unknown).collect();
        if self.unknown_untold > 0 {
            let detail = format!("there are {} more unknown fields", self.unknown_untold);
            mistakes.push(Mistake::new("body", detail));
        }
        mistakes
    }

    fn put(&mut self, field: Field, found: Found<'a>) {
        let place = &mut self.found[field as usize];
        self.repeated[field as usize] |= place.is_some();
        *place = Some(found);
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

fn unknown(name: &str) -> String {
    let known = Field::ALL.map(Field::as_str);
    let meant = spelling::closest(name, known);
    let meant = meant.map(|meant| format!("did you mean `{meant}`? ")).unwrap_or_default();
    format!("there is no such field; {meant}the fields are {}", known.join(", "))
}

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(FieldsReader)
    }
}

struct FieldsReader;

impl<'de> Visitor<'de> for FieldsReader {
    type Value = Fields<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Fields<'de>, A::Error> {
        let mut fields = Fields::default();
        while let Some((name, found)) = object.next_entry::<Name, Found<'de>>()? {
            match name {
                Name::Known(field) => fields.put(field, found),
                Name::Unknown(name) => fields.put_unknown(name),
            }
        }
        Ok(fields)
    }
}

/// The name of a field, copied only if it is not one of ours.
enum Name {
    Known(Field),
    Unknown(String),
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_str(NameReader)
    }
}

struct NameReader;

impl Visitor<'_> for NameReader {
    type Value = Name;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a field")
    }

    fn visit_str<E>(self, name: &str) -> Result<Name, E> {
        let known = Field::ALL.into_iter().find(|field| field.as_str() == name);
        Ok(known
            .map_or_else(|| Name::Unknown(name.chars().take(LETTERS_TOLD).collect()), Name::Known))
    }
}

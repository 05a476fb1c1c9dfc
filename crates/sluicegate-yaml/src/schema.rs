//! Tables of the fields of a file, for validation and for the JSON schema.

mod describe;
mod json_schema;
#[cfg(test)]
pub(crate) mod tests;
mod validate;

pub use self::json_schema::json_schema;
pub use self::validate::validate;

use crate::node::{MapEntry, Node};

/// A map with named fields.
pub struct Object {
    /// The noun for it, with its article: "a rule".
    pub name: &'static str,
    /// Its description in the JSON schema.
    pub about: &'static str,
    /// The known fields.
    pub fields: &'static [Field],
    /// Entries whose names the user chooses, besides the fields.
    pub free_fields: Option<&'static FreeFields>,
    /// Recognises unknown fields, such as those of other systems.
    pub hint: Option<fn(&MapEntry, &Node) -> Option<Hint>>,
}

/// The answer to an unknown field that is recognised.
pub struct Hint {
    /// The correct way to write it.
    pub help: String,
    /// The field that it stands for, which is then not reported as missing as well.
    pub field: Option<&'static str>,
}

impl Object {
    /// The field of that name.
    pub fn field(&self, name: &str) -> Option<&'static Field> {
        self.fields.iter().find(|field| field.name == name)
    }
}

/// Entries of a map whose names the user chooses.
pub struct FreeFields {
    /// The noun for one of them, with its article: "a header".
    pub what: &'static str,
    /// Whether a name is accepted.
    pub names: fn(&str) -> bool,
    /// The accepted names as a regular expression, for the JSON schema only.
    pub regex: &'static str,
    /// The kind of every such value.
    pub kind: &'static ValueKind,
}

/// One field of a map.
pub struct Field {
    /// The name.
    pub name: &'static str,
    /// Its description in the JSON schema.
    pub about: &'static str,
    /// The kind of its value.
    pub kind: ValueKind,
    /// Whether a map without it is an error.
    pub required: bool,
    /// An example of a value.
    pub example: Option<&'static str>,
}

/// The kind of value that is accepted.
pub enum ValueKind {
    /// Any single value.
    Text,
    /// A number without a sign or a decimal point.
    Whole,
    /// `true` or `false`.
    Flag,
    /// Nothing.
    Null,
    /// Exactly this.
    Literal(&'static str),
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// One of these words, where users are likely to try others.
    OneOfWith {
        /// The accepted words.
        words: &'static [&'static str],
        /// Other words in snake case, each with the help that is shown for it.
        foreign: &'static [(&'static str, &'static str)],
    },
    /// A text with a format of its own, which is parsed elsewhere.
    Pattern {
        /// The noun for it, with its article: "a duration".
        what: &'static str,
        /// An example of a value.
        example: &'static str,
        /// The format as a regular expression, for the JSON schema only.
        regex: &'static str,
    },
    /// A list of values of one kind.
    List(&'static ValueKind),
    /// A list, or its only item without the list.
    OneOrMany(&'static ValueKind),
    /// A map with named fields.
    Object(&'static Object),
    /// A map whose names the user chooses.
    Map {
        /// The noun for an entry, with its article: "a tier".
        what: &'static str,
        /// The kind of every value.
        of: &'static ValueKind,
    },
    /// One of several, chosen by whether the value is a map, a list, a scalar or null.
    Any(&'static [ValueKind]),
}

//! What may stand where in a file: the tables that the check and the JSON schema are made from.

mod check;
mod schema;
#[cfg(test)]
pub(crate) mod tests;
mod words;

pub(crate) use self::check::check;
pub(crate) use self::schema::schema;

/// A map with named fields.
pub(crate) struct Shape {
    /// With its article: "a rule".
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) fields: &'static [Field],
    /// Entries with free names besides the fields.
    pub(crate) others: Option<&'static Others>,
}

impl Shape {
    /// The field of that name.
    pub(crate) fn field(&self, name: &str) -> Option<&'static Field> {
        self.fields.iter().find(|field| field.name == name)
    }
}

/// Entries of a map that the user names.
pub(crate) struct Others {
    /// What they are called, with an article: "a header".
    pub(crate) what: &'static str,
    /// Which names count.
    pub(crate) names: fn(&str) -> bool,
    /// The same as a regular expression, for the schema only.
    pub(crate) regex: &'static str,
    pub(crate) kind: &'static Kind,
}

/// One field of a map.
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) kind: Kind,
    pub(crate) required: bool,
    /// What could stand after `name: `.
    pub(crate) example: Option<&'static str>,
}

/// What a value has to be.
pub(crate) enum Kind {
    /// Any single value.
    Text,
    /// A number without sign and point.
    Whole,
    /// `true` or `false`.
    Flag,
    /// Nothing.
    Null,
    /// Exactly this.
    Literal(&'static str),
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// A text with an inner form, which is read elsewhere.
    Pattern {
        /// With its article: "a duration".
        what: &'static str,
        example: &'static str,
        /// For the schema only.
        regex: &'static str,
    },
    List(&'static Kind),
    /// A list, or its only item without the list.
    OneOrMany(&'static Kind),
    Object(&'static Shape),
    /// A map in which the user chooses the names.
    Map {
        /// What an entry is called, with an article: "a tier".
        what: &'static str,
        of: &'static Kind,
    },
    /// One of several, told apart by whether they are a map, a list, a scalar or nothing.
    Any(&'static [Kind]),
}

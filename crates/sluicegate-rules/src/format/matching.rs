//! Which requests, in a rule file.

use super::{NETWORK, ZONE, optional};
use crate::shape::{Kind, Shape};

pub(super) static MATCH: Shape = Shape {
    name: "a match",
    about: "Which requests: all of this has to be so. Of a list, one.",
    fields: &[
        optional("method", "The method.", Kind::OneOrMany(&Kind::Text)),
        optional(
            "host",
            "The host: `api.example.com`, or `*.example.com`.",
            Kind::OneOrMany(&Kind::Text),
        ),
        optional("path", "The path: `/users/{id}`, `/reports/**`.", Kind::OneOrMany(&Kind::Text)),
        optional(
            "header",
            "Headers, and what each has to be.",
            Kind::Map { what: "a header", of: &CONDITION },
        ),
        optional(
            "attribute",
            "Attributes, and what each has to be.",
            Kind::Map { what: "an attribute", of: &CONDITION },
        ),
        optional(
            "domain",
            "The domain that a descriptor comes from; the attribute `domain`.",
            Kind::OneOrMany(&Kind::Text),
        ),
        optional(
            "descriptor",
            "The entries of a descriptor, and what each has to be: these, and no others.",
            Kind::Map { what: "an entry", of: &CONDITION },
        ),
        optional(
            "identity",
            "Identities, and what each has to be.",
            Kind::Map { what: "an identity", of: &CONDITION },
        ),
        optional("tier", "The caller's tier.", Kind::OneOrMany(&Kind::Text)),
        optional("ip", "The network that the client's address is in.", Kind::OneOrMany(&NETWORK)),
        optional("time", "The time of day.", Kind::OneOrMany(&Kind::Object(&DAYTIME))),
        optional(
            "not",
            "None of this may be so: the rule leaves out what matches it.",
            Kind::OneOrMany(&Kind::Object(&MATCH)),
        ),
    ],
    others: None,
};

/// A text (`*` for any letters), a number, a comparison (`< 30`), a list of these, or `not`.
static CONDITION: Kind = Kind::Any(&[Kind::Text, Kind::List(&Kind::Text), Kind::Object(&IS)]);

static IS: Shape = Shape {
    name: "a condition",
    about: "What a value has to be.",
    fields: &[
        optional("not", "It must not be any of these.", Kind::OneOrMany(&Kind::Text)),
        optional("present", "Whether there has to be one, whatever it is.", Kind::Flag),
        optional("any_of", "It has to be one of these.", Kind::OneOrMany(&Kind::Text)),
    ],
    others: None,
};

static DAYTIME: Shape = Shape {
    name: "a time of day",
    about: "A time of day, on some days of the week.",
    fields: &[
        optional(
            "from",
            "From when on, as in `09:00`; the beginning of the day if left out.",
            Kind::Pattern {
                what: "a time of day",
                example: "09:00",
                regex: "^[0-9]{1,2}:[0-9]{2}$",
            },
        ),
        optional(
            "to",
            "Until when; the end of the day if left out. Before `from` it is meant of the next day.",
            Kind::Pattern {
                what: "a time of day",
                example: "17:00",
                regex: "^[0-9]{1,2}:[0-9]{2}$",
            },
        ),
        optional(
            "days",
            "On which days: `mon`, `mon-fri`; every day if left out.",
            Kind::OneOrMany(&Kind::Text),
        ),
        optional("timezone", "In which time zone; the file's if left out.", ZONE),
    ],
    others: None,
};

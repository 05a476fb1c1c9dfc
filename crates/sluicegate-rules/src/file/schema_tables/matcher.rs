//! The tables of `match`: conditions on requests.

use super::{NETWORK, ZONE, optional};
use sluicegate_yaml::{Object, ValueKind};

pub(super) static MATCH: Object = Object {
    name: "a match",
    about: "Conditions on a request. All fields have to be met; of a list, one value.",
    fields: &[
        optional("method", "The HTTP method.", ValueKind::OneOrMany(&ValueKind::Text)),
        optional(
            "host",
            "The host: `api.example.com`, or `*.example.com`.",
            ValueKind::OneOrMany(&ValueKind::Text),
        ),
        optional(
            "path",
            "The path: `/users/{id}`, `/reports/**`.",
            ValueKind::OneOrMany(&ValueKind::Text),
        ),
        optional(
            "header",
            "Headers, each with its condition.",
            ValueKind::Map { what: "a header", of: &CONDITION },
        ),
        optional(
            "attribute",
            "Attributes, each with its condition.",
            ValueKind::Map { what: "an attribute", of: &CONDITION },
        ),
        optional(
            "domain",
            "The domain of a descriptor: the attribute `domain`.",
            ValueKind::OneOrMany(&ValueKind::Text),
        ),
        optional(
            "descriptor",
            "The entries of a descriptor, each with its condition: these, and no others.",
            ValueKind::Map { what: "an entry", of: &CONDITION },
        ),
        optional(
            "identity",
            "Identities, each with its condition.",
            ValueKind::Map { what: "an identity", of: &CONDITION },
        ),
        optional("tier", "The caller's tier.", ValueKind::OneOrMany(&ValueKind::Text)),
        optional("ip", "The networks of the client's address.", ValueKind::OneOrMany(&NETWORK)),
        optional("time", "The time of day.", ValueKind::OneOrMany(&ValueKind::Object(&DAYTIME))),
        optional(
            "not",
            "Exceptions: requests that the rule does not apply to.",
            ValueKind::OneOrMany(&ValueKind::Object(&MATCH)),
        ),
    ],
    free_fields: None,
    hint: None,
};

/// A text (`*` for any characters), a number, a comparison (`< 30`), a list of these, or `not`.
static CONDITION: ValueKind =
    ValueKind::Any(&[ValueKind::Text, ValueKind::List(&ValueKind::Text), ValueKind::Object(&IS)]);

static IS: Object = Object {
    name: "a condition",
    about: "A condition on a value: one of the fields.",
    fields: &[
        optional("not", "The value is none of these.", ValueKind::OneOrMany(&ValueKind::Text)),
        optional("present", "Whether there is a value.", ValueKind::Flag),
        optional("any_of", "The value is one of these.", ValueKind::OneOrMany(&ValueKind::Text)),
    ],
    free_fields: None,
    hint: None,
};

static DAYTIME: Object = Object {
    name: "a time of day",
    about: "A time of day on some days of the week.",
    fields: &[
        optional(
            "from",
            "The start, as in `09:00`; the start of the day by default.",
            ValueKind::Pattern {
                what: "a time of day",
                example: "09:00",
                regex: "^[0-9]{1,2}:[0-9]{2}$",
            },
        ),
        optional(
            "to",
            "The end; the end of the day by default. An end before `from` is on the next day.",
            ValueKind::Pattern {
                what: "a time of day",
                example: "17:00",
                regex: "^[0-9]{1,2}:[0-9]{2}$",
            },
        ),
        optional(
            "days",
            "The days: `mon`, `mon-fri`; every day by default.",
            ValueKind::OneOrMany(&ValueKind::Text),
        ),
        optional("timezone", "The time zone; the file's by default.", ZONE),
    ],
    free_fields: None,
    hint: None,
};

//! How much, in a rule file.

use super::{TIME, ZONE, optional, required};
use crate::shape::{Field, Kind, Others, Shape};

pub(super) const ALGORITHM: Kind = Kind::OneOf(&[
    "token_bucket",
    "leaky_bucket",
    "queue",
    "fixed_window",
    "sliding_window",
    "sliding_log",
]);

/// More about how a quota is counted, beside a rule's limit or within one.
pub(super) const SLICES: Field =
    optional("slices", "For `sliding_window`: into how many blocks it is cut.", Kind::Whole);
const STRICT: Field = optional(
    "strict",
    "For `sliding_window`: count the oldest block in full, and never exceed.",
    Kind::Flag,
);
pub(super) const TIMEZONE: Field =
    optional("timezone", "For `fixed_window`: the time zone of its calendar.", ZONE);

const QUOTA: Kind = Kind::Pattern { what: "a quota", example: "100/min", regex: "^ *[0-9].*$" };

/// `limit`: a quota, several, or more about one.
pub(super) const LIMIT: Kind = Kind::Any(&[QUOTA, Kind::Object(&ONE), Kind::List(&EITHER)]);
const EITHER: Kind = Kind::Any(&[QUOTA, Kind::Object(&ONE)]);

static ONE: Shape = Shape {
    name: "a limit",
    about: "A quota with an algorithm of its own, slots in flight, or what the caller's tier says.",
    fields: &[
        optional("quota", "How much per how long.", QUOTA),
        optional("algorithm", "How it is counted; the rule's if left out.", ALGORITHM),
        SLICES,
        STRICT,
        TIMEZONE,
        optional("concurrent", "So many in flight.", Kind::Whole),
        optional(
            "lease",
            "After how long a slot comes back whose holder has died; 60s if left out.",
            TIME,
        ),
        optional("tier", "The entry of the caller's tier that says how much.", Kind::Text),
    ],
    others: None,
};

/// What one tier may.
pub(super) static TIER: Kind = Kind::Any(&[
    Kind::Literal("unlimited"),
    Kind::Map {
        what: "a limit of a tier",
        of: &Kind::Any(&[
            Kind::Pattern {
                what: "a quota or `unlimited`",
                example: "100/min",
                regex: "^(unlimited| *[0-9].*)$",
            },
            Kind::Object(&TIER_LIMIT),
            Kind::List(&EITHER),
        ]),
    },
]);

static TIER_LIMIT: Shape = Shape {
    name: "a limit of a tier",
    about: "How much, and what is admitted beyond it.",
    fields: &[
        required("limit", "How much.", "100/min", LIMIT),
        optional(
            "soft",
            "What is admitted beyond it, and how; the rule's if left out.",
            Kind::Any(&[Kind::Literal("off"), Kind::Object(&SOFT)]),
        ),
    ],
    others: None,
};

pub(super) static SOFT: Shape = Shape {
    name: "a soft limit",
    about: "What is admitted beyond the limit: so many extra in the same time, or a grace quota; each held back for the delay.",
    fields: &[
        optional("extra", "So many more in the same time.", Kind::Whole),
        optional("grace", "A quota of its own.", QUOTA),
        optional("delay", "How long each of them is held back; not at all if left out.", TIME),
    ],
    others: None,
};

pub(super) static COOLDOWN: Shape = Shape {
    name: "a cooldown",
    about: "After so many failures within a time, blocked for a while.",
    fields: &[
        required("after", "How many failures.", "5", Kind::Whole),
        required("within", "How close together.", "10m", TIME),
        required("block", "How long blocked.", "15m", TIME),
        optional("factor", "How many times longer each further block is.", Kind::Whole),
        optional("longest", "The longest a block gets.", TIME),
        optional(
            "on_status",
            "The statuses of an answer that count as failures; 401 and 403 if left out.",
            Kind::OneOrMany(&Kind::Whole),
        ),
        optional(
            "pending",
            "How long an admitted attempt that is not reported counts as a failure; not at all if left out.",
            TIME,
        ),
        optional(
            "reset_on_success",
            "Whether a reported success clears the failures; it does not if left out.",
            Kind::Flag,
        ),
    ],
    others: None,
};

pub(super) static COST: Shape = Shape {
    name: "a cost",
    about: "What a request costs: by endpoint (`GET /search`, `/search` or `GET`: the first that matches), by a header, an attribute or the size of its body.",
    fields: &[
        optional("default", "What everything else costs.", Kind::Whole),
        optional("max", "The most that anything costs.", Kind::Whole),
        optional("header", "A header whose number is the cost.", Kind::Text),
        optional("attribute", "An attribute whose number is the cost.", Kind::Text),
        optional(
            "body",
            "Units by size of the body, begun ones included: `1 per 64KiB`.",
            Kind::Pattern {
                what: "units per size",
                example: "1 per 64KiB",
                regex: "^[0-9]+ per [0-9]+ ?([KMG]i?B|B)?$",
            },
        ),
    ],
    others: Some(&Others {
        what: "an endpoint, as in `GET /search`",
        names: is_endpoint,
        regex: "/|^[A-Z]+$",
        kind: &Kind::Whole,
    }),
};

/// `GET /search`, `/search` or `GET`: not a misspelt field.
fn is_endpoint(name: &str) -> bool {
    name.contains('/')
        || (!name.is_empty() && name.bytes().all(|letter| letter.is_ascii_uppercase()))
}

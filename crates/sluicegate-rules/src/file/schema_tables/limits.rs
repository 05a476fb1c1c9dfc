//! The tables of limits, costs and cooldowns.

use super::{TIME, ZONE, foreign, optional, required};
use sluicegate_yaml::{Field, FreeFields, Object, ValueKind};

pub(super) const ALGORITHM: ValueKind = ValueKind::OneOfWith {
    words: &[
        "token_bucket",
        "leaky_bucket",
        "queue",
        "fixed_window",
        "sliding_window",
        "sliding_log",
    ],
    foreign: foreign::ALGORITHMS,
};

/// `slices` of a sliding window, in a rule or in a limit.
pub(super) const SLICES: Field =
    optional("slices", "For `sliding_window`: the number of blocks of a window.", ValueKind::Whole);
const STRICT: Field = optional(
    "strict",
    "For `sliding_window`: whether the oldest block counts in full, so that the limit is never exceeded.",
    ValueKind::Flag,
);
pub(super) const TIMEZONE: Field =
    optional("timezone", "For `fixed_window`: the time zone of its calendar.", ZONE);

const QUOTA: ValueKind =
    ValueKind::Pattern { what: "a quota", example: "100/min", regex: "^ *[0-9].*$" };

/// `limit`: a quota, a list, or a map with settings.
pub(super) const LIMIT: ValueKind =
    ValueKind::Any(&[QUOTA, ValueKind::Object(&ONE), ValueKind::List(&EITHER)]);
const EITHER: ValueKind = ValueKind::Any(&[QUOTA, ValueKind::Object(&ONE)]);

static ONE: Object = Object {
    name: "a limit",
    about: "A quota with its own algorithm, a concurrency limit, or an entry of the caller's tier.",
    fields: &[
        optional("quota", "The amount per period, and the burst.", QUOTA),
        optional("algorithm", "The algorithm; the rule's by default.", ALGORITHM),
        SLICES,
        STRICT,
        TIMEZONE,
        optional("concurrent", "The largest number of requests in flight.", ValueKind::Whole),
        optional(
            "lease",
            "The time after which an abandoned slot is released; 60s by default.",
            TIME,
        ),
        optional("tier", "The entry of the caller's tier that has the limit.", ValueKind::Text),
    ],
    free_fields: None,
    hint: Some(foreign::in_limit),
};

/// One tier: its limits by name, or `unlimited`.
pub(super) static TIER: ValueKind = ValueKind::Any(&[
    ValueKind::Literal("unlimited"),
    ValueKind::Map {
        what: "a limit of a tier",
        of: &ValueKind::Any(&[
            ValueKind::Pattern {
                what: "a quota or `unlimited`",
                example: "100/min",
                regex: "^(unlimited| *[0-9].*)$",
            },
            ValueKind::Object(&TIER_LIMIT),
            ValueKind::List(&EITHER),
        ]),
    },
]);

static TIER_LIMIT: Object = Object {
    name: "a limit of a tier",
    about: "A limit with a soft limit of its own.",
    fields: &[
        required("limit", "The limit.", "100/min", LIMIT),
        optional(
            "soft",
            "Requests that are admitted beyond it, or `off`; the soft limit of the rule by default.",
            ValueKind::Any(&[ValueKind::Literal("off"), ValueKind::Object(&SOFT)]),
        ),
    ],
    free_fields: None,
    hint: Some(foreign::beside_limit),
};

pub(super) static SOFT: Object = Object {
    name: "a soft limit",
    about: "Requests that are admitted beyond the limit, each after a delay: an extra amount in the same period, or a grace quota.",
    fields: &[
        optional("extra", "An amount in addition, in the period of the limit.", ValueKind::Whole),
        optional("grace", "A quota in addition, with its own period.", QUOTA),
        optional("delay", "The delay of each of these requests; none by default.", TIME),
    ],
    free_fields: None,
    hint: None,
};

pub(super) static COOLDOWN: Object = Object {
    name: "a cooldown",
    about: "A block after a number of failures within a period.",
    fields: &[
        required("after", "The number of failures.", "5", ValueKind::Whole),
        required("within", "The period in which they count.", "10m", TIME),
        required("block", "The length of the block.", "15m", TIME),
        optional(
            "factor",
            "The factor by which each further block is longer; needs `longest`.",
            ValueKind::Whole,
        ),
        optional("longest", "The longest block; needs `factor`.", TIME),
        optional(
            "on_status",
            "The response statuses that count as failures; 401 and 403 by default.",
            ValueKind::OneOrMany(&ValueKind::Whole),
        ),
        optional(
            "pending",
            "How long an admitted attempt counts as a failure until it is reported; not at all by default.",
            TIME,
        ),
        optional(
            "reset_on_success",
            "Whether a reported success clears the failures; no by default.",
            ValueKind::Flag,
        ),
    ],
    free_fields: None,
    hint: None,
};

pub(super) static COST: Object = Object {
    name: "a cost",
    about: "The cost of a request: by endpoint (`GET /search`, `/search` or `GET`: the first that matches), by a header, an attribute, or the size of its body.",
    fields: &[
        optional("default", "The cost of all other requests.", ValueKind::Whole),
        optional("max", "The upper bound of every cost.", ValueKind::Whole),
        optional("header", "A header whose number is the cost.", ValueKind::Text),
        optional("attribute", "An attribute whose number is the cost.", ValueKind::Text),
        optional(
            "body",
            "Units per size of the body, rounded up: `1 per 64KiB`.",
            ValueKind::Pattern {
                what: "units per size",
                example: "1 per 64KiB",
                regex: "^[0-9]+ per [0-9]+ ?([KMG]i?B|B)?$",
            },
        ),
    ],
    hint: None,
    free_fields: Some(&FreeFields {
        what: "an endpoint, as in `GET /search`",
        names: is_endpoint,
        regex: "/|^[A-Z]+$",
        kind: &ValueKind::Whole,
    }),
};

/// Whether a name is an endpoint (`GET /search`, `/search` or `GET`) and not a misspelt field.
fn is_endpoint(name: &str) -> bool {
    name.contains('/')
        || (!name.is_empty() && name.bytes().all(|letter| letter.is_ascii_uppercase()))
}

//! What callers are told, in a rule file.

use super::optional;
use crate::shape::{Kind, Shape};

pub(super) static HEADERS: Shape = Shape {
    name: "the headers",
    about: "How callers are told how they stand.",
    fields: &[
        optional(
            "names",
            "What the headers about the strictest limit are called: `x-ratelimit` (X-RateLimit-Limit, the default), `x-rate-limit` (X-Rate-Limit-Limit), `ratelimit-legacy` (RateLimit-Limit) or `off`.",
            Kind::OneOf(&["x-ratelimit", "x-rate-limit", "ratelimit-legacy", "off"]),
        ),
        optional(
            "reset",
            "How those tell when the counter is untouched again: `delta`, in seconds from now (the default), or `epoch`, in seconds since 1970.",
            Kind::OneOf(&["delta", "epoch"]),
        ),
        optional(
            "ietf",
            "Whether there are `RateLimit` and `RateLimit-Policy` for all limits; yes if left out.",
            Kind::Flag,
        ),
        optional(
            "upgrade_url",
            "Where more is to be had; told with refusals.",
            Kind::Pattern {
                what: "the URL of a page",
                example: "https://example.com/plans",
                regex: "^https?://[!-~]+$",
            },
        ),
        optional("upgrade_message", "The same in a sentence.", Kind::Text),
    ],
    others: None,
};

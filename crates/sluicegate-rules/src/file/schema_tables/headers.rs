//! The table of `headers`: response headers.

use super::optional;
use sluicegate_yaml::{Object, ValueKind};

pub(super) static HEADERS: Object = Object {
    name: "the headers",
    about: "Response headers about limits.",
    fields: &[
        optional(
            "names",
            "The names of the headers about the strictest limit: `x-ratelimit` (X-RateLimit-Limit, the default), `x-rate-limit` (X-Rate-Limit-Limit), `ratelimit-legacy` (RateLimit-Limit) or `off`.",
            ValueKind::OneOf(&["x-ratelimit", "x-rate-limit", "ratelimit-legacy", "off"]),
        ),
        optional(
            "reset",
            "The unit of their reset time: `delta`, seconds from now (the default), or `epoch`, seconds since 1970.",
            ValueKind::OneOf(&["delta", "epoch"]),
        ),
        optional(
            "ietf",
            "Whether to send `RateLimit` and `RateLimit-Policy`, with all limits; yes by default.",
            ValueKind::Flag,
        ),
        optional(
            "upgrade_url",
            "A page about larger limits, which refusals link to.",
            ValueKind::Pattern {
                what: "the URL of a page",
                example: "https://example.com/plans",
                regex: "^https?://[!-~]+$",
            },
        ),
        optional(
            "upgrade_message",
            "A sentence about larger limits, for refusals.",
            ValueKind::Text,
        ),
    ],
    free_fields: None,
    hint: None,
};

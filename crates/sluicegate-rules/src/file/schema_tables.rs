//! Tables of the fields of a rule file, for validation and for the JSON schema.

pub(crate) mod foreign;
mod headers;
mod identify;
mod limits;
mod matcher;
mod store;

use crate::file::lint;
use sluicegate_yaml::{Field, Object, ValueKind};

/// The top level of a rule file.
pub(crate) static FILE: ValueKind = ValueKind::Object(&Object {
    name: "a rule file",
    about: "Identities, rules with their limits, and settings of the program.",
    fields: &[
        optional(
            "include",
            "Other files, folders or patterns such as `rules/*.yaml` that belong to this rule set.",
            ValueKind::OneOrMany(&ValueKind::Text),
        ),
        optional(
            "store",
            "The store of the counters: `memory`, the URL of a Redis or Valkey that nodes share, or either with its settings.",
            ValueKind::Any(&[store::NAMED, ValueKind::Object(&store::STORE)]),
        ),
        optional("listen", "The addresses to listen on.", ValueKind::Object(&LISTEN)),
        optional(
            "secret",
            "The key of the digests of secret identities, the same on all nodes. Take it from the environment: `${SLUICEGATE_SECRET}`.",
            ValueKind::Text,
        ),
        optional(
            "timezone",
            "The time zone of calendar windows, times of day and dates without one of their own; UTC by default.",
            ZONE,
        ),
        optional("paths", "How the upstream reads paths.", ValueKind::Object(&PATHS)),
        optional("headers", "Response headers about limits.", ValueKind::Object(&headers::HEADERS)),
        optional(
            "identify",
            "The identities: each name is a way to tell callers apart.",
            ValueKind::Object(&identify::IDENTIFY),
        ),
        optional(
            "tiers",
            "The tiers, each with the limits that rules use with `limit: { tier: … }`.",
            ValueKind::Map { what: "a tier", of: &limits::TIER },
        ),
        optional(
            "rules",
            "The rules. All rules that apply to a request are enforced together.",
            ValueKind::List(&RULE),
        ),
        optional("allow", "Callers that no rule applies to.", ValueKind::List(&LISTED)),
        optional("block", "Callers that are always refused.", ValueKind::List(&LISTED)),
        optional(
            "overrides",
            "Other limits or another tier, for one caller or for a whole rule, for a period of time.",
            ValueKind::List(&OVERRIDE),
        ),
    ],
    free_fields: None,
    hint: None,
});

static LISTEN: Object = Object {
    name: "the listeners",
    about: "The addresses to listen on.",
    fields: &[
        optional(
            "http",
            "The address for HTTP, or `off`.",
            ValueKind::Any(&[ADDRESS, ValueKind::Object(&LISTENER)]),
        ),
        optional("grpc", "The address for gRPC, or `off`.", ADDRESS),
        optional("resp", "The address for the Redis protocol, or `off`.", ADDRESS),
    ],
    free_fields: None,
    hint: None,
};

static LISTENER: Object = Object {
    name: "a listener",
    about: "An address to listen on, with its settings.",
    fields: &[
        required("address", "The address with its port.", "127.0.0.1:7070", ADDRESS),
        optional(
            "proxy_protocol",
            "Networks of the proxies that begin each connection with a PROXY header; their connections require it.",
            ValueKind::OneOrMany(&NETWORK),
        ),
    ],
    free_fields: None,
    hint: None,
};

static PATHS: Object = Object {
    name: "the path settings",
    about: "How the upstream reads paths.",
    fields: &[
        optional(
            "ignore_case",
            "Whether `/Checkout` and `/checkout` are the same path; no by default.",
            ValueKind::Flag,
        ),
        optional(
            "ignore_trailing",
            "Characters that the upstream ignores at the end of a segment, as in `[\".\", \"%20\"]`.",
            ValueKind::OneOrMany(&ValueKind::Text),
        ),
    ],
    free_fields: None,
    hint: None,
};

static RULE: ValueKind = ValueKind::Object(&Object {
    name: "a rule",
    about: "The requests it applies to, the key of its counters, its limits, and its actions.",
    fields: &[
        required(
            "name",
            "The name of the rule in answers and metrics, and of its counters in the store.",
            "per-user",
            ValueKind::Pattern {
                what: "a name",
                example: "per-user",
                regex: "^[A-Za-z0-9_.-]{1,64}$",
            },
        ),
        optional("about", "A description for people.", ValueKind::Text),
        optional(
            "match",
            "The requests it applies to; all requests by default.",
            ValueKind::Object(&matcher::MATCH),
        ),
        required(
            "key",
            "The identities that have a counter together, one for each combination; `[]` is one counter for all callers.",
            "[user]",
            ValueKind::OneOrMany(&ValueKind::Text),
        ),
        optional(
            "limit",
            "A quota, a list of quotas, a concurrency limit, or an entry of the caller's tier.",
            limits::LIMIT,
        ),
        optional(
            "algorithm",
            "The algorithm of the limit; `token_bucket` (GCRA) by default.",
            limits::ALGORITHM,
        ),
        limits::SLICES,
        optional(
            "strict",
            "Whether a replica of the store has to acknowledge each admission, so that a failover loses none; without an acknowledgement `on_store_error` applies. With `sliding_window` the oldest block also counts in full, so that the limit is never exceeded.",
            ValueKind::Flag,
        ),
        limits::TIMEZONE,
        optional(
            "cost",
            "The cost of a request; the cost that the caller states by default, or 1.",
            ValueKind::Any(&[ValueKind::Whole, ValueKind::Object(&limits::COST)]),
        ),
        optional(
            "debt",
            "Whether a settlement may go into debt, up to the capacity of the limit; no by default.",
            ValueKind::Flag,
        ),
        optional(
            "soft",
            "Requests that are admitted beyond the limit, with or without a delay.",
            ValueKind::Object(&limits::SOFT),
        ),
        optional(
            "cooldown",
            "A block after failures that the application reports.",
            ValueKind::Object(&limits::COOLDOWN),
        ),
        optional(
            "mode",
            "`enforce`, or `shadow`: count and report, never block; `enforce` by default.",
            ValueKind::OneOfWith { words: &["enforce", "shadow"], foreign: foreign::MODES },
        ),
        optional(
            "if_missing",
            "The behaviour if an identity of the key is missing; that of the identity by default.",
            identify::IF_MISSING,
        ),
        optional(
            "scope",
            "`cluster`: one counter for all nodes that share the store, the default; `node`: a counter of this process alone.",
            ValueKind::OneOfWith { words: &["node", "cluster"], foreign: foreign::SCOPES },
        ),
        optional(
            "on_store_error",
            "The fallback while the store is down: `local`, this node's share of the limit (the default), `allow` (fail open) or `deny` (fail closed).",
            ValueKind::OneOfWith {
                words: &["allow", "deny", "local"],
                foreign: foreign::ON_STORE_ERROR,
            },
        ),
        optional(
            "carry_over",
            "Whether usage carries over a change of tier; yes by default.",
            ValueKind::Flag,
        ),
        optional(
            "headers",
            "Whether the rule is in response headers; yes by default.",
            ValueKind::Flag,
        ),
        optional(
            "message",
            "The detail of its refusals, in place of a sentence with the name of the limit.",
            ValueKind::Text,
        ),
        optional(
            "accept",
            "Warnings that are intended for this rule and are not reported.",
            ValueKind::OneOrMany(&ValueKind::OneOf(lint::ACCEPTABLE)),
        ),
    ],
    free_fields: None,
    hint: Some(foreign::in_rule),
});

static LISTED: ValueKind = ValueKind::Object(&Object {
    name: "an entry of a list",
    about: "Callers, named by one identity.",
    fields: &[
        optional("from", "The start; immediately by default.", MOMENT),
        optional("until", "The end; never by default.", MOMENT),
        optional("reason", "The reason, for people.", ValueKind::Text),
    ],
    free_fields: Some(&identify::CALLERS),
    hint: None,
});

static OVERRIDE: ValueKind = ValueKind::Object(&Object {
    name: "an override",
    about: "Other limits or another tier for a period of time.",
    fields: &[
        optional("name", "A name for people.", ValueKind::Text),
        optional(
            "caller",
            "An identity and its values; all callers by default.",
            ValueKind::Map { what: "an identity", of: &ValueKind::OneOrMany(&ValueKind::Text) },
        ),
        optional("rule", "The rule whose limit is replaced.", ValueKind::Text),
        optional("limit", "The limit in place of the rule's.", limits::LIMIT),
        optional("tier", "The tier in place of the caller's.", ValueKind::Text),
        optional("from", "The start; immediately by default.", MOMENT),
        optional("until", "The end; never by default.", MOMENT),
        optional("reason", "The reason, for people.", ValueKind::Text),
    ],
    free_fields: None,
    hint: Some(foreign::beside_limit),
});

const ADDRESS: ValueKind = ValueKind::Pattern {
    what: "an address with a port, or `off`",
    example: "127.0.0.1:7070",
    regex: "^(off|.+:[0-9]+)$",
};
const BYTES: ValueKind = ValueKind::Pattern {
    what: "an amount of memory",
    example: "256MiB",
    regex: "^[0-9]+ ?([KMG]i?B|B)?$",
};
const TIME: ValueKind =
    ValueKind::Pattern { what: "a duration", example: "15m", regex: "^[0-9_]+ ?[a-zA-Zµμ]+$" };
const ZONE: ValueKind = ValueKind::Pattern {
    what: "a time zone",
    example: "Europe/Berlin",
    regex: "^[A-Za-z0-9_+/-]+$",
};
const MOMENT: ValueKind = ValueKind::Pattern {
    what: "a date and time",
    example: "2026-11-27T00:00",
    regex: "^[0-9]{4}-[0-9]{2}-[0-9]{2}.*$",
};
const NETWORK: ValueKind = ValueKind::Pattern {
    what: "a network or address",
    example: "10.0.0.0/8",
    regex: "^[0-9A-Fa-f:./a-z_]+$",
};

const fn optional(name: &'static str, about: &'static str, kind: ValueKind) -> Field {
    Field { name, about, kind, required: false, example: None }
}

const fn required(
    name: &'static str,
    about: &'static str,
    example: &'static str,
    kind: ValueKind,
) -> Field {
    Field { name, about, kind, required: true, example: Some(example) }
}

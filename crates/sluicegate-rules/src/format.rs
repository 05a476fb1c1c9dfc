//! What may stand in a rule file, and where: the tables that files are checked against and that the
//! schema is made from.

mod headers;
mod identify;
mod limits;
mod matching;
mod store;

use crate::shape::{Field, Kind, Shape};

/// A whole file.
pub(crate) static FILE: Kind = Kind::Object(&Shape {
    name: "a rule file",
    about: "Who is asking, how much they may, and what then.",
    fields: &[
        optional(
            "include",
            "Other files, folders or patterns such as `rules/*.yaml` whose rules belong to these too.",
            Kind::OneOrMany(&Kind::Text),
        ),
        optional(
            "store",
            "Where counters live: `memory`, the URL of a Redis or Valkey that nodes share, or either with its settings.",
            Kind::Any(&[store::NAMED, Kind::Object(&store::STORE)]),
        ),
        optional("listen", "Where to listen.", Kind::Object(&LISTEN)),
        optional(
            "secret",
            "What secret identities are digested with; the same on all nodes. Take it from the environment: `${SLUICEGATE_SECRET}`.",
            Kind::Text,
        ),
        optional(
            "timezone",
            "The time zone of calendar windows, times of day, starts and ends that name none. UTC if left out.",
            ZONE,
        ),
        optional("paths", "How paths are read.", Kind::Object(&PATHS)),
        optional(
            "headers",
            "How callers are told how they stand.",
            Kind::Object(&headers::HEADERS),
        ),
        optional(
            "identify",
            "Who is asking: each name is a way to tell callers apart.",
            Kind::Object(&identify::IDENTIFY),
        ),
        optional(
            "tiers",
            "The tiers, each with the limits that rules refer to by `limit: { tier: … }`.",
            Kind::Map { what: "a tier", of: &limits::TIER },
        ),
        optional(
            "rules",
            "The rules. All that apply to a request hold at once.",
            Kind::List(&RULE),
        ),
        optional("allow", "Callers no rule applies to.", Kind::List(&LISTED)),
        optional("block", "Callers who are always refused.", Kind::List(&LISTED)),
        optional(
            "overrides",
            "Other limits or another tier, for one caller or a whole rule, for a time.",
            Kind::List(&OVERRIDE),
        ),
    ],
    others: None,
});

static LISTEN: Shape = Shape {
    name: "the listeners",
    about: "Where to listen.",
    fields: &[
        optional(
            "http",
            "The address for HTTP, or `off`.",
            Kind::Any(&[ADDRESS, Kind::Object(&LISTENER)]),
        ),
        optional("grpc", "The address for gRPC, or `off`.", ADDRESS),
        optional("resp", "The address for the protocol of Redis, or `off`.", ADDRESS),
    ],
    others: None,
};

static LISTENER: Shape = Shape {
    name: "a listener",
    about: "One address to listen on.",
    fields: &[
        required("address", "The address with its port.", "127.0.0.1:7070", ADDRESS),
        optional(
            "proxy_protocol",
            "Networks of the proxies that begin each connection with a PROXY header, which then has to be there.",
            Kind::OneOrMany(&NETWORK),
        ),
    ],
    others: None,
};

static PATHS: Shape = Shape {
    name: "the reading of paths",
    about: "How paths are read.",
    fields: &[
        optional(
            "ignore_case",
            "Whether `/Checkout` and `/checkout` are the same path.",
            Kind::Flag,
        ),
        optional(
            "ignore_trailing",
            "Characters that upstreams ignore at the end of a segment, as in `[\".\", \"%20\"]`.",
            Kind::OneOrMany(&Kind::Text),
        ),
    ],
    others: None,
};

static RULE: Kind = Kind::Object(&Shape {
    name: "a rule",
    about: "Which requests, whose counter, how much, and what then.",
    fields: &[
        required(
            "name",
            "What it is called, in answers and metrics; its counters are filed under it.",
            "per-user",
            Kind::Pattern { what: "a name", example: "per-user", regex: "^[A-Za-z0-9_.-]{1,64}$" },
        ),
        optional("about", "What it is for, for those who read the file.", Kind::Text),
        optional(
            "match",
            "Which requests it applies to; all of them if left out.",
            Kind::Object(&matching::MATCH),
        ),
        required(
            "key",
            "Whose counter: identities, one counter for each combination; `[]` for one counter for everybody.",
            "[user]",
            Kind::OneOrMany(&Kind::Text),
        ),
        optional(
            "limit",
            "How much: a quota, several together, slots in flight, or what the caller's tier says.",
            limits::LIMIT,
        ),
        optional("algorithm", "How it is counted; `token_bucket` if left out.", limits::ALGORITHM),
        limits::SLICES,
        optional(
            "strict",
            "Answer only when a replica of the store has it too, or else as while the store is down: nothing that was admitted is forgotten in a failover. With `sliding_window` it also counts the oldest block in full, and never exceeds.",
            Kind::Flag,
        ),
        limits::TIMEZONE,
        optional(
            "cost",
            "What a request costs: 1 if left out, or what the caller says.",
            Kind::Any(&[Kind::Whole, Kind::Object(&limits::COST)]),
        ),
        optional(
            "debt",
            "Whether what is settled beyond what is left is owed, up to as much again; no if left out.",
            Kind::Flag,
        ),
        optional(
            "soft",
            "What is admitted beyond the limit, and how.",
            Kind::Object(&limits::SOFT),
        ),
        optional(
            "cooldown",
            "A block after failures, which are reported.",
            Kind::Object(&limits::COOLDOWN),
        ),
        optional(
            "mode",
            "`enforce`, or `shadow`: count and report, never block.",
            Kind::OneOf(&["enforce", "shadow"]),
        ),
        optional(
            "if_missing",
            "What to do where an identity of the key is missing; what the identity says if left out.",
            identify::IF_MISSING,
        ),
        optional(
            "scope",
            "Whose count it is: this process', or that of all who share the store.",
            Kind::OneOf(&["node", "cluster"]),
        ),
        optional(
            "on_store_error",
            "What to do while the store is down.",
            Kind::OneOf(&["allow", "deny", "local"]),
        ),
        optional(
            "consistency",
            "How often the count visits the shared store.",
            Kind::Literal("exact"),
        ),
        optional(
            "carry_over",
            "Whether what was used carries over a change of tier; yes if left out.",
            Kind::Flag,
        ),
        optional(
            "headers",
            "Whether callers are told in headers how they stand with it; yes if left out.",
            Kind::Flag,
        ),
        optional(
            "message",
            "What a caller is told that it refuses, instead of which limit it was.",
            Kind::Text,
        ),
    ],
    others: None,
});

static LISTED: Kind = Kind::Object(&Shape {
    name: "an entry of a list",
    about: "Callers, named by an identity.",
    fields: &[
        optional("from", "From when on.", MOMENT),
        optional("until", "Until when.", MOMENT),
        optional("reason", "Why, for those who read the file.", Kind::Text),
    ],
    others: Some(&identify::CALLERS),
});

static OVERRIDE: Kind = Kind::Object(&Shape {
    name: "an override",
    about: "Other limits or another tier for a time.",
    fields: &[
        optional("name", "What it is called, for those who read the file.", Kind::Text),
        optional(
            "caller",
            "For whom: an identity and its value. For everybody if left out.",
            Kind::Map { what: "an identity", of: &Kind::OneOrMany(&Kind::Text) },
        ),
        optional("rule", "Of which rule.", Kind::Text),
        optional("limit", "How much instead.", limits::LIMIT),
        optional("tier", "Which tier instead.", Kind::Text),
        optional("from", "From when on.", MOMENT),
        optional("until", "Until when.", MOMENT),
        optional("reason", "Why, for those who read the file.", Kind::Text),
    ],
    others: None,
});

const ADDRESS: Kind = Kind::Pattern {
    what: "an address with a port, or `off`",
    example: "127.0.0.1:7070",
    regex: "^(off|.+:[0-9]+)$",
};
const BYTES: Kind = Kind::Pattern {
    what: "an amount of memory",
    example: "256MiB",
    regex: "^[0-9]+ ?([KMG]i?B|B)?$",
};
const TIME: Kind =
    Kind::Pattern { what: "a length of time", example: "15m", regex: "^[0-9_]+ ?[a-zA-Zµμ]+$" };
const ZONE: Kind =
    Kind::Pattern { what: "a time zone", example: "Europe/Berlin", regex: "^[A-Za-z0-9_+/-]+$" };
const MOMENT: Kind = Kind::Pattern {
    what: "a date and time",
    example: "2026-11-27T00:00",
    regex: "^[0-9]{4}-[0-9]{2}-[0-9]{2}.*$",
};
const NETWORK: Kind = Kind::Pattern {
    what: "a network or address",
    example: "10.0.0.0/8",
    regex: "^[0-9A-Fa-f:./a-z_]+$",
};

const fn optional(name: &'static str, about: &'static str, kind: Kind) -> Field {
    Field { name, about, kind, required: false, example: None }
}

const fn required(
    name: &'static str,
    about: &'static str,
    example: &'static str,
    kind: Kind,
) -> Field {
    Field { name, about, kind, required: true, example: Some(example) }
}

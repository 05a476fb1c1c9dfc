//! The tables of `store`: the memory store and the shared store.

use super::{BYTES, TIME, optional, required};
use sluicegate_yaml::{Object, ValueKind};

/// A store without settings.
pub(super) const NAMED: ValueKind = ValueKind::Pattern {
    what: "`memory` or the URL of a store",
    example: "redis://127.0.0.1:6379",
    regex: r"^(memory|rediss?(\+(sentinel|cluster))?://.+)$",
};

pub(super) static STORE: Object = Object {
    name: "a store",
    about: "The store of the counters.",
    fields: &[
        optional(
            "memory",
            "The memory of this process. Beside `redis` it has the counters of this node alone, and all counters while the store is down.",
            ValueKind::Any(&[ValueKind::Object(&MEMORY), ValueKind::Null]),
        ),
        optional(
            "redis",
            "A Redis or Valkey that nodes share.",
            ValueKind::Any(&[URL, ValueKind::Object(&REDIS)]),
        ),
    ],
    free_fields: None,
    hint: None,
};

static MEMORY: Object = Object {
    name: "the memory store",
    about: "Counters in the memory of this process.",
    fields: &[
        optional("max", "The largest amount of memory for counters.", BYTES),
        optional("snapshot", "A file that keeps the counters across a restart.", ValueKind::Text),
        optional(
            "snapshot_every",
            "The interval at which it is written, which is the most that a crash loses.",
            TIME,
        ),
    ],
    free_fields: None,
    hint: None,
};

static REDIS: Object = Object {
    name: "the shared store",
    about: "Counters in a Redis or Valkey that nodes share.",
    fields: &[
        required(
            "url",
            "The URL of a server, of its sentinels, or of a cluster.",
            "redis://127.0.0.1:6379",
            URL,
        ),
        optional("username", "The user name for the server.", ValueKind::Text),
        optional(
            "password",
            "The password. Take it from the environment: `${REDIS_PASSWORD}`.",
            ValueKind::Text,
        ),
        optional("password_file", "A file with the password, read at the start.", ValueKind::Text),
        optional(
            "sentinel",
            "The user name and password for the sentinels, which have users of their own.",
            ValueKind::Object(&SENTINEL),
        ),
        optional(
            "ca_file",
            "A file with the certificates (PEM) of trusted authorities; those of the operating system by default.",
            ValueKind::Text,
        ),
        optional(
            "prefix",
            "The prefix of all keys, the same on all nodes; `sluicegate:` by default.",
            ValueKind::Text,
        ),
        optional(
            "pages",
            "The number of pages that the callers of a limit are spread over, the same on all nodes: a power of two up to 1048576; 65536 by default.",
            ValueKind::Whole,
        ),
        optional(
            "deadline",
            "The longest that a decision waits for the server, from 1ms to 1s; 10ms by default.",
            TIME,
        ),
        optional(
            "nodes",
            "The number of nodes that share the limits, until the server has reported it; 1 to 10000.",
            ValueKind::Whole,
        ),
        optional(
            "deny_cache",
            "Whether known refusals are answered locally, without a call to the server; `on` by default.",
            ValueKind::OneOf(&["on", "off"]),
        ),
    ],
    free_fields: None,
    hint: None,
};

static SENTINEL: Object = Object {
    name: "the access to sentinels",
    about: "The user name and password for the sentinels, which have users of their own.",
    fields: &[
        optional(
            "username",
            "The user name for the sentinels; the default user by default.",
            ValueKind::Text,
        ),
        optional(
            "password",
            "The password. Take it from the environment: `${SENTINEL_PASSWORD}`.",
            ValueKind::Text,
        ),
        optional("password_file", "A file with the password, read at the start.", ValueKind::Text),
    ],
    free_fields: None,
    hint: None,
};

const URL: ValueKind = ValueKind::Pattern {
    what: "the URL of a store",
    example: "redis://127.0.0.1:6379",
    regex: r"^rediss?(\+(sentinel|cluster))?://.+$",
};

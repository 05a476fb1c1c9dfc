//! Where counters live, in a rule file.

use super::{BYTES, TIME, optional, required};
use crate::shape::{Kind, Shape};

/// A store without settings.
pub(super) const NAMED: Kind = Kind::Pattern {
    what: "`memory` or the URL of a store",
    example: "redis://127.0.0.1:6379",
    regex: r"^(memory|rediss?(\+(sentinel|cluster))?://.+)$",
};

pub(super) static STORE: Shape = Shape {
    name: "a store",
    about: "Where counters live.",
    fields: &[
        optional(
            "memory",
            "In this process' memory; beside `redis`, the counters of this node alone, and all while the store is down.",
            Kind::Any(&[Kind::Object(&MEMORY), Kind::Null]),
        ),
        optional(
            "redis",
            "In a Redis or Valkey that nodes share.",
            Kind::Any(&[URL, Kind::Object(&REDIS)]),
        ),
    ],
    others: None,
};

static MEMORY: Shape = Shape {
    name: "the memory store",
    about: "Counters in this process' memory.",
    fields: &[
        optional("max", "The most memory that counters take.", BYTES),
        optional("snapshot", "A file that keeps the counters over a restart.", Kind::Text),
        optional("snapshot_every", "How often it is written: what a crash loses at most.", TIME),
    ],
    others: None,
};

static REDIS: Shape = Shape {
    name: "the shared store",
    about: "Counters in a Redis or Valkey that nodes share.",
    fields: &[
        required(
            "url",
            "Where the server is: itself, the sentinels that know, or a cluster.",
            "redis://127.0.0.1:6379",
            URL,
        ),
        optional("username", "Who we are to the server.", Kind::Text),
        optional(
            "password",
            "What proves it. Take it from the environment: `${REDIS_PASSWORD}`.",
            Kind::Text,
        ),
        optional("password_file", "A file with the password, read at the start.", Kind::Text),
        optional(
            "sentinel",
            "Who we are to the sentinels, which have users of their own.",
            Kind::Object(&SENTINEL),
        ),
        optional(
            "ca_file",
            "A file with the certificates (PEM) of those who may vouch for the server; those that the machine trusts if left out.",
            Kind::Text,
        ),
        optional(
            "prefix",
            "What keys begin with, the same on all nodes; `sluicegate:` if left out.",
            Kind::Text,
        ),
        optional(
            "pages",
            "How many pages the callers of a limit are spread over, the same on all nodes: a power of two up to 1048576; 65536 if left out.",
            Kind::Whole,
        ),
        optional(
            "deadline",
            "The longest that a decision waits for the server, from 1ms to 1s; 10ms if left out.",
            TIME,
        ),
        optional(
            "nodes",
            "How many nodes share the limits, as long as the server has not told; 1 to 10000.",
            Kind::Whole,
        ),
        optional(
            "deny_cache",
            "Whether a caller that certainly has to be refused is, without asking the server; `on` if left out.",
            Kind::OneOf(&["on", "off"]),
        ),
    ],
    others: None,
};

static SENTINEL: Shape = Shape {
    name: "the access to sentinels",
    about: "Who we are to the sentinels, which have users of their own.",
    fields: &[
        optional(
            "username",
            "Who we are to the sentinels; the default user if left out.",
            Kind::Text,
        ),
        optional(
            "password",
            "What proves it. Take it from the environment: `${SENTINEL_PASSWORD}`.",
            Kind::Text,
        ),
        optional("password_file", "A file with the password, read at the start.", Kind::Text),
    ],
    others: None,
};

const URL: Kind = Kind::Pattern {
    what: "the URL of a store",
    example: "redis://127.0.0.1:6379",
    regex: r"^rediss?(\+(sentinel|cluster))?://.+$",
};

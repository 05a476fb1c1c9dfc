//! The tables of `identify`: identities, tokens, and the tier of a caller.

use super::{NETWORK, TIME, foreign, optional, required};
use sluicegate_yaml::{FreeFields, Object, ValueKind};

/// `identify`: the identities by name, and `tier`, which is not an identity.
pub(super) static IDENTIFY: Object = Object {
    name: "the identities",
    about: "Each name is a way to tell callers apart.",
    fields: &[optional("tier", "How the tier of a caller is found.", ValueKind::Object(&TIER))],
    hint: None,
    free_fields: Some(&FreeFields {
        what: "an identity",
        names: any_name,
        regex: "^.+$",
        kind: &ValueKind::Any(&[
            ValueKind::OneOf(&["ip", "method", "host"]),
            ValueKind::Object(&IDENTITY),
            ValueKind::Null,
        ]),
    }),
};

/// Callers by identity, in entries of lists.
pub(super) static CALLERS: FreeFields = FreeFields {
    what: "an identity",
    names: any_name,
    regex: "^.+$",
    kind: &ValueKind::OneOrMany(&ValueKind::Text),
};

fn any_name(name: &str) -> bool {
    !name.is_empty()
}

pub(super) const IF_MISSING: ValueKind =
    ValueKind::OneOfWith { words: &["share", "skip", "401"], foreign: foreign::IF_MISSING };

static IDENTITY: Object = Object {
    name: "an identity",
    about: "The source of the identity: one of the fields. An attribute with the name of the identity takes precedence over it.",
    fields: &[
        optional("header", "A header.", ValueKind::Text),
        optional("cookie", "A cookie.", ValueKind::Text),
        optional("query", "A query parameter.", ValueKind::Text),
        optional(
            "path",
            "A segment of the path, by the only name in a pattern: `/tenants/{tenant}/**`.",
            ValueKind::Text,
        ),
        optional("segment", "A segment of the path, by its number from 1.", ValueKind::Whole),
        optional("attribute", "An attribute that the caller of the API sends.", ValueKind::Text),
        optional("jwt", "A claim of a JSON web token.", ValueKind::Object(&JWT)),
        optional("fingerprint", "Several headers together.", ValueKind::List(&ValueKind::Text)),
        optional(
            "trusted_proxies",
            "For an address: the networks of the proxies that are trusted to name the client's address, or their number.",
            ValueKind::Any(&[ValueKind::Whole, ValueKind::OneOrMany(&NETWORK)]),
        ),
        optional(
            "forwarded_by",
            "For an address: the header of the trusted proxies; `x-forwarded-for` by default.",
            ValueKind::Text,
        ),
        optional(
            "ipv4_prefix",
            "For an address: the bits of an IPv4 address that count; 32 by default.",
            ValueKind::Whole,
        ),
        optional(
            "ipv6_prefix",
            "For an address: the bits of an IPv6 address that count; 64 by default.",
            ValueKind::Whole,
        ),
        optional(
            "secret",
            "Whether stores, logs and metrics get a keyed digest in place of the value.",
            ValueKind::Flag,
        ),
        optional(
            "if_missing",
            "The behaviour if it is missing: `share` one counter (the default), `skip` the rule, or refuse with `401`.",
            IF_MISSING,
        ),
    ],
    free_fields: None,
    hint: None,
};

static TIER: Object = Object {
    name: "the tier",
    about: "How the tier of a caller is found: in the request, or in a table.",
    fields: &[
        required(
            "default",
            "The tier of callers without a tier, or with an unknown one.",
            "free",
            ValueKind::Text,
        ),
        optional("lookup", "The identity that is looked up in the table.", ValueKind::Text),
        optional(
            "table",
            "The tiers of callers: a file with lines `caller: tier` (or CSV), or a map.",
            ValueKind::Any(&[
                ValueKind::Text,
                ValueKind::Map { what: "a caller", of: &ValueKind::Text },
            ]),
        ),
        optional("header", "A header that names the tier.", ValueKind::Text),
        optional("cookie", "A cookie that names the tier.", ValueKind::Text),
        optional("query", "A query parameter that names the tier.", ValueKind::Text),
        optional("attribute", "An attribute that names the tier.", ValueKind::Text),
        optional("jwt", "A claim that names the tier.", ValueKind::Object(&JWT)),
    ],
    free_fields: None,
    hint: None,
};

static JWT: Object = Object {
    name: "a token",
    about: "A claim of a JSON web token, and the verification of the token.",
    fields: &[
        required(
            "claim",
            "The claim, by its name or a path as in `org.id`.",
            "sub",
            ValueKind::Text,
        ),
        optional(
            "header",
            "The header that carries the token; `authorization` by default.",
            ValueKind::Text,
        ),
        optional("cookie", "The cookie that carries the token.", ValueKind::Text),
        optional(
            "algorithms",
            "The algorithms that are accepted.",
            ValueKind::OneOrMany(&ValueKind::OneOf(&[
                "HS256", "HS384", "HS512", "RS256", "RS384", "RS512", "PS256", "PS384", "PS512",
                "ES256", "ES384", "EdDSA",
            ])),
        ),
        optional(
            "secret",
            "The shared secret of the HS algorithms. Take it from the environment: `${JWT_SECRET}`.",
            ValueKind::Text,
        ),
        optional("public_key", "The public key, as PEM.", ValueKind::Text),
        optional("public_key_file", "A file with the public key, as PEM.", ValueKind::Text),
        optional(
            "jwks_file",
            "A file with several public keys, as a JSON web key set.",
            ValueKind::Text,
        ),
        optional("issuer", "The issuer that the token has to name.", ValueKind::Text),
        optional(
            "audience",
            "The audiences of which the token has to name one.",
            ValueKind::OneOrMany(&ValueKind::Text),
        ),
        optional("leeway", "The tolerated difference between clocks; none by default.", TIME),
        optional(
            "unverified",
            "`true` accepts tokens without verification, also forged ones: only behind a gateway that has verified them.",
            ValueKind::Flag,
        ),
    ],
    free_fields: None,
    hint: None,
};

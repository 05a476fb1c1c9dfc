//! Who is asking, in a rule file.

use super::{NETWORK, TIME, optional, required};
use crate::shape::{Kind, Others, Shape};

/// `identify`: names, and how each is found; `tier` is one of its own kind.
pub(super) static IDENTIFY: Shape = Shape {
    name: "the identities",
    about: "Who is asking: each name is a way to tell callers apart.",
    fields: &[optional("tier", "Which tier a caller has.", Kind::Object(&TIER))],
    others: Some(&Others {
        what: "an identity",
        names: any_name,
        regex: "^.+$",
        kind: &Kind::Any(&[
            Kind::OneOf(&["ip", "method", "host"]),
            Kind::Object(&IDENTITY),
            Kind::Null,
        ]),
    }),
};

/// Callers by identity, in lists.
pub(super) static CALLERS: Others = Others {
    what: "an identity",
    names: any_name,
    regex: "^.+$",
    kind: &Kind::OneOrMany(&Kind::Text),
};

fn any_name(name: &str) -> bool {
    !name.is_empty()
}

pub(super) const IF_MISSING: Kind = Kind::Any(&[Kind::OneOf(&["share", "skip", "401"])]);

static IDENTITY: Shape = Shape {
    name: "an identity",
    about: "Where it is found. One of the sources has to be named; an attribute of the identity's own name counts before it.",
    fields: &[
        optional("header", "A header.", Kind::Text),
        optional("cookie", "A cookie.", Kind::Text),
        optional("query", "A query parameter.", Kind::Text),
        optional(
            "path",
            "A segment of the path, as the one name in a pattern: `/tenants/{tenant}/**`.",
            Kind::Text,
        ),
        optional("segment", "The n-th segment of the path.", Kind::Whole),
        optional("attribute", "An attribute that the caller of the service sends.", Kind::Text),
        optional("jwt", "A claim of a JSON web token.", Kind::Object(&JWT)),
        optional("fingerprint", "Several headers together.", Kind::List(&Kind::Text)),
        optional(
            "trusted_proxies",
            "For an address: networks of proxies whose word on the client's address is believed; or how many of them there are.",
            Kind::Any(&[Kind::Whole, Kind::OneOrMany(&NETWORK)]),
        ),
        optional(
            "forwarded_by",
            "For an address: the header that proxies name it in; `x-forwarded-for` if left out.",
            Kind::Text,
        ),
        optional(
            "ipv4_prefix",
            "For an address: how many bits of an IPv4 address count; 32 if left out.",
            Kind::Whole,
        ),
        optional(
            "ipv6_prefix",
            "For an address: how many bits of an IPv6 address count; 64 if left out.",
            Kind::Whole,
        ),
        optional("secret", "Whether it is known to stores and logs as a digest only.", Kind::Flag),
        optional(
            "if_missing",
            "What to do where it is missing: `share` one counter, `skip` the rule, or refuse with `401`.",
            IF_MISSING,
        ),
    ],
    others: None,
};

static TIER: Shape = Shape {
    name: "the tier",
    about: "Which tier a caller has: told by the request, or looked up in a table.",
    fields: &[
        required(
            "default",
            "The tier of those of whom nothing, or nothing sensible, is known.",
            "free",
            Kind::Text,
        ),
        optional("lookup", "The identity that the table goes by.", Kind::Text),
        optional(
            "table",
            "Who has which tier: a file of `caller: tier` (or CSV), or the callers themselves.",
            Kind::Any(&[Kind::Text, Kind::Map { what: "a caller", of: &Kind::Text }]),
        ),
        optional("header", "A header that names the tier.", Kind::Text),
        optional("cookie", "A cookie that names the tier.", Kind::Text),
        optional("query", "A query parameter that names the tier.", Kind::Text),
        optional("attribute", "An attribute that names the tier.", Kind::Text),
        optional("jwt", "A claim that names the tier.", Kind::Object(&JWT)),
    ],
    others: None,
};

static JWT: Shape = Shape {
    name: "a token",
    about: "A claim of a JSON web token, and how the token is verified.",
    fields: &[
        required("claim", "Which claim, by its name or a path as in `org.id`.", "sub", Kind::Text),
        optional(
            "header",
            "The header that carries the token; `authorization` if left out.",
            Kind::Text,
        ),
        optional("cookie", "The cookie that carries the token.", Kind::Text),
        optional(
            "algorithms",
            "The algorithms that are accepted.",
            Kind::OneOrMany(&Kind::OneOf(&[
                "HS256", "HS384", "HS512", "RS256", "RS384", "RS512", "PS256", "PS384", "PS512",
                "ES256", "ES384", "EdDSA",
            ])),
        ),
        optional(
            "secret",
            "The shared secret of the HS algorithms. Take it from the environment.",
            Kind::Text,
        ),
        optional("public_key", "The public key, as PEM.", Kind::Text),
        optional("public_key_file", "A file with the public key, as PEM.", Kind::Text),
        optional(
            "jwks_file",
            "A file with several public keys, as a JSON web key set.",
            Kind::Text,
        ),
        optional("issuer", "Who has to have issued it.", Kind::Text),
        optional("audience", "For whom it has to be; one of these.", Kind::OneOrMany(&Kind::Text)),
        optional("leeway", "How far clocks may be apart.", TIME),
        optional(
            "unverified",
            "`true` believes any token, also a forged one: only behind something that has verified it.",
            Kind::Flag,
        ),
    ],
    others: None,
};

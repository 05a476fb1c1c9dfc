//! The supported signature algorithms and their key requirements.

pub(crate) use jsonwebtoken::Algorithm;

use super::key_error::JwtKeyError;

/// Every algorithm with its name in a token's header.
const NAMED: [(&str, Algorithm); 12] = [
    ("HS256", Algorithm::HS256),
    ("HS384", Algorithm::HS384),
    ("HS512", Algorithm::HS512),
    ("RS256", Algorithm::RS256),
    ("RS384", Algorithm::RS384),
    ("RS512", Algorithm::RS512),
    ("PS256", Algorithm::PS256),
    ("PS384", Algorithm::PS384),
    ("PS512", Algorithm::PS512),
    ("ES256", Algorithm::ES256),
    ("ES384", Algorithm::ES384),
    ("EdDSA", Algorithm::EdDSA),
];

/// Parses an algorithm of a rule file; `none` has an error of its own.
pub(crate) fn algorithm_named(text: &str) -> Result<Algorithm, JwtKeyError> {
    if text.eq_ignore_ascii_case("none") {
        return Err(JwtKeyError::NoneAlgorithm);
    }
    known(text).ok_or_else(|| JwtKeyError::UnknownAlgorithm { found: text.to_owned() })
}

/// The algorithm of exactly this name.
pub(super) fn known(text: &str) -> Option<Algorithm> {
    NAMED.iter().find(|(name, _)| *name == text).map(|(_, algorithm)| *algorithm)
}

/// The name of an algorithm in a token's header.
pub(super) fn name(algorithm: Algorithm) -> &'static str {
    NAMED.iter().find(|(_, it)| *it == algorithm).map_or("another algorithm", |(name, _)| name)
}

/// The names of several algorithms, as a phrase.
pub(super) fn names(algorithms: impl IntoIterator<Item = Algorithm>) -> String {
    algorithms.into_iter().map(name).collect::<Vec<_>>().join(", ")
}

/// The names of all algorithms.
pub(super) fn all_names() -> String {
    names(NAMED.map(|(_, algorithm)| algorithm))
}

/// Whether signer and verifier share one secret.
pub(super) fn is_hmac(algorithm: Algorithm) -> bool {
    minimum_secret(algorithm) > 0
}

/// The minimum length of a secret in bytes: that of the hash (RFC 7518, 3.2).
pub(super) fn minimum_secret(algorithm: Algorithm) -> usize {
    match algorithm {
        Algorithm::HS256 => 32,
        Algorithm::HS384 => 48,
        Algorithm::HS512 => 64,
        _ => 0,
    }
}

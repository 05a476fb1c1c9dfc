//! Errors and warnings about configured algorithms and keys.

use core::fmt;

use super::key::{KeyKind, RSA_BITS, any_hmac};
use super::signature_algorithm::{Algorithm, all_names, name, names};

/// The error of a verifier's configuration. Its text has a hint and never quotes a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum JwtKeyError {
    /// No algorithm is allowed.
    NoAlgorithms,
    /// The algorithm `none`.
    NoneAlgorithm,
    /// No algorithm has this name.
    UnknownAlgorithm { found: String },
    /// There is no key.
    NoKeys,
    /// Too many keys for one verifier.
    TooManyKeys { found: usize, most: usize },
    /// The secret has no bytes.
    EmptySecret,
    /// The secret is the text of a PEM key or JSON web key.
    SecretIsKeyDocument,
    /// A shared-secret algorithm is allowed, but there is no secret.
    HmacWithoutSecret { algorithm: Algorithm },
    /// The key cannot be used with any algorithm that is allowed.
    Misfit { found: KeyKind, allowed: Vec<Algorithm> },
    /// The text is not PEM.
    NotPem,
    /// The PEM text holds more than one block.
    SeveralPem,
    /// A private key where a public one is enough.
    PrivateKey,
    /// A certificate.
    Certificate,
    /// PEM, but no public key that can be read.
    NotAPublicKey,
    /// A public key of a kind that no algorithm here uses.
    OtherCurve,
    /// An RSA key that is too short, or absurdly long.
    RsaSize { bits: usize },
    /// The key set is not JSON.
    NotJson { line: usize, column: usize },
    /// JSON, but not a key set.
    NotAKeySet,
    /// A key set brings its own key ids.
    KeyIdOfSet,
    /// No key of the set can be used with any algorithm that is allowed.
    NoneFits { found: Vec<&'static str>, allowed: Vec<Algorithm> },
}

impl fmt::Display for JwtKeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoAlgorithms => {
                write!(f, "no algorithm is allowed; name some of {}", all_names())
            }
            Self::NoneAlgorithm => write!(
                f,
                "algorithm none is refused, as anyone can write tokens without a signature; name \
                 some of {}",
                all_names()
            ),
            Self::UnknownAlgorithm { found } => {
                write!(f, "algorithm `{found}` is not known; name some of {}", all_names())
            }
            Self::NoKeys => f.write_str("no key is given; give a secret, a PEM key or a key set"),
            Self::TooManyKeys { found, most } => {
                write!(f, "{found} keys were found; at most {most} can be tried for one token")
            }
            Self::EmptySecret => f.write_str("the secret is empty; 32 random bytes are good"),
            Self::SecretIsKeyDocument => f.write_str(
                "the secret is the text of a key file, which may be public, and then anyone could \
                 sign tokens; give it as a PEM key or key set and allow its algorithms instead",
            ),
            Self::HmacWithoutSecret { algorithm } => write!(
                f,
                "{} is allowed but no secret is given; give one, or take the algorithm out",
                name(*algorithm)
            ),
            Self::Misfit { found, allowed } => write_misfit(f, *found, allowed),
            Self::NotPem => f.write_str(
                "no PEM text was found; it begins with a line -----BEGIN PUBLIC KEY-----",
            ),
            Self::SeveralPem => {
                f.write_str("more than one PEM block was found; give each public key on its own")
            }
            Self::PrivateKey => f.write_str(
                "a private key was found; give only the public one, as printed by \
                 `openssl pkey -pubout`",
            ),
            Self::Certificate => f.write_str(
                "a certificate was found; give its public key, as printed by \
                 `openssl x509 -pubkey -noout`",
            ),
            Self::NotAPublicKey => f.write_str(
                "the PEM text holds no public key that can be read; it has to be a whole PUBLIC \
                 KEY or RSA PUBLIC KEY",
            ),
            Self::OtherCurve => f.write_str(
                "a public key of an unknown kind was found; RSA, P-256, P-384 and Ed25519 are \
                 known, points of curves not compressed",
            ),
            Self::RsaSize { bits } => write!(
                f,
                "an RSA key of {bits} bits was found; it has to have {} to {}",
                RSA_BITS.start(),
                RSA_BITS.end()
            ),
            Self::NotJson { line, column } => {
                write!(f, "the key set is not JSON from line {line}, column {column} on")
            }
            Self::NotAKeySet => f.write_str(
                "the JSON is not a key set; it has to be an object with a list of keys, as in \
                 {\"keys\": [{\"kty\": …}]}",
            ),
            Self::KeyIdOfSet => f.write_str(
                "a key id was given for a key set; the keys of a set bring their own, so leave it \
                 out",
            ),
            Self::NoneFits { found, .. } if found.is_empty() => {
                f.write_str("the key set is empty; it has to hold at least one key")
            }
            Self::NoneFits { found, allowed } => write!(
                f,
                "no key of the set fits {}; it holds {}",
                names(allowed.iter().copied()),
                found.join(", ")
            ),
        }
    }
}

fn write_misfit(f: &mut fmt::Formatter<'_>, found: KeyKind, allowed: &[Algorithm]) -> fmt::Result {
    let fitting = names(found.algorithms().iter().copied());
    write!(
        f,
        "{} was found, but only {} is allowed",
        found.name(),
        names(allowed.iter().copied())
    )?;
    if any_hmac(allowed) {
        // Explained in full, because a workaround for the error would enable the attack.
        f.write_str(", where everyone who knows a public key could sign tokens with it")?;
    }
    write!(f, "; this key is for {fitting}")
}

impl core::error::Error for JwtKeyError {}

/// A warning about a configuration that works but is unsafe or incomplete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyWarning {
    /// A secret that is easier to guess than its algorithm is to break.
    ShortSecret { bytes: usize, wanted: usize, algorithm: Algorithm },
    /// All tokens of an allowed algorithm are refused, because it has no key.
    AlgorithmWithoutKey { algorithm: Algorithm },
}

impl fmt::Display for KeyWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::ShortSecret { bytes, wanted, algorithm } => write!(
                f,
                "the secret has {bytes} bytes; {} requires at least {wanted} random ones",
                name(algorithm)
            ),
            Self::AlgorithmWithoutKey { algorithm } => write!(
                f,
                "{} is allowed but no key fits it, so its tokens are all refused",
                name(algorithm)
            ),
        }
    }
}

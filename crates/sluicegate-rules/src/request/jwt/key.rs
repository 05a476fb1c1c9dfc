//! Keys for verifying signatures, and the algorithms each may be used for.

use jsonwebtoken::DecodingKey;

use super::key_error::JwtKeyError;
use super::signature_algorithm::{Algorithm, is_hmac};
use super::{jwks, pem};

/// The range of RSA key sizes in bits; the cryptography refuses others.
pub(super) const RSA_BITS: core::ops::RangeInclusive<usize> = 2048..=8192;

/// The source of a key. Not `Debug`, because it may be a secret.
#[derive(Clone, Copy)]
pub(crate) enum KeySource<'a> {
    /// The shared secret of issuer and verifier, for `HS` algorithms.
    Secret(&'a [u8]),
    /// A public key for `RS`, `PS`, `ES` or `EdDSA` algorithms.
    Pem(&'a [u8]),
    /// A JSON web key set: any number of keys, each with its own key id.
    Jwks(&'a [u8]),
}

/// A key source and its key id in tokens.
#[derive(Clone, Copy)]
pub(crate) struct NamedKey<'a> {
    /// Without one the key is tried for tokens of any key id.
    pub(crate) kid: Option<&'a str>,
    /// The key, or keys.
    pub(crate) source: KeySource<'a>,
}

impl<'a> From<KeySource<'a>> for NamedKey<'a> {
    fn from(source: KeySource<'a>) -> Self {
        Self { kid: None, source }
    }
}

impl NamedKey<'_> {
    /// The keys in this source that fit one of the algorithms: at least one, or an error.
    pub(super) fn read(&self, algorithms: &[Algorithm]) -> Result<Vec<VerifyingKey>, JwtKeyError> {
        let (kind, key) = match self.source {
            KeySource::Secret(secret) => read_secret(secret)?,
            KeySource::Pem(text) => pem::read(text)?,
            KeySource::Jwks(_) if self.kid.is_some() => return Err(JwtKeyError::KeyIdOfSet),
            KeySource::Jwks(document) => return jwks::read(document, algorithms),
        };
        let key = VerifyingKey { kid: self.kid.map(str::to_owned), kind, only: None, key };
        if !key.fits_any(algorithms) {
            let allowed = algorithms.to_vec();
            return Err(JwtKeyError::Misfit { found: kind, allowed });
        }
        Ok(vec![key])
    }
}

/// The kind of a key, which determines its algorithms.
///
/// A public key is never used as a secret: otherwise anyone with the public key could sign tokens
/// with an `HS` algorithm (algorithm confusion).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyKind {
    Secret { bytes: usize },
    Rsa,
    P256,
    P384,
    Ed25519,
}

impl KeyKind {
    /// The name of the kind, with its article.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Secret { .. } => "a secret",
            Self::Rsa => "an RSA public key",
            Self::P256 => "a P-256 public key",
            Self::P384 => "a P-384 public key",
            Self::Ed25519 => "an Ed25519 public key",
        }
    }

    /// The algorithms for this kind.
    pub(super) const fn algorithms(self) -> &'static [Algorithm] {
        match self {
            Self::Secret { .. } => &[Algorithm::HS256, Algorithm::HS384, Algorithm::HS512],
            Self::Rsa => &[
                Algorithm::RS256,
                Algorithm::RS384,
                Algorithm::RS512,
                Algorithm::PS256,
                Algorithm::PS384,
                Algorithm::PS512,
            ],
            Self::P256 => &[Algorithm::ES256],
            Self::P384 => &[Algorithm::ES384],
            Self::Ed25519 => &[Algorithm::EdDSA],
        }
    }
}

/// A parsed key. Not `Debug`, because it may be a secret.
pub(super) struct VerifyingKey {
    pub(super) kid: Option<String>,
    pub(super) kind: KeyKind,
    /// The only algorithm that the key set allows for the key, if it names one.
    pub(super) only: Option<Algorithm>,
    pub(super) key: DecodingKey,
}

impl VerifyingKey {
    pub(super) fn kind(&self) -> KeyKind {
        self.kind
    }

    pub(super) fn key(&self) -> &DecodingKey {
        &self.key
    }

    /// Whether the key can verify signatures of an algorithm.
    pub(super) fn fits(&self, algorithm: Algorithm) -> bool {
        self.kind.algorithms().contains(&algorithm) && self.only.is_none_or(|it| it == algorithm)
    }

    pub(super) fn fits_any(&self, algorithms: &[Algorithm]) -> bool {
        algorithms.iter().any(|algorithm| self.fits(*algorithm))
    }

    /// Whether this key may have signed a token of this algorithm and key id.
    ///
    /// A missing id on either side excludes nothing.
    pub(super) fn may_have_signed(&self, algorithm: Algorithm, kid: Option<&str>) -> bool {
        let other_id = matches!((self.kid.as_deref(), kid), (Some(own), Some(kid)) if own != kid);
        self.fits(algorithm) && !other_id
    }
}

fn read_secret(secret: &[u8]) -> Result<(KeyKind, DecodingKey), JwtKeyError> {
    if secret.is_empty() {
        return Err(JwtKeyError::EmptySecret);
    }
    if is_key_document(secret) {
        return Err(JwtKeyError::SecretIsKeyDocument);
    }
    Ok((KeyKind::Secret { bytes: secret.len() }, DecodingKey::from_secret(secret)))
}

/// Whether a "secret" is the text of a PEM key or of a JSON web key.
fn is_key_document(secret: &[u8]) -> bool {
    let holds = |sign: &[u8]| secret.windows(sign.len()).any(|window| window == sign);
    holds(b"-----BEGIN ") || (secret.trim_ascii().starts_with(b"{") && holds(b"\"kty\""))
}

/// Checks that the cryptography accepts the length of an RSA modulus.
pub(super) fn check_rsa_size(modulus: &[u8]) -> Result<(), JwtKeyError> {
    let significant = modulus.iter().skip_while(|byte| **byte == 0);
    let unused = significant.clone().next().map_or(0, |first| first.leading_zeros() as usize);
    let bits = (significant.count() * 8).saturating_sub(unused);
    if RSA_BITS.contains(&bits) { Ok(()) } else { Err(JwtKeyError::RsaSize { bits }) }
}

/// Whether any of the algorithms works with a shared secret.
pub(super) fn any_hmac(algorithms: &[Algorithm]) -> bool {
    algorithms.iter().any(|algorithm| is_hmac(*algorithm))
}

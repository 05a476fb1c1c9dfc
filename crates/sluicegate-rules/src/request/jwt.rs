//! Verification of JSON web tokens.
//!
//! Signatures are checked by `jsonwebtoken`'s cryptography; the rest is checked here, because its
//! own validation reads the system clock, accepts a token in the very second it expires, ignores
//! `crit` and cannot hold keys of several kinds at once.

#[cfg(feature = "jwt")]
pub(crate) mod carrier;
mod claims;
mod jwks;
mod key;
mod key_error;
mod pem;
mod rejection;
mod signature_algorithm;
mod token;

use core::fmt;

use jsonwebtoken::crypto::aws_lc::DEFAULT_PROVIDER;
use sluicegate_core::{Span, Time};

pub(crate) use self::claims::Claims;
pub(crate) use self::key::{KeySource, NamedKey};
pub(crate) use self::key_error::{JwtKeyError, KeyWarning};
pub(crate) use self::rejection::TokenRejection;
pub(crate) use self::signature_algorithm::{Algorithm, algorithm_named};

use self::key::{KeyKind, VerifyingKey};
use self::signature_algorithm::{is_hmac, minimum_secret, name};
use self::token::Token;

/// A token without `kid` is tried against every key, so their number bounds what one request costs.
const MAX_KEYS: usize = 32;

/// Verifies tokens and returns their claims.
pub(crate) struct Verifier {
    trust: TokenTrust,
    warnings: Vec<KeyWarning>,
}

enum TokenTrust {
    /// Every token is accepted.
    Everything,
    Signed(SignatureRequirements),
}

/// The requirements for a signed token.
struct SignatureRequirements {
    algorithms: Vec<Algorithm>,
    keys: Vec<VerifyingKey>,
    issuer: Option<String>,
    audience: Vec<String>,
    leeway: Span,
}

impl Verifier {
    /// Creates a verifier for tokens signed by one of these keys with one of these algorithms.
    ///
    /// With an issuer, the `iss` claim must equal it; with a non-empty audience, `aud` must contain
    /// one of its names; otherwise these claims are not checked. `exp` and `nbf` are checked if a
    /// token has them, with this leeway.
    pub(crate) fn new(
        algorithms: &[Algorithm],
        keys: &[NamedKey<'_>],
        issuer: Option<String>,
        audience: Vec<String>,
        leeway: Span,
    ) -> Result<Self, JwtKeyError> {
        if algorithms.is_empty() {
            return Err(JwtKeyError::NoAlgorithms);
        }
        if keys.is_empty() {
            return Err(JwtKeyError::NoKeys);
        }
        let mut read = Vec::new();
        for key in keys {
            read.extend(key.read(algorithms)?);
        }
        if read.len() > MAX_KEYS {
            return Err(JwtKeyError::TooManyKeys { found: read.len(), most: MAX_KEYS });
        }
        let warnings = warnings(algorithms, &read)?;
        let algorithms = algorithms.to_vec();
        let signed = SignatureRequirements { algorithms, keys: read, issuer, audience, leeway };
        Ok(Self { trust: TokenTrust::Signed(signed), warnings })
    }

    /// Creates a verifier that checks neither signature nor expiry.
    ///
    /// Any sender can then forge claims, so this is only for files that request it explicitly,
    /// behind a proxy that has verified the token.
    pub(crate) fn unverified() -> Self {
        Self { trust: TokenTrust::Everything, warnings: Vec::new() }
    }

    /// The warnings about the keys.
    pub(crate) fn warnings(&self) -> &[KeyWarning] {
        &self.warnings
    }

    /// The claims of the token in a header value: `Bearer x`, in any case, or the bare token.
    pub(crate) fn claims(&self, header_value: &[u8], now: Time) -> Result<Claims, TokenRejection> {
        let token = Token::find(header_value)?;
        match &self.trust {
            TokenTrust::Everything => Claims::read(token.payload),
            TokenTrust::Signed(signed) => signed.claims(&token, now),
        }
    }
}

impl SignatureRequirements {
    fn claims(&self, token: &Token<'_>, now: Time) -> Result<Claims, TokenRejection> {
        self.check_signature(token)?;
        // The payload is parsed only after its signature has been verified.
        let claims = Claims::read(token.payload)?;
        claims.check_time(now, self.leeway)?;
        if let Some(issuer) = &self.issuer {
            claims.check_issuer(issuer)?;
        }
        if !self.audience.is_empty() {
            claims.check_audience(&self.audience)?;
        }
        Ok(claims)
    }

    fn check_signature(&self, token: &Token<'_>) -> Result<(), TokenRejection> {
        let header = token.header()?;
        if !self.algorithms.contains(&header.algorithm) {
            return Err(TokenRejection::Algorithm);
        }
        let signature = token.signature()?;
        let mut outcome = Err(TokenRejection::UnknownKey);
        for key in &self.keys {
            if !key.may_have_signed(header.algorithm, header.kid.as_deref()) {
                continue;
            }
            // The provider by name: the process-wide default panics once two are compiled in.
            let verifier = (DEFAULT_PROVIDER.verifier_factory)(&header.algorithm, key.key());
            if verifier.is_ok_and(|it| it.verify(token.signed, &signature).is_ok()) {
                return Ok(());
            }
            outcome = Err(TokenRejection::Signature);
        }
        outcome
    }
}

/// The warnings about keys; an `HS` algorithm without a secret is an error.
fn warnings(
    algorithms: &[Algorithm],
    keys: &[VerifyingKey],
) -> Result<Vec<KeyWarning>, JwtKeyError> {
    let mut warnings = Vec::new();
    for &algorithm in algorithms {
        let mut fitting = keys.iter().filter(|key| key.fits(algorithm)).peekable();
        if fitting.peek().is_none() {
            if is_hmac(algorithm) {
                return Err(JwtKeyError::HmacWithoutSecret { algorithm });
            }
            warnings.push(KeyWarning::AlgorithmWithoutKey { algorithm });
        }
        let wanted = minimum_secret(algorithm);
        for key in fitting {
            if let KeyKind::Secret { bytes } = key.kind()
                && bytes < wanted
            {
                warnings.push(KeyWarning::ShortSecret { bytes, wanted, algorithm });
            }
        }
    }
    Ok(warnings)
}

/// Shows the configuration without the keys.
impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Verifier");
        match &self.trust {
            TokenTrust::Everything => shown.field("algorithms", &"unverified"),
            TokenTrust::Signed(signed) => {
                let names: Vec<_> = signed.algorithms.iter().map(|it| name(*it)).collect();
                shown.field("algorithms", &names).field("keys", &signed.keys.len())
            }
        };
        shown.finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;

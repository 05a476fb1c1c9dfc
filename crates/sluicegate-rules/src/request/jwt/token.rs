//! Parser for a token in a header value, and for its three parts.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;

use super::rejection::TokenRejection;
use super::signature_algorithm::{Algorithm, known};

/// The maximum length of a token; longer ones are refused before parsing.
const MAX_TOKEN: usize = 16 * 1024;
const SCHEME: &[u8] = b"bearer";

/// The parts of a token, still encoded.
pub(super) struct Token<'t> {
    header: &'t [u8],
    /// The claims.
    pub(super) payload: &'t [u8],
    signature: &'t [u8],
    /// The signed text: header, dot and payload.
    pub(super) signed: &'t [u8],
}

/// The fields of a token's header about its signature.
///
/// Keys and key URLs in the token (`jwk`, `jku`, `x5c`, `x5u`) are ignored, because a token cannot
/// vouch for itself.
pub(super) struct TokenHeader {
    pub(super) algorithm: Algorithm,
    pub(super) kid: Option<String>,
}

impl<'t> Token<'t> {
    /// Finds the token in a header value.
    pub(super) fn find(header_value: &'t [u8]) -> Result<Self, TokenRejection> {
        let token = bare(header_value)?;
        if token.len() > MAX_TOKEN {
            return Err(TokenRejection::Malformed);
        }
        let (signed, signature) = split_at_last_dot(token).ok_or(TokenRejection::Malformed)?;
        // An extra dot ends up in the header part, which is then not base64url; but an unverified
        // payload, read without its header, must not come from a token of five parts either.
        let (header, payload) = split_at_last_dot(signed).ok_or(TokenRejection::Malformed)?;
        if header.contains(&b'.') {
            return Err(TokenRejection::Malformed);
        }
        Ok(Self { header, payload, signature, signed })
    }

    pub(super) fn header(&self) -> Result<TokenHeader, TokenRejection> {
        let header = read_json(self.header)?;
        // A verifier must refuse a token with a critical extension that it does not support (RFC
        // 7515, 4.1.11), and this one supports none.
        if header.get("crit").is_some() {
            return Err(TokenRejection::Malformed);
        }
        let algorithm =
            header.get("alg").and_then(Value::as_str).ok_or(TokenRejection::Malformed)?;
        let algorithm = known(algorithm).ok_or(TokenRejection::Algorithm)?;
        let kid = match header.get("kid") {
            None => None,
            Some(Value::String(kid)) => Some(kid.clone()),
            Some(_) => return Err(TokenRejection::Malformed),
        };
        Ok(TokenHeader { algorithm, kid })
    }

    pub(super) fn signature(&self) -> Result<Vec<u8>, TokenRejection> {
        decode(self.signature)
    }
}

/// The JSON in one part of a token.
pub(super) fn read_json(part: &[u8]) -> Result<Value, TokenRejection> {
    serde_json::from_slice(&decode(part)?).map_err(|_| TokenRejection::Malformed)
}

/// Decodes base64url strictly, so that a token has only one spelling.
fn decode(part: &[u8]) -> Result<Vec<u8>, TokenRejection> {
    URL_SAFE_NO_PAD.decode(part).map_err(|_| TokenRejection::Malformed)
}

/// A header value without its scheme.
fn bare(header_value: &[u8]) -> Result<&[u8], TokenRejection> {
    let value = header_value.trim_ascii();
    let space = value.iter().position(|byte| matches!(byte, b' ' | b'\t'));
    let (scheme, token) = match space.and_then(|at| value.split_at_checked(at)) {
        Some((scheme, rest)) => (Some(scheme), rest.trim_ascii()),
        None => (None, value),
    };
    let other_scheme = scheme.is_some_and(|scheme| !scheme.eq_ignore_ascii_case(SCHEME));
    if other_scheme || token.is_empty() || token.eq_ignore_ascii_case(SCHEME) {
        return Err(TokenRejection::NoToken);
    }
    Ok(token)
}

fn split_at_last_dot(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut parts = bytes.rsplitn(2, |byte| *byte == b'.');
    let after = parts.next()?;
    let before = parts.next()?;
    Some((before, after))
}

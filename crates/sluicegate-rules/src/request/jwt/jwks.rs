//! Keys in a JSON web key set (RFC 7517).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::DecodingKey;
use serde_json::{Map, Value};

use super::key::{KeyKind, VerifyingKey, check_rsa_size};
use super::key_error::JwtKeyError;
use super::signature_algorithm::{Algorithm, known};

/// Parses the keys of a set that fit one of the algorithms: at least one, or an error.
///
/// Keys of unknown kinds, for encryption or for other algorithms are skipped (RFC 7517, 5), because
/// sets are published for many readers.
pub(super) fn read(
    document: &[u8],
    algorithms: &[Algorithm],
) -> Result<Vec<VerifyingKey>, JwtKeyError> {
    // Reports only the position of an error, because its text may quote a key.
    let document: Value = serde_json::from_slice(document)
        .map_err(|error| JwtKeyError::NotJson { line: error.line(), column: error.column() })?;
    let entries = document.get("keys").and_then(Value::as_array).ok_or(JwtKeyError::NotAKeySet)?;
    let mut keys = Vec::new();
    let mut passed_over = Vec::new();
    for entry in entries {
        let Value::Object(entry) = entry else { return Err(JwtKeyError::NotAKeySet) };
        // The private part of every kind of key pair, which must not be distributed.
        if entry.contains_key("d") {
            return Err(JwtKeyError::PrivateKey);
        }
        match read_key(entry) {
            Ok(key) if key.fits_any(algorithms) => keys.push(key),
            Ok(key) => passed_over.push(key.kind().name()),
            Err(why) => passed_over.push(why),
        }
    }
    if keys.is_empty() {
        passed_over.sort_unstable();
        passed_over.dedup();
        let allowed = algorithms.to_vec();
        return Err(JwtKeyError::NoneFits { found: passed_over, allowed });
    }
    Ok(keys)
}

/// Parses one key; the error names a kind of key that cannot verify signatures here.
fn read_key(entry: &Map<String, Value>) -> Result<VerifyingKey, &'static str> {
    if text(entry, "use").is_some_and(|purpose| purpose != "sig") {
        return Err("a key that is not for signatures");
    }
    let operations = entry.get("key_ops").and_then(Value::as_array);
    if operations.is_some_and(|list| !list.iter().any(|it| it.as_str() == Some("verify"))) {
        return Err("a key that is not for verifying");
    }
    let only = match text(entry, "alg") {
        Some(name) => Some(known(name).ok_or("a key for an algorithm not known here")?),
        None => None,
    };
    let (kind, key) = match (text(entry, "kty"), text(entry, "crv")) {
        (Some("RSA"), _) => read_rsa(entry)?,
        (Some("EC"), Some("P-256")) => (KeyKind::P256, read_point(entry, 32)?),
        (Some("EC"), Some("P-384")) => (KeyKind::P384, read_point(entry, 48)?),
        (Some("OKP"), Some("Ed25519")) => {
            (KeyKind::Ed25519, DecodingKey::from_ed_der(&bytes_of_length(entry, "x", 32)?))
        }
        (Some("oct"), _) => {
            let secret = bytes(entry, "k").filter(|it| !it.is_empty()).ok_or("an empty secret")?;
            (KeyKind::Secret { bytes: secret.len() }, DecodingKey::from_secret(&secret))
        }
        _ => return Err("a key of a kind not known here"),
    };
    Ok(VerifyingKey { kid: text(entry, "kid").map(str::to_owned), kind, only, key })
}

fn read_rsa(entry: &Map<String, Value>) -> Result<(KeyKind, DecodingKey), &'static str> {
    const INCOMPLETE: &str = "an incomplete RSA key";
    let modulus = bytes(entry, "n").ok_or(INCOMPLETE)?;
    let exponent = bytes(entry, "e").filter(|it| !it.is_empty()).ok_or(INCOMPLETE)?;
    check_rsa_size(&modulus).map_err(|_| "an RSA key outside 2048 to 8192 bits")?;
    Ok((KeyKind::Rsa, DecodingKey::from_rsa_raw_components(&modulus, &exponent)))
}

fn read_point(entry: &Map<String, Value>, coordinate: usize) -> Result<DecodingKey, &'static str> {
    let mut point = vec![4];
    point.extend(bytes_of_length(entry, "x", coordinate)?);
    point.extend(bytes_of_length(entry, "y", coordinate)?);
    Ok(DecodingKey::from_ec_der(&point))
}

fn bytes_of_length(
    entry: &Map<String, Value>,
    name: &str,
    length: usize,
) -> Result<Vec<u8>, &'static str> {
    bytes(entry, name).filter(|bytes| bytes.len() == length).ok_or("an incomplete curve key")
}

fn bytes(entry: &Map<String, Value>, name: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text(entry, name)?).ok()
}

fn text<'e>(entry: &'e Map<String, Value>, name: &str) -> Option<&'e str> {
    entry.get(name).and_then(Value::as_str)
}

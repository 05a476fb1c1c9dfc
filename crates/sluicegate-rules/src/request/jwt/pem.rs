//! Parser for public keys in PEM format.
//!
//! DER has one encoding per value, so the header of a key of a named curve is a constant, and
//! comparing it is all the parsing that such keys need. RSA keys are parsed by the cryptography.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jsonwebtoken::DecodingKey;
use jsonwebtoken::crypto::aws_lc::DEFAULT_PROVIDER;

use super::key::{KeyKind, check_rsa_size};
use super::key_error::JwtKeyError;

/// `SubjectPublicKeyInfo` up to and including the tag of an uncompressed point on P-256.
const P256: &[u8] = b"\x30\x59\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08\x2a\x86\x48\xce\
    \x3d\x03\x01\x07\x03\x42\x00";
/// The same on P-384.
const P384: &[u8] = b"\x30\x76\x30\x10\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x05\x2b\x81\x04\x00\
    \x22\x03\x62\x00";
/// The same for an Ed25519 key (RFC 8410).
const ED25519: &[u8] = b"\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00";

/// The object identifier `rsaEncryption`, which every RSA `SubjectPublicKeyInfo` begins with.
const RSA_IDENTIFIER: &[u8] = b"\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01";

/// Parses the single public key in a PEM text; text around it is skipped.
pub(super) fn read(text: &[u8]) -> Result<(KeyKind, DecodingKey), JwtKeyError> {
    let block = PemBlock::find(text)?;
    match block.label {
        "PUBLIC KEY" => read_public_key(&block.der()?),
        "RSA PUBLIC KEY" => read_rsa(&block.der()?),
        "CERTIFICATE" | "TRUSTED CERTIFICATE" => Err(JwtKeyError::Certificate),
        label if label.ends_with("PRIVATE KEY") => Err(JwtKeyError::PrivateKey),
        _ => Err(JwtKeyError::NotAPublicKey),
    }
}

/// The content between a `BEGIN` and an `END` line.
pub(super) struct PemBlock<'a> {
    label: &'a str,
    body: &'a str,
}

impl<'a> PemBlock<'a> {
    pub(super) fn find(text: &'a [u8]) -> Result<Self, JwtKeyError> {
        let text = core::str::from_utf8(text).map_err(|_| JwtKeyError::NotPem)?;
        let (_, rest) = text.split_once("-----BEGIN ").ok_or(JwtKeyError::NotPem)?;
        let (label, rest) = rest.split_once("-----").ok_or(JwtKeyError::NotPem)?;
        let (body, rest) = rest.split_once("-----END ").ok_or(JwtKeyError::NotPem)?;
        let rest = rest.strip_prefix(label).and_then(|rest| rest.strip_prefix("-----"));
        if rest.ok_or(JwtKeyError::NotPem)?.contains("-----BEGIN ") {
            return Err(JwtKeyError::SeveralPem);
        }
        Ok(Self { label, body })
    }

    pub(super) fn der(&self) -> Result<Vec<u8>, JwtKeyError> {
        let body: Vec<u8> = self.body.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
        STANDARD.decode(body).map_err(|_| JwtKeyError::NotPem)
    }
}

fn read_public_key(der: &[u8]) -> Result<(KeyKind, DecodingKey), JwtKeyError> {
    if let Some(point) = der.strip_prefix(P256) {
        return read_point(point, 32, KeyKind::P256);
    }
    if let Some(point) = der.strip_prefix(P384) {
        return read_point(point, 48, KeyKind::P384);
    }
    if let Some(key) = der.strip_prefix(ED25519) {
        let whole = key.len() == 32;
        let key = whole.then(|| DecodingKey::from_ed_der(key)).ok_or(JwtKeyError::NotAPublicKey)?;
        return Ok((KeyKind::Ed25519, key));
    }
    // The identifier follows two sequence headers, whose lengths depend on the key.
    let is_rsa = der.windows(RSA_IDENTIFIER.len()).take(9).any(|it| it == RSA_IDENTIFIER);
    if is_rsa { read_rsa(der) } else { Err(JwtKeyError::OtherCurve) }
}

/// An uncompressed point: a 4 and two coordinates.
fn read_point(
    point: &[u8],
    coordinate: usize,
    kind: KeyKind,
) -> Result<(KeyKind, DecodingKey), JwtKeyError> {
    let whole = point.first() == Some(&4) && point.len() == 1 + 2 * coordinate;
    if !whole {
        return Err(JwtKeyError::NotAPublicKey);
    }
    Ok((kind, DecodingKey::from_ec_der(point)))
}

fn read_rsa(der: &[u8]) -> Result<(KeyKind, DecodingKey), JwtKeyError> {
    let (modulus, exponent) = (DEFAULT_PROVIDER.key_utils.rsa_pub_components_from_public_key)(der)
        .map_err(|_| JwtKeyError::NotAPublicKey)?;
    check_rsa_size(&modulus)?;
    Ok((KeyKind::Rsa, DecodingKey::from_rsa_raw_components(&modulus, &exponent)))
}

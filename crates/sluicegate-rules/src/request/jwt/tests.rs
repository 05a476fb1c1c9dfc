//! Tests of token verification, with keys that protect nothing.

mod claim_paths;
mod damage;
mod secrecy;
mod signatures;
mod sources;
mod standing;
mod vectors;

use jsonwebtoken::EncodingKey;
use serde_json::{Value, json};

use super::*;

/// 64 bytes: long enough for every `HS` algorithm.
const SECRET: &[u8] = b"made for these tests only, protects nothing, 64 bytes of clear..";
const RSA: &[u8] = include_bytes!("tests/keys/rsa-public.pem");
const P256: &[u8] = include_bytes!("tests/keys/p256-public.pem");
const P384: &[u8] = include_bytes!("tests/keys/p384-public.pem");
const ED25519: &[u8] = include_bytes!("tests/keys/ed25519-public.pem");

const RSA_PRIVATE: &[u8] = include_bytes!("tests/keys/rsa-private.pem");
const P256_PRIVATE: &[u8] = include_bytes!("tests/keys/p256-private.pem");
const P384_PRIVATE: &[u8] = include_bytes!("tests/keys/p384-private.pem");
const ED25519_PRIVATE: &[u8] = include_bytes!("tests/keys/ed25519-private.pem");

const NOW: Time = Time::from_micros(1_300_819_000_000_000);

/// Every algorithm with the public side of its key.
fn all_algorithms() -> [(Algorithm, KeySource<'static>); 12] {
    use Algorithm::*;
    let (secret, rsa) = (KeySource::Secret(SECRET), KeySource::Pem(RSA));
    [
        (HS256, secret),
        (HS384, secret),
        (HS512, secret),
        (RS256, rsa),
        (RS384, rsa),
        (RS512, rsa),
        (PS256, rsa),
        (PS384, rsa),
        (PS512, rsa),
        (ES256, KeySource::Pem(P256)),
        (ES384, KeySource::Pem(P384)),
        (EdDSA, KeySource::Pem(ED25519)),
    ]
}

/// The private side of an algorithm's key.
fn signing_key(algorithm: Algorithm) -> EncodingKey {
    let der = |pem| pem::PemBlock::find(pem).and_then(|block| block.der()).expect("a test key");
    match name(algorithm).get(..2) {
        Some("HS") => EncodingKey::from_secret(SECRET),
        Some("ES") if algorithm == Algorithm::ES256 => EncodingKey::from_ec_der(&der(P256_PRIVATE)),
        Some("ES") => EncodingKey::from_ec_der(&der(P384_PRIVATE)),
        Some("Ed") => EncodingKey::from_ed_der(&der(ED25519_PRIVATE)),
        _ => EncodingKey::from_rsa_der(&der(RSA_PRIVATE)),
    }
}

fn encode(part: &[u8]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(part)
}

/// Signs a token with exactly this header and payload.
fn signed_with(key: &EncodingKey, by: Algorithm, header: &str, payload: &str) -> String {
    let message = format!("{}.{}", encode(header.as_bytes()), encode(payload.as_bytes()));
    let signer = (DEFAULT_PROVIDER.signer_factory)(&by, key).expect("a key of the algorithm");
    let signature = signer.try_sign(message.as_bytes()).expect("a signature");
    format!("{message}.{}", encode(&signature))
}

fn token(algorithm: Algorithm, claims: &Value) -> String {
    let header = json!({"alg": name(algorithm), "typ": "JWT"}).to_string();
    signed_with(&signing_key(algorithm), algorithm, &header, &claims.to_string())
}

/// An `HS256` token of any payload text.
fn raw_token(payload: &str) -> String {
    let key = EncodingKey::from_secret(SECRET);
    signed_with(&key, Algorithm::HS256, r#"{"alg":"HS256"}"#, payload)
}

fn verifier(algorithms: &[Algorithm], keys: &[KeySource<'_>]) -> Result<Verifier, JwtKeyError> {
    let keys: Vec<_> = keys.iter().map(|source| NamedKey::from(*source)).collect();
    Verifier::new(algorithms, &keys, None, Vec::new(), Span::ZERO)
}

fn hs256() -> Verifier {
    verifier(&[Algorithm::HS256], &[KeySource::Secret(SECRET)]).expect("a good secret")
}

/// The subject of a token, if it is accepted.
fn subject(verifier: &Verifier, token: impl AsRef<[u8]>) -> Result<String, TokenRejection> {
    let claims = verifier.claims(token.as_ref(), NOW)?;
    Ok(claims.text("sub").map(std::borrow::Cow::into_owned).unwrap_or_default())
}

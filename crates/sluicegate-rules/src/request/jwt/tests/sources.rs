//! Tests of the keys and algorithms that a verifier accepts, and of its errors.

use super::*;

fn refused(algorithms: &[Algorithm], keys: &[KeySource<'_>]) -> String {
    verifier(algorithms, keys).expect_err("a refusal").to_string()
}

fn jwk(kid: &str, alg: Option<&str>, key: &Value) -> Value {
    let mut jwk = key.clone();
    jwk["kid"] = json!(kid);
    if let Some(alg) = alg {
        jwk["alg"] = json!(alg);
    }
    jwk
}

/// The public keys of the tests as JSON web keys.
fn jwk_of(algorithm: Algorithm) -> Value {
    let der = |pem| pem::PemBlock::find(pem).and_then(|block| block.der()).expect("a test key");
    match algorithm {
        Algorithm::ES256 => {
            let der = der(P256);
            let (x, y) = der[der.len() - 64..].split_at(32);
            json!({"kty": "EC", "crv": "P-256", "x": encode(x), "y": encode(y)})
        }
        Algorithm::RS256 => {
            let components = DEFAULT_PROVIDER.key_utils.rsa_pub_components_from_public_key;
            let (n, e) = components(&der(RSA)).expect("an RSA key");
            json!({"kty": "RSA", "n": encode(&n), "e": encode(&e)})
        }
        _ => json!({"kty": "oct", "k": encode(SECRET)}),
    }
}

fn signed_by(algorithm: Algorithm, kid: &str) -> String {
    let header = json!({"alg": name(algorithm), "kid": kid}).to_string();
    signed_with(&signing_key(algorithm), algorithm, &header, r#"{"sub":"ada"}"#)
}

#[test]
fn a_key_set_of_two_keys_accepts_each_under_its_own_id() {
    use Algorithm::{ES256, RS256};
    let set = json!({"keys": [
        jwk("rsa", Some("RS256"), &jwk_of(RS256)),
        jwk("curve", None, &jwk_of(ES256)),
    ]});
    let set = set.to_string();
    let verifier =
        verifier(&[RS256, ES256], &[KeySource::Jwks(set.as_bytes())]).expect("two good keys");
    let accepted = Ok("ada".to_owned());
    assert_eq!(subject(&verifier, signed_by(RS256, "rsa")), accepted);
    assert_eq!(subject(&verifier, signed_by(ES256, "curve")), accepted);
    assert_eq!(subject(&verifier, signed_by(ES256, "rsa")), Err(TokenRejection::UnknownKey));
    assert_eq!(subject(&verifier, signed_by(RS256, "curve")), Err(TokenRejection::UnknownKey));
    assert_eq!(subject(&verifier, signed_by(RS256, "third")), Err(TokenRejection::UnknownKey));
    assert_eq!(subject(&verifier, token(ES256, &json!({"sub": "ada"}))), accepted);
}

#[test]
fn a_key_of_a_set_is_used_only_for_the_algorithm_it_names() {
    use Algorithm::{PS256, RS256};
    let set = json!({"keys": [jwk("rsa", Some("RS256"), &jwk_of(RS256))]}).to_string();
    let verifier =
        verifier(&[RS256, PS256], &[KeySource::Jwks(set.as_bytes())]).expect("a good key");
    assert!(subject(&verifier, signed_by(RS256, "rsa")).is_ok());
    assert_eq!(subject(&verifier, signed_by(PS256, "rsa")), Err(TokenRejection::UnknownKey));
    assert_eq!(verifier.warnings(), [KeyWarning::AlgorithmWithoutKey { algorithm: PS256 }]);
}

#[test]
fn keys_of_a_set_that_cannot_verify_signatures_are_skipped() {
    let rsa = jwk_of(Algorithm::RS256);
    let with = |name: &str, value: Value| {
        let mut jwk = rsa.clone();
        jwk[name] = value;
        jwk
    };
    let cases = [
        (with("use", json!("enc")), "not for signatures"),
        (with("key_ops", json!(["encrypt"])), "not for verifying"),
        (with("alg", json!("RSA-OAEP")), "an algorithm not known"),
        (with("kty", json!("lattice")), "of a kind not known"),
        (with("n", json!("AQAB")), "outside 2048 to 8192 bits"),
        (with("n", json!("not base64!")), "incomplete RSA key"),
        (with("e", json!("")), "incomplete RSA key"),
        (json!({}), "of a kind not known"),
        (json!({"kty": "EC", "crv": "P-521", "x": "AA", "y": "AA"}), "of a kind not known"),
        (json!({"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA"}), "incomplete curve key"),
        (json!({"kty": "OKP", "crv": "Ed25519"}), "incomplete curve key"),
        (json!({"kty": "oct", "k": ""}), "an empty secret"),
        (jwk_of(Algorithm::ES256), "a P-256 public key"),
        (jwk_of(Algorithm::HS256), "a secret"),
    ];
    for (passed_over, why) in cases {
        let alone = json!({"keys": [passed_over]}).to_string();
        let text = refused(&[Algorithm::RS256], &[KeySource::Jwks(alone.as_bytes())]);
        assert!(text.starts_with("no key of the set fits RS256; it holds "), "{text}");
        assert!(text.contains(why), "{text}");
        let beside = json!({"keys": [passed_over, jwk("rsa", None, &rsa)]}).to_string();
        let verifier = verifier(&[Algorithm::RS256], &[KeySource::Jwks(beside.as_bytes())])
            .expect("a good key beside it");
        assert!(subject(&verifier, signed_by(Algorithm::RS256, "rsa")).is_ok(), "{why}");
    }
    let verify = with("key_ops", json!(["verify"]));
    let set = json!({"keys": [verify]}).to_string();
    assert!(verifier(&[Algorithm::RS256], &[KeySource::Jwks(set.as_bytes())]).is_ok());
}

#[test]
fn errors_describe_the_problem_and_a_fix() {
    use Algorithm::{ES256, HS256, RS256};
    let pem = KeySource::Pem;
    let private_jwk = {
        let mut jwk = jwk_of(ES256);
        jwk["d"] = json!("AA");
        json!({"keys": [jwk]}).to_string()
    };
    let many = json!({"keys": vec![jwk_of(HS256); 33]}).to_string();
    let public_jwk = jwk_of(RS256).to_string();
    let two = [RSA, P256].concat();
    let secret = KeySource::Secret(SECRET);
    let cases: [(&[Algorithm], &[KeySource<'_>], &str); 25] = [
        (&[], &[secret], "no algorithm is allowed; name some of HS256, "),
        (&[HS256], &[], "no key is given; give a secret, a PEM key or a key set"),
        (&[HS256], &[KeySource::Secret(b"")], "the secret is empty"),
        (&[HS256], &[pem(RSA)], "an RSA public key was found, but only HS256 is allowed, where"),
        (&[HS256], &[pem(RSA)], "everyone who knows a public key could sign tokens"),
        (&[HS256], &[pem(RSA)], "; this key is for RS256, RS384, RS512, PS256, PS384, PS512"),
        (&[HS256], &[pem(ED25519)], "this key is for EdDSA"),
        (&[HS256, RS256], &[pem(RSA)], "HS256 is allowed but no secret is given"),
        (&[HS256], &[KeySource::Secret(RSA)], "the secret is the text of a key file"),
        (&[HS256], &[KeySource::Secret(public_jwk.as_bytes())], "the text of a key file"),
        (&[RS256], &[secret], "a secret was found, but only RS256 is allowed; this key is for HS"),
        (&[RS256], &[pem(RSA), pem(P256)], "a P-256 public key was found, but only RS256"),
        (&[ES256], &[pem(P384)], "a P-384 public key was found, but only ES256 is allowed"),
        (&[RS256], &[pem(RSA_PRIVATE)], "a private key was found"),
        (&[ES256], &[pem(P256_PRIVATE)], "a private key was found"),
        (&[ES256], &[KeySource::Jwks(private_jwk.as_bytes())], "a private key was found"),
        (&[ES256], &[pem(include_bytes!("keys/certificate.pem"))], "a certificate was found"),
        (&[RS256], &[pem(include_bytes!("keys/rsa-1024-public.pem"))], "an RSA key of 1024 bits"),
        (&[ES256], &[pem(include_bytes!("keys/secp256k1-public.pem"))], "of an unknown kind"),
        (&[ES256], &[pem(include_bytes!("keys/p256-compressed-public.pem"))], "not compressed"),
        (&[RS256], &[pem(&two)], "more than one PEM block"),
        (&[RS256], &[pem(b"\xff")], "no PEM text was found"),
        (&[HS256], &[KeySource::Jwks(b"{\"keys\":\n ?")], "not JSON from line 2, column 2 on"),
        (&[HS256], &[KeySource::Jwks(b"{\"keys\":[]}")], "the key set is empty"),
        (&[HS256], &[KeySource::Jwks(many.as_bytes())], "33 keys were found; at most 32"),
    ];
    for (algorithms, keys, expected) in cases {
        let text = refused(algorithms, keys);
        assert!(text.contains(expected), "{expected}: {text}");
    }
    for document in ["{}", "[]", "7", r#"{"keys":{}}"#, r#"{"keys":[7]}"#, r#"{"kty":"oct"}"#] {
        let text = refused(&[HS256], &[KeySource::Jwks(document.as_bytes())]);
        assert!(text.starts_with("the JSON is not a key set"), "{document}: {text}");
    }
}

#[test]
fn a_key_set_takes_no_key_id_from_outside() {
    let set = json!({"keys": [jwk_of(Algorithm::HS256)]}).to_string();
    let key = NamedKey { kid: Some("x"), source: KeySource::Jwks(set.as_bytes()) };
    let outcome = Verifier::new(&[Algorithm::HS256], &[key], None, Vec::new(), Span::ZERO);
    assert_eq!(outcome.err(), Some(JwtKeyError::KeyIdOfSet));
}

#[test]
fn a_damaged_pem_is_refused_or_another_key_but_never_a_panic() {
    let algorithms = [Algorithm::RS256, Algorithm::ES256, Algorithm::ES384, Algorithm::EdDSA];
    for good in [RSA, P256, P384, ED25519] {
        for length in 0..good.trim_ascii_end().len() {
            assert!(verifier(&algorithms, &[KeySource::Pem(&good[..length])]).is_err());
        }
        let mut changed = good.to_vec();
        for at in 0..changed.len() {
            changed[at] ^= 1;
            let _ = verifier(&algorithms, &[KeySource::Pem(&changed)]);
            changed[at] ^= 1;
        }
    }
}

#[test]
fn a_public_key_too_short_or_too_long_is_refused() {
    use base64::Engine as _;
    let algorithms = [Algorithm::RS256, Algorithm::ES256, Algorithm::ES384, Algorithm::EdDSA];
    let is_key = |der: &[u8]| {
        let body = base64::engine::general_purpose::STANDARD.encode(der);
        let text = format!("-----BEGIN PUBLIC KEY-----\n{body}\n-----END PUBLIC KEY-----\n");
        verifier(&algorithms, &[KeySource::Pem(text.as_bytes())]).is_ok()
    };
    for good in [RSA, P256, P384, ED25519] {
        let mut der = pem::PemBlock::find(good).and_then(|block| block.der()).expect("a test key");
        assert!(is_key(&der));
        for length in 0..der.len() {
            assert!(!is_key(&der[..length]), "{length} of {}", der.len());
        }
        // The cryptography ignores bytes after an RSA key, which do not change the key.
        der.push(0);
        assert_eq!(is_key(&der), good == RSA, "a byte more than {}", der.len() - 1);
    }
}

#[test]
fn no_public_key_is_ever_taken_for_a_shared_secret() {
    for algorithm in [Algorithm::HS256, Algorithm::HS384, Algorithm::HS512] {
        for public in [RSA, P256, P384, ED25519] {
            let outcome = verifier(&[algorithm], &[KeySource::Pem(public)]).err();
            assert!(matches!(outcome, Some(JwtKeyError::Misfit { .. })), "{}", name(algorithm));
            let outcome = verifier(&[algorithm], &[KeySource::Secret(public)]).err();
            assert_eq!(outcome, Some(JwtKeyError::SecretIsKeyDocument), "{}", name(algorithm));
        }
    }
}

#[test]
fn names_every_algorithm_and_refuses_none() {
    for (algorithm, _) in all_algorithms() {
        assert_eq!(algorithm_named(name(algorithm)), Ok(algorithm));
        assert!(JwtKeyError::NoAlgorithms.to_string().contains(name(algorithm)));
    }
    for none in ["none", "None", "NONE"] {
        let error = algorithm_named(none).expect_err("no algorithm");
        assert_eq!(error, JwtKeyError::NoneAlgorithm);
        assert!(error.to_string().starts_with("algorithm none is refused"), "{error}");
    }
    let error = algorithm_named("hs256").expect_err("no algorithm").to_string();
    assert!(error.starts_with("algorithm `hs256` is not known; name some of HS256"), "{error}");
}

#[test]
fn warns_of_secrets_shorter_than_the_hash() {
    use Algorithm::{HS256, HS384, HS512};
    for (algorithm, wanted) in [(HS256, 32), (HS384, 48), (HS512, 64)] {
        for bytes in [1, wanted - 1, wanted, wanted + 1] {
            let secret = vec![b'x'; bytes];
            let verifier = verifier(&[algorithm], &[KeySource::Secret(&secret)]).expect("a secret");
            let expected = KeyWarning::ShortSecret { bytes, wanted, algorithm };
            let expected = if bytes < wanted { vec![expected] } else { vec![] };
            assert_eq!(verifier.warnings(), expected);
        }
    }
    let warning = KeyWarning::ShortSecret { bytes: 9, wanted: 32, algorithm: HS256 }.to_string();
    assert_eq!(warning, "the secret has 9 bytes; HS256 requires at least 32 random ones");
}

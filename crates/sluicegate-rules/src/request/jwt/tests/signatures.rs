//! Tests of signature verification by algorithm, key and key id.

use super::*;

#[allow(clippy::unnecessary_wraps, reason = "the type of a verification result")]
fn accepted() -> Result<String, TokenRejection> {
    Ok("ada".to_owned())
}

#[test]
fn accepts_a_token_of_every_algorithm_only_under_that_algorithm() {
    let tokens = all_algorithms()
        .map(|(algorithm, _)| (algorithm, token(algorithm, &json!({"sub": "ada"}))));
    for (allowed, source) in all_algorithms() {
        let verifier = verifier(&[allowed], &[source]).expect("a key that fits");
        assert!(verifier.warnings().is_empty());
        for (algorithm, token) in &tokens {
            let expected =
                if *algorithm == allowed { accepted() } else { Err(TokenRejection::Algorithm) };
            assert_eq!(
                subject(&verifier, token),
                expected,
                "{} as {}",
                name(*algorithm),
                name(allowed)
            );
        }
    }
}

#[test]
fn holds_keys_of_every_kind_at_once() {
    let algorithms = all_algorithms().map(|(algorithm, _)| algorithm);
    let keys = [SECRET].map(KeySource::Secret).into_iter();
    let keys: Vec<_> = keys.chain([RSA, P256, P384, ED25519].map(KeySource::Pem)).collect();
    let verifier = verifier(&algorithms, &keys).expect("keys that fit");
    for algorithm in algorithms {
        let token = token(algorithm, &json!({"sub": "ada"}));
        assert_eq!(subject(&verifier, token), accepted(), "{}", name(algorithm));
    }
}

#[test]
fn accepts_rsa_keys_in_both_pem_forms() {
    let old_form = include_bytes!("keys/rsa-public-pkcs1.pem");
    let verifier = verifier(&[Algorithm::RS256], &[KeySource::Pem(old_form)]).expect("a key");
    assert_eq!(subject(&verifier, token(Algorithm::RS256, &json!({"sub": "ada"}))), accepted());
}

#[test]
fn refuses_tokens_without_a_signature() {
    let header_and_payload = |algorithm: &str| {
        let header = json!({"alg": algorithm}).to_string();
        format!("{}.{}", encode(header.as_bytes()), encode(br#"{"sub":"ada"}"#))
    };
    for none in ["none", "None", "NONE", "nOnE", ""] {
        let unsigned = format!("{}.", header_and_payload(none));
        assert_eq!(subject(&hs256(), unsigned), Err(TokenRejection::Algorithm), "{none}");
        let signed = format!("{}.c2lnbmVk", header_and_payload(none));
        assert_eq!(subject(&hs256(), signed), Err(TokenRejection::Algorithm), "{none}");
    }
    for (allowed, source) in all_algorithms() {
        let verifier = verifier(&[allowed], &[source]).expect("a key that fits");
        let empty = format!("{}.", header_and_payload(name(allowed)));
        assert_eq!(subject(&verifier, empty), Err(TokenRejection::Signature), "{}", name(allowed));
    }
}

#[test]
fn refuses_a_token_signed_with_the_public_key_as_a_secret() {
    for public in [RSA, RSA.trim_ascii(), P256, ED25519] {
        let key = EncodingKey::from_secret(public);
        let forged = signed_with(&key, Algorithm::HS256, r#"{"alg":"HS256"}"#, r#"{"sub":"ada"}"#);
        let only_public = verifier(&[Algorithm::RS256], &[KeySource::Pem(RSA)]).expect("a key");
        assert_eq!(subject(&only_public, &forged), Err(TokenRejection::Algorithm));
        // Even where both families are allowed, each is checked with its own keys only.
        let both = [Algorithm::HS256, Algorithm::RS256, Algorithm::ES256, Algorithm::EdDSA];
        let keys = [RSA, P256, ED25519].map(KeySource::Pem).into_iter();
        let keys: Vec<_> = keys.chain([KeySource::Secret(SECRET)]).collect();
        let both = verifier(&both, &keys).expect("keys that fit");
        assert_eq!(subject(&both, &forged), Err(TokenRejection::Signature));
    }
}

#[test]
fn refuses_a_signature_of_one_algorithm_under_the_name_of_another() {
    let key = signing_key(Algorithm::RS256);
    let both = [Algorithm::RS256, Algorithm::PS256];
    let verifier = verifier(&both, &[KeySource::Pem(RSA)]).expect("a key");
    let mislabelled = signed_with(&key, Algorithm::PS256, r#"{"alg":"RS256"}"#, "{}");
    assert_eq!(subject(&verifier, mislabelled), Err(TokenRejection::Signature));
}

#[test]
fn refuses_a_token_that_brings_its_own_key() {
    let own = EncodingKey::from_secret(b"the forger's own secret, as long as it needs to be");
    let secret = encode(b"the forger's own secret, as long as it needs to be");
    let header = json!({"alg": "HS256", "jwk": {"kty": "oct", "k": secret}, "jku": "https://x"});
    let forged = signed_with(&own, Algorithm::HS256, &header.to_string(), r#"{"sub":"ada"}"#);
    assert_eq!(subject(&hs256(), forged), Err(TokenRejection::Signature));
}

#[test]
fn refuses_headers_with_critical_extensions_or_invalid_fields() {
    let key = EncodingKey::from_secret(SECRET);
    let cases = [
        (r#"{"alg":"HS256","crit":["b64"],"b64":false}"#, TokenRejection::Malformed),
        (r#"{"alg":"HS256","crit":[]}"#, TokenRejection::Malformed),
        (r#"{"alg":"HS256","kid":7}"#, TokenRejection::Malformed),
        (r#"{"alg":"HS256","kid":null}"#, TokenRejection::Malformed),
        (r#"{"typ":"JWT"}"#, TokenRejection::Malformed),
        (r#"{"alg":["HS256"]}"#, TokenRejection::Malformed),
        (r#""HS256""#, TokenRejection::Malformed),
        ("", TokenRejection::Malformed),
        (r#"{"alg":"HS256"} {}"#, TokenRejection::Malformed),
        (r#"{"alg":"hs256"}"#, TokenRejection::Algorithm),
        (r#"{"alg":"HS256 "}"#, TokenRejection::Algorithm),
        (r#"{"alg":"HS256","alg":"none"}"#, TokenRejection::Algorithm),
        (r#"{"alg":"ES512"}"#, TokenRejection::Algorithm),
    ];
    for (header, expected) in cases {
        let token = signed_with(&key, Algorithm::HS256, header, r#"{"sub":"ada"}"#);
        assert_eq!(subject(&hs256(), token), Err(expected), "{header}");
    }
}

#[test]
fn finds_the_key_by_its_id() {
    let (old, new) = (b"the old secret, 32 bytes long...", b"the new secret, 32 bytes long...");
    let named = |kid, secret| NamedKey { kid, source: KeySource::Secret(secret) };
    let keys = [named(Some("old"), old), named(Some("new"), new)];
    let make = |keys: &[NamedKey<'_>]| {
        Verifier::new(&[Algorithm::HS256], keys, None, Vec::new(), Span::ZERO).expect("keys")
    };
    let two = make(&keys);
    let unnamed = make(&[named(None, old)]);
    let cases = [
        // The verifier, the id in the token, the secret it is signed with, the outcome.
        (&two, Some("old"), old, accepted()),
        (&two, Some("new"), new, accepted()),
        (&two, Some("new"), old, Err(TokenRejection::Signature)),
        (&two, Some("newer"), new, Err(TokenRejection::UnknownKey)),
        (&two, Some(""), new, Err(TokenRejection::UnknownKey)),
        (&two, None, old, accepted()),
        (&two, None, new, accepted()),
        (&unnamed, Some("any"), old, accepted()),
        (&unnamed, Some("any"), new, Err(TokenRejection::Signature)),
    ];
    for (verifier, kid, secret, expected) in cases {
        let header = match kid {
            Some(kid) => json!({"alg": "HS256", "kid": kid}),
            None => json!({"alg": "HS256"}),
        };
        let key = EncodingKey::from_secret(secret);
        let token = signed_with(&key, Algorithm::HS256, &header.to_string(), r#"{"sub":"ada"}"#);
        assert_eq!(subject(verifier, token), expected, "{kid:?}");
    }
}

#[test]
fn an_unverified_token_is_accepted_with_any_signature() {
    let verifier = Verifier::unverified();
    let payload = encode(br#"{"sub":"ada","exp":1}"#);
    for token in [
        format!("{}.{payload}.", encode(br#"{"alg":"none"}"#)),
        format!("{}.{payload}.c2ln", encode(br#"{"alg":"HS256"}"#)),
        format!("x.{payload}.x"),
    ] {
        assert_eq!(subject(&verifier, &token), accepted(), "{token}");
    }
    for token in [format!("{payload}."), format!("a.b.x.{payload}.x"), "a.W10.".to_owned()] {
        assert_eq!(subject(&verifier, &token), Err(TokenRejection::Malformed), "{token}");
    }
}

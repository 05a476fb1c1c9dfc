//! Tests that texts about tokens and keys show nothing of them.

use super::*;

/// Asserts that a text shows no part of the secrets.
fn assert_hides(shown: &str, secrets: &[&str]) {
    for secret in secrets {
        assert!(!shown.contains(secret), "{secret} shows in: {shown}");
    }
}

#[test]
fn texts_show_neither_token_nor_claims_nor_keys() {
    let verifier = hs256();
    let token = token(Algorithm::HS256, &json!({"sub": "ada-lovelace", "mail": "ada@example"}));
    let (message, signature) = token.rsplit_once('.').expect("a token");
    let secret = core::str::from_utf8(SECRET).expect("text");
    let bytes = format!("{:?}", &SECRET[..4]);
    let bytes = bytes.trim_matches(['[', ']']);
    let hidden = [message, signature, "ada", "mail", secret, "protects", bytes];

    let claims = verifier.claims(token.as_bytes(), NOW).expect("a good token");
    assert_hides(&format!("{verifier:?} {verifier:#?}"), &hidden);
    assert_hides(&format!("{claims:?} {claims:#?}"), &hidden);
    assert_hides(&format!("{:?}", Verifier::unverified()), &hidden);
    let rejected = verifier.claims(message.as_bytes(), NOW).expect_err("cut");
    assert_hides(&format!("{rejected} {rejected:?}"), &hidden);
}

#[test]
fn errors_quote_no_key() {
    let set = r#"{"keys": [{"kty": "oct", "k": "c2VjcmV0LXZhbHVl" "#;
    let wrong = r#"{"keys": ["c2VjcmV0LXZhbHVl"]}"#;
    let misfit = r#"{"keys": [{"kty": "oct", "kid": "c2Vj", "k": "c2VjcmV0LXZhbHVl"}]}"#;
    for document in [set, wrong, misfit] {
        let source = KeySource::Jwks(document.as_bytes());
        let error = verifier(&[Algorithm::RS256], &[source]).expect_err("no key for RS256");
        assert_hides(&format!("{error} {error:?}"), &["c2Vj", "secret-value"]);
    }
    for source in [KeySource::Secret(SECRET), KeySource::Pem(SECRET), KeySource::Jwks(SECRET)] {
        let error = verifier(&[Algorithm::RS256], &[source]).expect_err("no key for RS256");
        assert_hides(&format!("{error} {error:?}"), &["protects", "made for"]);
    }
}

#[test]
fn every_rejection_has_a_distinct_text() {
    let all = [
        TokenRejection::NoToken,
        TokenRejection::Malformed,
        TokenRejection::Algorithm,
        TokenRejection::UnknownKey,
        TokenRejection::Signature,
        TokenRejection::Expired,
        TokenRejection::NotYet,
        TokenRejection::Issuer,
        TokenRejection::Audience,
    ];
    let texts: std::collections::BTreeSet<_> = all.iter().map(ToString::to_string).collect();
    assert_eq!(texts.len(), all.len());
}

//! Tests of the checks of a token's time, issuer and audience.

use super::*;

const SECOND: u64 = 1_000_000;

fn with_leeway(seconds: u64) -> Verifier {
    let key = NamedKey::from(KeySource::Secret(SECRET));
    Verifier::new(&[Algorithm::HS256], &[key], None, Vec::new(), Span::from_secs(seconds))
        .expect("a good secret")
}

fn at(verifier: &Verifier, payload: &str, micros: u64) -> Option<TokenRejection> {
    verifier.claims(raw_token(payload).as_bytes(), Time::from_micros(micros)).err()
}

#[test]
fn expires_exactly_at_exp_plus_leeway() {
    for leeway in [0, 1, 60] {
        let verifier = with_leeway(leeway);
        let end = (1_000 + leeway) * SECOND;
        for (micros, expected) in [
            (0, None),
            (end - SECOND, None),
            (end - 1, None),
            (end, Some(TokenRejection::Expired)),
            (end + 1, Some(TokenRejection::Expired)),
            (u64::MAX, Some(TokenRejection::Expired)),
        ] {
            assert_eq!(at(&verifier, r#"{"exp":1000}"#, micros), expected, "{leeway} {micros}");
        }
    }
}

#[test]
fn becomes_valid_exactly_at_nbf_minus_leeway() {
    for leeway in [0, 1, 60] {
        let verifier = with_leeway(leeway);
        let start = (1_000 - leeway) * SECOND;
        for (micros, expected) in [
            (0, Some(TokenRejection::NotYet)),
            (start - 1, Some(TokenRejection::NotYet)),
            (start, None),
            (start + 1, None),
            (u64::MAX, None),
        ] {
            assert_eq!(at(&verifier, r#"{"nbf":1000}"#, micros), expected, "{leeway} {micros}");
        }
    }
}

#[test]
fn reads_times_of_every_size_and_shape() {
    let now = 1_000 * SECOND;
    let expired = Some(TokenRejection::Expired);
    let not_yet = Some(TokenRejection::NotYet);
    let malformed = Some(TokenRejection::Malformed);
    let cases = [
        ("{}", None),
        (r#"{"exp":1000.5}"#, None),
        (r#"{"exp":1000.000001}"#, None),
        (r#"{"exp":1000.0}"#, expired),
        (r#"{"exp":999.999999}"#, expired),
        (r#"{"exp":1e3}"#, expired),
        (r#"{"exp":1.0001e3}"#, None),
        (r#"{"exp":0}"#, expired),
        (r#"{"exp":-0}"#, expired),
        (r#"{"exp":-1}"#, expired),
        (r#"{"exp":-1.5}"#, expired),
        (r#"{"exp":-9223372036854775808}"#, expired),
        (r#"{"exp":-1e300}"#, expired),
        (r#"{"exp":9223372036854775807}"#, None),
        (r#"{"exp":18446744073709551615}"#, None),
        (r#"{"exp":18446744073709551616}"#, None),
        (r#"{"exp":1e300}"#, None),
        (r#"{"exp":1e999}"#, malformed),
        (r#"{"exp":"1001"}"#, malformed),
        (r#"{"exp":null}"#, malformed),
        (r#"{"exp":true}"#, malformed),
        (r#"{"exp":[1001]}"#, malformed),
        (r#"{"exp":NaN}"#, malformed),
        (r#"{"nbf":1000.5}"#, not_yet),
        (r#"{"nbf":1000.000001}"#, not_yet),
        (r#"{"nbf":999.999999}"#, None),
        (r#"{"nbf":-9223372036854775808}"#, None),
        (r#"{"nbf":-1e300}"#, None),
        (r#"{"nbf":18446744073709551615}"#, not_yet),
        (r#"{"nbf":1e300}"#, not_yet),
        (r#"{"nbf":"0"}"#, malformed),
        (r#"{"nbf":null}"#, malformed),
        (r#"{"exp":1001,"exp":1}"#, expired),
        (r#"{"exp":1001,"nbf":999,"iat":5000}"#, None),
    ];
    for (payload, expected) in cases {
        assert_eq!(at(&with_leeway(0), payload, now), expected, "{payload}");
    }
}

#[test]
fn the_longest_leeway_does_not_overflow() {
    let key = NamedKey::from(KeySource::Secret(SECRET));
    let leeway = Span::from_micros(u64::MAX);
    let verifier =
        Verifier::new(&[Algorithm::HS256], &[key], None, Vec::new(), leeway).expect("a secret");
    for payload in [r#"{"exp":1e300,"nbf":-1e300}"#, r#"{"exp":0,"nbf":4000000000}"#] {
        assert_eq!(at(&verifier, payload, 0), None, "{payload}");
        assert_eq!(at(&verifier, payload, u64::MAX), None, "{payload}");
    }
}

#[test]
fn requires_the_issuer_and_one_of_the_audience() {
    let key = NamedKey::from(KeySource::Secret(SECRET));
    let make = |issuer: Option<&str>, audience: &[&str]| {
        let audience = audience.iter().map(|&name| name.to_owned()).collect();
        let issuer = issuer.map(str::to_owned);
        Verifier::new(&[Algorithm::HS256], &[key], issuer, audience, Span::ZERO).expect("a secret")
    };
    let (any, issuer) = (make(None, &[]), make(Some("us"), &[]));
    let (audience, both) = (make(None, &["api", "web"]), make(Some("us"), &["api"]));
    let (no_issuer, no_audience) = (Some(TokenRejection::Issuer), Some(TokenRejection::Audience));
    let cases = [
        (&any, r#"{"iss":"them","aud":"others"}"#, None),
        (&any, "{}", None),
        (&issuer, r#"{"iss":"us"}"#, None),
        (&issuer, r#"{"iss":"us "}"#, no_issuer),
        (&issuer, r#"{"iss":"US"}"#, no_issuer),
        (&issuer, r#"{"iss":["us"]}"#, no_issuer),
        (&issuer, r#"{"iss":null}"#, no_issuer),
        (&issuer, "{}", no_issuer),
        (&audience, r#"{"aud":"web"}"#, None),
        (&audience, r#"{"aud":["x","api"]}"#, None),
        (&audience, r#"{"aud":[7,"api"]}"#, None),
        (&audience, r#"{"aud":["x",["api"]]}"#, no_audience),
        (&audience, r#"{"aud":[]}"#, no_audience),
        (&audience, r#"{"aud":"apiweb"}"#, no_audience),
        (&audience, r#"{"aud":{"api":true}}"#, no_audience),
        (&audience, "{}", no_audience),
        (&both, r#"{"iss":"us","aud":"api"}"#, None),
        (&both, r#"{"iss":"us","aud":"web"}"#, no_audience),
        (&both, r#"{"iss":"them","aud":"api"}"#, no_issuer),
        (&both, r#"{"iss":"them","exp":1}"#, Some(TokenRejection::Expired)),
    ];
    for (verifier, payload, expected) in cases {
        assert_eq!(at(verifier, payload, NOW.as_micros()), expected, "{payload}");
    }
}

//! Tests of looking up claims and of their texts.

use super::*;

#[test]
fn finds_claims_by_path_and_gives_their_text() {
    let payload = r#"{
        "sub": "ada", "empty": "", "seven": 7, "negative": -7, "true": true, "false": false,
        "null": null, "list": ["a"], "float": 0.5, "whole": 7.0, "power": 70e-1, "zero": -0.0,
        "most": 18446744073709551615, "least": -9223372036854775808,
        "beyond": 18446744073709551616, "huge": 1e30, "tiny": 1e-3,
        "org": {"id": "o1", "plan": {"name": "pro"}, "a.b": "inner", "": "nameless"},
        "flat.id": "literal", "flat": {"id": "nested"},
        "gone.id": null, "gone": {"id": "nested"},
        "https://example.com/org": {"id": "o2"},
        "a": {"b": {"c": "short"}, "b.c": "long"}, "a.b": {"d": "only here"},
        "quote\"d": "é", "": "no name"
    }"#;
    let claims = hs256().claims(raw_token(payload).as_bytes(), NOW).expect("a good token");
    let cases = [
        ("sub", Some("ada")),
        ("empty", Some("")),
        ("seven", Some("7")),
        ("negative", Some("-7")),
        ("true", Some("true")),
        ("false", Some("false")),
        ("null", None),
        ("list", None),
        ("list.0", None),
        ("float", Some("0.5")),
        ("whole", Some("7")),
        ("power", Some("7")),
        ("zero", Some("0")),
        ("tiny", Some("0.001")),
        ("most", Some("18446744073709551615")),
        ("least", Some("-9223372036854775808")),
        ("beyond", None),
        ("huge", None),
        ("org", None),
        ("org.id", Some("o1")),
        ("org.plan.name", Some("pro")),
        ("org.plan", None),
        ("org.a.b", Some("inner")),
        ("org.", Some("nameless")),
        ("org.none", None),
        ("flat.id", Some("literal")),
        // The literal name exists, so it is used, with or without a text.
        ("gone.id", None),
        ("https://example.com/org.id", Some("o2")),
        // `a.b` is a name here, longer than `a`, and has no `c`.
        ("a.b.c", None),
        ("a.b.d", Some("only here")),
        ("quote\"d", Some("é")),
        ("", Some("no name")),
        (".", None),
        ("..", None),
        (".sub", None),
        ("sub.", None),
        ("sub.x", None),
        ("nobody", None),
        ("SUB", None),
    ];
    for (path, expected) in cases {
        assert_eq!(claims.text(path).as_deref(), expected, "{path}");
    }
}

#[test]
fn strings_are_borrowed_not_copied() {
    let claims = hs256().claims(raw_token(r#"{"sub":"ada"}"#).as_bytes(), NOW).expect("good");
    assert!(matches!(claims.text("sub"), Some(std::borrow::Cow::Borrowed("ada"))));
}

#[test]
fn finds_the_token_in_header_values_as_clients_write_them() {
    let token = token(Algorithm::HS256, &json!({"sub": "ada"}));
    for before in ["", "Bearer ", "bearer ", "BEARER ", "bEaReR   ", "Bearer\t", "  Bearer "] {
        for after in ["", " ", "\t", "\r\n"] {
            let value = format!("{before}{token}{after}");
            assert_eq!(subject(&hs256(), value).as_deref(), Ok("ada"), "{before:?} {after:?}");
        }
    }
    for value in ["", " ", "Bearer", "bearer ", "Basic dXNlcjpwYXNz", "Bearer Bearer"] {
        assert_eq!(subject(&hs256(), value), Err(TokenRejection::NoToken), "{value:?}");
    }
    let basic = format!("Basic {token}");
    assert_eq!(subject(&hs256(), basic), Err(TokenRejection::NoToken), "another scheme");
    for value in ["x", "Bearer x", "a.b", "a.b.c", "...", "....", "Bearer a.b.c d"] {
        assert_eq!(subject(&hs256(), value), Err(TokenRejection::Malformed), "{value:?}");
    }
    for value in [format!("{token}, x"), format!("{token}.x"), format!("x.{token}")] {
        assert!(subject(&hs256(), &value).is_err(), "{value:?}");
    }
}

#[test]
fn refuses_payloads_that_are_not_claims() {
    for payload in ["", "7", "[]", "null", r#""sub""#, "{", "{} {}", r#"{"sub":}"#, "\u{feff}{}"] {
        assert_eq!(
            subject(&hs256(), raw_token(payload)),
            Err(TokenRejection::Malformed),
            "{payload}"
        );
    }
    let deep = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
    let deep = raw_token(&format!(r#"{{"sub":{deep}}}"#));
    assert_eq!(subject(&hs256(), deep), Err(TokenRejection::Malformed), "nested too deep");
}

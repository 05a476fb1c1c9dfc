//! Tests of invalid bodies: each error has a field, the value found, and a valid one.

use super::test_server::TestServer;

/// A body, and for each of its errors the field and a part of the message.
pub(crate) type BadBody<'a> = (&'a str, &'a [(&'a str, &'a str)]);

pub(crate) const NOT_AN_OBJECT: &[BadBody<'_>] = &[
    ("", &[("body", "it is empty; send an object")]),
    (" \r\n\t", &[("body", "it is empty")]),
    ("null", &[("body", "found null; send an object")]),
    ("true", &[("body", "found the boolean true")]),
    ("42", &[("body", "found the number 42")]),
    ("\"text\"", &[("body", "found a string")]),
    ("[{\"key\":\"k\"}]", &[("body", "found a list")]),
    ("key=user&quota=5", &[("body", "it is not JSON: expected value at line 1 column 1")]),
    ("{", &[("body", "it is not JSON: EOF while parsing an object at line 1 column 1")]),
    ("{\"key\":\n\"k\",}", &[("body", "trailing comma at line 2 column 5")]),
    ("{'key':'k'}", &[("body", "key must be a string at line 1 column 2")]),
    ("{\"key\":\"k\"}{}", &[("body", "trailing characters at line 1 column 12")]),
    ("{\"key\":\"\\ud800\"}", &[("body", "it is not JSON: ")]),
    ("{\"key\":\"k\",\"cost\":1e999}", &[("body", "number out of range")]),
    ("{\"key\":\"a\nb\"}", &[("body", "control character")]),
    ("\u{feff}{}", &[("body", "it is not JSON")]),
];

const FIELDS: &[BadBody<'_>] = &[
    ("{}", &[("key", "it is missing; send the key"), ("quota", "it is missing")]),
    (r#"{"key":"k"}"#, &[("quota", "it is missing; send an amount per time")]),
    (r#"{"quota":"1/s"}"#, &[("key", "it is missing")]),
    (r#"{"key":"","quota":"1/s"}"#, &[("key", "it is empty")]),
    (r#"{"key":7,"quota":"1/s"}"#, &[("key", "found the number 7; use a string")]),
    (r#"{"key":null,"quota":"1/s"}"#, &[("key", "found null")]),
    (r#"{"key":["k"],"quota":"1/s"}"#, &[("key", "found a list")]),
    (r#"{"key":{"k":[{}]},"quota":"1/s"}"#, &[("key", "found an object")]),
    (r#"{"key":"k","quota":5}"#, &[("quota", "found the number 5; use a string")]),
    (r#"{"key":"k","quota":""}"#, &[("quota", "cannot read the quota ``: it is empty")]),
    (r#"{"key":"k","quota":"5/fortnight"}"#, &[("quota", "`fortnight` is not a unit of time")]),
    (r#"{"key":"k","quota":"0/min"}"#, &[("quota", "an amount of 0 never admits a request")]),
    (r#"{"key":"k","quota":"-1/min"}"#, &[("quota", "cannot be negative")]),
    (r#"{"key":"k","quota":"5/month"}"#, &[("quota", "a month has no fixed length")]),
    (
        r#"{"key":"k","quota":"5/min burst 9","algorithm":"fixed_window"}"#,
        &[("quota", "a window has no burst")],
    ),
    (
        r#"{"key":"k","quota":"1001/min","algorithm":"sliding_log"}"#,
        &[("quota", "a log of 1001 stamps is too long")],
    ),
    (
        r#"{"key":"k","quota":"5/s","algorithm":"sliding_window","slices":7}"#,
        &[("slices", "does not divide into 7 slices")],
    ),
];

const OPTIONS: &[BadBody<'_>] = &[
    (r#"{"key":"k","quota":"1/s","cost":-1}"#, &[("cost", "found the number -1; use a whole")]),
    (r#"{"key":"k","quota":"1/s","cost":1.5}"#, &[("cost", "found the number 1.5")]),
    (r#"{"key":"k","quota":"1/s","cost":1.25}"#, &[("cost", "found the number 1.25")]),
    (r#"{"key":"k","quota":"1/s","cost":"1"}"#, &[("cost", "found a string")]),
    (r#"{"key":"k","quota":"1/s","cost":null}"#, &[("cost", "found null")]),
    (r#"{"key":"k","quota":"1/s","cost":true}"#, &[("cost", "found the boolean true")]),
    (
        r#"{"key":"k","quota":"1/s","cost":9007199254740992}"#,
        &[("cost", "a cost of 9007199254740992 units is too large; use at most 9007199254740991")],
    ),
    (r#"{"key":"k","quota":"1/s","cost":1e30}"#, &[("cost", "found the number 1e30")]),
    (
        r#"{"key":"k","quota":"1/s","cost":99999999999999999999}"#,
        &[("cost", "found the number 1e20")],
    ),
    (
        r#"{"key":"k","quota":"1/s","cost":-99999999999999999999}"#,
        &[("cost", "found the number -1e20")],
    ),
    (
        r#"{"key":"k","quota":"1/s","algorithm":"gcra"}"#,
        &[(
            "algorithm",
            "there is no algorithm `gcra`; use one of token_bucket, leaky_bucket, queue",
        )],
    ),
    (
        r#"{"key":"k","quota":"1/s","algorithm":"tokenbucket"}"#,
        &[("algorithm", "did you mean `token_bucket`?")],
    ),
    (
        r#"{"key":"k","quota":"1/s","algorithm":"concurrency"}"#,
        &[("algorithm", "`concurrency` has no quota")],
    ),
    (
        r#"{"key":"k","quota":"1/s","algorithm":"cooldown"}"#,
        &[("algorithm", "`cooldown` has no quota")],
    ),
    (r#"{"key":"k","quota":"1/s","algorithm":3}"#, &[("algorithm", "found the number 3; use one")]),
    (
        r#"{"key":"k","quota":"1/s","slices":2}"#,
        &[("slices", "it is for sliding_window only, and the algorithm is token_bucket")],
    ),
    (
        r#"{"key":"k","quota":"1/s","strict":false,"algorithm":"queue"}"#,
        &[("strict", "it is for sliding_window only, and the algorithm is queue")],
    ),
    (
        r#"{"key":"k","quota":"1/s","algorithm":"sliding_window","slices":0}"#,
        &[("slices", "found the number 0; use a whole number from 1 to 60")],
    ),
    (
        r#"{"key":"k","quota":"1/s","algorithm":"sliding_window","slices":61}"#,
        &[("slices", "found the number 61")],
    ),
    (
        r#"{"key":"k","quota":"1/s","algorithm":"sliding_window","slices":4294967298}"#,
        &[("slices", "found the number 4294967298")],
    ),
    (
        r#"{"key":"k","quota":"1/s","algorithm":"sliding_window","strict":"yes"}"#,
        &[("strict", "found a string; use true or false")],
    ),
];

const SPELLING: &[BadBody<'_>] = &[
    (
        r#"{"key":"k","qouta":"1/s"}"#,
        &[
            ("qouta", "did you mean `quota`? the fields are key, quota, algorithm, cost"),
            ("quota", "missing"),
        ],
    ),
    (
        r#"{"key":"k","quota":"1/s","tenant":"t"}"#,
        &[("tenant", "there is no such field; the fields are key, quota")],
    ),
    (r#"{"key":"k","quota":"1/s","":1}"#, &[("", "there is no such field")]),
    (r#"{"key":"k","quota":"1/s","Key":"k"}"#, &[("Key", "did you mean `key`?")]),
    (r#"{"key":"a","quota":"1/s","key":"b"}"#, &[("key", "it is given more than once")]),
    (r#"{"key":"a","quota":"1/s","cost":1,"cost":1}"#, &[("cost", "it is given more than once")]),
    (r#"{"key":"a","quota":"1/s","\u006bey":"a"}"#, &[("key", "it is given more than once")]),
    (
        r#"{"key":"","quota":"x","algorithm":"y","cost":-2,"slices":"z","strict":0,"extra":[]}"#,
        &[
            ("extra", "no such field"),
            ("key", "empty"),
            ("quota", "cannot read the quota `x`"),
            ("algorithm", "no algorithm `y`"),
            ("cost", "-2"),
            ("slices", "found a string"),
            ("strict", "found the number 0"),
        ],
    ),
];

#[tokio::test]
async fn all_errors_of_a_body_are_reported_at_once() {
    let gate = TestServer::open().await;
    let mut client = gate.client().await;
    for (body, expected) in [NOT_AN_OBJECT, FIELDS, OPTIONS, SPELLING].concat() {
        let reply = client.throttle(body).await;
        assert_eq!(reply.status, 400, "{body}");
        let problem = reply.problem();
        let errors = problem["errors"].as_array().unwrap();
        assert_eq!(errors.len(), expected.len(), "{body} {errors:?}");
        for (error, (field, words)) in errors.iter().zip(expected) {
            assert_eq!(error["field"], *field, "{body}");
            let detail = error["detail"].as_str().unwrap();
            assert!(detail.contains(words), "{body}\n  found:    {detail}\n  expected: {words}");
        }
    }
    assert!(client.get("/metrics").await.text().contains("sluicegate_store_counters 0\n"));
}

#[tokio::test]
async fn a_key_of_more_than_4096_bytes_is_too_long() {
    let gate = TestServer::open().await;
    let mut client = gate.client().await;
    // Bytes are counted, not letters: 2049 letters of two bytes each.
    for key in ["k".repeat(4_097), "é".repeat(2_049)] {
        let reply = client.throttle(format!(r#"{{"key":"{key}","quota":"1/s"}}"#)).await;
        let detail = format!("it has {} bytes; use at most 4096, or a digest of it", key.len());
        assert_eq!(reply.problem()["errors"][0]["detail"], detail);
    }
}

#[tokio::test]
async fn invalid_utf8_is_reported_with_its_position() {
    let gate = TestServer::open().await;
    let reply = gate.client().await.throttle(b"{\"key\":\"\xff\"}").await;
    assert_eq!(reply.status, 400);
    let detail = "it is not UTF-8 from byte 8 on; send JSON as UTF-8";
    assert_eq!(reply.problem()["errors"][0]["detail"], detail);
}

#[tokio::test]
async fn thousands_of_unknown_fields_get_a_short_response() {
    let gate = TestServer::open().await;
    let mut client = gate.client().await;
    let fields: Vec<_> = (0..6_000).map(|n| format!("\"{n:05}\":0")).collect();
    let reply = client.throttle(format!("{{{}}}", fields.join(","))).await;
    assert_eq!(reply.status, 400);
    assert!(reply.body.len() < 4_000, "{} bytes", reply.body.len());
    assert!(reply.text().contains("there are 5984 more unknown fields"));
}

#[tokio::test]
async fn deep_nesting_is_harmless() {
    let gate = TestServer::open().await;
    let mut client = gate.client().await;
    let deep = "[".repeat(30_000) + &"]".repeat(30_000);
    for body in [format!(r#"{{"key":{deep},"quota":"1/s"}}"#), deep, "{\"key\":".repeat(5_000)] {
        let reply = client.throttle(body).await;
        assert_eq!(reply.status, 400);
        reply.problem();
    }
}

#[tokio::test]
async fn deep_nesting_is_an_error_on_every_endpoint() {
    let (gate, _) = TestServer::by("rules: [{ name: all, key: [], limit: 9/min }]").await;
    let mut client = gate.client().await;
    for (open, close) in [("[", "]"), (r#"{"a":"#, "}")] {
        for (depth, longest) in [(200, true), (9_000, true), (9_000, false)] {
            let value = if longest {
                format!("{}0{}", open.repeat(depth), close.repeat(depth))
            } else {
                open.repeat(depth)
            };
            let bodies = [
                ("/v1/check", value.clone()),
                ("/v1/check", format!(r#"{{"attributes":{{"a":{value}}}}}"#)),
                ("/v1/check", format!(r#"{{"headers":{{"a":[{value}]}}}}"#)),
                ("/v1/check", format!(r#"{{"unknown":{value}}}"#)),
                ("/v1/check/batch", value.clone()),
                ("/v1/check/batch", format!("[{value}]")),
                ("/v1/throttle", format!(r#"{{"key":{value},"quota":"1/s"}}"#)),
                ("/v1/settle", format!(r#"{{"reservation":{value},"cost":1}}"#)),
                ("/v1/renew", format!(r#"{{"slot":{value}}}"#)),
            ];
            for (path, body) in bodies {
                let reply = client.post(path, &body).await;
                assert_eq!(reply.status, 400, "{path} {}", &body[..40]);
                assert!(reply.problem()["errors"].is_array());
            }
        }
    }
}

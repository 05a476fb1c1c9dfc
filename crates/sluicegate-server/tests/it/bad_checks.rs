//! Tests of invalid bodies, for the endpoints that evaluate rules.

use super::bad_bodies::{BadBody, NOT_AN_OBJECT};
use super::test_server::TestServer;

const CHECKS: &[BadBody<'_>] = &[
    (
        r#"{"tenant":"42"}"#,
        &[("tenant", "no such field; the fields are attributes, headers, peer")],
    ),
    (r#"{"atributes":{}}"#, &[("atributes", "did you mean `attributes`?")]),
    (r#"{"header":{}}"#, &[("header", "did you mean `headers`?")]),
    (r#"{"bodysize":1}"#, &[("bodysize", "did you mean `body_size`?")]),
    (r#"{"attributes":{},"attributes":{}}"#, &[("attributes", "it is given more than once")]),
    (r#"{"peer":"::1","peer":"::1"}"#, &[("peer", "it is given more than once")]),
    (r#"{"attributes":null}"#, &[("attributes", "found null; use an object of attributes")]),
    (r#"{"attributes":[]}"#, &[("attributes", "found a list; use an object")]),
    (r#"{"attributes":"user=42"}"#, &[("attributes", "found a string; use an object")]),
    (r#"{"attributes":{"user":["42"]}}"#, &[("attributes.user", "found a list; use a string")]),
    (r#"{"attributes":{"user":{"id":1}}}"#, &[("attributes.user", "found an object; use")]),
    (
        r#"{"attributes":{"user":"1","user":"2"}}"#,
        &[("attributes.user", "it is given more than once")],
    ),
    (
        r#"{"attributes":{"user":"1","\u0075ser":"1"}}"#,
        &[("attributes.user", "it is given more than once")],
    ),
    (
        r#"{"attributes":{"user":9223372036854775808}}"#,
        &[("attributes.user", "send it as a string, so that it keeps its digits")],
    ),
    (
        r#"{"attributes":{"user":99999999999999999999}}"#,
        &[("attributes.user", "found the number 1e20; send it as a string")],
    ),
    (
        r#"{"attributes":{"user":-9007199254740993.5}}"#,
        &[("attributes.user", "send it as a string")],
    ),
    (r#"{"attributes":{"n":1e999}}"#, &[("body", "number out of range")]),
    (r#"{"headers":null}"#, &[("headers", "found null; use an object of headers by name")]),
    (r#"{"headers":"a: b"}"#, &[("headers", "found a string")]),
    (r#"{"headers":[["a","b"]]}"#, &[("headers", "found a list")]),
    (r#"{"headers":{"accept":null}}"#, &[("headers.accept", "found null; use a string, or")]),
    (r#"{"headers":{"accept":1}}"#, &[("headers.accept", "found the number 1; use a string")]),
    (r#"{"headers":{"accept":true}}"#, &[("headers.accept", "found the boolean true")]),
    (r#"{"headers":{"accept":{"a":"b"}}}"#, &[("headers.accept", "found an object")]),
    (
        r#"{"headers":{"accept":["a",1,"b",[]]}}"#,
        &[
            ("headers.accept", "found the number 1 in the list; use a list of strings"),
            ("headers.accept", "found a list in the list"),
        ],
    ),
    (
        r#"{"headers":{"Accept":"a","accept":"b"}}"#,
        &[("headers.accept", "it is given more than once; give a list of its lines")],
    ),
    (r#"{"headers":{"":"a"}}"#, &[("headers.", "it is not the name of a header")]),
    (r#"{"headers":{"x y":"a"}}"#, &[("headers.x y", "it is not the name of a header")]),
    (r#"{"headers":{"x:":"a"}}"#, &[("headers.x:", "it is not the name of a header")]),
    (r#"{"peer":""}"#, &[("peer", "`` is not an address; use an IP address without a port")]),
    (r#"{"peer":"10.0.0.300"}"#, &[("peer", "`10.0.0.300` is not an address")]),
    (r#"{"peer":"10.0.0.1:80"}"#, &[("peer", "without a port")]),
    (r#"{"peer":"10.0.0.0/8"}"#, &[("peer", "is not an address")]),
    (r#"{"peer":"localhost"}"#, &[("peer", "`localhost` is not an address")]),
    (r#"{"peer":null}"#, &[("peer", "found null; use an IP address")]),
    (r#"{"peer":167772161}"#, &[("peer", "found the number 167772161")]),
    (r#"{"cost":-1}"#, &[("cost", "found the number -1; use a whole number from 0")]),
    (r#"{"cost":1.5}"#, &[("cost", "found the number 1.5")]),
    (r#"{"cost":"1"}"#, &[("cost", "found a string")]),
    (r#"{"cost":null}"#, &[("cost", "found null")]),
    (r#"{"cost":9007199254740992}"#, &[("cost", "too large; use at most 9007199254740991")]),
    (r#"{"reserve":1}"#, &[("reserve", "found the number 1; use true or false")]),
    (r#"{"reserve":null}"#, &[("reserve", "found null")]),
    (r#"{"body_size":-1}"#, &[("body_size", "found the number -1; use a whole number of bytes")]),
    (r#"{"body_size":"64KiB"}"#, &[("body_size", "found a string")]),
    (r#"{"body_size":1.5}"#, &[("body_size", "found the number 1.5")]),
    (
        r#"{"extra":1,"attributes":{"a":[],"b":{}},"headers":{"c":0},"peer":7,"cost":"x","body_size":[]}"#,
        &[
            ("extra", "no such field"),
            ("attributes.a", "found a list"),
            ("attributes.b", "found an object"),
            ("headers.c", "found the number 0"),
            ("peer", "found the number 7"),
            ("cost", "found a string"),
            ("body_size", "found a list"),
        ],
    ),
];

const REPORTS: &[BadBody<'_>] = &[
    ("{}", &[("status", "it is missing; send the status of the response, or `failed`")]),
    (r#"{"status":"401"}"#, &[("status", "found a string; use a status from 100 to 999")]),
    (r#"{"status":99}"#, &[("status", "found the number 99")]),
    (r#"{"status":1000}"#, &[("status", "found the number 1000")]),
    (r#"{"status":null}"#, &[("status", "found null")]),
    (r#"{"failed":1}"#, &[("failed", "found the number 1; use true or false")]),
    (r#"{"failed":true,"status":401}"#, &[("failed", "`status` is given too")]),
    (
        r#"{"failed":true,"failures":0}"#,
        &[("failures", "found the number 0; use a whole number from 1")],
    ),
    (r#"{"failed":true,"failures":-1}"#, &[("failures", "found the number -1")]),
    (r#"{"status":401,"failures":"3"}"#, &[("failures", "found a string")]),
    (r#"{"status":401,"cost":3}"#, &[("cost", "no such field; the fields are attributes")]),
    (r#"{"status":401,"attributes":{"a":[]}}"#, &[("attributes.a", "found a list")]),
];

const RELEASES: &[BadBody<'_>] = &[
    ("{}", &[("slot", "it is missing; send the slot")]),
    (r#"{"slot":7}"#, &[("slot", "found the number 7; use the `slot`")]),
    (r#"{"slot":"00","slots":[]}"#, &[("slots", "did you mean `slot`? the only field is slot")]),
    (r#"{"slot":"00","slot":"00"}"#, &[("slot", "it is given more than once")]),
    (r#"{"slot":"abc"}"#, &[("slot", "this slot was not issued here")]),
];

const SETTLEMENTS: &[BadBody<'_>] = &[
    (
        "{}",
        &[
            ("reservation", "it is missing; send the reservation to settle"),
            ("cost", "it is missing; send the actual cost"),
        ],
    ),
    (
        r#"{"reservation":7,"cost":-1}"#,
        &[("reservation", "found the number 7"), ("cost", "use a whole number from 0")],
    ),
    (r#"{"reservation":"00","cost":null}"#, &[("cost", "found null; use a whole number")]),
    (r#"{"reservation":"00","cost":1,"slot":""}"#, &[("slot", "there is no such field")]),
    (
        r#"{"reservation":"00","cost":1}"#,
        &[("reservation", "this reservation was not issued here")],
    ),
];

#[tokio::test]
async fn all_errors_of_a_body_are_reported_at_once() {
    let (gate, _) = TestServer::by("rules: [{ name: all, key: user, limit: 9/min }]").await;
    let mut client = gate.client().await;
    let common = NOT_AN_OBJECT.iter().filter(|(body, _)| !body.contains("cost"));
    let common: Vec<_> = common.copied().collect();
    for (path, bodies) in [
        ("/v1/check", [CHECKS, &common].concat()),
        ("/v1/report", [REPORTS, &common].concat()),
        ("/v1/release", [RELEASES, &common].concat()),
        ("/v1/renew", [RELEASES, &common].concat()),
        ("/v1/settle", [SETTLEMENTS, &common].concat()),
    ] {
        for (body, expected) in bodies {
            let reply = client.post(path, body).await;
            assert_eq!(reply.status, 400, "{path} {body}");
            let problem = reply.problem();
            let errors = problem["errors"].as_array().unwrap();
            assert_eq!(errors.len(), expected.len(), "{path} {body} {errors:?}");
            for (error, (field, words)) in errors.iter().zip(expected) {
                assert_eq!(error["field"], *field, "{path} {body}");
                let detail = error["detail"].as_str().unwrap();
                assert!(
                    detail.contains(words),
                    "{body}\n  found:    {detail}\n  expected: {words}"
                );
            }
        }
    }
    assert!(client.get("/metrics").await.text().contains("sluicegate_store_counters 0\n"));
}

#[tokio::test]
async fn unusual_but_valid_bodies_are_accepted() {
    let (gate, _) = TestServer::by("rules: [{ name: all, key: [], limit: 99/min }]").await;
    let mut client = gate.client().await;
    for body in [
        "{}",
        r#"{"attributes":{},"headers":{}}"#,
        r#"{"attributes":{"a":null,"b":-1,"c":1.5,"d":true,"":"e"}}"#,
        r#"{"attributes":{"a":9223372036854775807}}"#,
        r#"{"headers":{":authority":"h","a":[],"b":["",""],"c":"\u0000"}}"#,
        r#"{"peer":"::ffff:10.0.0.1","cost":0,"body_size":18446744073709551615}"#,
        r#"{"cost":1.0,"body_size":2e3,"attributes":{"a":-0.0}}"#,
    ] {
        assert_eq!(client.post("/v1/check", body).await.status, 200, "{body}");
    }
}

#[tokio::test]
async fn thousands_of_errors_get_a_short_response() {
    let (gate, _) = TestServer::by("rules: []").await;
    let mut client = gate.client().await;
    let entries = |count: usize, value: &str| {
        let entries: Vec<_> = (0..count).map(|n| format!("\"{n:04}\":{value}")).collect();
        entries.join(",")
    };
    for (body, expected) in [
        (format!(r#"{{"attributes":{{{}}}}}"#, entries(6_000, "0")), "there are 6000 of them"),
        (format!(r#"{{"headers":{{{}}}}}"#, entries(4_000, r#""x""#)), "there are 4000 of them"),
        (format!(r#"{{"attributes":{{{}}}}}"#, entries(200, "[]")), "there are 168 more errors"),
        (format!(r#"{{"headers":{{"a":[{}0]}}}}"#, "0,".repeat(30_000)), "more errors"),
        (format!(r#"{{"headers":{{"a":[{}""]}}}}"#, r#""","#.repeat(300)), "there are 301 lines"),
        (format!("{{{}}}", entries(6_000, "0")), "there are 5984 more unknown fields"),
    ] {
        let reply = client.post("/v1/check", body).await;
        assert_eq!(reply.status, 400, "{expected}");
        assert!(reply.text().contains(expected), "{expected}: {}", reply.text());
        assert!(reply.body.len() < 6_000, "{} bytes", reply.body.len());
    }
}

#[tokio::test]
async fn an_invalid_batch_reports_all_errors_and_charges_nothing() {
    let (gate, _) = TestServer::by("rules: [{ name: all, key: [], limit: 1/min }]").await;
    let mut client = gate.client().await;
    let body = r#"[{},{"cost":-1},{"attributes":{"a":[]},"peer":1},7]"#;
    let problem = client.post("/v1/check/batch", body).await.problem();
    let fields: Vec<_> = problem["errors"].as_array().unwrap().clone();
    let fields: Vec<_> = fields.iter().map(|error| error["field"].clone()).collect();
    assert_eq!(fields, ["[1].cost", "[2].attributes.a", "[2].peer", "[3].body"]);
    let long = format!("[{}]", vec!["{}"; 1_001].join(","));
    for (body, expected) in [
        ("{}", "it is not a list of objects"),
        ("", "it is not a list of objects"),
        (&long, "it has 1001 requests; send at most 1000 at a time"),
    ] {
        let reply = client.post("/v1/check/batch", body).await;
        assert_eq!(reply.status, 400);
        assert!(reply.problem().to_string().contains(expected), "{}", reply.text());
    }
    assert_eq!(client.post("/v1/check/batch?deny_status=403", "[]").await.status, 400);
    assert_eq!(client.post("/v1/check", "{}").await.status, 200, "nothing was charged");
}

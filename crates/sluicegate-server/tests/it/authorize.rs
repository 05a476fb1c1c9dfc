//! Tests of `/v1/authorize`, for proxies that check each request before they forward it.

use std::fmt::Write as _;

use serde_json::json;

use super::raw_client::{Client, Reply};
use super::test_server::TestServer;

const RULES: &str = "
identify:
  ip: { trusted_proxies: [127.0.0.0/8] }
rules:
  - { name: checkout, match: { method: POST, path: /checkout, host: shop.example }, key: [], limit: 1/min }
";

async fn ask(client: &mut Client, line: &str, headers: &[(&str, &str)]) -> Reply {
    let mut head = format!("{line} HTTP/1.1\r\n");
    if !headers.iter().any(|(name, _)| *name == "Host") {
        head.push_str("Host: sluicegate\r\n");
    }
    for (name, value) in headers {
        let _ = write!(head, "{name}: {value}\r\n");
    }
    client.send(head + "\r\n").await;
    client.reply().await
}

const FORWARDED: &[(&str, &str)] = &[
    ("X-Forwarded-Method", "POST"),
    ("X-Forwarded-Uri", "/checkout?currency=EUR"),
    ("X-Forwarded-Host", "shop.example"),
];
const ORIGINAL: &[(&str, &str)] = &[
    ("X-Original-Method", "POST"),
    ("X-Original-URI", "/checkout"),
    ("X-Original-Host", "shop.example"),
];
const INGRESS: &[(&str, &str)] =
    &[("X-Original-Method", "POST"), ("X-Original-URL", "https://shop.example/checkout")];
const NGINX: &[(&str, &str)] =
    &[("X-Original-Method", "POST"), ("X-Original-URI", "/checkout"), ("Host", "shop.example")];
const ENVOY: &[(&str, &str)] = &[("Host", "shop.example"), ("Content-Length", "0")];

#[tokio::test]
async fn the_headers_of_each_proxy_are_supported() {
    for (line, headers) in [
        ("GET /v1/authorize", FORWARDED),
        ("PURGE /v1/authorize", FORWARDED),
        ("GET /v1/authorize", ORIGINAL),
        ("GET /v1/authorize", INGRESS),
        ("GET /v1/authorize", NGINX),
        ("POST /v1/authorize/checkout?a=b", ENVOY),
        ("POST /v1/authorize/checkout?deny_status=200", ENVOY),
    ] {
        let (gate, _) = TestServer::by(RULES).await;
        let mut client = gate.client().await;
        let allowed = ask(&mut client, line, headers).await;
        assert_eq!((allowed.status, allowed.text()), (200, ""), "{line} {headers:?}");
        assert_eq!(allowed.header("content-type"), None);
        assert_eq!(allowed.header("cache-control"), Some("no-store"));
        assert_eq!(allowed.header("x-ratelimit-remaining"), Some("0"), "the rule applied: {line}");
        let refused = ask(&mut client, line, headers).await;
        assert_eq!((refused.status, refused.header("retry-after")), (429, Some("60")), "{line}");
        let problem = refused.json();
        assert_eq!(
            (&problem["status"], &problem["title"]),
            (&json!(429), &json!("Quota exceeded"))
        );
        assert_eq!(problem.get("decisions"), None, "clients may read it");
    }
}

#[tokio::test]
async fn deny_status_sets_the_status_of_refusals() {
    let (gate, _) = TestServer::by(RULES).await;
    let mut client = gate.client().await;
    for status in [200, 403, 403] {
        let reply = ask(&mut client, "GET /v1/authorize?deny_status=403", FORWARDED).await;
        assert_eq!(reply.status, status);
    }
    let reply = ask(&mut client, "GET /v1/authorize?deny=403", FORWARDED).await;
    assert_eq!((reply.status, reply.problem()["errors"][0]["field"].clone()), (400, json!("deny")));
}

#[tokio::test]
async fn deny_status_must_be_an_error_status() {
    for query in ["deny_status=200", "deny_status=204", "deny_status=302", "deny_status=399"] {
        let (gate, _) = TestServer::by(RULES).await;
        let mut client = gate.client().await;
        let line = format!("GET /v1/authorize?{query}");
        let reply = ask(&mut client, &line, FORWARDED).await;
        assert_eq!(reply.status, 400, "{query}");
        let error = reply.problem()["errors"][0].clone();
        assert_eq!(error["field"], "deny_status");
        let detail = error["detail"].as_str().unwrap();
        assert!(detail.contains("use a status from 400 to 599"), "{detail}");
    }
}

#[tokio::test]
async fn client_queries_never_turn_a_refusal_into_a_200() {
    // A proxy that forwards the client's query sends this. Hyper drops a fragment.
    for (query, status) in [
        ("deny_status=200", [400, 400]),
        ("deny_status=200#x", [400, 400]),
        ("deny_status=403#x", [400, 400]),
        ("next=/home", [400, 400]),
        ("a=b&deny_status=204", [400, 400]),
        ("deny_status=403&deny_status=200", [400, 400]),
        ("deny%5Fstatus=200", [400, 400]),
        ("deny_status=503", [200, 503]),
    ] {
        let (gate, _) = TestServer::by(RULES).await;
        let mut client = gate.client().await;
        let uri = format!("/checkout?{query}");
        let forwarded = [("X-Forwarded-Method", "POST"), ("X-Forwarded-Host", "shop.example")];
        let headers = [&forwarded[..], &[("X-Forwarded-Uri", uri.as_str())]].concat();
        for status in status {
            let line = format!("GET /v1/authorize?{query}");
            assert_eq!(ask(&mut client, &line, &headers).await.status, status, "{query}");
        }
        if let Some((_, query)) = uri.split_once('?').filter(|_| status[0] == 400) {
            let line = format!("GET /v1/authorize?{query}");
            let problem = ask(&mut client, &line, &headers).await.problem();
            let errors = problem["errors"].to_string();
            assert!(query.contains('#') || errors.contains("/v1/authorize?"), "{errors}");
        }
    }
}

#[tokio::test]
async fn targets_with_a_fragment_are_errors() {
    let (gate, _) = TestServer::by(RULES).await;
    let mut client = gate.client().await;
    for (name, uri) in [
        ("X-Forwarded-Uri", "/checkout#x"),
        ("X-Forwarded-Uri", "/checkout?currency=EUR#x"),
        ("X-Original-URI", "/#/../checkout"),
        ("X-Original-URL", "https://shop.example/checkout#"),
    ] {
        let forwarded = [("X-Original-Method", "POST"), (name, uri)];
        let reply = ask(&mut client, "GET /v1/authorize", &forwarded).await;
        assert_eq!(reply.status, 400, "{uri}");
        let detail = reply.problem()["errors"][0]["detail"].to_string();
        assert!(detail.contains("no `#`"), "{detail}");
    }
    for uri in ["/checkout%23x", "/checkout?currency=%23", "/checkout%3Fcurrency"] {
        let forwarded = [("X-Forwarded-Method", "POST"), ("X-Forwarded-Uri", uri)];
        assert_eq!(ask(&mut client, "GET /v1/authorize", &forwarded).await.status, 200, "{uri}");
    }
}

#[tokio::test]
async fn contradictory_forwarding_headers_are_errors() {
    let (gate, _) = TestServer::by(RULES).await;
    let mut client = gate.client().await;
    let forged: [&[(&str, &str)]; 4] = [
        &[("X-Original-URI", "/other")],
        &[("X-Original-Method", "GET")],
        &[("X-Forwarded-Uri", "/other")],
        &[("X-Original-Host", "other.example")],
    ];
    for more in forged {
        let reply = ask(&mut client, "GET /v1/authorize", &[FORWARDED, more].concat()).await;
        assert_eq!(reply.status, 400, "{more:?}");
        let problem = reply.problem();
        let detail = problem["errors"][0]["detail"].as_str().unwrap();
        assert!(detail.contains("configure the proxy to set one of them"), "{detail}");
    }
    let same = [FORWARDED, &[("X-Original-Method", "POST")]].concat();
    assert_eq!(ask(&mut client, "GET /v1/authorize", &same).await.status, 200);
}

#[tokio::test]
async fn missing_forwarding_headers_are_errors() {
    let (gate, _) = TestServer::by(RULES).await;
    let mut client = gate.client().await;
    for (headers, fields) in [
        (&[][..], &["x-forwarded-method", "x-forwarded-uri"][..]),
        (&[("X-Forwarded-Method", "GET")], &["x-forwarded-uri"]),
        (&[("X-Original-URI", "/")], &["x-forwarded-method"]),
        (&[("X-Original-Method", ""), ("X-Original-URI", "/")], &["x-original-method"]),
        (
            &[("X-Forwarded-Method", "{}"), ("X-Forwarded-Uri", "x"), ("X-Forwarded-Host", "a b")],
            &["x-forwarded-method", "x-forwarded-uri", "x-forwarded-host"],
        ),
    ] {
        let reply = ask(&mut client, "GET /v1/authorize", headers).await;
        assert_eq!(reply.status, 400, "{headers:?}");
        let problem = reply.problem();
        let errors = problem["errors"].as_array().unwrap();
        let found: Vec<_> = errors.iter().map(|error| error["field"].as_str().unwrap()).collect();
        assert_eq!(found, fields);
    }
}

#[tokio::test]
async fn bodies_are_discarded() {
    let (gate, _) = TestServer::by(RULES).await;
    let mut client = gate.client().await;
    for body in ["x".repeat(10), "x".repeat(300_000)] {
        let length = body.len();
        let head = "X-Forwarded-Method: POST\r\nX-Forwarded-Uri: /other\r\n";
        let head = format!(
            "POST /v1/authorize HTTP/1.1\r\nHost: a\r\n{head}Content-Length: {length}\r\n\r\n"
        );
        client.send(head + &body).await;
        assert_eq!(client.reply().await.status, 200);
    }
}

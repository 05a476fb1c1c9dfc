//! Tests of HTTP connections: pipelining, timeouts, size limits, malformed requests.

use std::time::Duration;

use sluicegate::{Batch, Check, CheckError, ManualClock, Store};
use sluicegate_server::{Server, StoreSize, StoreStats};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use super::raw_client::posted;
use super::test_server::{TestServer, without_rules};

const ASK: &str = r#"{"key":"k","quota":"9/min"}"#;

#[tokio::test]
async fn pipelined_requests_are_answered_in_order() {
    let gate = TestServer::open().await;
    let mut client = gate.client().await;
    client.send([posted("/v1/throttle", ASK), posted("/v1/throttle", ASK)].concat()).await;
    assert_eq!(client.reply().await.json()["remaining"], 8);
    assert_eq!(client.reply().await.json()["remaining"], 7);
    assert_eq!(client.throttle(ASK).await.json()["remaining"], 6, "the connection is kept");
}

#[tokio::test]
async fn a_half_closed_connection_still_gets_its_response() {
    let gate = TestServer::open().await;
    let mut client = gate.client().await;
    client.send(posted("/v1/throttle", ASK)).await;
    client.finish().await;
    assert_eq!(client.reply().await.status, 200);
    assert!(client.try_reply().await.is_none());
}

#[tokio::test]
async fn the_usual_content_types_are_accepted() {
    let gate = TestServer::open().await;
    let mut client = gate.client().await;
    for (kind, status) in [
        ("application/json; charset=utf-8", 200),
        ("application/x-www-form-urlencoded", 200),
        ("text/plain", 200),
        ("image/png", 415),
        ("?", 415),
        ("application/json\r\nContent-Encoding: gzip", 415),
    ] {
        let length = ASK.len();
        client
            .send(format!(
                "POST /v1/throttle HTTP/1.1\r\nHost: t\r\nContent-Type: {kind}\r\n\
                 Content-Length: {length}\r\n\r\n{ASK}"
            ))
            .await;
        assert_eq!(client.reply().await.status, status, "{kind}");
    }
}

#[tokio::test]
async fn an_unreadable_head_does_not_reset_the_connection() {
    let gate = TestServer::open().await;
    let lines = "x: y\r\n".repeat(20_000);
    for (line, status) in [("x: y", 431), ("x y", 400)] {
        let mut client = gate.client().await;
        client.send(format!("GET /healthz HTTP/1.1\r\n{line}\r\n{lines}")).await;
        assert_eq!(client.reply().await.status, status, "{line}");
        // A proxy that is still sending would treat a reset as a server that is down.
        for _ in 0..5 {
            client.send(&lines).await;
        }
        assert!(client.try_reply().await.is_none());
    }
}

#[tokio::test]
async fn chunked_bodies_are_read() {
    let gate = TestServer::open().await;
    let mut client = gate.client().await;
    let chunks = "8\r\n{\"key\":\"\r\n13\r\nk\",\"quota\":\"9/min\"}\r\n0\r\n\r\n";
    let head = "POST /v1/throttle HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n";
    client.send(format!("{head}{chunks}")).await;
    let reply = client.reply().await;
    assert_eq!(reply.status, 200, "{}", reply.text());
}

#[tokio::test]
async fn expect_continue_gets_a_100_or_a_413() {
    let gate = TestServer::open().await;
    let mut client = gate.client().await;
    let head = |length: usize| {
        format!(
            "POST /v1/throttle HTTP/1.1\r\nHost: t\r\nExpect: 100-continue\r\n\
             Content-Length: {length}\r\n\r\n"
        )
    };
    client.send(head(ASK.len())).await;
    assert_eq!(client.reply().await.status, 100);
    client.send(ASK).await;
    assert_eq!(client.reply().await.status, 200);
    client.send(head(65_537)).await;
    assert_eq!(client.reply().await.status, 413);
}

#[tokio::test]
async fn a_body_of_more_than_64_kib_is_too_large() {
    let gate = TestServer::open().await;
    let mut client = gate.client().await;
    let most = 65_536;
    let padded = |length: usize| ASK.to_owned() + &" ".repeat(length - ASK.len());
    assert_eq!(client.throttle(padded(most)).await.status, 200);
    let refused = client.throttle(padded(most + 1)).await;
    assert_eq!((refused.status, refused.header("connection")), (413, Some("close")));
    refused.problem();
    assert!(client.try_reply().await.is_none());

    // Without a length, the size shows only while reading; the response arrives nevertheless.
    let mut client = gate.client().await;
    let chunk = format!("8000\r\n{}\r\n", " ".repeat(0x8000));
    client
        .send("POST /v1/throttle HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n")
        .await;
    client.send(chunk.repeat(5) + "0\r\n\r\n").await;
    assert_eq!(client.reply().await.status, 413);
}

#[tokio::test(start_paused = true)]
async fn a_late_body_gets_a_408() {
    let gate = TestServer::open().await;
    let mut client = gate.client().await;
    client.send("POST /v1/throttle HTTP/1.1\r\nHost: t\r\nContent-Length: 9\r\n\r\n{").await;
    let late = client.reply().await;
    assert_eq!((late.status, late.header("connection")), (408, Some("close")));
    late.problem();
    assert!(client.try_reply().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_late_head_closes_the_connection() {
    let gate = TestServer::open().await;
    let mut client = gate.client().await;
    client.send("POST /v1/throttle HTTP/1.1\r\nHost").await;
    assert!(client.try_reply().await.is_none());
}

#[tokio::test]
async fn malformed_requests_end_only_their_own_connection() {
    let gate = TestServer::open().await;
    let mut client = gate.client().await;
    let long_header = format!("GET / HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(300_000));
    let many_headers = format!("GET / HTTP/1.1\r\n{}\r\n", "X: y\r\n".repeat(200));
    let post = |headers: &str| format!("POST /v1/throttle HTTP/1.1\r\n{headers}\r\n\r\n");
    for malformed in [
        "\0\u{1}\u{2}\r\n\r\n",
        "GET\r\n\r\n",
        "{\"key\":1}\r\n\r\n",
        "GET / HTTP/1.1\r\nno colon\r\n\r\n",
        &post("Content-Length: x"),
        &post("Content-Length: 1\r\nContent-Length: 2"),
        &long_header,
        &many_headers,
    ] {
        let mut other = gate.client().await;
        other.send(malformed).await;
        let start = &malformed[..malformed.len().min(40)];
        let reply = other.try_reply().await.unwrap_or_else(|| panic!("no answer to {start:?}"));
        assert!((400..500).contains(&reply.status), "{} to {start:?}", reply.status);
        assert!(other.try_reply().await.is_none(), "the connection is closed");
        assert_eq!(client.throttle(ASK).await.status, 200);
    }
}

/// The bytes after a request do not affect its response.
#[tokio::test(start_paused = true)]
async fn bytes_after_a_request_do_not_affect_its_response() {
    for rest in ["", "\r\n", "\r\n\r\n", "POST /v1/thr", "\0garbage"] {
        let gate = TestServer::open().await;
        let mut client = gate.client().await;
        let request = posted("/v1/throttle", ASK);
        client.send([&request[..], rest.as_bytes()].concat()).await;
        let reply = client.try_reply().await;
        assert_eq!(reply.map(|reply| reply.status), Some(200), "{rest:?}");
    }
}

/// Unread responses are neither buffered without limit nor waited for without limit.
#[tokio::test(start_paused = true)]
async fn a_client_that_never_reads_is_disconnected() {
    let gate = TestServer::open().await;
    let mut stream = TcpStream::connect(gate.address).await.unwrap();
    let requests = posted("/v1/throttle", ASK).repeat(1_000);
    let mut sent = 0;
    while stream.write_all(&requests).await.is_ok() {
        sent += requests.len();
        assert!(sent < 1 << 30, "the server reads on although it cannot write");
    }
}

/// A store that panics on every check.
struct PanickingStore(ManualClock);

impl Store for PanickingStore {
    type Clock = ManualClock;

    fn clock(&self) -> &ManualClock {
        &self.0
    }

    async fn apply(&self, _: &mut Batch<'_>) -> Result<(), CheckError> {
        panic!("the test makes this store panic")
    }

    fn apply_detached(&self, _: Check<'_>) {}
}

impl StoreStats for PanickingStore {
    fn size(&self) -> StoreSize {
        StoreSize::default()
    }
}

#[tokio::test]
async fn a_panic_gets_a_500_and_the_connection_continues() {
    let clock = ManualClock::default();
    let gate =
        TestServer::open_with(Server::new(without_rules(PanickingStore(clock.clone()))), clock)
            .await;
    let mut client = gate.client().await;
    for _ in 0..2 {
        let reply = client.throttle(ASK).await;
        assert_eq!(reply.status, 500);
        assert!(!reply.problem()["detail"].as_str().unwrap().contains("the test makes"));
    }
    let scrape = client.get("/metrics").await;
    let line = "sluicegate_http_requests_total{path=\"/v1/throttle\",status=\"5xx\"} 2\n";
    assert!(scrape.text().contains(line));
}

#[tokio::test]
async fn counters_use_only_the_manual_clock() {
    let gate = TestServer::open().await;
    let mut client = gate.client().await;
    assert_eq!(client.throttle(ASK).await.json()["remaining"], 8);
    assert_eq!(client.throttle(ASK).await.json()["remaining"], 7);
    gate.clock.advance(Duration::from_secs(60));
    assert_eq!(client.throttle(ASK).await.json()["remaining"], 8);
}

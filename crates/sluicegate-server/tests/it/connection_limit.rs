//! Tests of the limit on open connections.

use sluicegate::{ManualClock, Memory};
use sluicegate_server::Server;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

use super::resp_client::RespReply;
use super::test_server::{TestServer, without_rules};

#[tokio::test]
async fn a_connection_above_the_limit_gets_an_error() {
    let clock = ManualClock::default();
    let limiter = without_rules(Memory::with_clock(clock.clone()));
    let gate = TestServer::open_with(Server::new(limiter).max_connections(2), clock).await;
    let (mut http, mut resp) = (gate.client().await, gate.resp().await);
    assert_eq!(http.throttle(r#"{"key":"x","quota":"5/min"}"#).await.status, 200);
    assert_eq!(resp.ask("PING").await, RespReply::Simple("PONG".to_owned()));

    let mut response = String::new();
    let mut third = TcpStream::connect(gate.address).await.unwrap();
    third.read_to_string(&mut response).await.unwrap();
    let (head, body) = response.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 503 ") && head.contains("\r\nretry-after: 1"), "{head}");
    assert!(head.ends_with(&format!("\r\ncontent-length: {}", body.len())), "{head}");
    let body: serde_json::Value = serde_json::from_str(body).unwrap();
    assert_eq!(body["status"], 503);
    let mut third = gate.resp().await;
    assert_eq!(third.answer().await, RespReply::error("ERR max number of clients reached"));
    assert_eq!(third.try_answer().await, None);

    assert_eq!(http.throttle(r#"{"key":"x","quota":"5/min"}"#).await.status, 200);
    assert_eq!(resp.ask("PING").await, RespReply::Simple("PONG".to_owned()));
}

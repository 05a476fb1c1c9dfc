//! Tests of shutdown: requests in flight finish, new connections are refused.

use std::time::Duration;

use sluicegate::{ManualClock, Memory};
use sluicegate_server::{Drained, Server};
use tokio::net::TcpStream;

use super::raw_client::posted;
use super::test_server::{TestServer, without_rules};

const ASK: &str = r#"{"key":"k","quota":"9/min"}"#;

#[tokio::test]
async fn a_half_sent_request_is_finished() {
    let gate = TestServer::open().await;
    let address = gate.address;
    let mut client = gate.client().await;
    // A complete request first, so that the connection is open for certain.
    client.throttle(ASK).await;
    let request = posted("/v1/throttle", ASK);
    let (sent, unsent) = request.split_at(request.len() - 5);
    client.send(sent).await;
    // A response on another connection proves that the server has read the half.
    let mut other = gate.client().await;
    other.throttle(ASK).await;

    let serving = gate.stop();
    assert!(other.try_reply().await.is_none(), "an idle connection is closed at once");
    assert!(TcpStream::connect(address).await.is_err(), "new connections are refused");
    assert!(!serving.is_finished());
    client.send(unsent).await;
    assert_eq!(client.reply().await.status, 200);
    assert!(client.try_reply().await.is_none());
    assert_eq!(serving.await.unwrap(), Drained::All);
}

#[tokio::test]
async fn an_idle_server_stops_at_once() {
    let gate = TestServer::open().await;
    let mut client = gate.client().await;
    client.throttle(ASK).await;
    let silent = gate.client().await;
    assert_eq!(gate.stop().await.unwrap(), Drained::All);
    drop(silent);
}

#[tokio::test(start_paused = true)]
async fn a_request_above_the_timeout_is_cut_and_reported() {
    let (clock, limit) = (ManualClock::default(), Duration::from_secs(1));
    let limiter = without_rules(Memory::with_clock(clock.clone()));
    let server = Server::new(limiter).shutdown_timeout(limit);
    let gate = TestServer::open_with(server, clock).await;
    let mut client = gate.client().await;
    let head = "POST /v1/throttle HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n";
    client.send(head).await;
    let mut other = gate.client().await;
    other.throttle(ASK).await;
    let serving = gate.stop();
    assert_eq!(serving.await.unwrap(), Drained::Cut { connections: 1 });
    assert!(client.try_reply().await.is_none());
}

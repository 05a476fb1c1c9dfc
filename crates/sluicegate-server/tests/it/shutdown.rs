//! Stopping: what is in flight is finished, and nothing new is taken.

use std::time::Duration;

use sluicegate::{ManualClock, Memory};
use sluicegate_server::{Drained, Server};
use tokio::net::TcpStream;

use super::client::posted;
use super::gate::{Gate, without_rules};

const ASK: &str = r#"{"key":"k","quota":"9/min"}"#;

#[tokio::test]
async fn a_request_that_was_half_sent_is_finished() {
    let gate = Gate::open().await;
    let address = gate.address;
    let mut client = gate.client().await;
    // A whole request first, so that the connection is known to be open.
    client.throttle(ASK).await;
    let request = posted("/v1/throttle", ASK);
    let (sent, unsent) = request.split_at(request.len() - 5);
    client.send(sent).await;
    // Answered on another connection after the half: the server has seen the half by then.
    let mut other = gate.client().await;
    other.throttle(ASK).await;

    let serving = gate.stop();
    assert!(other.try_reply().await.is_none(), "an idle connection is closed at once");
    assert!(TcpStream::connect(address).await.is_err(), "nothing new is taken");
    assert!(!serving.is_finished());
    client.send(unsent).await;
    assert_eq!(client.reply().await.status, 200);
    assert!(client.try_reply().await.is_none());
    assert_eq!(serving.await.unwrap(), Drained::All);
}

#[tokio::test]
async fn an_idle_server_stops_at_once() {
    let gate = Gate::open().await;
    let mut client = gate.client().await;
    client.throttle(ASK).await;
    let silent = gate.client().await;
    assert_eq!(gate.stop().await.unwrap(), Drained::All);
    drop(silent);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_takes_too_long_is_cut_and_reported() {
    let (clock, patience) = (ManualClock::default(), Duration::from_secs(1));
    let limiter = without_rules(Memory::with_clock(clock.clone()));
    let server = Server::new(limiter).shutdown_timeout(patience);
    let gate = Gate::open_with(server, clock).await;
    let mut client = gate.client().await;
    let head = "POST /v1/throttle HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n";
    client.send(head).await;
    let mut other = gate.client().await;
    other.throttle(ASK).await;
    let serving = gate.stop();
    assert_eq!(serving.await.unwrap(), Drained::Cut { connections: 1 });
    assert!(client.try_reply().await.is_none());
}

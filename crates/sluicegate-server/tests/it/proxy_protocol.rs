//! Tests of connections that begin with a PROXY header.

use sluicegate::{ManualClock, Memory};
use sluicegate_rules::TrustedNetworks;
use sluicegate_server::{Drained, Server};

use super::raw_client::posted;
use super::test_server::{TestServer, without_rules};

const ASK: &str = r#"{"key":"k","quota":"9/min"}"#;
const VERSION_1: &[u8] = b"PROXY TCP4 192.0.2.7 192.0.2.1 4711 443\r\n";
const VERSION_2: &[u8] =
    b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\xc0\0\x02\x07\xc0\0\x02\x01\x12\x67\x01\xbb";
/// A connection of the proxy itself, as for a health check.
const LOCAL: &[u8] = b"\r\n\r\n\0\r\nQUIT\n\x20\0\0\0";

async fn behind_proxies(networks: &[&str]) -> TestServer {
    let clock = ManualClock::default();
    let limiter = without_rules(Memory::with_clock(clock.clone()));
    let networks = TrustedNetworks::parse(networks).unwrap();
    TestServer::open_with(Server::new(limiter).proxy_protocol(networks), clock).await
}

#[tokio::test]
async fn a_header_of_either_version_opens_the_connection() {
    let gate = behind_proxies(&["loopback"]).await;
    for (place, header) in
        [VERSION_1, b"PROXY UNKNOWN\r\n", VERSION_2, LOCAL].into_iter().enumerate()
    {
        let mut client = gate.client().await;
        // In one piece: the bytes after the header belong to the request.
        client.send([header, &posted("/v1/throttle", ASK)].concat()).await;
        let left = 7 - 2 * i32::try_from(place).unwrap();
        assert_eq!(client.reply().await.json()["remaining"], left + 1);
        assert_eq!(
            client.throttle(ASK).await.json()["remaining"],
            left,
            "the connection continues"
        );
        if left == 1 {
            gate.clock.advance(std::time::Duration::from_secs(60));
        }
    }
}

#[tokio::test]
async fn a_header_may_come_in_pieces() {
    let gate = behind_proxies(&["127.0.0.0/8", "::1"]).await;
    for header in [VERSION_1, VERSION_2] {
        let mut client = gate.client().await;
        for byte in header {
            client.send([*byte]).await;
            tokio::task::yield_now().await;
        }
        assert_eq!(client.throttle(ASK).await.status, 200);
    }
}

#[tokio::test]
async fn connections_without_a_valid_header_are_closed() {
    let gate = behind_proxies(&["loopback"]).await;
    for first in [
        &posted("/v1/throttle", ASK)[..],
        b"PROXY TCP4 192.0.2.7 192.0.2.1 4711\r\n",
        b"PROXY TCP4 192.0.2.300 192.0.2.1 4711 443\r\n",
        b"PROXX",
        b"\r\n\r\nGET",
        b"\0",
    ] {
        let mut client = gate.client().await;
        client.send([first, &posted("/v1/throttle", ASK)].concat()).await;
        assert!(client.try_reply().await.is_none());
    }
    // A connection that ends within its header.
    let mut client = gate.client().await;
    client.send(&VERSION_1[..20]).await;
    client.finish().await;
    assert!(client.try_reply().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_late_header_closes_the_connection() {
    let gate = behind_proxies(&["loopback"]).await;
    for first in [&b""[..], &VERSION_1[..30], &VERSION_2[..15]] {
        let before = tokio::time::Instant::now();
        let mut client = gate.client().await;
        client.send(first).await;
        assert!(client.try_reply().await.is_none());
        let waited = before.elapsed().as_millis();
        assert!((900..2_000).contains(&waited), "{waited} ms on the paused clock");
    }
}

#[tokio::test]
async fn connections_from_untrusted_peers_are_closed() {
    let gate = behind_proxies(&["10.0.0.0/8"]).await;
    for first in [VERSION_1, VERSION_2, b""] {
        let mut client = gate.client().await;
        client.send([first, &posted("/v1/throttle", ASK)].concat()).await;
        assert!(client.try_reply().await.is_none());
    }
}

#[tokio::test]
async fn without_proxies_a_header_gets_a_400() {
    for gate in [TestServer::open().await, behind_proxies(&[]).await] {
        let mut client = gate.client().await;
        client.send([VERSION_1, &posted("/v1/throttle", ASK)].concat()).await;
        assert_eq!(client.reply().await.status, 400);
        assert_eq!(gate.client().await.throttle(ASK).await.status, 200);
    }
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_is_not_delayed_by_a_late_header() {
    let gate = behind_proxies(&["loopback"]).await;
    let mut open = gate.client().await;
    open.send([VERSION_1, &posted("/v1/throttle", ASK)].concat()).await;
    assert_eq!(open.reply().await.status, 200);
    let silent = gate.client().await;
    assert_eq!(gate.stop().await.unwrap(), Drained::All);
    drop(silent);
}

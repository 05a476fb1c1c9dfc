//! Tests of reloads under load: no request is dropped, no second burst is admitted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::test_server::{TestServer, parsed};

const CLIENTS: usize = 8;
const RELOADS: usize = 100;
/// The least requests of each client: together more than the quota.
const REQUESTS: usize = 150;

/// Sends requests while the rules are replaced, and returns the number of admitted ones.
async fn admitted(rules: impl Fn(usize) -> String + Send + 'static) -> usize {
    let (gate, limiter) = TestServer::by(&rules(0)).await;
    let (done, responses) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let clients: Vec<_> = (0..CLIENTS)
        .map(|_| {
            let (done, responses, address) =
                (Arc::clone(&done), Arc::clone(&responses), gate.address);
            tokio::spawn(async move {
                let mut client = super::raw_client::Client::connect(address).await;
                let (mut sent, mut admitted) = (0, 0);
                while sent < REQUESTS || !done.load(Ordering::Relaxed) {
                    let reply = client.post("/v1/check", r#"{"attributes":{"user":"42"}}"#).await;
                    assert!(matches!(reply.status, 200 | 429), "{} {}", reply.status, reply.text());
                    assert_eq!(reply.json()["rule"], "api", "the rule always applies");
                    sent += 1;
                    admitted += usize::from(reply.status == 200);
                    responses.fetch_add(1, Ordering::Relaxed);
                }
                admitted
            })
        })
        .collect();
    for reload in 1..=RELOADS {
        // Waits for a response after each reload, so that each rule set is used.
        let before = responses.load(Ordering::Relaxed);
        limiter.replace(parsed(&rules(reload)));
        while responses.load(Ordering::Relaxed) == before {
            tokio::task::yield_now().await;
        }
    }
    done.store(true, Ordering::Relaxed);
    let mut admitted = 0;
    for client in clients {
        admitted += client.await.unwrap();
    }
    assert!(responses.load(Ordering::Relaxed) >= CLIENTS * REQUESTS);
    admitted
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reloads_do_not_change_the_admitted_quota() {
    let rules = |reload: usize| {
        // The same rule, at another position and with another rule.
        let other = format!("{{ name: other-{reload}, key: [], limit: 100000/min }}");
        let api = "{ name: api, key: user, limit: 500/min }";
        let (first, second) =
            if reload.is_multiple_of(2) { (api, &*other) } else { (&*other, api) };
        format!("rules: [{first}, {second}]")
    };
    assert_eq!(admitted(rules).await, 500);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_of_algorithm_or_quota_grant_no_second_burst() {
    let algorithms =
        ["token_bucket", "fixed_window", "sliding_window", "sliding_log", "leaky_bucket"];
    let rules = move |reload: usize| {
        let algorithm = algorithms[reload % algorithms.len()];
        let quota = if reload.is_multiple_of(2) { "500/min" } else { "400/min" };
        format!("rules: [{{ name: api, key: user, limit: {quota}, algorithm: {algorithm} }}]")
    };
    let admitted = admitted(rules).await;
    assert!((1..=500).contains(&admitted), "{admitted}");
}

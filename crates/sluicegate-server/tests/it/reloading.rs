//! Rules that are replaced while clients ask: nobody is dropped, nobody gets a second burst.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::gate::{Gate, parsed};

const CLIENTS: usize = 8;
const RELOADS: usize = 100;
/// What each client asks at least: together more than is admitted.
const ASKED: usize = 150;

/// Clients ask while the rules are replaced; how many requests were admitted.
async fn admitted(rules: impl Fn(usize) -> String + Send + 'static) -> usize {
    let (gate, limiter) = Gate::by(&rules(0)).await;
    let (done, answered) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let clients: Vec<_> = (0..CLIENTS)
        .map(|_| {
            let (done, answered, address) =
                (Arc::clone(&done), Arc::clone(&answered), gate.address);
            tokio::spawn(async move {
                let mut client = super::client::Client::connect(address).await;
                let (mut asked, mut admitted) = (0, 0);
                while asked < ASKED || !done.load(Ordering::Relaxed) {
                    let reply = client.post("/v1/check", r#"{"attributes":{"user":"42"}}"#).await;
                    assert!(matches!(reply.status, 200 | 429), "{} {}", reply.status, reply.text());
                    assert_eq!(reply.json()["rule"], "api", "the rule always applies");
                    asked += 1;
                    admitted += usize::from(reply.status == 200);
                    answered.fetch_add(1, Ordering::Relaxed);
                }
                admitted
            })
        })
        .collect();
    for reload in 1..=RELOADS {
        // Not all at once: after each reload somebody is answered by it.
        let before = answered.load(Ordering::Relaxed);
        limiter.replace(parsed(&rules(reload)));
        while answered.load(Ordering::Relaxed) == before {
            tokio::task::yield_now().await;
        }
    }
    done.store(true, Ordering::Relaxed);
    let mut admitted = 0;
    for client in clients {
        admitted += client.await.unwrap();
    }
    assert!(answered.load(Ordering::Relaxed) >= CLIENTS * ASKED);
    admitted
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_quota_is_admitted_exactly_once_however_often_the_rules_are_replaced() {
    let rules = |reload: usize| {
        // The same rule, at another place and beside others.
        let other = format!("{{ name: other-{reload}, key: [], limit: 100000/min }}");
        let api = "{ name: api, key: user, limit: 500/min }";
        let (first, second) =
            if reload.is_multiple_of(2) { (api, &*other) } else { (&*other, api) };
        format!("rules: [{first}, {second}]")
    };
    assert_eq!(admitted(rules).await, 500);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_algorithm_or_quota_is_no_second_burst() {
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

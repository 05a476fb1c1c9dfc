//! Tests of the metrics of rules and of their reloads.

use std::sync::Arc;

use serde_json::json;
use sluicegate::{ManualClock, Memory};
use sluicegate_server::{Reloads, Server};

use super::raw_client::Client;
use super::test_server::{TestServer, by_rules, parsed};

const RULES: &str = "
identify:
  user: { header: x-user-id }
rules:
  - { name: tight, match: { path: /a }, key: user, limit: 2/min, soft: { extra: 1, delay: 1s } }
  - { name: wide, match: { path: /a }, key: user, limit: 100/min }
  - { name: tried-out, match: { path: /a }, key: user, limit: 1/min, mode: shadow }
";

async fn scraped(client: &mut Client) -> String {
    client.get("/metrics").await.text().to_owned()
}

fn shows(scrape: &str, series: &str, value: u64) {
    let line = format!("sluicegate_{series} {value}");
    assert!(scrape.lines().any(|other| other == line), "{line}\n{scrape}");
}

fn decided(rule: &str, outcome: &str) -> String {
    format!("decisions_total{{rule=\"{rule}\",outcome=\"{outcome}\"}}")
}

#[tokio::test]
async fn callers_do_not_add_series() {
    let (gate, _) = TestServer::by(RULES).await;
    let mut client = gate.client().await;
    let before = scraped(&mut client).await.lines().count();
    for thousand in 0..10 {
        let calls: Vec<_> = (0..1_000)
            .map(|n| {
                let user = format!("caller-{thousand}-{n}");
                json!({"attributes": {"path": "/a", "anything": user}, "headers": {"x-user-id": user}})
            })
            .collect();
        let reply = client.post("/v1/check/batch", json!(calls).to_string()).await;
        assert_eq!(reply.status, 200);
    }
    let scrape = scraped(&mut client).await;
    assert_eq!(scrape.lines().count(), before);
    shows(&scrape, &decided("wide", "allowed"), 10_000);
    assert!(!scrape.contains("caller-"));
}

#[tokio::test]
async fn a_rule_keeps_its_counts_over_a_reload() {
    let (gate, limiter) = TestServer::by("rules: [{ name: a, key: [], limit: 5/min }]").await;
    let mut client = gate.client().await;
    for _ in 0..2 {
        client.post("/v1/check", "{}").await;
    }
    limiter.replace(parsed(
        "rules: [{ name: b, key: [], limit: 9/min }, { name: a, key: [], limit: 7/min }]",
    ));
    for _ in 0..3 {
        client.post("/v1/check", "{}").await;
    }
    let scrape = scraped(&mut client).await;
    shows(&scrape, &decided("a", "allowed"), 5);
    shows(&scrape, &decided("b", "allowed"), 3);
    limiter.replace(parsed("rules: []"));
    client.post("/v1/check", "{}").await;
    let scrape = scraped(&mut client).await;
    shows(&scrape, &decided("a", "allowed"), 5);
    shows(&scrape, "unmatched_total", 1);
}

#[tokio::test]
async fn reloads_of_the_file_are_counted() {
    let clock = ManualClock::default();
    let limiter = by_rules(
        Memory::with_clock(clock.clone()),
        "rules: [{ name: a, key: [], limit: 5/min }, { name: b, key: [], limit: 9/min }]",
    );
    let reloads = Reloads::new();
    let server = Server::new(Arc::clone(&limiter)).reloads(&reloads);
    let gate = TestServer::open_with(server, clock).await;
    let mut client = gate.client().await;
    let assert_metrics = async |client: &mut Client, rules, loaded, refused, stale| {
        let scrape = scraped(client).await;
        shows(&scrape, "rules", rules);
        shows(&scrape, "rules_reloads_total{outcome=\"loaded\"}", loaded);
        shows(&scrape, "rules_reloads_total{outcome=\"refused\"}", refused);
        shows(&scrape, "rules_stale", stale);
        let at = "sluicegate_rules_loaded_timestamp_seconds ";
        let at = scrape.lines().find_map(|line| line.strip_prefix(at)).unwrap();
        assert!(at.parse::<u64>().unwrap() > 1_600_000_000, "{at}");
    };
    assert_metrics(&mut client, 2, 0, 0, 0).await;
    reloads.refused();
    assert_metrics(&mut client, 2, 0, 1, 1).await;
    reloads.clone().loaded(3);
    assert_metrics(&mut client, 3, 1, 1, 0).await;
}

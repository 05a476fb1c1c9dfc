//! Tests of `/metrics`.

use std::fs;

use sluicegate::{ManualClock, Memory, MemoryOptions};
use sluicegate_server::{Server, Snapshots};

use super::test_server::{TestServer, without_rules};

#[tokio::test]
async fn a_scrape_has_decisions_requests_and_store_size() {
    let clock = ManualClock::default();
    let store = MemoryOptions::new().max_bytes(1 << 20).build_with(clock.clone()).unwrap();
    let gate = TestServer::open_with(Server::new(without_rules(store)), clock).await;
    let mut client = gate.client().await;
    for _ in 0..3 {
        client.throttle(r#"{"key":"secret-key","quota":"2/min"}"#).await;
        client.throttle(r#"{"key":"other","quota":"2/min","algorithm":"queue"}"#).await;
    }
    client.throttle("{}").await;
    client.get("/nowhere").await;
    client.post("/v1/throttle?deny_status=503", r#"{"key":"secret-key","quota":"2/min"}"#).await;

    let scrape = client.get("/metrics").await;
    assert_eq!(
        scrape.header("content-type"),
        Some("application/openmetrics-text; version=1.0.0; charset=utf-8")
    );
    let decided = |algorithm: &str, outcome: &str| {
        format!(
            "decisions_total{{rule=\"throttle\",algorithm=\"{algorithm}\",outcome=\"{outcome}\"}}"
        )
    };
    let answered = |path: &str, status: &str| {
        format!("http_requests_total{{path=\"{path}\",status=\"{status}\"}}")
    };
    for (series, value) in [
        (decided("token_bucket", "allowed"), 2),
        (decided("token_bucket", "refused"), 2),
        (decided("token_bucket", "delayed"), 0),
        (decided("queue", "allowed"), 1),
        (decided("queue", "delayed"), 2),
        (decided("sliding_log", "refused"), 0),
        (answered("/v1/throttle", "2xx"), 5),
        (answered("/v1/throttle", "4xx"), 2),
        (answered("/v1/throttle", "5xx"), 1),
        (answered("other", "4xx"), 1),
        ("connections{protocol=\"http\"}".to_owned(), 1),
        ("store_counters".to_owned(), 2),
        ("store_max_bytes".to_owned(), 1 << 20),
        ("store_forgotten_total".to_owned(), 0),
        (format!("build_info{{version=\"{}\"}}", env!("CARGO_PKG_VERSION")), 1),
    ] {
        let line = format!("sluicegate_{series} {value}");
        assert!(scrape.text().lines().any(|other| other == line), "{line}\n{}", scrape.text());
    }
    for metric in ["decisions", "http_requests", "connections", "build", "store_counters"] {
        assert!(scrape.text().contains(&format!("# HELP sluicegate_{metric} ")), "{metric}");
    }
    let bytes = scrape.text().lines().find_map(|line| line.strip_prefix("sluicegate_store_bytes "));
    assert!((1..=1 << 20).contains(&bytes.unwrap().parse::<u64>().unwrap()));
    assert!(!scrape.text().contains("snapshot"), "no snapshots");
    assert!(scrape.text().ends_with("# EOF\n"));
    assert!(!scrape.text().contains("secret-key"));
    client.get("/metrics").await;
    let again = client.get("/metrics").await;
    let series = |text: &str| text.lines().count();
    assert_eq!(series(again.text()), series(scrape.text()), "the number of series is fixed");
}

#[tokio::test]
async fn a_scrape_has_the_outcome_of_snapshots() {
    let clock = ManualClock::default();
    let rule_limiter = without_rules(Memory::with_clock(clock.clone()));
    let (limiter, snapshots) = (rule_limiter.limiter().clone(), Snapshots::new());
    let server = Server::new(rule_limiter).snapshots(&snapshots);
    let gate = TestServer::open_with(server, clock).await;
    let mut client = gate.client().await;
    let shown = async |client: &mut super::raw_client::Client| {
        let scrape = client.get("/metrics").await;
        let value = |series: &str| {
            let line = scrape.text().lines().find_map(|line| line.strip_prefix(series));
            line.unwrap().trim().parse::<u64>().unwrap()
        };
        let taken = value("sluicegate_snapshot_taken_timestamp_seconds ");
        (taken, value("sluicegate_snapshot_failures_total "))
    };
    assert_eq!(shown(&mut client).await, (0, 0));
    let name = format!("sluicegate-metrics-{}", std::process::id());
    let path = std::env::temp_dir().join(name);
    snapshots.record(&limiter.store().save(&path));
    fs::remove_file(&path).unwrap();
    snapshots.record(&limiter.store().save(path.join("nowhere")));
    assert_eq!(shown(&mut client).await, (1_767_225_600, 1));
}

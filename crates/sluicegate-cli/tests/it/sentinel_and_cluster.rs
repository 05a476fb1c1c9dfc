//! `sluicegate serve` with a store behind Sentinel and with a cluster.

use sluicegate_testkit::{Cluster, Sentinels, Server, ServerKind, retry_if_stalled};

use super::eventually::eventually;
use super::http::{get, metrics, post, status};
use super::program::{Folder, Serving, sluicegate};

/// The documented permissions of the user; others depend on the deployment.
const USER: &str = "sluicegate on >cornedbeef resetkeys resetchannels -@all ~sluicegate:* &sluicegate:* \
    +eval +evalsha +time +mget +set +setrange +exists +del +publish \
    +zadd +zscore +zcard +zremrangebyscore +pexpire +subscribe +info";
/// The documented permissions of the user of sentinels.
const WATCHER: &str = "watcher on >drumstick resetchannels -@all &+switch-master +subscribe \
    +sentinel|get-master-addr-by-name";

/// A node with this store, and a deadline that suffices on a busy test machine.
fn node(url: &str, more: &str) -> (Serving, Folder) {
    let folder = Folder::new();
    let user =
        format!("url: '{url}', username: sluicegate, password: '${{PASSWORD}}', deadline: 1s");
    let rules = folder.write(
        "rules.yaml",
        &format!(
            "store: {{ redis: {{ {user}{more} }} }}\nrules:\n  \
             - {{ name: caller, key: user, limit: 1/h, match: {{ path: /both }} }}\n  \
             - {{ name: place, key: ip, limit: 5/h, match: {{ path: /both }} }}\n"
        ),
    );
    let mut command = sluicegate(&["serve", "--http", "127.0.0.1:0", "--config", &rules]);
    command.env("PASSWORD", "cornedbeef").env("SLUICEGATE_SENTINEL_PASSWORD", "drumstick");
    (Serving::start(command), folder)
}

/// Asserts that the fourth request is refused.
fn assert_three_an_hour(serving: &Serving, key: &str) {
    let body = format!(r#"{{"key":"{key}","quota":"3/h"}}"#);
    let statuses = [(); 4].map(|()| status(&serving.address, "/v1/throttle", &body));
    assert_eq!(statuses, ["200", "200", "200", "429"], "{key}");
}

/// The answer of `/readyz` as soon as it contains this.
fn ready(serving: &Serving, words: &str) -> String {
    eventually(|| get(&serving.address, "/readyz"), |ready: &String| ready.contains(words))
}

fn assert_metric(serving: &Serving, line: &str) {
    let scrape = metrics(&serving.address);
    assert!(scrape.lines().any(|other| other == line), "{line}\n{scrape}");
}

#[test]
fn follows_the_primary_of_sentinels() {
    retry_if_stalled(|| {
        let setup = Sentinels::setup(ServerKind::Redis).user(&format!("{USER} +role"));
        let sentinels = setup.sentinel_password("doorbell").sentinel_user(WATCHER).start();
        let (serving, _folder) = node(&sentinels.url(), ", sentinel: { username: watcher }");
        let line = serving.greeting.lines().next().unwrap();
        let address = |index| format!("127.0.0.1:{}", sentinels.known_port(index));
        let primary = sentinels.primary();
        let expected = format!(" at {}, the primary of mymaster, its clock ", address(primary));
        assert!(
            line.starts_with("sluicegate: store: Redis ") && line.contains(&expected),
            "{line}"
        );
        assert!(line.ends_with(", 1 node"), "{line}");
        assert_three_an_hour(&serving, "user:42");
        let answer = ready(&serving, r#""state":"reached""#);
        let at = |index| format!(r#""address":"{}""#, address(index));
        assert!(answer.contains(&at(primary)) && !answer.contains(r#""parts""#), "{answer}");

        sentinels.kill_primary();
        let next = sentinels.wait_until_switched(primary);
        let answer = ready(&serving, &at(next));
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        ready(&serving, r#""state":"reached""#);
        assert_three_an_hour(&serving, "user:43");
        assert_metric(&serving, "sluicegate_store_failovers_total 1");
        assert_metric(&serving, "sluicegate_store_up 1");
        let (code, _, log) = serving.stop("-TERM");
        assert_eq!(code, Some(0));
        let words =
            format!("the store's primary is {} now, no longer {}", address(next), address(primary));
        assert!(log.contains("WARN") && log.contains(&words), "{log}");
    });
}

#[test]
fn a_rejected_sentinel_password_is_not_logged() {
    let sentinels = Sentinels::setup(ServerKind::Redis).sentinel_user(WATCHER).start();
    let (serving, _folder) = node(&sentinels.url(), ", sentinel: { username: stranger }");
    let line = serving.greeting.lines().next().unwrap().to_owned();
    assert!(line.contains("/mymaster is unreachable (no sentinel names a primary: "), "{line}");
    let answer = ready(&serving, "WRONGPASS");
    assert!(answer.contains(r#""degraded":true"#), "{answer}");
    let (_, _, log) = serving.stop("-TERM");
    assert!(log.contains("WRONGPASS"), "{log}");
    for shown in [line, answer, log] {
        assert!(!shown.contains("drumstick"), "{shown}");
    }
}

#[test]
fn uses_a_cluster_and_reports_its_primaries() {
    retry_if_stalled(|| {
        let user = format!("{USER} +cluster|slots +asking");
        let cluster = Cluster::setup(ServerKind::Redis).user(&user).replicas_each(0).start();
        let (serving, _folder) = node(&cluster.url(), "");
        let line = serving.greeting.lines().next().unwrap();
        assert!(line.starts_with("sluicegate: store: Redis "), "{line}");
        assert!(line.contains(", a cluster, 3 of 3 primaries reached, its clock "), "{line}");
        // Each caller in its own slot.
        for caller in 0..8 {
            assert_three_an_hour(&serving, &format!("user:{caller}"));
        }
        let check = |caller: usize| {
            let attributes = format!(r#"{{"user":"{caller}","ip":"203.0.113.9","path":"/both"}}"#);
            post(&serving.address, "/v1/check", &format!(r#"{{"attributes":{attributes}}}"#))
        };
        for caller in 0..4 {
            assert!(check(caller).starts_with("HTTP/1.1 200 "));
            let refused = check(caller);
            assert!(refused.starts_with("HTTP/1.1 429 ") && refused.contains(r#""rule":"caller""#));
        }
        assert!(check(4).starts_with("HTTP/1.1 200 "), "a refused request charges no other rule");
        assert!(check(5).contains(r#""rule":"place""#));

        let answer = ready(&serving, r#""state":"reached""#);
        let at = |server: &Server| format!(r#"{{"address":"{}","state":"#, server.address());
        assert!(cluster.servers().iter().all(|server| answer.contains(&at(server))), "{answer}");
        assert_eq!(answer.matches(r#""slots":546"#).count(), 3, "{answer}");
        assert_metric(&serving, "sluicegate_store_slots_unserved 0");
        cluster.kill(1);
        let gone = format!(r#"{}"degraded""#, at(&cluster.servers()[1]));
        let answer = ready(&serving, &gone);
        assert!(
            answer.starts_with("HTTP/1.1 200 ") && answer.contains(r#""degraded":true"#),
            "{answer}"
        );
        assert_eq!(answer.matches(r#""state":"reached""#).count(), 2, "{answer}");
        assert!(get(&serving.address, "/readyz?strict").starts_with("HTTP/1.1 503 "));
        assert_metric(&serving, "sluicegate_store_up 0");
        let (_, _, log) = serving.stop("-TERM");
        let words = format!("the store at {} does not answer: ", cluster.servers()[1].address());
        assert!(log.contains("WARN") && log.contains(&words), "{log}");
    });
}

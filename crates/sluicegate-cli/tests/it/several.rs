//! `sluicegate serve` with counters in several servers: a primary that sentinels name, and a cluster.

use sluicegate_testkit::{Cluster, Kind, Sentinels, Server, retry_if_stalled};

use super::eventually::eventually;
use super::http::{get, metrics, post, status};
use super::program::{Folder, Serving, sluicegate};

/// All that the user may do, as the documentation says; the rest depends on the deployment.
const USER: &str = "sluicegate on >cornedbeef resetkeys resetchannels -@all ~sluicegate:* &sluicegate:* \
    +eval +evalsha +time +mget +set +setrange +exists +del +publish \
    +zadd +zscore +zcard +zremrangebyscore +pexpire +subscribe +info";
/// All that the user of sentinels may do.
const WATCHER: &str = "watcher on >drumstick resetchannels -@all &+switch-master +subscribe \
    +sentinel|get-master-addr-by-name";

/// A node with its store in several servers. More time to answer than anybody needs, on a machine that
/// is busy with other things too.
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

/// Asks until it is refused, and looks that it is the fourth.
fn assert_three_an_hour(serving: &Serving, key: &str) {
    let body = format!(r#"{{"key":"{key}","quota":"3/h"}}"#);
    let statuses = [(); 4].map(|()| status(&serving.address, "/v1/throttle", &body));
    assert_eq!(statuses, ["200", "200", "200", "429"], "{key}");
}

/// What `/readyz` says as soon as it says this.
fn ready(serving: &Serving, words: &str) -> String {
    eventually(|| get(&serving.address, "/readyz"), |ready: &String| ready.contains(words))
}

fn assert_metric(serving: &Serving, line: &str) {
    let scrape = metrics(&serving.address);
    assert!(scrape.lines().any(|other| other == line), "{line}\n{scrape}");
}

#[test]
fn the_primary_that_sentinels_name_is_used_and_so_is_the_next_one() {
    retry_if_stalled(|| {
        let setup = Sentinels::setup(Kind::Redis).user(&format!("{USER} +role"));
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
        let told = ready(&serving, r#""state":"reached""#);
        let at = |index| format!(r#""address":"{}""#, address(index));
        assert!(told.contains(&at(primary)) && !told.contains(r#""parts""#), "{told}");

        sentinels.kill_primary();
        let next = sentinels.wait_until_switched(primary);
        let told = ready(&serving, &at(next));
        assert!(told.starts_with("HTTP/1.1 200 "), "{told}");
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
fn sentinels_that_do_not_let_us_in_are_said_without_their_password() {
    let sentinels = Sentinels::setup(Kind::Redis).sentinel_user(WATCHER).start();
    let (serving, _folder) = node(&sentinels.url(), ", sentinel: { username: stranger }");
    let line = serving.greeting.lines().next().unwrap().to_owned();
    assert!(line.contains("/mymaster is not there (no sentinel names a primary: "), "{line}");
    let told = ready(&serving, "WRONGPASS");
    assert!(told.contains(r#""degraded":true"#), "{told}");
    let (_, _, log) = serving.stop("-TERM");
    assert!(log.contains("WRONGPASS"), "{log}");
    for shown in [line, told, log] {
        assert!(!shown.contains("drumstick"), "{shown}");
    }
}

#[test]
fn a_cluster_is_used_and_told_of_by_its_primaries() {
    retry_if_stalled(|| {
        let user = format!("{USER} +cluster|slots +asking");
        let cluster = Cluster::setup(Kind::Redis).user(&user).replicas_each(0).start();
        let (serving, _folder) = node(&cluster.url(), "");
        let line = serving.greeting.lines().next().unwrap();
        assert!(line.starts_with("sluicegate: store: Redis "), "{line}");
        assert!(line.contains(", a cluster, 3 of 3 primaries reached, its clock "), "{line}");
        // Each in a slot of its own.
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
        assert!(
            check(4).starts_with("HTTP/1.1 200 "),
            "who was refused has cost the others nothing"
        );
        assert!(check(5).contains(r#""rule":"place""#));

        let told = ready(&serving, r#""state":"reached""#);
        let at = |server: &Server| format!(r#"{{"address":"{}","state":"#, server.address());
        assert!(cluster.servers().iter().all(|server| told.contains(&at(server))), "{told}");
        assert_eq!(told.matches(r#""slots":546"#).count(), 3, "{told}");
        assert_metric(&serving, "sluicegate_store_slots_unserved 0");
        cluster.kill(1);
        let gone = format!(r#"{}"degraded""#, at(&cluster.servers()[1]));
        let told = ready(&serving, &gone);
        assert!(told.starts_with("HTTP/1.1 200 ") && told.contains(r#""degraded":true"#), "{told}");
        assert_eq!(told.matches(r#""state":"reached""#).count(), 2, "{told}");
        assert!(get(&serving.address, "/readyz?strict").starts_with("HTTP/1.1 503 "));
        assert_metric(&serving, "sluicegate_store_up 0");
        let (_, _, log) = serving.stop("-TERM");
        let words = format!("the store at {} does not answer: ", cluster.servers()[1].address());
        assert!(log.contains("WARN") && log.contains(&words), "{log}");
    });
}

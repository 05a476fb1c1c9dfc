//! Tests of sentinels and servers with TLS and authentication.

use std::time::Duration;

use sluicegate::DecidedBy;
use sluicegate_core::{Check, Limit};
use sluicegate_redis::{Options, Redis};
use sluicegate_testkit::{PATIENCE, Sentinels, ServerKind, retry_if_stalled, wait_until};

use crate::decided_by::ask;
use crate::failover::is_on;
use crate::harness::{TestBed, guarded_sentinels, options};

const SENTINEL_PASSWORD: &str = "wellGuarded";
const SENTINEL_USER: &str = "asker";
/// All permissions that a user of a sentinel needs.
const AT_SENTINELS: &str =
    "resetchannels -@all &+switch-master +subscribe +sentinel|get-master-addr-by-name";

/// Takes three of three units by two nodes in turn, and not a fourth.
fn assert_shared(stage: &TestBed<Sentinels>, nodes: &[Redis; 2], key: &str) {
    let limit = Limit::token_bucket("api", "1/h burst 3".parse().unwrap()).unwrap();
    for (number, admitted) in [true, true, true, false].into_iter().enumerate() {
        let future = ask(&nodes[number % 2], Check::new(&limit, key));
        let (applied, decision) = stage.block_on(future);
        assert!(matches!(applied.by, DecidedBy::Store | DecidedBy::Memory), "{applied:?}");
        assert_eq!(decision.is_allowed(), admitted, "question {number}");
    }
}

fn secure(stage: &TestBed<Sentinels>) -> Options {
    let options = options(&stage.server.url()).ca_pem(stage.server.ca_pem().as_bytes().to_vec());
    options.deadline(Duration::from_secs(1)).unwrap()
}

#[test]
fn decisions_are_shared_over_tls_and_after_a_failover() {
    retry_if_stalled(|| {
        let group =
            guarded_sentinels(ServerKind::Redis).tls().sentinel_password(SENTINEL_PASSWORD).start();
        let stage = TestBed::with(group);
        assert!(stage.server.url().starts_with("rediss+sentinel://"));
        let known = || secure(&stage).sentinel_access(None, SENTINEL_PASSWORD.to_owned());
        let nodes = [known(), known()].map(|options| stage.start(options));
        assert_shared(&stage, &nodes, "before");
        let from = stage.server.fail_over();
        let to = stage.server.wait_until_switched(from);
        wait_until("both are on the new primary", PATIENCE, || {
            nodes.iter().all(|node| is_on(node, &stage.server, to))
        });
        assert_shared(&stage, &nodes, "after");
    });
}

#[test]
fn nodes_refused_by_sentinels_report_it() {
    retry_if_stalled(|| {
        let rule = format!("{SENTINEL_USER} on >{SENTINEL_PASSWORD} {AT_SENTINELS}");
        let group = guarded_sentinels(ServerKind::Redis)
            .sentinel_password("anotherOne")
            .sentinel_user(&rule)
            .start();
        let stage = TestBed::with(group);
        let access = |name: Option<&str>, password: &str| {
            let options = options(&stage.server.url()).deadline(Duration::from_secs(1)).unwrap();
            options.sentinel_access(name, password.to_owned())
        };
        let known = [0, 1].map(|_| stage.start(access(Some(SENTINEL_USER), SENTINEL_PASSWORD)));
        assert_shared(&stage, &known, "caller");
        let unknown = options(&stage.server.url());
        for (user, options, said) in [
            ("no user", unknown, "noauth"),
            ("a wrong password", access(None, "wrong"), "wrongpass"),
            ("a wrong user", access(Some("stranger"), SENTINEL_PASSWORD), "wrongpass"),
            ("another user's password", access(Some(SENTINEL_USER), "anotherOne"), "wrongpass"),
        ] {
            let store = stage.begin(options);
            let mut why = String::new();
            wait_until("it says why", PATIENCE, || {
                why = store.health().why.unwrap_or_default().to_lowercase();
                why.contains(said)
            });
            eprintln!("{user}: {why}");
            assert!(!store.health().up, "{user} was accepted");
            assert!(why.contains("sentinel"), "{user}: {why}");
            assert!(
                !why.contains(SENTINEL_PASSWORD) && !why.contains("anotherOne"),
                "{user}: {why}"
            );
        }
    });
}

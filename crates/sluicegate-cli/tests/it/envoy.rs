//! The configuration in `examples/envoy`, with a real Envoy.

use std::fs;
use std::process::Command;

use sluicegate_testkit::free_port;

use super::eventually::eventually;
use super::external_tools::program;
use super::program::{Folder, Serving, sluicegate};
use super::proxy_setup::{Edge, service, substituted};

fn example(name: &str) -> String {
    format!("{}/../../examples/envoy/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Starts the example on free ports.
pub(super) fn start(failure_mode_deny: bool) -> Edge {
    let serving = Serving::start(sluicegate(&[
        "serve",
        "--http",
        "127.0.0.1:0",
        "--config",
        &example("rules.yaml"),
    ]));
    let listens = serving.listens("grpc");
    let (_, grpc_port) = listens.rsplit_once(':').unwrap();
    let (folder, port, service) = (Folder::new(), free_port(), service());
    let config = fs::read_to_string(example("envoy.yaml")).unwrap();
    let own = [
        ("port_value: 10000", format!("port_value: {port}")),
        ("port_value: 8080", format!("port_value: {}", service.port)),
        ("port_value: 7071", format!("port_value: {grpc_port}")),
        // Long enough that a busy test machine is not an outage.
        ("timeout: 0.05s", "timeout: 30s".to_owned()),
        ("failure_mode_deny: false", format!("failure_mode_deny: {failure_mode_deny}")),
    ];
    let config = substituted(config, &own);
    Edge::start(&mut command(&folder, &config), port, serving, service, folder)
}

/// An Envoy with this configuration.
pub(super) fn command(folder: &Folder, config: &str) -> Command {
    let config = folder.write("envoy.yaml", config);
    let mut envoy = Command::new(program("SLUICEGATE_ENVOY", "envoy/bin/envoy", "/usr/bin/envoy"));
    envoy.args(["-c", &config, "--concurrency", "1", "--disable-hot-restart"]);
    envoy
}

#[test]
fn envoy_limits_clients_and_sends_headers() {
    let edge = start(false);
    let allowed = edge.get("/login", "ann");
    assert_eq!((allowed.status, allowed.body()), (200, "hi\n"));
    assert_eq!(allowed.header("content-type"), ["text/plain"], "the service's own");
    assert_eq!(allowed.header("x-ratelimit-remaining"), ["4"], "the header of Envoy");
    let limit = allowed.header("x-ratelimit-limit")[0];
    assert!(limit.starts_with("5, "), "{limit}");
    for part in [r#"5;w=3600;name="logins""#, r#"1000;w=60;name="per-address""#] {
        assert!(limit.contains(part), "{limit}");
    }
    let [policy] = allowed.header("ratelimit-policy")[..] else { panic!("{}", allowed.text) };
    assert_eq!(policy, r#""logins";q=5;w=3600, "per-address";q=1000;w=60"#);
    assert!(allowed.header("ratelimit")[0].starts_with(r#""logins";r=4;t="#), "{}", allowed.text);

    assert_eq!(edge.statuses("/login", "ann", 5), [200, 200, 200, 200, 429]);
    let refused = edge.get("/login", "ann");
    assert_eq!(refused.status, 429);
    assert_eq!(refused.header("content-type"), ["application/problem+json"]);
    assert_eq!(refused.header("x-envoy-ratelimited"), ["true"]);
    let seconds: u64 = refused.header("retry-after")[0].parse().unwrap();
    assert!((1..=3_600).contains(&seconds), "{seconds}");
    let body = refused.body();
    assert!(body.contains("#quota-exceeded") && body.contains(r#"["logins"]"#), "{body}");

    let other = edge.get("/", "ann");
    assert_eq!(other.status, 200, "other pages are not the login's");
    // Seven requests and the first probe passed; refused ones are not charged.
    let remaining: u64 = other.header("x-ratelimit-remaining")[0].parse().unwrap();
    assert!((992..=999).contains(&remaining), "{remaining}");
}

#[test]
fn the_cost_in_an_answer_is_charged_afterwards() {
    let edge = start(false);
    // A request passes while any units are left, and is charged the cost in its answer.
    for (user, used) in [("ann", "100"), ("bob", "150")] {
        assert_eq!(edge.get(&format!("/tokens/{used}"), user).status, 200);
        let status = || edge.get("/tokens/0", user).status;
        eventually(status, |status| *status == 429);
        let refused = edge.get("/tokens/0", user);
        assert!(refused.body().contains("#quota-exceeded"), "{}", refused.text);
        assert!(
            refused.header("ratelimit")[0].starts_with(r#""tokens";r=0;t="#),
            "{}",
            refused.text
        );
    }
    assert_eq!(edge.statuses("/tokens/1", "cid", 2), [200, 200], "others have their own");
}

#[test]
fn units_in_a_failed_answer_are_refunded() {
    let edge = start(false);
    let failing = "ann\r\nx-fail: yes";
    // Charged before and refunded after each failed answer, so that one more always passes.
    for _ in 0..6 {
        let status = || edge.get("/orders", failing).status;
        eventually(status, |status| *status == 200);
    }
    assert_eq!(edge.statuses("/orders", "bob", 4), [200, 200, 200, 429], "no refund");
}

#[test]
fn failure_mode_deny_applies_without_sluicegate() {
    for (deny, status) in [(false, 200), (true, 500)] {
        let mut edge = start(deny);
        assert_eq!(edge.get("/", "ann").status, 200);
        let (code, _, log) = edge.sluicegate.take().unwrap().stop("-TERM");
        assert_eq!(code, Some(0), "{log}");
        let found = || edge.get("/", "ann").status;
        eventually(found, |found| *found == status);
        assert_eq!(edge.statuses("/login", "ann", 7), [status; 7]);
    }
}

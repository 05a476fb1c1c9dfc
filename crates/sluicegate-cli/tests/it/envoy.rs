//! Behind a real Envoy, as `examples/envoy` has it: what its clients see.

use std::fs;
use std::process::Command;

use sluicegate_testkit::free_port;

use super::edge::{Edge, service, substituted};
use super::eventually::eventually;
use super::program::{Folder, Serving, sluicegate};
use super::tools::program;

fn example(name: &str) -> String {
    format!("{}/../../examples/envoy/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// The example, with ports of its own.
pub(super) fn start(failure_mode_deny: bool) -> Edge {
    let serving = Serving::start(sluicegate(&[
        "serve",
        "--http",
        "127.0.0.1:0",
        "--config",
        &example("rules.yaml"),
    ]));
    let listens = serving.listens("grpc");
    let (_, asked) = listens.rsplit_once(':').unwrap();
    let (folder, port, service) = (Folder::new(), free_port(), service());
    let config = fs::read_to_string(example("envoy.yaml")).unwrap();
    let own = [
        ("port_value: 10000", format!("port_value: {port}")),
        ("port_value: 8080", format!("port_value: {}", service.port)),
        ("port_value: 7071", format!("port_value: {asked}")),
        // A machine that is busy with other tests is no outage.
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
fn clients_of_envoy_are_limited_and_told_how_they_stand() {
    let edge = start(false);
    let allowed = edge.get("/login", "ann");
    assert_eq!((allowed.status, allowed.body()), (200, "hi\n"));
    assert_eq!(allowed.header("content-type"), ["text/plain"], "the service's own");
    assert_eq!(allowed.header("x-ratelimit-remaining"), ["4"], "as Envoy tells it");
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
    // Seven were let through, and one that was waited for; none that was refused is among them.
    let remaining: u64 = other.header("x-ratelimit-remaining")[0].parse().unwrap();
    assert!((992..=999).contains(&remaining), "{remaining}");
}

#[test]
fn what_an_answer_says_it_cost_is_charged_after_it() {
    let edge = start(false);
    // Each is let through while anything is left, and charged with what its answer says.
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
fn what_an_answer_gives_back_is_there_again() {
    let edge = start(false);
    let failing = "ann\r\nx-fail: yes";
    // Charged before, and given back after an answer that says so: there is always room for one more.
    for _ in 0..6 {
        let status = || edge.get("/orders", failing).status;
        eventually(status, |status| *status == 200);
    }
    assert_eq!(edge.statuses("/orders", "bob", 4), [200, 200, 200, 429], "nothing comes back");
}

#[test]
fn what_becomes_of_requests_without_sluicegate_envoy_is_told_itself() {
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

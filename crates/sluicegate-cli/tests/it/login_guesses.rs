//! Concurrent password guesses against the login examples.

use std::fs;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use sluicegate_testkit::Server;

use super::http::{post, status};
use super::program::{Folder, Serving, sluicegate};
use super::proxies::{self, FailureMode, Proxy};
use super::proxy_setup::Edge;

const GUESSES: usize = 200;

/// A file of the repository, with pending attempts that outlast a slow test.
fn patient(path: &str) -> String {
    let path = format!("{}/../../{path}", env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(path).unwrap();
    assert!(text.contains("pending: 10s"), "{text}");
    text.replace("pending: 10s", "pending: 1h")
}

/// Runs all guesses in concurrent threads.
fn all_at_once(guess: impl Fn(usize) + Sync) {
    thread::scope(|scope| {
        for number in 0..GUESSES {
            let guess = &guess;
            scope.spawn(move || guess(number));
        }
    });
}

/// Asserts the number of evaluated guesses, each of which is reported as a failure.
fn assert_evaluated(address: &str, call: impl Fn(usize) -> String + Sync, most: usize) {
    let (evaluated, unsure) = (AtomicUsize::new(0), AtomicBool::new(false));
    all_at_once(|number| {
        let call = call(number);
        match status(address, "/v1/check", &format!("{{{call}}}")).as_str() {
            "200" => {
                evaluated.fetch_add(1, Ordering::Relaxed);
                post(address, "/v1/report", &format!(r#"{{{call},"status":401}}"#));
            }
            "429" => {}
            // The store answered too late on a busy machine, and the rule fails closed.
            _ => unsure.store(true, Ordering::Relaxed),
        }
    });
    let evaluated = evaluated.into_inner();
    assert!(evaluated <= most, "{evaluated}");
    assert!(unsure.into_inner() || evaluated == most, "{evaluated}");
}

fn login(ip: &str, name: &str, value: &str) -> String {
    format!(r#""attributes":{{"method":"POST","path":"/login","ip":"{ip}","{name}":"{value}"}}"#)
}

/// Tests the examples and the rule of the guide with this store.
fn assert_limited(store: Option<&str>) {
    let policy = patient("examples/policies/brute-force.yaml");
    let guide = patient("docs/rules.md");
    let (_, rule) = guide.split_once("### Cooldown\n\n```yaml\n").unwrap();
    let rule = rule.split("```").next().unwrap().replace('\n', "\n  ");
    let guide = format!("identify:\n  user: {{ attribute: user }}\nrules:\n  {rule}\n");
    let store = store.map_or("store: memory".to_owned(), |url| {
        format!("store: {{ redis: {{ url: '{url}', deadline: 1s }} }}")
    });
    let policy = policy.replace("store: memory", &store);
    let folder = Folder::new();
    let serve = |rules: &str| {
        let rules = folder.write("rules.yaml", rules);
        Serving::start(sluicegate(&["serve", "--http", "127.0.0.1:0", "--config", &rules]))
    };
    let serving = serve(&policy);
    assert_evaluated(&serving.address, |_| login("203.0.113.9", "account", "ada"), 5);
    let varied = |number| login("203.0.113.10", "account", &format!("account-{number}"));
    assert_evaluated(&serving.address, varied, 50);
    let addresses = |number| login(&format!("2001:db8:0:1::{number:x}"), "account", "ben");
    assert_evaluated(&serving.address, addresses, 5);

    let serving = serve(&format!("{store}\n{guide}"));
    assert_evaluated(&serving.address, |_| login("203.0.113.11", "user", "ada"), 5);
}

#[test]
fn limits_concurrent_guesses_in_memory() {
    assert_limited(None);
}

#[test]
fn limits_concurrent_guesses_on_redis() {
    let server = Server::redis();
    assert_limited(Some(&server.url()));
}

#[test]
fn limits_concurrent_guesses_behind_nginx() {
    let rules = patient("examples/nginx/rules.yaml");
    let edge = proxies::start_with(Proxy::Nginx, FailureMode::Closed, &rules);
    let (evaluated, unsure) = (AtomicUsize::new(0), AtomicBool::new(false));
    let report =
        r#"{"attributes":{"method":"POST","path":"/session","ip":"127.0.0.1"},"status":401}"#;
    // A header that the client chooses does not select another counter.
    all_at_once(|number| match guess(&edge, number) {
        200 => {
            evaluated.fetch_add(1, Ordering::Relaxed);
            let address = &edge.sluicegate.as_ref().unwrap().address;
            assert!(post(address, "/v1/report", report).contains(r#""counted":1"#));
        }
        429 => {}
        // nginx had no free connection.
        _ => unsure.store(true, Ordering::Relaxed),
    });
    let evaluated = evaluated.into_inner();
    assert!(evaluated <= 5, "{evaluated}");
    if !unsure.into_inner() {
        assert_eq!(evaluated, 5);
        assert_eq!(guess(&edge, GUESSES), 429, "blocked by now");
    }
}

fn guess(edge: &Edge, number: usize) -> u16 {
    let head = format!(
        "POST /session HTTP/1.1\r\nhost: edge\r\nconnection: close\r\nx-user: {number}\r\n\
         content-length: 0\r\n\r\n"
    );
    edge.send(head.as_bytes()).0.status
}

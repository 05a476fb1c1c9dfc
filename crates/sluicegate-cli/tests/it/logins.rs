//! Passwords that are guessed all at once: the examples evaluate as many as they say.

use std::fs;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use sluicegate_testkit::Server;

use super::edge::Edge;
use super::http::{post, status};
use super::program::{Folder, Serving, sluicegate};
use super::proxies::{self, Proxy, Without};

const GUESSES: usize = 200;

/// A file of the repository, with attempts that outlast a busy machine.
fn patient(path: &str) -> String {
    let path = format!("{}/../../{path}", env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(path).unwrap();
    assert!(text.contains("pending: 10s"), "{text}");
    text.replace("pending: 10s", "pending: 1h")
}

/// Runs `guess` in as many threads at once.
fn all_at_once(guess: impl Fn(usize) + Sync) {
    thread::scope(|scope| {
        for number in 0..GUESSES {
            let guess = &guess;
            scope.spawn(move || guess(number));
        }
    });
}

/// How many guesses the service evaluates, each of which it reports as a failure.
fn evaluated(address: &str, call: impl Fn(usize) -> String + Sync, most: usize) {
    let (evaluated, unsure) = (AtomicUsize::new(0), AtomicBool::new(false));
    all_at_once(|number| {
        let call = call(number);
        match status(address, "/v1/check", &format!("{{{call}}}")).as_str() {
            "200" => {
                evaluated.fetch_add(1, Ordering::Relaxed);
                post(address, "/v1/report", &format!(r#"{{{call},"status":401}}"#));
            }
            "429" => {}
            // The store answered too late on a busy machine, and the rule refuses then.
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

/// The examples, and the rule of the guide, on this store.
fn hold_on(store: Option<&str>) {
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
    evaluated(&serving.address, |_| login("203.0.113.9", "account", "ada"), 5);
    let varied = |number| login("203.0.113.10", "account", &format!("account-{number}"));
    evaluated(&serving.address, varied, 50);
    let addresses = |number| login(&format!("2001:db8:0:1::{number:x}"), "account", "ben");
    evaluated(&serving.address, addresses, 5);

    let serving = serve(&format!("{store}\n{guide}"));
    evaluated(&serving.address, |_| login("203.0.113.11", "user", "ada"), 5);
}

#[test]
fn guesses_at_once_are_limited_in_memory() {
    hold_on(None);
}

#[test]
fn guesses_at_once_are_limited_on_redis() {
    let server = Server::redis();
    hold_on(Some(&server.url()));
}

#[test]
fn guesses_at_once_are_limited_behind_nginx() {
    let rules = patient("examples/nginx/rules.yaml");
    let edge = proxies::start_with(Proxy::Nginx, Without::Closed, &rules);
    let (evaluated, unsure) = (AtomicUsize::new(0), AtomicBool::new(false));
    let report =
        r#"{"attributes":{"method":"POST","path":"/session","ip":"127.0.0.1"},"status":401}"#;
    // A header of the client's choice is no new counter.
    all_at_once(|number| match guess(&edge, number) {
        200 => {
            evaluated.fetch_add(1, Ordering::Relaxed);
            let address = &edge.sluicegate.as_ref().unwrap().address;
            assert!(post(address, "/v1/report", report).contains(r#""counted":1"#));
        }
        429 => {}
        // nginx had no connection left for it.
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

//! `sluicegate serve` with a shared store on a real server.

use std::fs;
use std::thread;

use sluicegate_testkit::{RespValue, Server, ServerKind, free_port, retry_if_stalled};

use super::eventually::eventually;
use super::http::{get, metrics, post, status};
use super::program::{Folder, Serving, ended, sluicegate};

const FIVE_AN_HOUR: &str = "
rules:
  - { name: five, key: user, limit: 5/h, match: { path: /five } }
  - { name: strict, key: user, limit: 5/h, on_store_error: deny, match: { path: /strict } }
  - { name: open, key: user, limit: 1/h, on_store_error: allow, match: { path: /open } }
";

/// The answer to a check of this path.
fn check(address: &str, path: &str) -> String {
    let body = format!(r#"{{"attributes":{{"user":"42","path":"{path}"}}}}"#);
    post(address, "/v1/check", &body)
}

fn allowed(answer: &str) -> bool {
    answer.starts_with("HTTP/1.1 200 ")
}

/// A store with a deadline that suffices on a busy test machine.
const PATIENT: &str = "store: { redis: { url: 'redis://127.0.0.1:1', deadline: 1s } }";

/// A node with these rules; the flag for the store overrides the file.
fn node(folder: &Folder, store: &str) -> Serving {
    let rules = folder.write("rules.yaml", &format!("{PATIENT}\n{FIVE_AN_HOUR}"));
    let arguments = ["serve", "--http", "127.0.0.1:0", "--config", &rules, "--store", store];
    Serving::start(sluicegate(&arguments))
}

#[test]
fn reports_the_server_at_the_start() {
    retry_if_stalled(|| {
        for (kind, name) in [(ServerKind::Redis, "Redis"), (ServerKind::Valkey, "Valkey")] {
            let (server, folder) = (Server::setup(kind).start(), Folder::new());
            let serving = node(&folder, &server.url());
            let (greeting, address) = (&serving.greeting, server.address());
            assert!(greeting.starts_with(&format!("sluicegate: store: {name} ")), "{greeting}");
            let line = greeting.lines().next().unwrap();
            assert!(line.contains(&format!(" at {address}, its clock ")), "{line}");
            assert!(line.ends_with(", 1 node"), "{line}");
            assert!(greeting.contains(" (shared store)\n"), "{greeting}");
            let ready = get(&serving.address, "/readyz");
            assert!(ready.contains(r#""state":"reached""#), "{ready}");
            assert!(ready.contains(&format!(r#""server":"{name}""#)), "{ready}");
            let scrape = metrics(&serving.address);
            assert!(scrape.contains("\nsluicegate_store_up 1\n"), "{scrape}");
            let (code, out, log) = serving.stop("-TERM");
            assert_eq!(
                (code, out.as_str()),
                (Some(0), "sluicegate: stopped; every request was answered\n")
            );
            assert!(log.contains("the store answers: "), "{log}");
        }
    });
}

#[test]
fn nodes_share_counters() {
    retry_if_stalled(|| {
        let (server, folder) = (Server::redis(), Folder::new());
        let nodes = [node(&folder, &server.url()), node(&folder, &server.url())];
        let answers: Vec<String> =
            (0..12).map(|turn| check(&nodes[turn % 2].address, "/five")).collect();
        assert_eq!(answers.iter().filter(|answer| allowed(answer)).count(), 5, "{answers:?}");
        assert!(answers.iter().all(|answer| !answer.contains(r#""by":"share""#)), "{answers:?}");
        let look = || get(&nodes[0].address, "/readyz");
        eventually(look, |ready: &String| ready.contains(r#""nodes":2"#));
    });
}

#[test]
fn starts_degraded_without_its_store_and_recovers() {
    retry_if_stalled(|| {
        let (port, folder) = (free_port(), Folder::new());
        let serving = node(&folder, &format!("redis://127.0.0.1:{port}"));
        let greeting = &serving.greeting;
        let begins = format!("sluicegate: store: redis at 127.0.0.1:{port} is unreachable (");
        assert!(greeting.starts_with(&begins), "{greeting}");
        let line = greeting.lines().next().unwrap();
        let end = "): starting degraded, each rule applies its on_store_error";
        assert!(line.ends_with(end), "{line}");

        let address = serving.address.as_str();
        let ready = get(address, "/readyz");
        assert!(
            ready.starts_with("HTTP/1.1 200 ") && ready.contains(r#""degraded":true"#),
            "{ready}"
        );
        let strict = get(address, "/readyz?strict");
        assert!(strict.starts_with("HTTP/1.1 503 ") && strict.contains(r#""why":""#), "{strict}");
        assert!(get(address, "/healthz").starts_with("HTTP/1.1 200 "));
        let refused = check(address, "/strict");
        assert!(refused.starts_with("HTTP/1.1 503 "), "{refused}");
        assert!(refused.contains(r#""reason":"unreachable""#), "{refused}");
        for _ in 0..3 {
            let open = check(address, "/open");
            assert!(allowed(&open) && open.contains(r#""by":"policy""#), "{open}");
        }
        assert!(check(address, "/five").contains(r#""by":"share""#));
        let scrape = metrics(address);
        for line in ["sluicegate_store_up 0", "sluicegate_allowed_by_failure_mode_total 3"] {
            assert!(scrape.lines().any(|other| other == line), "{line}\n{scrape}");
        }

        let server = Server::setup(ServerKind::Redis).port(port).start();
        let look = || get(address, "/readyz");
        eventually(look, |ready: &String| ready.contains(r#""state":"reached""#));
        let recovered = check(address, "/strict");
        assert!(allowed(&recovered) && !recovered.contains(r#""by":"#), "{recovered}");
        drop(server);
        let (code, _, log) = serving.stop("-TERM");
        assert_eq!(code, Some(0));
        let words = format!("the store at 127.0.0.1:{port} does not answer: ");
        assert!(log.contains("WARN") && log.contains(&words), "{log}");
        assert!(log.contains("the store answers: Redis "), "{log}");
    });
}

#[test]
fn no_output_contains_the_password() {
    retry_if_stalled(|| {
        let password = "correcthorsebatterystaple";
        let server = Server::setup(ServerKind::Redis).password(password).start();
        let bare = format!("redis://127.0.0.1:{}", server.port());
        let folder = Folder::new();
        let file = folder.write("password", &format!("{password}\n"));
        let patient = folder.write("patient.yaml", &format!("{PATIENT}\n{FIVE_AN_HOUR}"));
        let by_variable = |rules: &str| folder.write("variable.yaml", rules);
        let rules = by_variable(&format!(
            "store: {{ redis: {{ url: '{bare}', password: '${{CACHE_PASSWORD}}', deadline: 1s }} }}\n{FIVE_AN_HOUR}"
        ));
        for (arguments, variables) in [
            (
                &["--config", &patient, "--store", &bare][..],
                &[("SLUICEGATE_STORE_PASSWORD", password)][..],
            ),
            (&["--config", &patient, "--store", &bare, "--store-password-file", &file], &[]),
            (&["--config", &patient], &[("SLUICEGATE_STORE", &*server.url())]),
            (&["--config", &rules], &[("CACHE_PASSWORD", password)]),
        ] {
            let mut command = sluicegate(&["serve", "--http", "127.0.0.1:0", "--log", "trace"]);
            command.args(arguments).envs(variables.iter().copied());
            let serving = Serving::start(command);
            assert!(
                serving.greeting.starts_with("sluicegate: store: Redis "),
                "{}",
                serving.greeting
            );
            check(&serving.address, "/five");
            let ready = get(&serving.address, "/readyz");
            assert!(ready.contains(r#""state":"reached""#), "{ready}");
            let cmdline = fs::read(format!("/proc/{}/cmdline", serving.child.id())).unwrap();
            let cmdline = String::from_utf8(cmdline).unwrap();
            let (greeting, scrape) = (serving.greeting.clone(), metrics(&serving.address));
            let (_, out, log) = serving.stop("-TERM");
            for shown in [greeting, ready, cmdline, scrape, out, log] {
                assert!(!shown.contains(password), "{arguments:?}: {shown}");
            }
        }
        let mut help = sluicegate(&["serve", "--help"]);
        help.env("SLUICEGATE_STORE", server.url());
        let (_, out, _) = ended(&mut help);
        assert!(out.contains("SLUICEGATE_STORE") && !out.contains(password), "{out}");
    });
}

#[test]
fn serves_degraded_with_a_wrong_password() {
    let server = Server::setup(ServerKind::Redis).password("right").start();
    let folder = Folder::new();
    let serving = node(&folder, &format!("redis://:wrong@127.0.0.1:{}", server.port()));
    let line = serving.greeting.lines().next().unwrap().to_owned();
    assert!(line.contains("is unreachable (") && !line.contains("wrong"), "{line}");
    assert!(check(&serving.address, "/five").contains(r#""by":"share""#));
    let (code, _, log) = serving.stop("-TERM");
    assert_eq!(code, Some(0));
    assert!(log.contains("ERROR") && log.contains("check user, password and ACL"), "{log}");
}

#[test]
fn connects_with_tls() {
    retry_if_stalled(|| {
        let server = Server::setup(ServerKind::Redis).tls().start();
        let folder = Folder::new();
        folder.write("ca.pem", server.ca_pem());
        let url = server.tls_url();
        let store =
            format!("store: {{ redis: {{ url: '{url}', ca_file: ca.pem, deadline: 1s }} }}\n");
        let rules = folder.write("rules.yaml", &(store + FIVE_AN_HOUR));
        let serving =
            Serving::start(sluicegate(&["serve", "--http", "127.0.0.1:0", "--config", &rules]));
        assert!(serving.greeting.starts_with("sluicegate: store: Redis "), "{}", serving.greeting);
        let answer = check(&serving.address, "/five");
        assert!(allowed(&answer) && !answer.contains(r#""by":"#), "{answer}");
    });
}

#[test]
fn serve_requires_the_named_files_and_validate_does_not() {
    let folder = Folder::new();
    for (field, words) in [
        ("password_file: gone", "cannot read the store's password from "),
        ("ca_file: gone", "cannot read the trusted certificates from "),
    ] {
        let store = format!("store: {{ redis: {{ url: 'redis://127.0.0.1:1', {field} }} }}\n");
        let rules = folder.write("rules.yaml", &(store + FIVE_AN_HOUR));
        let (code, _, error) = ended(&mut sluicegate(&["validate", &rules]));
        assert_eq!((code, error.as_str()), (Some(0), ""));
        let arguments = ["serve", "--http", "127.0.0.1:0", "--config", &rules];
        let (code, out, error) = ended(&mut sluicegate(&arguments));
        assert_eq!((code, out.as_str()), (Some(1), ""));
        assert!(error.contains(words) && error.contains("gone: "), "{error}");
    }
}

#[test]
fn a_new_store_needs_a_restart_and_new_rules_do_not() {
    retry_if_stalled(|| {
        let (server, folder) = (Server::redis(), Folder::new());
        let text = |url: &str, limit: &str| {
            format!(
                "store: {{ redis: {{ url: '{url}', deadline: 1s }} }}\nrules: [{{ name: five, key: user, limit: {limit}, match: {{ path: /five }} }}]\n"
            )
        };
        let path = folder.write("rules.yaml", &text(&server.url(), "5/h"));
        let arguments = ["serve", "--http", "127.0.0.1:0", "--config", &path];
        let serving = Serving::start(sluicegate(&arguments));
        let pending = |count: usize| format!("\nsluicegate_settings_pending {count}\n");
        assert!(metrics(&serving.address).contains(&pending(0)));
        folder.write("rules.yaml", &text("redis://127.0.0.1:1", "1/h"));
        let scrape =
            eventually(|| metrics(&serving.address), |scrape| scrape.contains(&pending(1)));
        assert!(scrape.contains("\nsluicegate_store_up 1\n"), "{scrape}");
        assert!(allowed(&check(&serving.address, "/five")));
        assert!(!allowed(&check(&serving.address, "/five")), "the rules are the new ones");
        folder.write("rules.yaml", &text(&server.url(), "1/h"));
        eventually(|| metrics(&serving.address), |scrape| scrape.contains(&pending(0)));
        let (_, _, log) = serving.stop("-TERM");
        let words = format!("`store` has changed in {path}; it takes effect at the next start");
        assert_eq!(log.matches(&words).count(), 1, "{log}");
    });
}

#[test]
fn nodes_share_throttle_counters() {
    retry_if_stalled(|| {
        let (server, folder) = (Server::redis(), Folder::new());
        let nodes = [node(&folder, &server.url()), node(&folder, &server.url())];
        let body = r#"{"key":"user:42","quota":"3/h"}"#;
        let statuses: Vec<String> =
            (0..4).map(|turn| status(&nodes[turn % 2].address, "/v1/throttle", body)).collect();
        assert_eq!(statuses, ["200", "200", "200", "429"]);
    });
}

#[test]
fn a_stopped_node_leaves_the_list_of_nodes() {
    let (server, folder) = (Server::redis(), Folder::new());
    let (stays, stops) = (node(&folder, &server.url()), node(&folder, &server.url()));
    let ready = |nodes: &str| {
        let look = || get(&stays.address, "/readyz");
        eventually(look, |ready: &String| ready.contains(&format!(r#""nodes":{nodes},"#)));
    };
    ready("2");
    assert_eq!(stops.stop("-TERM").0, Some(0));
    assert_eq!(server.command(&["ZCARD", "sluicegate:1:nodes"]), RespValue::Integer(1));
    ready("1");
}

#[test]
fn warns_about_a_store_that_rejects_writes() {
    let (server, folder) = (Server::redis(), Folder::new());
    let serving = node(&folder, &server.url());
    assert!(get(&serving.address, "/readyz").contains(r#""passed_over":0,"#));
    server.command(&["CONFIG", "SET", "maxmemory", "1"]);
    for _ in 0..3 {
        assert!(allowed(&check(&serving.address, "/open")), "the rule fails open");
    }
    let ready = get(&serving.address, "/readyz");
    assert!(ready.contains(r#""passed_over":3,"#) && ready.contains("reached"), "{ready}");
    let scrape = metrics(&serving.address);
    assert!(scrape.contains("\nsluicegate_store_passed_over_total 3\n"), "{scrape}");
    let (_, _, log) = serving.stop("-TERM");
    let warning = log.lines().find(|line| line.contains("on_store_error decided in its place"));
    let warning = warning.unwrap_or_else(|| panic!("{log}"));
    assert!(warning.contains(" WARN ") && warning.contains("OOM"), "{warning}");
}

#[test]
fn two_nodes_at_saturation_admit_exactly_the_limit() {
    let (server, folder) = (Server::redis(), Folder::new());
    let nodes = [0, 1].map(|_| node(&folder, &server.url()));
    let reports = nodes.each_ref().map(|node| {
        let address = node.listens("redis");
        thread::spawn(move || {
            let arguments = ["bench", "resp", "--address", &address, "--keys", "1"];
            let mut command = sluicegate(&arguments);
            // A unit is refilled after 43 minutes.
            command.args(["--connections", "32", "--pipeline", "64", "--quota", "1000/30d"]);
            ended(command.args(["--duration", "1s"])).1
        })
    });
    let reports = reports.map(|report| report.join().unwrap());
    let allowed = reports.each_ref().map(|report| {
        let words: Vec<&str> = report.split_whitespace().collect();
        let place = words.iter().position(|word| *word == "allowed,").unwrap();
        words[place - 1].parse::<u64>().unwrap()
    });
    assert_eq!(allowed.iter().sum::<u64>(), 1_000, "{reports:#?}");
    for report in &reports {
        let by_share =
            report.contains("without the store") && !report.contains(" 0 by this node's");
        assert!(!by_share && report.contains(" 0 errors"), "{report}");
    }
}

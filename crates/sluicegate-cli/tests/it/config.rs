//! `sluicegate serve --config`.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use super::http::{metrics, post, status};
use super::program::{Folder, Serving, ended, run, sluicegate};

/// A file that listens at any free port.
fn file(rest: &str) -> String {
    format!("listen: {{ http: 127.0.0.1:0 }}\n{rest}")
}

const TWO_AN_HOUR: &str = "rules: [{ name: checkout, match: { path: /checkout }, key: user, limit: 2/h }]\nidentify: { user: { header: x-user-id } }\n";
const CHECKOUT: &str = r#"{"attributes":{"path":"/checkout"},"headers":{"X-User-Id":"42"}}"#;

#[test]
fn the_rules_of_a_file_are_gone_by() {
    let folder = Folder::new();
    let path = folder.write("rules.yaml", &file(TWO_AN_HOUR));
    let serving = Serving::start(sluicegate(&["serve", "--config", &path]));
    let rules = format!("sluicegate: going by 1 rule from {path}\n");
    assert!(serving.greeting.contains(&rules), "{}", serving.greeting);
    let (address, body) = serving.example("throttle");
    assert_eq!(status(address, "/v1/throttle", body), "200", "the line to try works as well");

    let statuses = [(); 3].map(|()| status(address, "/v1/check", CHECKOUT));
    assert_eq!(statuses, ["200", "200", "429"]);
    let refusal = post(address, "/v1/check", CHECKOUT);
    assert!(refusal.contains(r#""rule":"checkout""#), "{refusal}");
    let scrape = metrics(address);
    assert!(scrape.contains("\nsluicegate_rules 1\n"), "{scrape}");
}

#[test]
fn a_folder_of_files_may_be_named_by_the_environment() {
    let folder = Folder::new();
    folder.write("rules/a.yaml", &file(""));
    folder.write("rules/b.yaml", TWO_AN_HOUR);
    let mut command = sluicegate(&["serve"]);
    command.env("SLUICEGATE_CONFIG", folder.at("rules"));
    let serving = Serving::start(command);
    let statuses = [(); 3].map(|()| status(&serving.address, "/v1/check", CHECKOUT));
    assert_eq!(statuses, ["200", "200", "429"]);
}

#[test]
fn settings_come_from_the_file_and_flags_are_stronger() {
    let folder = Folder::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let text = format!(
        "listen: {{ http: {} }}\nstore: {{ memory: {{ max: 2MiB, snapshot: kept }} }}\n",
        taken.local_addr().unwrap()
    );
    let path = folder.write("rules.yaml", &text);
    let (code, _, error) = run(&["serve", "--config", &path]);
    assert_eq!(code, Some(1));
    assert!(error.contains("address already in use"), "{error}");

    let serving =
        Serving::start(sluicegate(&["serve", "--config", &path, "--http", "127.0.0.1:0"]));
    let scrape = metrics(&serving.address);
    assert!(scrape.contains("\nsluicegate_store_max_bytes 2097152\n"), "{scrape}");
    let (code, out, _) = serving.stop("-TERM");
    assert_eq!(code, Some(0));
    let kept = folder.at("kept");
    assert!(out.contains(&format!("in the snapshot {kept}\n")), "beside the rule file: {out}");

    let mut command = sluicegate(&["serve", "--config", &path]);
    command.env("SLUICEGATE_HTTP", "127.0.0.1:0").env("SLUICEGATE_MEMORY_MAX", "4MiB");
    let serving = Serving::start(command);
    let scrape = metrics(&serving.address);
    assert!(scrape.contains("\nsluicegate_store_max_bytes 4194304\n"), "{scrape}");
}

#[test]
fn with_mistakes_in_the_file_nothing_is_served() {
    let folder = Folder::new();
    let path = folder.write("rules.yaml", &file("rules: [{ name: a, key: ip, limt: 1/s }]\n"));
    let (code, out, error) = run(&["serve", "--config", &path]);
    assert_eq!((code, out.as_str()), (Some(1), ""));
    assert!(
        error.contains("error[unknown-field]: there is no field `limt` in a rule\n"),
        "{error}"
    );
    let last = error.lines().last().unwrap();
    assert!(last.starts_with(&format!("error: {path} has ")), "{error}");
    assert!(last.ends_with(", so nothing is served"), "{error}");
}

#[test]
fn a_file_that_is_not_there_is_not_served_either() {
    let folder = Folder::new();
    let mut command = sluicegate(&["serve"]);
    command.env("SLUICEGATE_CONFIG", folder.at("gone.yaml"));
    let (code, out, error) = ended(&mut command);
    assert_eq!((code, out.as_str()), (Some(2), ""));
    assert!(error.contains("gone.yaml`: there is no such file\nhint: "), "{error}");
    let (code, _, error) = run(&["serve", "--config", folder.path().to_str().unwrap()]);
    assert_eq!(code, Some(2));
    assert!(error.contains("there is no `.yaml` or `.yml` file in it\nhint: "), "{error}");
}

#[test]
fn warnings_are_printed_and_it_serves() {
    let folder = Folder::new();
    let doubtful =
        "rules:\n  - { name: a, key: ip, limit: 5/min }\n  - { name: b, key: ip, limit: 5/min }\n";
    let path = folder.write("rules.yaml", &file(doubtful));
    let serving = Serving::start(sluicegate(&["serve", "--config", &path]));
    let (address, body) = serving.example("throttle");
    assert_eq!(status(address, "/v1/throttle", body), "200");
    let (code, _, log) = serving.stop("-TERM");
    assert_eq!(code, Some(0));
    assert!(log.contains("warning[hidden]: "), "{log}");
}

#[test]
fn where_a_proxy_has_to_say_who_connects_nobody_else_is_answered() {
    let folder = Folder::new();
    let listen = "listen: { http: { address: 127.0.0.1:0, proxy_protocol: loopback } }\n";
    let path = folder.write("rules.yaml", listen);
    let serving = Serving::start(sluicegate(&["serve", "--config", &path]));
    let answer = |request: &str| {
        let mut stream = TcpStream::connect(&serving.address).unwrap();
        // Who is not answered may have been hung up on before the end.
        let _ = stream.write_all(request.as_bytes());
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8(answer).unwrap()
    };
    let request = "GET /healthz HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n";
    let proxied = format!("PROXY TCP4 203.0.113.9 127.0.0.1 50000 80\r\n{request}");
    assert!(answer(&proxied).starts_with("HTTP/1.1 200 "));
    assert_eq!(answer(request), "");
}

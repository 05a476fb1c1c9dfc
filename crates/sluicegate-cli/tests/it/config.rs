//! `sluicegate serve --config`.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use super::http::{metrics, post, status};
use super::program::{Folder, Serving, ended, run, sluicegate};

/// A file with a listener on any free port.
fn file(rest: &str) -> String {
    format!("listen: {{ http: 127.0.0.1:0 }}\n{rest}")
}

const TWO_AN_HOUR: &str = "rules: [{ name: checkout, match: { path: /checkout }, key: user, limit: 2/h }]\nidentify: { user: { header: x-user-id } }\n";
const CHECKOUT: &str = r#"{"attributes":{"path":"/checkout"},"headers":{"X-User-Id":"42"}}"#;

#[test]
fn applies_the_rules_of_a_file() {
    let folder = Folder::new();
    let path = folder.write("rules.yaml", &file(TWO_AN_HOUR));
    let serving = Serving::start(sluicegate(&["serve", "--config", &path]));
    let rules = format!("sluicegate: loaded 1 rule from {path}\n");
    assert!(serving.greeting.contains(&rules), "{}", serving.greeting);
    let (address, body) = serving.example("throttle");
    assert_eq!(status(address, "/v1/throttle", body), "200", "the example command works as well");

    let statuses = [(); 3].map(|()| status(address, "/v1/check", CHECKOUT));
    assert_eq!(statuses, ["200", "200", "429"]);
    let refusal = post(address, "/v1/check", CHECKOUT);
    assert!(refusal.contains(r#""rule":"checkout""#), "{refusal}");
    let scrape = metrics(address);
    assert!(scrape.contains("\nsluicegate_rules 1\n"), "{scrape}");
}

#[test]
fn the_environment_may_name_a_folder_of_files() {
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
fn flags_and_variables_override_the_file() {
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
fn does_not_start_with_errors_in_the_file() {
    let folder = Folder::new();
    let path = folder.write("rules.yaml", &file("rules: [{ name: a, key: ip, limt: 1/s }]\n"));
    let (code, out, error) = run(&["serve", "--config", &path]);
    assert_eq!((code, out.as_str()), (Some(1), ""));
    assert!(
        error.contains("error[unknown-field]: there is no field `limt` in a rule\n"),
        "{error}"
    );
    let last = error.lines().last().unwrap();
    let expected = format!(
        "error: cannot start: {path} has 1 error; `sluicegate validate {path}` checks it again"
    );
    assert_eq!(last, expected);
}

#[test]
fn listen_addresses_in_the_file_have_a_fix() {
    let folder = Folder::new();
    for (listen, fix) in [
        ("http: 'localhost:8080'", "`localhost:8080`|use `127.0.0.1:8080`: a host name"),
        ("grpc: localhost", "`localhost`|use `127.0.0.1:7071`: a host name"),
        ("resp: '::1'", "`::1`|use `[::1]:7072`: a port is required"),
        ("http: { address: ':80' }", "`:80`|use `0.0.0.0:80` for every address"),
    ] {
        let path = folder.write("rules.yaml", &format!("listen: {{ {listen} }}\nrules: []\n"));
        let (code, out, error) = run(&["serve", "--config", &path]);
        assert_eq!((code, out.as_str()), (Some(1), ""), "{listen}");
        let (found, fix) = fix.split_once('|').unwrap();
        let message = format!("error[bad-address]: {found} is not an IP address with a port\n");
        assert!(error.contains(&message), "{error}");
        assert!(error.contains(&format!("= help: {fix}")), "{error}");
    }
}

#[test]
fn does_not_start_without_the_file() {
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
fn starts_with_warnings() {
    let folder = Folder::new();
    let doubtful = "rules: [{ name: a, key: ip, limit: 5/min burst 500 }]\n";
    let path = folder.write("rules.yaml", &file(doubtful));
    let serving = Serving::start(sluicegate(&["serve", "--config", &path]));
    let (address, body) = serving.example("throttle");
    assert_eq!(status(address, "/v1/throttle", body), "200");
    let (code, _, log) = serving.stop("-TERM");
    assert_eq!(code, Some(0));
    assert!(log.contains("warning[large-burst]: "), "{log}");
}

#[test]
fn requires_a_proxy_header_if_configured() {
    let folder = Folder::new();
    let listen = "listen: { http: { address: 127.0.0.1:0, proxy_protocol: loopback } }\n";
    let path = folder.write("rules.yaml", listen);
    let serving = Serving::start(sluicegate(&["serve", "--config", &path]));
    let answer = |request: &str| {
        let mut stream = TcpStream::connect(&serving.address).unwrap();
        // Without an answer, the connection may be closed before the request is written.
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

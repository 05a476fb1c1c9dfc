//! `sluicegate check --health`.

use std::net::TcpListener;

use sluicegate_testkit::free_port;

use super::program::{Folder, Serving, ended, run, sluicegate};

#[test]
fn a_ready_server_is_healthy() {
    let serving = Serving::start(sluicegate(&["serve", "--http", "127.0.0.1:0"]));
    let address = serving.address.as_str();
    let url = format!("http://{address}");
    let live = format!("http://{address}/healthz");
    for arguments in [
        &["check", "--health", "--address", address][..],
        &["check", "--health", &url],
        &["check", "--health", &live],
    ] {
        let (code, out, error) = run(arguments);
        assert_eq!((code, error.as_str()), (Some(0), ""), "{arguments:?}");
        assert!(!out.is_empty(), "{arguments:?}");
    }
    let (_, out, _) = run(&["check", "--health", &url]);
    assert!(out.contains(r#""ready": true"#), "{out}");

    // As in a container, where the server listens on all addresses.
    let port = address.rsplit_once(':').unwrap().1;
    let mut command = sluicegate(&["check", "--health"]);
    let (code, out, error) = ended(command.env("SLUICEGATE_HTTP", format!("0.0.0.0:{port}")));
    assert_eq!((code, error.as_str()), (Some(0), ""), "{out}");
}

#[test]
fn an_unreachable_server_is_not_healthy() {
    let url = format!("http://127.0.0.1:{}", free_port());
    let (code, out, error) = run(&["check", "--health", &url]);
    assert_eq!((code, out.as_str()), (Some(1), ""));
    let words = "start `sluicegate serve`, or give its URL to --health";
    assert!(error.contains(words), "{error}");
}

/// `?strict` makes an unreachable store a failure, which is the reason for another URL.
#[test]
fn an_unready_server_is_not_healthy() {
    let folder = Folder::new();
    let store = format!("redis://127.0.0.1:{}", free_port());
    let rules = folder.write("rules.yaml", "rules: [{ name: one, key: user, limit: 1/h }]");
    let serving = Serving::start(sluicegate(&[
        "serve",
        "--http",
        "127.0.0.1:0",
        "--config",
        &rules,
        "--store",
        &store,
    ]));
    let url = format!("http://{}", serving.address);
    assert_eq!(run(&["check", "--health", &url]).0, Some(0));
    let strict = format!("{url}/readyz?strict");
    let (code, out, error) = run(&["check", "--health", &strict]);
    assert_eq!((code, out.as_str()), (Some(1), ""));
    assert!(error.contains("is not ready: it answered 503"), "{error}");
    assert!(error.contains(r#""state": "degraded""#), "{error}");
    let (code, _, error) = run(&["check", "--health", &format!("{url}/nowhere")]);
    assert_eq!(code, Some(1));
    assert!(error.contains("it answered 404"), "{error}");
}

#[test]
fn another_protocol_is_not_healthy() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    // Accepts and closes, as a server of another protocol does.
    let closing = std::thread::spawn(move || drop(listener.accept()));
    let (code, _, error) = run(&["check", "--health", &url]);
    closing.join().unwrap();
    assert_eq!(code, Some(1));
    assert!(error.contains("does not speak HTTP"), "{error}");
}

#[test]
fn invalid_urls_and_other_flags_are_usage_errors() {
    for (arguments, words) in [
        (&["check", "--health", "127.0.0.1:7070"][..], "as in http://127.0.0.1:7070/readyz"),
        (&["check", "--health", "https://gate"], "the listeners have no TLS"),
        (&["check", "--health", "--path", "/login"], "cannot be used with"),
        (&["check", "--health", "--key", "a", "--quota", "1/s"], "cannot be used with"),
    ] {
        let (code, out, error) = run(arguments);
        assert_eq!((code, out.as_str()), (Some(2), ""), "{arguments:?}");
        assert!(error.contains(words), "{arguments:?}: {error}");
    }
}

//! Start-up lines, listeners and shutdown.

use std::net::TcpListener;

use super::http::{metrics, status};
use super::program::{Serving, run, sluicegate};

#[test]
fn example_commands_work_until_the_sixth_is_refused() {
    let serving = Serving::start(sluicegate(&["serve", "--http", "127.0.0.1:0"]));
    let mut lines = serving.greeting.lines();
    let (version, address) = (env!("CARGO_PKG_VERSION"), &serving.address);
    let [grpc, resp] = ["grpc", "redis"].map(|scheme| serving.listens(scheme));
    let listening = format!(
        "sluicegate {version}: listening on http://{address}, grpc://{grpc}, redis://{resp} \
         (memory store)"
    );
    assert_eq!(lines.next(), Some(listening.as_str()));
    let rules = "sluicegate: loaded 2 built-in rules; use --config FILE for your own";
    assert_eq!(lines.next(), Some(rules));
    for endpoint in ["check", "throttle"] {
        let (address, body) = serving.example(endpoint);
        let path = format!("/v1/{endpoint}");
        let statuses: Vec<_> = (0..6).map(|_| status(address, &path, body)).collect();
        assert_eq!(statuses, ["200", "200", "200", "200", "200", "429"], "{endpoint}");
    }
}

#[test]
fn stops_cleanly_on_sigterm_and_sigint() {
    for signal in ["-TERM", "-INT"] {
        let serving = Serving::start(sluicegate(&["serve", "--http", "127.0.0.1:0"]));
        let (code, out, log) = serving.stop(signal);
        assert_eq!(code, Some(0), "{signal}");
        assert_eq!(out, "sluicegate: stopped; every request was answered\n");
        assert!(log.contains("listening for http"), "{log}");
        assert!(!log.contains('\u{1b}'), "no colours without a terminal");
    }
}

#[test]
fn settings_may_come_from_the_environment() {
    let mut command = sluicegate(&["serve"]);
    command.env("SLUICEGATE_HTTP", "127.0.0.1:0").env("SLUICEGATE_LOG", "off");
    let serving = Serving::start(command);
    let (address, body) = serving.example("throttle");
    assert_eq!(status(address, "/v1/throttle", body), "200");
    let (code, _, log) = serving.stop("-TERM");
    assert_eq!((code, log.as_str()), (Some(0), ""));
}

#[test]
fn the_memory_limit_applies() {
    let arguments = ["serve", "--http", "127.0.0.1:0", "--memory-max", "2MiB"];
    let serving = Serving::start(sluicegate(&arguments));
    let scrape = metrics(&serving.address);
    assert!(scrape.contains("\nsluicegate_store_max_bytes 2097152\n"), "{scrape}");
}

#[test]
fn a_port_in_use_is_an_error_with_a_hint() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    for (protocol, or_off) in [("http", ""), ("grpc", ", or off"), ("resp", ", or off")] {
        let flag = format!("--{protocol}");
        let mut arguments = vec!["serve", "--http", "127.0.0.1:0"];
        arguments.retain(|word| protocol != "http" || *word == "serve");
        arguments.extend([flag.as_str(), &address]);
        let (code, out, error) = run(&arguments);
        assert_eq!((code, out.as_str()), (Some(1), ""));
        assert_eq!(
            error,
            format!(
                "error: cannot listen on {address} for {protocol}: address already in use\n\
                 hint: stop the program that listens there, or use {flag} 127.0.0.1:0 for any free port{or_off}\n"
            )
        );
    }
}

#[test]
fn a_start_without_listeners_is_an_error() {
    let (code, _, error) = run(&["serve", "--http", "off", "--grpc", "off", "--resp", "off"]);
    assert_eq!(code, Some(1));
    let words = "error: nothing to listen on: http, grpc and resp are all off\nhint: ";
    assert!(error.starts_with(words), "{error}");
}

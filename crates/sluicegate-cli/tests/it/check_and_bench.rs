//! `sluicegate check` and `sluicegate bench` with a running server.

use sluicegate_testkit::retry_if_stalled;

use super::program::{Folder, Serving, run, sluicegate};

fn serving() -> Serving {
    Serving::start(sluicegate(&["serve", "--http", "127.0.0.1:0"]))
}

#[test]
fn check_prints_the_answer_and_exits_with_the_decision() {
    let serving = serving();
    let address = serving.address.as_str();
    let key = ["check", "--address", address, "--key", "ann", "--quota", "2/min"];
    let login = ["check", "--address", address, "--method", "POST", "--path", "/login"];
    let login: Vec<&str> = login.into_iter().chain(["--ip", "203.0.113.9"]).collect();
    for (arguments, allowed) in [(&key[..], 2), (&login, 5)] {
        let codes: Vec<_> = (0..=allowed).map(|_| run(arguments)).collect();
        for (index, (code, out, error)) in codes.iter().enumerate() {
            let (expected, word) = if index < allowed { (0, "true") } else { (1, "false") };
            assert_eq!((*code, error.as_str()), (Some(expected), ""), "{out}");
            assert!(out.contains(&format!("\"allowed\": {word}")), "{out}");
            assert!(out.contains(r#""by": "store""#), "{out}");
        }
    }
}

#[test]
fn a_failed_check_is_not_a_refusal() {
    let (code, out, error) = run(&["check", "--address", "127.0.0.1:1", "--attribute", "user=1"]);
    assert_eq!((code, out.as_str()), (Some(2), ""));
    assert!(error.contains("cannot reach 127.0.0.1:1; start `sluicegate serve`"), "{error}");
    let serving = serving();
    let arguments =
        ["check", "--address", &serving.address, "--key", "x", "--quota", "1/fortnight"];
    let (code, out, error) = run(&arguments);
    assert_eq!(code, Some(2), "{out}");
    assert!(out.contains("fortnight") && error.contains("could not decide"), "{out}{error}");
    let resp = serving.listens("redis");
    let (code, _, error) = run(&["check", "--address", &resp, "--key", "x", "--quota", "1/min"]);
    assert_eq!(code, Some(2));
    assert!(error.contains("does not speak HTTP"), "{error}");
}

#[test]
fn benchmarks_every_protocol() {
    retry_if_stalled(|| {
        let folder = Folder::new();
        let rules = "
identify: { caller: { attribute: key } }
rules: [{ name: bench, match: { domain: bench }, key: caller, limit: 1000000/s }]
";
        let rules = folder.write("rules.yaml", rules);
        let serving =
            Serving::start(sluicegate(&["serve", "--http", "127.0.0.1:0", "--config", &rules]));
        for (protocol, scheme) in [("http", "http"), ("grpc", "grpc"), ("resp", "redis")] {
            for more in [&["--pipeline", "4"][..], &["--rate", "500", "--zipf", "1.1"]] {
                let address = serving.listens(scheme);
                let mut arguments = vec!["bench", protocol, "--address", &address];
                arguments.extend(["--connections", "3", "--duration", "300ms", "--keys", "100"]);
                arguments.extend(more);
                let (code, out, error) = run(&arguments);
                assert_eq!((code, error.as_str()), (Some(0), ""), "{out}");
                let expected =
                    " 0 refused, 0 errors\nall decided by the store\nlatency in ms: p50 ";
                assert!(out.contains(expected), "{out}");
                let has_delays = out.contains(" held up by the previous answer\n");
                assert_eq!(has_delays, more.contains(&"--rate"), "{out}");
                assert!(!out.contains(" 0 answers "), "{out}");
            }
        }
    });
}

#[test]
fn bench_counts_decisions_without_the_store() {
    retry_if_stalled(|| {
        let folder = Folder::new();
        let rules = "
identify: { caller: { attribute: key } }
rules: [{ name: bench, match: { domain: bench }, key: caller, limit: 1000000/s }]
";
        let rules = folder.write("rules.yaml", rules);
        let arguments = ["serve", "--http", "127.0.0.1:0", "--store", "redis://127.0.0.1:1"];
        let mut command = sluicegate(&arguments);
        command.args(["--config", &rules]);
        let serving = Serving::start(command);
        for (protocol, scheme) in [("http", "http"), ("grpc", "grpc"), ("resp", "redis")] {
            let address = serving.listens(scheme);
            let arguments = ["bench", protocol, "--address", &address, "--duration", "500ms"];
            let (code, out, _) = run(&arguments);
            assert_eq!(code, Some(0), "{out}");
            let line = out.lines().find(|line| line.starts_with("decided without the store: "));
            let line = line.unwrap_or_else(|| panic!("{protocol}: {out}"));
            assert!(
                line.contains(" by this node's share") && !line.contains(" 0 by this"),
                "{line}"
            );
        }
        let (_, out, _) =
            run(&["check", "--address", &serving.address, "--key", "x", "--quota", "1/min"]);
        assert!(out.contains(r#""by": "share""#), "{out}");
    });
}

#[test]
fn bench_counts_refusals_and_errors() {
    retry_if_stalled(|| {
        let serving = serving();
        let resp = serving.listens("redis");
        let some = ["--connections", "1", "--duration", "200ms", "--keys", "1"];
        let arguments =
            [&["bench", "resp", "--address", &resp, "--quota", "1/h"][..], &some].concat();
        let (code, out, _) = run(&arguments);
        assert_eq!(code, Some(0), "{out}");
        assert!(out.contains(": 1 allowed, ") && !out.contains(" 0 refused"), "{out}");
        let arguments = [&["bench", "http", "--address", &resp][..], &some].concat();
        let (code, out, _) = run(&arguments);
        assert_eq!(code, Some(1), "{out}");
        assert!(out.contains("the first error: the server "), "{out}");
        let (code, _, error) = run(&["bench", "resp", "--address", "127.0.0.1:1"]);
        assert_eq!(code, Some(1));
        assert!(error.contains("cannot reach 127.0.0.1:1"), "{error}");
        let (code, _, error) = run(&["bench", "resp", "--address", &resp, "--quota", "1/100ms"]);
        assert_eq!(code, Some(1));
        assert!(error.contains("whole seconds"), "{error}");
    });
}

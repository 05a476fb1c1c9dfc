//! `buf curl` as a gRPC client, with reflection or with the proto files.

use std::process::Command;

use serde_json::{Value, json};

use super::external_tools::{printed, tool};
use super::http::metrics;
use super::program::{Folder, Serving, ended, sluicegate};

const RULES: &str = "
identify:
  user: { attribute: user }
rules:
  - { name: logins, match: { domain: edge, descriptor: { user: \"*\" } }, key: user, limit: 2/hour }
";

const LIMIT: &str = "envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";

/// A server with these rules, and its folder.
fn serving(reflection: bool) -> (Serving, Folder) {
    let folder = Folder::new();
    let rules = folder.write("rules.yaml", RULES);
    let mut arguments = vec!["serve", "--http", "127.0.0.1:0", "--log", "warn", "--config", &rules];
    if reflection {
        arguments.push("--grpc-reflection");
    }
    (Serving::start(sluicegate(&arguments)), folder)
}

/// `buf curl` without TLS, with a cache folder.
fn buf(folder: &Folder, arguments: &[&str]) -> Command {
    let mut command = Command::new("node");
    command.arg(tool("buf/node_modules/@bufbuild/buf/bin/buf")).arg("curl");
    command.args(["--http2-prior-knowledge", "--protocol", "grpc"]).args(arguments);
    command.env("BUF_CACHE_DIR", folder.at("buf"));
    command
}

fn proto() -> String {
    format!("{}/../sluicegate-server/proto", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn buf_calls_by_reflection_and_by_proto_files() {
    let (serving, folder) = serving(true);
    let url = |method: &str| format!("http://{}/{method}", serving.listens("grpc"));
    let proto = proto();
    let entries = json!([{"key": "user", "value": "ann"}]);
    let (limit, health) = (url(LIMIT), url("grpc.health.v1.Health/Check"));
    let call = json!({"domain": "edge", "descriptors": [{"entries": entries}]}).to_string();
    for (schema, code, remaining) in [
        (&["--reflect"][..], "OK", json!(1)),
        (&["--schema", &proto], "OK", Value::Null),
        (&["--reflect"], "OVER_LIMIT", Value::Null),
    ] {
        let arguments = [schema, &["-d", &call, &limit]].concat();
        let answer = printed(&mut buf(&folder, &arguments));
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(answer["overallCode"], code, "{answer}");
        let status = &answer["statuses"][0];
        assert_eq!((&status["code"], &status["limitRemaining"]), (&json!(code), &remaining));
        assert_eq!(status["currentLimit"]["name"], "logins");
        assert_eq!(answer["dynamicMetadata"]["rule"], "logins", "{answer}");
    }
    let answer = printed(&mut buf(&folder, &["--reflect", "-d", "{}", &health]));
    assert_eq!(serde_json::from_str::<Value>(&answer).unwrap(), json!({"status": "SERVING"}));
    let scrape = metrics(&serving.address);
    assert!(scrape.contains("\nsluicegate_grpc_calls_total{code=\"OK\"} 4\n"), "{scrape}");
    let services = printed(&mut buf(&folder, &["--list-services", &url("")]));
    for service in ["envoy.service.ratelimit.v3.RateLimitService", "grpc.health.v1.Health"] {
        assert!(services.lines().any(|line| line == service), "{services}");
    }
}

#[test]
fn buf_receives_errors() {
    let (serving, folder) = serving(false);
    let url = format!("http://{}/{LIMIT}", serving.listens("grpc"));
    let proto = proto();
    let (code, _, error) = ended(&mut buf(&folder, &["--schema", &proto, "-d", "{}", &url]));
    // The exit code is eight times the gRPC code.
    assert_eq!(code, Some(8 * 3), "{error}");
    assert!(error.contains("invalid_argument") && error.contains("has no domain"), "{error}");
    let scrape = metrics(&serving.address);
    assert!(
        scrape.contains("\nsluicegate_grpc_calls_total{code=\"INVALID_ARGUMENT\"} 1\n"),
        "{scrape}"
    );
    let (code, _, error) = ended(&mut buf(&folder, &["--reflect", "-d", "{}", &url]));
    assert_ne!(code, Some(0), "no reflection without --grpc-reflection");
    assert!(error.contains("failed to find service"), "{error}");
}

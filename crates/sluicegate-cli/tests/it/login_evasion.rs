//! Disguised requests for `/login`, which must not evade its limit behind any proxy.

use super::proxies::{FailureMode, Proxy};
use super::proxy_setup::Edge;
use super::{documented_proxies, envoy, proxies};

/// Targets that a service may handle as `/login`.
const TARGETS: &[&str] = &[
    "/login?deny_status=200",
    "/login?deny_status=200#x",
    "/login?deny_status=204#",
    "/login?deny_status=502",
    "/login?deny_status=403&deny_status=200",
    "/login?x=%23&deny_status=200",
    "/login?%3Fdeny_status=200",
    "/login?x#?deny_status=200",
    "/login#x",
    "/login#/../other",
    "/login?",
    "//login",
    "/./login",
    "/x/../login",
    "/%6cogin",
    "/login/",
    "http://edge/login",
    "http://other/login?deny_status=200#x",
    "/login?\u{e9}",
];

/// Header lines that could change the request for a proxy or for Sluicegate.
const LINES: &[&str] = &[
    "x-forwarded-uri: /",
    "x-forwarded-uri: /\r\nx-forwarded-uri: /other",
    "x-original-uri: /",
    "x-original-url: http://edge/",
    "x-rewrite-url: /",
    "x-envoy-original-path: /",
    "x-forwarded-method: OPTIONS",
    "x-original-method: OPTIONS",
    "x-forwarded-host: other",
    "x-original-host: other",
    "x-forwarded-for: 203.0.113.9",
    "forwarded: for=203.0.113.9",
    "x-real-ip: 203.0.113.9",
    "x_forwarded_uri: /",
    "connection: x-forwarded-uri, x-forwarded-method, x-forwarded-for",
    "content-length: 0",
    "te: trailers",
    "upgrade: websocket\r\nconnection: upgrade",
    "x-http-method-override: OPTIONS",
    "x-control: \u{1}",
    "host: other",
];

fn request(line: &str, lines: &str, body: &str) -> String {
    let end = if lines.is_empty() { "" } else { "\r\n" };
    format!("{line} HTTP/1.1\r\nhost: edge\r\nconnection: close\r\n{lines}{end}\r\n{body}")
}

fn disguises() -> Vec<String> {
    let mut requests: Vec<String> = Vec::new();
    requests.extend(TARGETS.iter().map(|target| request(&format!("GET {target}"), "", "")));
    requests.extend(LINES.iter().map(|lines| request("GET /login", lines, "")));
    for method in ["HEAD", "POST", "PUT", "get", "OPTIONS", "TRACE", "PROPFIND", "NEW"] {
        requests.push(request(&format!("{method} /login"), "", ""));
    }
    for (lines, body) in [
        ("content-length: 5", "hello"),
        ("transfer-encoding: chunked", "5\r\nhello\r\n0\r\n\r\n"),
        ("expect: 100-continue\r\ncontent-length: 5", "hello"),
    ] {
        requests.push(request("POST /login", lines, body));
    }
    // More than Sluicegate reads; a proxy must not treat its error as an outage.
    for (count, length) in [(150, 1), (3, 6_000), (28, 1_000), (100, 7_000)] {
        let line = |number| format!("x-{number}: {}", "y".repeat(length));
        let lines: Vec<String> = (0..count).map(line).collect();
        let long = request("GET /login", &lines.join("\r\n"), "");
        requests.extend([long.clone(), long.clone(), long]);
    }
    requests.push("GET /login\r\n\r\n".to_owned());
    requests.push("GET /login HTTP/1.0\r\n\r\n".to_owned());
    requests.push("GET /login HTTP/1.1\nhost: edge\nconnection: close\n\n".to_owned());
    requests
}

/// Exhausts the limit of `/login`, then sends disguised requests for it.
fn attack(name: &str, edge: &Edge) {
    assert_eq!(edge.statuses("/login", "ann", 6), [200, 200, 200, 200, 200, 429], "{name}");
    for request in disguises() {
        let (answer, targets) = edge.send(request.as_bytes());
        // Caddy encodes a `#` in the path, which makes another path for Sluicegate and the service.
        let reached: Vec<_> = targets.iter().filter(|it| !it.starts_with("/login%23")).collect();
        let shown: String = request.chars().take(200).collect();
        assert_eq!(reached, [""; 0], "{name}: {shown:?}: {}", answer.text);
    }
    assert_eq!(edge.get("/", "ann").status, 200, "{name}: others pass");
}

#[test]
fn disguises_fail_at_the_http_proxy_examples() {
    for proxy in Proxy::ALL {
        let edge = proxies::start(proxy, FailureMode::Open);
        attack(&format!("example of {proxy:?}"), &edge);
        // Spellings that some services normalise; the rules of the examples do so, too.
        for target in ["/LOGIN", "/Login/", "/login.", "/login%20", "/login%0a"] {
            let (answer, targets) = edge.send(request(&format!("GET {target}"), "", "").as_bytes());
            assert_eq!(targets, [""; 0], "{proxy:?}: {target}: {}", answer.text);
        }
    }
}

#[test]
fn disguises_fail_at_the_documented_proxies() {
    attack("documented Caddy", &documented_proxies::caddy());
    attack("documented nginx", &documented_proxies::nginx());
    attack("documented Envoy", &documented_proxies::envoy());
}

#[test]
fn disguises_fail_at_the_envoy_example() {
    attack("example of Envoy", &envoy::start(false));
}

/// Envoy copies the header into a descriptor, and fails open if the call fails.
#[test]
fn no_header_makes_the_call_of_envoy_fail() {
    let edge = envoy::start(false);
    let long = vec![b'x'; 50_000];
    for user in [&b"\xff"[..], b"ann\xc3", &long] {
        let head = b"GET /orders HTTP/1.1\r\nhost: edge\r\nconnection: close\r\nx-user: ";
        let request = [&head[..], user, b"\r\n\r\n"].concat();
        let passed = (0..5).filter(|_| edge.send(&request).0.status == 200).count();
        assert!(passed <= 3, "{passed} with {:?}", &user[..4.min(user.len())]);
    }
}

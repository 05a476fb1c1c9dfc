//! Behind a real Envoy, as `examples/envoy` has it: what its clients see.

use std::env;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;

use tollgate_testbed::free_port;

use super::eventually::eventually;
use super::program::{Folder, Serving, tollgate};

fn example(name: &str) -> String {
    format!("{}/../../examples/envoy/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// What `TOLLGATE_ENVOY` names, or what `scripts/tools` installed.
fn program() -> PathBuf {
    let tools = env::var_os("TOLLGATE_TOOLS").map_or_else(
        || PathBuf::from(env::var_os("HOME").unwrap_or_default()).join(".cache/tollgate-tools"),
        PathBuf::from,
    );
    let program =
        env::var_os("TOLLGATE_ENVOY").map_or_else(|| tools.join("envoy/bin/envoy"), PathBuf::from);
    assert!(
        program.is_file(),
        "looked for Envoy at {} and found none: run ./scripts/tools to install what the tests need",
        program.display()
    );
    program
}

/// A service that says in its answer what it is asked to by the path: `/tokens/7` used 7 tokens.
fn service() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(stream) = stream else { return };
            thread::spawn(move || {
                let mut lines = BufReader::new(&stream).lines();
                let first = lines.next().and_then(Result::ok).unwrap_or_default();
                let fails = lines
                    .map_while(Result::ok)
                    .take_while(|line| !line.is_empty())
                    .any(|line| line.eq_ignore_ascii_case("x-fail: yes"));
                let path = first.split(' ').nth(1).unwrap_or_default();
                let tokens =
                    path.strip_prefix("/tokens/").map(|tokens| format!("x-tokens: {tokens}\r\n"));
                let back = if fails { "x-give-back: 1\r\n" } else { "" };
                let _ = write!(
                    &stream,
                    "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 3\r\n\
                     connection: close\r\n{}{back}\r\nhi\n",
                    tokens.unwrap_or_default(),
                );
            });
        }
    });
    port
}

/// Envoy, with Tollgate beside and a service behind it.
struct Edge {
    envoy: Child,
    port: u16,
    tollgate: Option<Serving>,
    _folder: Folder,
}

impl Edge {
    /// The example, with ports of its own.
    fn start(failure_mode_deny: bool) -> Self {
        let serving = Serving::start(tollgate(&[
            "serve",
            "--http",
            "127.0.0.1:0",
            "--config",
            &example("rules.yaml"),
        ]));
        let listens = serving.listens("grpc");
        let (_, asked) = listens.rsplit_once(':').unwrap();
        let (folder, port) = (Folder::new(), free_port());
        let mut config = fs::read_to_string(example("envoy.yaml")).unwrap();
        for (usual, own) in [
            ("port_value: 10000", format!("port_value: {port}")),
            ("port_value: 8080", format!("port_value: {}", service())),
            ("port_value: 7071", format!("port_value: {asked}")),
            // A machine that is busy with other tests is no outage.
            ("timeout: 0.05s", "timeout: 30s".to_owned()),
            ("failure_mode_deny: false", format!("failure_mode_deny: {failure_mode_deny}")),
        ] {
            assert_eq!(config.matches(usual).count(), 1, "{usual}");
            config = config.replace(usual, &own);
        }
        let config = folder.write("envoy.yaml", &config);
        let log = folder.at("envoy.log");
        let envoy = Command::new(program())
            .args([
                "-c",
                &config,
                "--concurrency",
                "1",
                "--disable-hot-restart",
                "--log-path",
                &log,
            ])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let edge = Self { envoy, port, tollgate: Some(serving), _folder: folder };
        let log = || fs::read_to_string(&log).unwrap_or_default();
        eventually(
            || edge.try_get("/", "nobody").map_or_else(log, |answer| answer.status.to_string()),
            |found| found == "200",
        );
        edge
    }

    fn try_get(&self, path: &str, headers: &str) -> Option<Answer> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        let request = format!(
            "GET {path} HTTP/1.1\r\nhost: edge\r\nconnection: close\r\nx-user: {headers}\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).ok()?;
        let mut text = String::new();
        stream.read_to_string(&mut text).ok()?;
        let status = text.split(' ').nth(1)?.parse().ok()?;
        Some(Answer { status, text })
    }

    /// What a user gets, with headers behind its name.
    fn get(&self, path: &str, user: &str) -> Answer {
        self.try_get(path, user).unwrap()
    }

    fn statuses(&self, path: &str, user: &str, count: usize) -> Vec<u16> {
        (0..count).map(|_| self.get(path, user).status).collect()
    }
}

impl Drop for Edge {
    fn drop(&mut self) {
        let _ = self.envoy.kill();
        let _ = self.envoy.wait();
    }
}

struct Answer {
    status: u16,
    text: String,
}

impl Answer {
    /// All values of a header.
    fn header(&self, name: &str) -> Vec<&str> {
        let (head, _) = self.text.split_once("\r\n\r\n").unwrap();
        let lines = head.lines().filter_map(|line| line.split_once(": "));
        lines
            .filter(|(other, _)| other.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
            .collect()
    }

    fn body(&self) -> &str {
        self.text.split_once("\r\n\r\n").unwrap().1
    }
}

#[test]
fn clients_of_envoy_are_limited_and_told_how_they_stand() {
    let edge = Edge::start(false);
    let allowed = edge.get("/login", "ann");
    assert_eq!((allowed.status, allowed.body()), (200, "hi\n"));
    assert_eq!(allowed.header("content-type"), ["text/plain"], "the service's own");
    assert_eq!(allowed.header("x-ratelimit-remaining"), ["4"], "as Envoy tells it");
    let limit = allowed.header("x-ratelimit-limit")[0];
    assert!(limit.starts_with("5, "), "{limit}");
    for part in [r#"5;w=3600;name="logins""#, r#"1000;w=60;name="per-address""#] {
        assert!(limit.contains(part), "{limit}");
    }
    let [policy] = allowed.header("ratelimit-policy")[..] else { panic!("{}", allowed.text) };
    assert_eq!(policy, r#""logins";q=5;w=3600, "per-address";q=1000;w=60"#);
    assert!(allowed.header("ratelimit")[0].starts_with(r#""logins";r=4;t="#), "{}", allowed.text);

    assert_eq!(edge.statuses("/login", "ann", 5), [200, 200, 200, 200, 429]);
    let refused = edge.get("/login", "ann");
    assert_eq!(refused.status, 429);
    assert_eq!(refused.header("content-type"), ["application/problem+json"]);
    assert_eq!(refused.header("x-envoy-ratelimited"), ["true"]);
    let seconds: u64 = refused.header("retry-after")[0].parse().unwrap();
    assert!((1..=3_600).contains(&seconds), "{seconds}");
    let body = refused.body();
    assert!(body.contains("#quota-exceeded") && body.contains(r#"["logins"]"#), "{body}");

    let other = edge.get("/", "ann");
    assert_eq!(other.status, 200, "other pages are not the login's");
    // Seven were let through, and one that was waited for; none that was refused is among them.
    let remaining: u64 = other.header("x-ratelimit-remaining")[0].parse().unwrap();
    assert!((992..=999).contains(&remaining), "{remaining}");
}

#[test]
fn what_an_answer_says_it_cost_is_charged_after_it() {
    let edge = Edge::start(false);
    // Each is let through while anything is left, and charged with what its answer says.
    for (user, used) in [("ann", "100"), ("bob", "150")] {
        assert_eq!(edge.get(&format!("/tokens/{used}"), user).status, 200);
        let status = || edge.get("/tokens/0", user).status;
        eventually(status, |status| *status == 429);
        let refused = edge.get("/tokens/0", user);
        assert!(refused.body().contains("#quota-exceeded"), "{}", refused.text);
        assert!(
            refused.header("ratelimit")[0].starts_with(r#""tokens";r=0;t="#),
            "{}",
            refused.text
        );
    }
    assert_eq!(edge.statuses("/tokens/1", "cid", 2), [200, 200], "others have their own");
}

#[test]
fn what_an_answer_gives_back_is_there_again() {
    let edge = Edge::start(false);
    let failing = "ann\r\nx-fail: yes";
    // Charged before, and given back after an answer that says so: there is always room for one more.
    for _ in 0..6 {
        let status = || edge.get("/orders", failing).status;
        eventually(status, |status| *status == 200);
    }
    assert_eq!(edge.statuses("/orders", "bob", 4), [200, 200, 200, 429], "nothing comes back");
}

#[test]
fn what_becomes_of_requests_without_tollgate_envoy_is_told_itself() {
    for (deny, status) in [(false, 200), (true, 500)] {
        let mut edge = Edge::start(deny);
        assert_eq!(edge.get("/", "ann").status, 200);
        let (code, _, log) = edge.tollgate.take().unwrap().stop("-TERM");
        assert_eq!(code, Some(0), "{log}");
        let found = || edge.get("/", "ann").status;
        eventually(found, |found| *found == status);
        assert_eq!(edge.statuses("/login", "ann", 7), [status; 7]);
    }
}

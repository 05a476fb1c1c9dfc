//! The configurations in `examples/nginx` and `examples/caddy`, with the real proxies.

use std::fs;
use std::net::Ipv4Addr;
use std::process::Command;

use sluicegate_testkit::free_port;

use super::external_tools::program;
use super::program::{Folder, Serving, sluicegate};
use super::proxy_setup::{Edge, Service, service, substituted};

/// The proxies that send each request to Sluicegate by HTTP.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Proxy {
    Nginx,
    Caddy,
}

/// The failure mode while Sluicegate is unreachable.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum FailureMode {
    Open,
    Closed,
}

impl Proxy {
    pub(super) const ALL: [Self; 2] = [Self::Nginx, Self::Caddy];

    pub(super) fn example(self, name: &str) -> String {
        let folder = if self == Self::Nginx { "nginx" } else { "caddy" };
        format!("{}/../../examples/{folder}/{name}", env!("CARGO_MANIFEST_DIR"))
    }

    /// The example on free ports.
    fn config(
        self,
        port: u16,
        sluicegate: &str,
        service: &Service,
        without: FailureMode,
    ) -> String {
        let own = |default: &str| match default {
            "10000" => port.to_string(),
            "8080" => service.port.to_string(),
            _ => sluicegate.rsplit_once(':').unwrap().1.to_owned(),
        };
        // Timeouts are raised, so that a busy test machine is not an outage.
        let (name, ports, timeouts) = match self {
            Self::Nginx => (
                "nginx.conf",
                ["listen 127.0.0.1:10000;", "proxy_pass http://127.0.0.1:8080;", "127.0.0.1:7070"]
                    .as_slice(),
                ["connect_timeout 50ms", "read_timeout 50ms"],
            ),
            Self::Caddy => (
                "Caddyfile",
                ["http://:10000 {", "\n\t\treverse_proxy 127.0.0.1:8080", "127.0.0.1:7070"]
                    .as_slice(),
                ["dial_timeout 50ms", "header_timeout 50ms"],
            ),
        };
        let mut texts: Vec<(&str, String)> = Vec::new();
        for text in ports {
            let default = ["10000", "8080", "7070"].into_iter().find(|port| text.contains(port));
            texts.push((text, text.replace(default.unwrap(), &own(default.unwrap()))));
        }
        for text in timeouts {
            texts.push((text, text.replace("50ms", "30s")));
        }
        let (_, service) = texts[1].1.rsplit_once(':').unwrap();
        let open = match self {
            Self::Nginx => "error_page 502 504 = @unasked;",
            Self::Caddy => "reverse_proxy @unasked 127.0.0.1:8080",
        };
        let service = open.replace("8080", service.trim_end_matches(';'));
        texts.push((open, if without == FailureMode::Open { service } else { String::new() }));
        substituted(fs::read_to_string(self.example(name)).unwrap(), &texts)
    }

    pub(super) fn command(self, folder: &Folder, config: &str) -> Command {
        match self {
            Self::Nginx => {
                let nginx = program("SLUICEGATE_NGINX", "nginx/bin/nginx", "/usr/sbin/nginx");
                let config = folder.write("nginx.conf", config);
                let mut command = Command::new(nginx);
                command.args(["-e", "stderr", "-p", &folder.at(""), "-c", &config]);
                // A single process, so that killing it stops all.
                command.args(["-g", "master_process off;"]);
                command
            }
            Self::Caddy => {
                let caddy = program("SLUICEGATE_CADDY", "caddy/bin/caddy", "/usr/bin/caddy");
                let config = folder.write("Caddyfile", config);
                let mut command = Command::new(caddy);
                command.args(["run", "--config", &config, "--adapter", "caddyfile"]);
                command.env("XDG_CONFIG_HOME", folder.at("")).env("XDG_DATA_HOME", folder.at(""));
                command
            }
        }
    }
}

pub(super) fn start(proxy: Proxy, without: FailureMode) -> Edge {
    start_with(proxy, without, &fs::read_to_string(proxy.example("rules.yaml")).unwrap())
}

/// Starts the example with these rules.
pub(super) fn start_with(proxy: Proxy, without: FailureMode, rules: &str) -> Edge {
    let (folder, port, service) = (Folder::new(), free_port(), service());
    let rules = folder.write("rules.yaml", rules);
    let serving =
        Serving::start(sluicegate(&["serve", "--http", "127.0.0.1:0", "--config", &rules]));
    let config = proxy.config(port, &serving.address, &service, without);
    Edge::start(&mut proxy.command(&folder, &config), port, serving, service, folder)
}

#[test]
fn proxies_limit_clients_and_send_headers() {
    for proxy in Proxy::ALL {
        let edge = start(proxy, FailureMode::Open);
        let allowed = edge.get("/login?next=/", "ann");
        assert_eq!((allowed.status, allowed.body()), (200, "hi\n"), "{proxy:?}");
        assert_eq!(allowed.header("content-type"), ["text/plain"], "the service's own");
        assert_eq!(allowed.header("x-ratelimit-limit"), ["5"], "{}", allowed.text);
        assert_eq!(allowed.header("x-ratelimit-remaining"), ["4"]);
        let [reset] = allowed.header("x-ratelimit-reset")[..] else { panic!("{}", allowed.text) };
        assert!((1..=3_600).contains(&reset.parse::<u64>().unwrap()), "{reset}");
        assert!(allowed.header("retry-after").is_empty());

        assert_eq!(edge.statuses("/login", "ann", 5), [200, 200, 200, 200, 429], "{proxy:?}");
        assert_eq!(edge.get("/login?deny_status=200", "ann").status, 429, "{proxy:?}");
        let refused = edge.get("/login", "ann");
        assert_eq!(refused.status, 429);
        assert_eq!(refused.header("x-ratelimit-limit"), ["5"], "{}", refused.text);
        assert_eq!(refused.header("x-ratelimit-remaining"), ["0"]);
        let [seconds] = refused.header("retry-after")[..] else { panic!("{}", refused.text) };
        assert!((1..=3_600).contains(&seconds.parse::<u64>().unwrap()), "{seconds}");

        assert_eq!(
            edge.get("/login", "bob").status,
            429,
            "the client chooses the name, so it selects no counter"
        );
        let other = edge.get_from(Ipv4Addr::new(127, 0, 0, 2), "/login");
        assert_eq!(other.status, 200, "another address has its own counter");
        let other = edge.get("/", "ann");
        assert_eq!(other.header("x-ratelimit-limit"), ["1000"], "only the address is limited here");
    }
}

/// Units of 1,000 in a minute.
const USED: u64 = 400;

#[test]
fn forged_headers_select_no_counter() {
    for proxy in Proxy::ALL {
        let edge = start(proxy, FailureMode::Open);
        let left = |forged: &str| -> u64 {
            let answer = edge.get("/", &format!("ann\r\n{forged}"));
            assert_eq!(answer.status, 200, "{proxy:?}, {forged}: {}", answer.text);
            answer.header("x-ratelimit-remaining")[0].parse().unwrap()
        };
        // So many that refill in the meantime does not hide a separate counter.
        for _ in 0..USED {
            left("accept: */*");
        }
        for forged in [
            "x-forwarded-for: 203.0.113.9",
            "x-forwarded-uri: /login",
            "x-forwarded-method: DELETE",
            "x-original-method: DELETE",
            "x-original-uri: /login",
            "x-original-url: http://edge/login",
            "content-length: 0",
        ] {
            let left = left(forged);
            assert!(left < 1_000 - USED / 2, "{proxy:?}, {forged} selects a counter with {left}");
        }
    }
}

#[test]
fn the_failure_mode_of_the_proxy_applies_without_sluicegate() {
    for (proxy, without, status) in [
        (Proxy::Nginx, FailureMode::Open, 200),
        (Proxy::Nginx, FailureMode::Closed, 500),
        (Proxy::Caddy, FailureMode::Open, 200),
        (Proxy::Caddy, FailureMode::Closed, 502),
    ] {
        let mut edge = start(proxy, without);
        let (code, _, log) = edge.sluicegate.take().unwrap().stop("-TERM");
        assert_eq!(code, Some(0), "{log}");
        assert_eq!(edge.statuses("/login", "ann", 7), [status; 7], "{proxy:?}");
    }
}

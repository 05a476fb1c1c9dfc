//! The start-up and shutdown lines of the server.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use sluicegate_server::{Addresses, Drained};

use super::rules::InitialRules;

/// The listeners, the number of rules, and example commands.
pub(super) fn greeting(
    addresses: &Addresses,
    store: &str,
    rules: &InitialRules,
    proxies: &[String],
) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let summary = rules.summary();
    let examples = if proxies.is_empty() {
        examples(addresses, rules.file.is_some())
    } else {
        let proxies = proxies.join(", ");
        format!(
            "sluicegate: every HTTP connection must begin with a PROXY header, from {proxies}\n"
        )
    };
    let schemes = [(addresses.http, "http"), (addresses.grpc, "grpc"), (addresses.resp, "redis")];
    let listening: Vec<String> = schemes
        .iter()
        .filter_map(|(address, scheme)| address.map(|address| format!("{scheme}://{address}")))
        .collect();
    let listening = listening.join(", ");
    format!(
        "sluicegate {version}: listening on {listening} ({store} store)\n\
         sluicegate: loaded {summary}\n\
         {examples}"
    )
}

/// Example commands to copy.
fn examples(addresses: &Addresses, own_rules: bool) -> String {
    let mut lines = Vec::new();
    if let Some(address) = addresses.http {
        let url = format!("http://{}", reachable(address));
        let attributes = "{\"method\":\"POST\",\"path\":\"/login\",\"ip\":\"203.0.113.9\"}";
        // The rules of a file are unknown here; a quota in the request works with any rules.
        if !own_rules {
            lines.push(format!("curl -i {url}/v1/check -d '{{\"attributes\":{attributes}}}'"));
        }
        let quota = "{\"key\":\"user:42\",\"quota\":\"5/min\"}";
        lines.push(format!("curl -i {url}/v1/throttle -d '{quota}'"));
    }
    if let Some(address) = addresses.resp.map(reachable) {
        let (ip, port) = (address.ip(), address.port());
        lines.push(format!("redis-cli -h {ip} -p {port} CL.THROTTLE user:43 4 5 60"));
    }
    let times = match lines.len() {
        0 => return "\ntry:  set it as the rate_limit_service of an Envoy\n".to_owned(),
        1 => "six at once",
        _ => "six of any at once",
    };
    let lines = lines.join("\nor:   ");
    format!("\ntry:  {lines}\n      ({times}: the sixth is refused)\n")
}

/// Replaces an unspecified address, which not every system can connect to, by the loopback one.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

/// The line about the shutdown.
pub(super) fn shutdown_message(drained: Drained, shutdown_timeout: Duration) -> String {
    match drained {
        Drained::All => "sluicegate: stopped; every request was answered\n".to_owned(),
        Drained::Cut { connections } => format!(
            "sluicegate: stopped; {connections} {} still busy after {}s and {} closed\n",
            if connections == 1 { "connection was" } else { "connections were" },
            shutdown_timeout.as_secs(),
            if connections == 1 { "was" } else { "were" },
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An HTTP listener alone.
    fn at(http: &str) -> Addresses {
        Addresses { http: Some(http.parse().unwrap()), ..Addresses::default() }
    }

    #[test]
    fn examples_name_an_address_to_connect_to() {
        let Ok(rules) = InitialRules::of(None) else { panic!("no built-in rules") };
        for (listening, url) in [
            ("127.0.0.1:7070", "http://127.0.0.1:7070/"),
            ("0.0.0.0:80", "http://127.0.0.1:80/"),
            ("[::]:7070", "http://[::1]:7070/"),
            ("[::1]:7070", "http://[::1]:7070/"),
        ] {
            let greeting = greeting(&at(listening), "memory", &rules, &[]);
            assert!(greeting.contains(&format!("listening on http://{listening} ")));
            assert!(greeting.contains(&format!("try:  curl -i {url}v1/check ")), "{greeting}");
            assert!(greeting.contains(&format!("or:   curl -i {url}v1/throttle ")), "{greeting}");
        }
    }

    #[test]
    fn no_examples_if_a_proxy_header_is_required() {
        let Ok(rules) = InitialRules::of(None) else { panic!("no built-in rules") };
        let proxies = ["10.0.0.0/8".to_owned(), "::1".to_owned()];
        let greeting = greeting(&at("127.0.0.1:7070"), "memory", &rules, &proxies);
        assert!(greeting.ends_with("begin with a PROXY header, from 10.0.0.0/8, ::1\n"));
        assert!(!greeting.contains("curl"), "{greeting}");
    }

    #[test]
    fn the_last_line_counts_closed_connections() {
        let after = Duration::from_secs(10);
        let line = |connections| shutdown_message(Drained::Cut { connections }, after);
        assert_eq!(
            line(1),
            "sluicegate: stopped; 1 connection was still busy after 10s and was closed\n"
        );
        assert_eq!(
            line(2),
            "sluicegate: stopped; 2 connections were still busy after 10s and were closed\n"
        );
    }
}

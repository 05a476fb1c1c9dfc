//! The first and the last that is said: where it listens, what to try, how it ended.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use sluicegate_server::{Addresses, Drained};

use super::rules::Rules;

/// Where it listens, which rules it goes by, and what to try.
pub(super) fn greeting(
    addresses: &Addresses,
    store: &str,
    rules: &Rules,
    proxies: &[String],
) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let summary = rules.summary();
    let tries = if proxies.is_empty() {
        tries(addresses, rules.file.is_some())
    } else {
        let proxies = proxies.join(", ");
        format!("sluicegate: every connection has to begin with a PROXY header, from {proxies}\n")
    };
    let schemes = [(addresses.http, "http"), (addresses.grpc, "grpc"), (addresses.resp, "redis")];
    let listening: Vec<String> = schemes
        .iter()
        .filter_map(|(address, scheme)| address.map(|address| format!("{scheme}://{address}")))
        .collect();
    let listening = listening.join(", ");
    format!(
        "sluicegate {version}: listening on {listening} ({store} store)\n\
         sluicegate: going by {summary}\n\
         {tries}"
    )
}

/// Lines to copy.
fn tries(addresses: &Addresses, own_rules: bool) -> String {
    let mut lines = Vec::new();
    if let Some(address) = addresses.http {
        let url = format!("http://{}", reachable(address));
        let attributes = "{\"method\":\"POST\",\"path\":\"/login\",\"ip\":\"203.0.113.9\"}";
        // Nobody knows what a file refuses; a quota in the request works whatever it says.
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
    let which = match lines.len() {
        0 => return "\ntry:  point the rate_limit_service of an Envoy at it\n".to_owned(),
        1 => "the sixth",
        _ => "the sixth of any",
    };
    let lines = lines.join("\nor:   ");
    format!("\ntry:  {lines}\n      ({which} within a minute is refused)\n")
}

/// "Every address" cannot be asked everywhere; this machine's own can.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

/// How it ended.
pub(super) fn farewell(drained: Drained, shutdown_timeout: Duration) -> String {
    match drained {
        Drained::All => "sluicegate: stopped; every request was answered\n".to_owned(),
        Drained::Cut { connections } => format!(
            "sluicegate: stopped; {connections} {} not done after {}s and {} cut\n",
            if connections == 1 { "connection was" } else { "connections were" },
            shutdown_timeout.as_secs(),
            if connections == 1 { "was" } else { "were" },
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With HTTP there, and nothing else.
    fn at(http: &str) -> Addresses {
        Addresses { http: Some(http.parse().unwrap()), ..Addresses::default() }
    }

    #[test]
    fn the_lines_to_try_name_an_address_that_can_be_asked() {
        let Ok(rules) = Rules::of(None) else { panic!("no built-in rules") };
        for (listening, asked) in [
            ("127.0.0.1:7070", "http://127.0.0.1:7070/"),
            ("0.0.0.0:80", "http://127.0.0.1:80/"),
            ("[::]:7070", "http://[::1]:7070/"),
            ("[::1]:7070", "http://[::1]:7070/"),
        ] {
            let greeting = greeting(&at(listening), "memory", &rules, &[]);
            assert!(greeting.contains(&format!("listening on http://{listening} ")));
            assert!(greeting.contains(&format!("try:  curl -i {asked}v1/check ")), "{greeting}");
            assert!(greeting.contains(&format!("or:   curl -i {asked}v1/throttle ")), "{greeting}");
        }
    }

    #[test]
    fn where_a_proxy_is_needed_nothing_is_said_that_would_not_work() {
        let Ok(rules) = Rules::of(None) else { panic!("no built-in rules") };
        let proxies = ["10.0.0.0/8".to_owned(), "::1".to_owned()];
        let greeting = greeting(&at("127.0.0.1:7070"), "memory", &rules, &proxies);
        assert!(greeting.ends_with("begin with a PROXY header, from 10.0.0.0/8, ::1\n"));
        assert!(!greeting.contains("curl"), "{greeting}");
    }

    #[test]
    fn the_last_line_says_what_was_cut() {
        let after = Duration::from_secs(10);
        let cut = |connections| farewell(Drained::Cut { connections }, after);
        assert_eq!(
            cut(1),
            "sluicegate: stopped; 1 connection was not done after 10s and was cut\n"
        );
        assert_eq!(
            cut(2),
            "sluicegate: stopped; 2 connections were not done after 10s and were cut\n"
        );
    }
}

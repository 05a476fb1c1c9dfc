//! Builds a `Request` for the rules from types of the `http` crate.

use std::net::IpAddr;

use http::HeaderMap;
use http::header::{HOST, HeaderName};
use http::request::Parts;
use http::uri::Authority;
use sluicegate_rules::{Headers, Request};

/// A header map that the rules can read.
#[derive(Debug, Clone, Copy)]
pub struct HeaderLines<'a>(pub &'a HeaderMap);

impl Headers for HeaderLines<'_> {
    fn each<'h>(&'h self, name: &str, visit: &mut dyn FnMut(&'h [u8])) {
        let Ok(name) = HeaderName::try_from(name) else { return };
        self.0.get_all(name).iter().for_each(|value| visit(value.as_bytes()));
    }
}

/// Builds the request of these parts, sent by `peer`; `lines` are its headers.
///
/// The host is that of the target if it has one (HTTP/2), otherwise that of the `Host` header.
pub fn request<'a>(parts: &'a Parts, lines: &'a HeaderLines<'a>, peer: IpAddr) -> Request<'a> {
    let target = parts.uri.path_and_query().map_or("/", |target| target.as_str());
    let request = Request::new().method(parts.method.as_str()).target(target).peer(peer);
    let request = request.headers(lines);
    let from_header = || parts.headers.get(HOST).and_then(|host| host.to_str().ok());
    let host = parts.uri.authority().map(Authority::as_str).or_else(from_header);
    host.map_or(request, |host| request.host(host))
}

#[cfg(test)]
mod tests {
    use sluicegate::Limiter;
    use sluicegate_rules::{RuleLimiter, RuleSet};

    use super::*;

    const RULES: &str = "
identify:
  user: { header: x-user }
rules:
  - { name: api, key: user, limit: 1/min, match: { method: POST, host: shop.example, path: /buy } }
";

    /// Returns whether the second of two equal requests is refused.
    fn is_limited(uri: &str, host: Option<&str>) -> bool {
        let rules = RuleSet::parse(RULES).unwrap();
        let limiter = RuleLimiter::new(Limiter::in_memory(), rules).unwrap();
        let mut builder = http::Request::post(uri).header("x-user", "ann");
        if let Some(host) = host {
            builder = builder.header("host", host);
        }
        let (parts, ()) = builder.body(()).unwrap().into_parts();
        let lines = HeaderLines(&parts.headers);
        let request = request(&parts, &lines, [192, 0, 2, 7].into());
        let check = || {
            let is_refused = limiter.check(&request, |evaluation| !evaluation.is_allowed()).now();
            is_refused.unwrap()
        };
        check();
        check()
    }

    #[test]
    fn rules_match_method_host_path_and_headers() {
        assert!(is_limited("/buy?item=1", Some("shop.example")));
        assert!(is_limited("https://shop.example/buy", None));
        // The host of an HTTP/2 target takes precedence over a different `Host` header.
        assert!(!is_limited("https://blog.example/buy", Some("shop.example")));
        assert!(!is_limited("/sell", Some("shop.example")));
    }
}

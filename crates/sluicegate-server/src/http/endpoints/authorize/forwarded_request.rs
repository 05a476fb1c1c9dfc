//! The original request of a client, as a proxy describes it.
//!
//! | proxy | description |
//! |---|---|
//! | Caddy and Traefik (`forward_auth`) | `X-Forwarded-Method`, `-Uri`, `-Host` |
//! | nginx (`auth_request`) | as configured: the same, or `X-Original-Method`, `-URI`, `-URL` |
//! | Envoy (`ext_authz` over HTTP) | its method, and its path appended to `/v1/authorize` |

use std::net::IpAddr;

use hyper::header::{CONTENT_LENGTH, HOST, TRANSFER_ENCODING};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, StatusCode};
use sluicegate_http::{FieldError, HeaderLines};
use sluicegate_rules::{Headers, Request};

use crate::http::{Route, query};

const METHOD: &[&str] = &["x-forwarded-method", "x-original-method"];
const TARGET: &[&str] = &["x-forwarded-uri", "x-original-uri", "x-original-url"];
const ORIGINAL_HOST: &[&str] = &["x-forwarded-host", "x-original-host"];

/// The original request that a proxy describes.
pub(super) struct ForwardedRequest<'a> {
    method: &'a str,
    target: &'a str,
    host: Option<&'a str>,
    lines: ForwardedHeaders<'a>,
    deny_status: Option<StatusCode>,
}

/// The headers of the proxy's request, without those about its own body.
struct ForwardedHeaders<'a>(HeaderLines<'a>);

impl<'a> ForwardedRequest<'a> {
    /// Reads the original request; the error lists all errors.
    pub(super) fn of(head: &'a Parts) -> Result<Self, Vec<FieldError>> {
        let target = head.uri.path_and_query().map_or("", |target| target.as_str());
        match target.strip_prefix(Route::Authorize.path()).filter(|it| it.starts_with('/')) {
            Some(target) => Ok(Self::from_target(head, target)),
            None => Self::from_headers(head),
        }
    }

    /// Reads a request whose target is appended to the path of the endpoint.
    fn from_target(head: &'a Parts, target: &'a str) -> Self {
        let host = head.headers.get(HOST).and_then(|host| host.to_str().ok());
        let (method, lines) = (head.method.as_str(), ForwardedHeaders(HeaderLines(&head.headers)));
        Self { method, target, host, lines, deny_status: None }
    }

    /// Reads a request that headers describe.
    ///
    /// Method and target are required: without them, rules for some methods or paths would silently
    /// apply to no request.
    fn from_headers(head: &'a Parts) -> Result<Self, Vec<FieldError>> {
        let headers = &head.headers;
        let mut errors = Vec::new();
        let mut only = |names| only(headers, names).map_err(|error| errors.push(error)).ok();
        let method = only(METHOD);
        let target = only(TARGET);
        let host = only(ORIGINAL_HOST).flatten();
        // The query may come from the client if the proxy forwards it. Only error statuses are
        // accepted, and other parameters are errors, so that no query turns a refusal into a 200.
        let deny_status = query::deny_status(head.uri.query(), &query::ERROR_STATUS);
        let deny_status = deny_status.map_err(|error| errors.push(with_query_hint(error)));
        let deny_status = deny_status.unwrap_or_default();
        for (found, names, is_valid, expected) in [
            (method, METHOD, is_method as fn(&str) -> bool, "a method, as in `POST`"),
            (target, TARGET, is_target, "a path that has no `#`, as in `/checkout?currency=EUR`"),
            (Some(host), ORIGINAL_HOST, is_word, "a host, as in `shop.example`"),
        ] {
            let detail = match found {
                Some(Some(value)) if !is_valid(value) => format!("it is not {expected}"),
                Some(None) if names != ORIGINAL_HOST => {
                    "it is missing; configure the proxy to send it".to_owned()
                }
                _ => continue,
            };
            errors.push(FieldError::new(first(names), detail));
        }
        let host = host.or_else(|| headers.get(HOST).and_then(|host| host.to_str().ok()));
        match (method.flatten(), target.flatten()) {
            (Some(method), Some(target)) if errors.is_empty() => {
                let lines = ForwardedHeaders(HeaderLines(headers));
                Ok(Self { method, target, host, lines, deny_status })
            }
            _ => Err(errors),
        }
    }

    /// Returns the status of refusals, if the query sets one.
    pub(super) fn deny_status(&self) -> Option<StatusCode> {
        self.deny_status
    }

    /// Returns the request for the rules; its peer is the proxy.
    pub(super) fn request(&self, peer: IpAddr) -> Request<'_> {
        let request = Request::new().method(self.method).target(self.target).peer(peer);
        let request = request.headers(&self.lines);
        self.host.map_or(request, |host| request.host(host))
    }
}

/// Returns the value of the headers of these names, which must not differ.
///
/// A proxy overwrites the headers that it uses and forwards the others from the client. If they
/// differ, the one that the client has sent is unknown.
fn only<'a>(headers: &'a HeaderMap, names: &[&'static str]) -> Result<Option<&'a str>, FieldError> {
    let mut found: Option<(&'static str, &[u8])> = None;
    for name in names {
        for value in headers.get_all(*name) {
            match found {
                Some((other, first)) if first != value.as_bytes() => {
                    let detail = format!(
                        "it differs from `{other}`; configure the proxy to set one of them and to \
                         remove the other from client requests"
                    );
                    return Err(FieldError::new(*name, detail));
                }
                _ => found = Some((name, value.as_bytes())),
            }
        }
    }
    let Some((name, value)) = found else { return Ok(None) };
    match str::from_utf8(value) {
        Ok("") => Err(FieldError::new(name, "it is empty; configure the proxy to send it")),
        Ok(value) => Ok(Some(value)),
        Err(_) => Err(FieldError::new(name, "it is not UTF-8; send it percent-encoded")),
    }
}

fn is_method(value: &str) -> bool {
    Method::from_bytes(value.as_bytes()).is_ok()
}

/// Adds to a query error the remedy for proxies that append the client's query.
fn with_query_hint(FieldError { field, detail }: FieldError) -> FieldError {
    let hint = "a proxy that appends the query of its client has to request `/v1/authorize?`, \
               with an empty query";
    FieldError::new(field, format!("{detail}; {hint}"))
}

/// Returns whether a text is a request target: a path, a URL or `*`.
///
/// A fragment is refused: it is not part of a target, and servers differ in whether they remove it.
fn is_target(value: &str) -> bool {
    let has_start = ["/", "http://", "https://"].iter().any(|start| value.starts_with(start));
    (has_start || value == "*") && is_word(value) && !value.contains('#')
}

fn is_word(value: &str) -> bool {
    !value.contains(|letter: char| letter.is_whitespace() || letter.is_control())
}

fn first(names: &[&'static str]) -> &'static str {
    names.first().copied().unwrap_or_default()
}

impl Headers for ForwardedHeaders<'_> {
    fn each<'h>(&'h self, name: &str, visit: &mut dyn FnMut(&'h [u8])) {
        // They describe the body of the proxy's request, not that of the original one.
        let of_body = [CONTENT_LENGTH, TRANSFER_ENCODING];
        if of_body.iter().any(|header| name.eq_ignore_ascii_case(header.as_str())) {
            return;
        }
        self.0.each(name, visit);
    }
}

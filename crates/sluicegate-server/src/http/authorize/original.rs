//! The request that a proxy asks about, as its headers tell it.
//!
//! | proxy | tells it by |
//! |---|---|
//! | Caddy and Traefik (`forward_auth`) | `X-Forwarded-Method`, `-Uri`, `-Host` |
//! | nginx (`auth_request`) | what it is configured to: the same, or `X-Original-Method`, `-URI`, `-URL` |
//! | Envoy (`ext_authz` over HTTP) | asking with its method, for its path behind `/v1/authorize` |

use std::net::IpAddr;

use hyper::header::{CONTENT_LENGTH, HOST, HeaderName, TRANSFER_ENCODING};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, StatusCode};
use sluicegate_rules::{Headers, Request};

use crate::http::problem::Mistake;
use crate::http::{Route, query};

const METHOD: &[&str] = &["x-forwarded-method", "x-original-method"];
const TARGET: &[&str] = &["x-forwarded-uri", "x-original-uri", "x-original-url"];
const ORIGINAL_HOST: &[&str] = &["x-forwarded-host", "x-original-host"];

/// The request that a proxy asks about.
pub(super) struct Original<'a> {
    method: &'a str,
    target: &'a str,
    host: Option<&'a str>,
    lines: Lines<'a>,
    deny_status: Option<StatusCode>,
}

/// The headers of the request: those of the question, but for what is about its own body.
struct Lines<'a>(&'a HeaderMap);

impl<'a> Original<'a> {
    /// Reads it; the error lists all that is wrong.
    pub(super) fn of(head: &'a Parts) -> Result<Self, Vec<Mistake>> {
        let target = head.uri.path_and_query().map_or("", |target| target.as_str());
        match target.strip_prefix(Route::Authorize.path()).filter(|it| it.starts_with('/')) {
            Some(target) => Ok(Self::asked_as_itself(head, target)),
            None => Self::told(head),
        }
    }

    /// The question is the request itself, a few letters further down.
    fn asked_as_itself(head: &'a Parts, target: &'a str) -> Self {
        let host = head.headers.get(HOST).and_then(|host| host.to_str().ok());
        let (method, lines) = (head.method.as_str(), Lines(&head.headers));
        Self { method, target, host, lines, deny_status: None }
    }

    /// The question tells of it in headers.
    ///
    /// Method and target have to be told: a proxy that forgets them would have rules for some of its
    /// requests apply to none, unnoticed.
    fn told(head: &'a Parts) -> Result<Self, Vec<Mistake>> {
        let headers = &head.headers;
        let mut mistakes = Vec::new();
        let mut only = |names| only(headers, names).map_err(|it| mistakes.push(it)).ok();
        let method = only(METHOD);
        let target = only(TARGET);
        let host = only(ORIGINAL_HOST).flatten();
        // The query may be the client's if the proxy passes it on. An error status is a refusal to
        // every proxy, and anything else is an error, so that no query turns a refusal into a 200.
        let deny_status = query::deny_status(head.uri.query(), &query::ERROR_STATUS);
        let deny_status = deny_status.map_err(|mistake| mistakes.push(without_query(mistake)));
        let deny_status = deny_status.unwrap_or_default();
        for (told, names, is_right, right) in [
            (method, METHOD, is_method as fn(&str) -> bool, "a method, as in `POST`"),
            (target, TARGET, is_target, "a path that has no `#`, as in `/checkout?currency=EUR`"),
            (Some(host), ORIGINAL_HOST, is_word, "a host, as in `shop.example`"),
        ] {
            let detail = match told {
                Some(Some(said)) if !is_right(said) => format!("it is not {right}"),
                Some(None) if names != ORIGINAL_HOST => {
                    "it is missing; let the proxy say which request it asks about".to_owned()
                }
                _ => continue,
            };
            mistakes.push(Mistake::new(first(names), detail));
        }
        let host = host.or_else(|| headers.get(HOST).and_then(|host| host.to_str().ok()));
        match (method.flatten(), target.flatten()) {
            (Some(method), Some(target)) if mistakes.is_empty() => {
                Ok(Self { method, target, host, lines: Lines(headers), deny_status })
            }
            _ => Err(mistakes),
        }
    }

    /// The status to refuse with, where one was asked for.
    pub(super) fn deny_status(&self) -> Option<StatusCode> {
        self.deny_status
    }

    /// The request as rules see it; at the other end of its connection is who asks.
    pub(super) fn request(&self, peer: IpAddr) -> Request<'_> {
        let request = Request::new().method(self.method).target(self.target).peer(peer);
        let request = request.headers(&self.lines);
        self.host.map_or(request, |host| request.host(host))
    }
}

/// What the headers of these names say.
///
/// A proxy overwrites those that it uses, and passes on what a client sent in the others: where they
/// differ nobody can tell which is the client's.
fn only<'a>(headers: &'a HeaderMap, names: &[&'static str]) -> Result<Option<&'a str>, Mistake> {
    let mut found: Option<(&'static str, &[u8])> = None;
    for name in names {
        for value in headers.get_all(*name) {
            match found {
                Some((other, said)) if said != value.as_bytes() => {
                    let detail = format!(
                        "it says something else than `{other}`; let the proxy set one of them and \
                         remove the other from what clients send"
                    );
                    return Err(Mistake::new(*name, detail));
                }
                _ => found = Some((name, value.as_bytes())),
            }
        }
    }
    let Some((name, said)) = found else { return Ok(None) };
    match str::from_utf8(said) {
        Ok("") => Err(Mistake::new(name, "it is empty; let the proxy say what was asked for")),
        Ok(said) => Ok(Some(said)),
        Err(_) => Err(Mistake::new(name, "it is not UTF-8; send it percent-encoded")),
    }
}

fn is_method(said: &str) -> bool {
    Method::from_bytes(said.as_bytes()).is_ok()
}

/// The mistake in a query, with the fix for proxies that append the client's.
fn without_query(Mistake { field, detail }: Mistake) -> Mistake {
    let fix = "a proxy that appends its client's query has to ask for `/v1/authorize?`, with an \
               empty query";
    Mistake::new(field, format!("{detail}; {fix}"))
}

/// A path, or where the host is told with it, all of the address.
///
/// A fragment is none of a request target, and servers differ in whether they cut it off.
fn is_target(said: &str) -> bool {
    let begins = ["/", "http://", "https://"].iter().any(|begin| said.starts_with(begin));
    (begins || said == "*") && is_word(said) && !said.contains('#')
}

fn is_word(said: &str) -> bool {
    !said.contains(|letter: char| letter.is_whitespace() || letter.is_control())
}

fn first(names: &[&'static str]) -> &'static str {
    names.first().copied().unwrap_or_default()
}

impl Headers for Lines<'_> {
    fn each<'h>(&'h self, name: &str, visit: &mut dyn FnMut(&'h [u8])) {
        let Ok(name) = HeaderName::try_from(name) else { return };
        // These are about the question's own body, which is not the request's.
        if name == CONTENT_LENGTH || name == TRANSFER_ENCODING {
            return;
        }
        self.0.get_all(name).iter().for_each(|value| visit(value.as_bytes()));
    }
}

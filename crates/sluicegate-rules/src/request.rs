//! What is known of a call, borrowed and in no protocol's words.

use std::borrow::Cow;
use std::net::IpAddr;

/// What is known of a call: what a transport has at hand, borrowed.
///
/// Everything is optional. What a transport does not say is looked for among the attributes, under
/// the names `method`, `path`, `host` and `ip`; an attribute with the name of an identity is that
/// identity.
///
/// ```
/// use sluicegate_rules::{Request, Value};
///
/// let attributes = [("user", Value::Text("42")), ("account_age_days", Value::Whole(12))];
/// let headers = [("x-api-key", &b"secret"[..])];
/// let request = Request::new()
///     .method("POST")
///     .target("/checkout?currency=EUR")
///     .headers(&headers)
///     .attributes(&attributes);
/// # let _ = request;
/// ```
#[derive(Clone, Copy)]
pub struct Request<'r> {
    pub(crate) method: Option<&'r str>,
    pub(crate) target: Option<&'r [u8]>,
    pub(crate) host: Option<&'r str>,
    pub(crate) peer: Option<IpAddr>,
    pub(crate) headers: &'r dyn Headers,
    pub(crate) attributes: &'r dyn Attributes,
    pub(crate) body_size: Option<u64>,
    pub(crate) cost: Option<u64>,
    pub(crate) entries: Option<usize>,
}

/// The header lines of a request.
///
/// Can be shared: a request may be decided on another thread than it arrived on.
pub trait Headers: Sync {
    /// Hands over the value of each line of this name, in order. Names are lower-case; a line's
    /// own name may be spelt in any case.
    fn each<'h>(&'h self, name: &str, visit: &mut dyn FnMut(&'h [u8]));
}

/// What a caller of the service says about a request.
pub trait Attributes: Sync {
    /// The attribute of this name.
    fn get(&self, name: &str) -> Option<Value<'_>>;
}

/// What an attribute is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'v> {
    /// A text.
    Text(&'v str),
    /// A whole number.
    Whole(i64),
    /// Another number.
    Real(f64),
    /// Yes or no.
    Flag(bool),
}

impl<'v> Value<'v> {
    /// The value as text: what keys are made of and texts are compared with.
    pub fn as_text(&self) -> Cow<'v, str> {
        match *self {
            Self::Text(text) => Cow::Borrowed(text),
            Self::Whole(number) => Cow::Owned(number.to_string()),
            Self::Real(number) => Cow::Owned(number.to_string()),
            Self::Flag(true) => Cow::Borrowed("true"),
            Self::Flag(false) => Cow::Borrowed("false"),
        }
    }
}

impl Default for Request<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl<'r> Request<'r> {
    /// A request of which nothing is known.
    pub const fn new() -> Self {
        Self {
            method: None,
            target: None,
            host: None,
            peer: None,
            headers: &Nothing,
            attributes: &Nothing,
            body_size: None,
            cost: None,
            entries: None,
        }
    }

    /// Its method.
    #[must_use]
    pub const fn method(self, method: &'r str) -> Self {
        Self { method: Some(method), ..self }
    }

    /// What it asks for: a path, with its query if it has one.
    #[must_use]
    pub const fn target(self, target: &'r str) -> Self {
        Self { target: Some(target.as_bytes()), ..self }
    }

    /// The host it was sent to: `Host`, or `:authority`.
    #[must_use]
    pub const fn host(self, host: &'r str) -> Self {
        Self { host: Some(host), ..self }
    }

    /// The address at the other end of the connection, which may be a proxy's.
    #[must_use]
    pub const fn peer(self, peer: IpAddr) -> Self {
        Self { peer: Some(peer), ..self }
    }

    /// Its header lines.
    #[must_use]
    pub const fn headers(self, headers: &'r dyn Headers) -> Self {
        Self { headers, ..self }
    }

    /// What its sender says about it.
    #[must_use]
    pub const fn attributes(self, attributes: &'r dyn Attributes) -> Self {
        Self { attributes, ..self }
    }

    /// How many bytes its body has.
    #[must_use]
    pub const fn body_size(self, bytes: u64) -> Self {
        Self { body_size: Some(bytes), ..self }
    }

    /// What its sender says it costs; 0 only looks.
    #[must_use]
    pub const fn cost(self, units: u64) -> Self {
        Self { cost: Some(units), ..self }
    }

    /// That its attributes are those of a descriptor with so many entries.
    #[must_use]
    pub const fn entries(self, count: usize) -> Self {
        Self { entries: Some(count), ..self }
    }
}

impl std::fmt::Debug for Request<'_> {
    /// Without headers and attributes, which may be secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Request").field("method", &self.method).finish_non_exhaustive()
    }
}

/// No header and no attribute.
struct Nothing;

impl Headers for Nothing {
    fn each<'h>(&'h self, _: &str, _: &mut dyn FnMut(&'h [u8])) {}
}

impl Attributes for Nothing {
    fn get(&self, _: &str) -> Option<Value<'_>> {
        None
    }
}

impl<N: AsRef<str> + Sync, V: AsRef<[u8]> + Sync, const LINES: usize> Headers for [(N, V); LINES] {
    fn each<'h>(&'h self, name: &str, visit: &mut dyn FnMut(&'h [u8])) {
        each_line(self, name, visit);
    }
}

impl<N: AsRef<str> + Sync, V: AsRef<[u8]> + Sync> Headers for Vec<(N, V)> {
    fn each<'h>(&'h self, name: &str, visit: &mut dyn FnMut(&'h [u8])) {
        each_line(self, name, visit);
    }
}

fn each_line<'h, N: AsRef<str>, V: AsRef<[u8]>>(
    lines: &'h [(N, V)],
    name: &str,
    visit: &mut dyn FnMut(&'h [u8]),
) {
    for (_, value) in lines.iter().filter(|(own, _)| own.as_ref().eq_ignore_ascii_case(name)) {
        visit(value.as_ref());
    }
}

impl<N: AsRef<str> + Sync, const COUNT: usize> Attributes for [(N, Value<'_>); COUNT] {
    fn get(&self, name: &str) -> Option<Value<'_>> {
        self.iter().find(|(own, _)| own.as_ref() == name).map(|(_, value)| *value)
    }
}

impl<N: AsRef<str> + Sync> Attributes for Vec<(N, Value<'_>)> {
    fn get(&self, name: &str) -> Option<Value<'_>> {
        self.iter().find(|(own, _)| own.as_ref() == name).map(|(_, value)| *value)
    }
}

//! A request independent of any transport protocol.

pub(crate) mod address;
pub(crate) mod context;
pub(crate) mod cookie;
pub mod descriptor;
pub(crate) mod host;
pub(crate) mod identity;
#[cfg(feature = "jwt")]
pub(crate) mod jwt;
pub(crate) mod path;
pub(crate) mod purpose;
pub(crate) mod query;
pub(crate) mod redact;
pub(crate) mod values;

use std::borrow::Cow;
use std::net::IpAddr;

use self::purpose::Purpose;

/// A request, borrowed from the transport that received it.
///
/// Every field is optional. Missing fields are taken from the attributes `method`, `path`, `host`
/// and `ip`; an attribute with the name of an identity is the value of that identity.
///
/// ```
/// use sluicegate_rules::{Request, AttributeValue};
///
/// let (user, days) = (AttributeValue::Text("42"), AttributeValue::Whole(12));
/// let attributes = [("user", user), ("account_age_days", days)];
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
    pub(crate) purpose: Purpose,
}

/// The header lines of a request.
///
/// `Sync` because a request may be decided on another thread than the one that received it.
pub trait Headers: Sync {
    /// Calls `visit` with the value of each line of this name, in order.
    ///
    /// `name` is lower-case; the name of a line may be spelt in any case.
    fn each<'h>(&'h self, name: &str, visit: &mut dyn FnMut(&'h [u8]));
}

/// The attributes that the client of the service supplies for a request.
pub trait Attributes: Sync {
    /// The attribute of this name.
    fn get(&self, name: &str) -> Option<AttributeValue<'_>>;
}

/// The value of an attribute.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum AttributeValue<'v> {
    /// A text.
    Text(&'v str),
    /// A whole number.
    Whole(i64),
    /// Another number.
    Real(f64),
    /// Yes or no.
    Flag(bool),
}

impl<'v> AttributeValue<'v> {
    /// The value as text, as keys and text comparisons use it.
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
    /// An empty request.
    pub const fn new() -> Self {
        Self {
            method: None,
            target: None,
            host: None,
            peer: None,
            headers: &Empty,
            attributes: &Empty,
            body_size: None,
            cost: None,
            entries: None,
            purpose: Purpose::Take,
        }
    }

    /// Sets the purpose, which is to take units by default.
    #[must_use]
    pub const fn purpose(self, purpose: Purpose) -> Self {
        Self { purpose, ..self }
    }

    /// Sets the method.
    #[must_use]
    pub const fn method(self, method: &'r str) -> Self {
        Self { method: Some(method), ..self }
    }

    /// Sets the target: the path, with the query if there is one.
    #[must_use]
    pub const fn target(self, target: &'r str) -> Self {
        Self { target: Some(target.as_bytes()), ..self }
    }

    /// Sets the host: `Host`, or `:authority`.
    #[must_use]
    pub const fn host(self, host: &'r str) -> Self {
        Self { host: Some(host), ..self }
    }

    /// Sets the peer address of the connection, which may be a proxy's.
    #[must_use]
    pub const fn peer(self, peer: IpAddr) -> Self {
        Self { peer: Some(peer), ..self }
    }

    /// Sets the header lines.
    #[must_use]
    pub const fn headers(self, headers: &'r dyn Headers) -> Self {
        Self { headers, ..self }
    }

    /// Sets the attributes.
    #[must_use]
    pub const fn attributes(self, attributes: &'r dyn Attributes) -> Self {
        Self { attributes, ..self }
    }

    /// Sets the size of the body in bytes.
    #[must_use]
    pub const fn body_size(self, bytes: u64) -> Self {
        Self { body_size: Some(bytes), ..self }
    }

    /// Sets the cost that the sender requests; 0 peeks without charging.
    #[must_use]
    pub const fn cost(self, units: u64) -> Self {
        Self { cost: Some(units), ..self }
    }

    /// Marks the attributes as those of a descriptor with `count` entries.
    #[must_use]
    pub const fn entries(self, count: usize) -> Self {
        Self { entries: Some(count), ..self }
    }
}

impl std::fmt::Debug for Request<'_> {
    /// Omits headers and attributes, which may contain secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Request").field("method", &self.method).finish_non_exhaustive()
    }
}

/// An empty list of headers and of attributes.
struct Empty;

impl Headers for Empty {
    fn each<'h>(&'h self, _: &str, _: &mut dyn FnMut(&'h [u8])) {}
}

impl Attributes for Empty {
    fn get(&self, _: &str) -> Option<AttributeValue<'_>> {
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

impl<N: AsRef<str> + Sync, const COUNT: usize> Attributes for [(N, AttributeValue<'_>); COUNT] {
    fn get(&self, name: &str) -> Option<AttributeValue<'_>> {
        self.iter().find(|(own, _)| own.as_ref() == name).map(|(_, value)| *value)
    }
}

impl<N: AsRef<str> + Sync> Attributes for Vec<(N, AttributeValue<'_>)> {
    fn get(&self, name: &str) -> Option<AttributeValue<'_>> {
        self.iter().find(|(own, _)| own.as_ref() == name).map(|(_, value)| *value)
    }
}

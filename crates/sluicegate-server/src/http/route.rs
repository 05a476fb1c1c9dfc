//! The paths there are, and the methods each takes.

use hyper::Method;

use super::body;

/// A path with something behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Route {
    Index,
    Health,
    Ready,
    Metrics,
    Throttle,
    ThrottleBatch,
    Check,
    CheckBatch,
    Settle,
    Release,
    Renew,
    Report,
    Authorize,
    OpenApi,
}

impl Route {
    pub(crate) const ALL: [Self; 14] = [
        Self::Index,
        Self::Health,
        Self::Ready,
        Self::Metrics,
        Self::Throttle,
        Self::ThrottleBatch,
        Self::Check,
        Self::CheckBatch,
        Self::Settle,
        Self::Release,
        Self::Renew,
        Self::Report,
        Self::Authorize,
        Self::OpenApi,
    ];

    /// What is at this path.
    pub(super) fn at(path: &str) -> Option<Self> {
        // Envoy asks for the path of the request behind this one.
        let behind = path.strip_prefix(Self::Authorize.path());
        if behind.is_some_and(|behind| behind.starts_with('/')) {
            return Some(Self::Authorize);
        }
        // Those that are asked all the time are not searched for.
        let usual = [Self::Throttle, Self::Check];
        usual.into_iter().chain(Self::ALL).find(|route| route.path() == path)
    }

    /// The most bytes of its body, if it takes one.
    pub(super) const fn longest_body(self) -> Option<usize> {
        match self {
            Self::Throttle | Self::Check | Self::Report => Some(body::LONGEST),
            Self::ThrottleBatch | Self::CheckBatch => Some(body::LONGEST_LIST),
            Self::Settle | Self::Release | Self::Renew => Some(body::LONGEST_TEXT),
            Self::Index
            | Self::Health
            | Self::Ready
            | Self::Metrics
            | Self::Authorize
            | Self::OpenApi => None,
        }
    }

    /// Its path, which is also its label in the metrics.
    pub(crate) const fn path(self) -> &'static str {
        match self {
            Self::Index => "/",
            Self::Health => "/healthz",
            Self::Ready => "/readyz",
            Self::Metrics => "/metrics",
            Self::Throttle => "/v1/throttle",
            Self::ThrottleBatch => "/v1/throttle/batch",
            Self::Check => "/v1/check",
            Self::CheckBatch => "/v1/check/batch",
            Self::Settle => "/v1/settle",
            Self::Release => "/v1/release",
            Self::Renew => "/v1/renew",
            Self::Report => "/v1/report",
            Self::Authorize => "/v1/authorize",
            Self::OpenApi => "/openapi.json",
        }
    }

    /// Whether it can be asked with this method.
    pub(super) fn takes(self, method: &Method) -> bool {
        if self.is_page() {
            // The answer to HEAD is made like that to GET; hyper sends only its head.
            return method == Method::GET || method == Method::HEAD;
        }
        // What is asked about may have any method, and be asked about with it.
        self == Self::Authorize || method == Method::POST
    }

    /// The methods it can be asked with, as `Allow` lists them.
    pub(super) const fn methods(self) -> &'static str {
        if self.is_page() { "GET, HEAD" } else { "POST" }
    }

    /// Whether it is only looked at.
    const fn is_page(self) -> bool {
        matches!(self, Self::Index | Self::Health | Self::Ready | Self::Metrics | Self::OpenApi)
    }
}

//! The paths of the HTTP API, and their methods.

use hyper::Method;

use super::body;

/// An endpoint.
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

    /// Returns the endpoint at a path.
    pub(super) fn at(path: &str) -> Option<Self> {
        // Envoy appends the path of the original request.
        let rest = path.strip_prefix(Self::Authorize.path());
        if rest.is_some_and(|rest| rest.starts_with('/')) {
            return Some(Self::Authorize);
        }
        // The most frequent endpoints are compared first.
        let usual = [Self::Throttle, Self::Check];
        usual.into_iter().chain(Self::ALL).find(|route| route.path() == path)
    }

    /// Returns the most bytes of its body, if it takes one.
    pub(super) const fn longest_body(self) -> Option<usize> {
        match self {
            Self::Throttle | Self::Check | Self::Report => Some(body::MAX_LENGTH),
            Self::ThrottleBatch | Self::CheckBatch => Some(body::MAX_LIST),
            Self::Settle | Self::Release | Self::Renew => Some(body::MAX_RECEIPT),
            Self::Index
            | Self::Health
            | Self::Ready
            | Self::Metrics
            | Self::Authorize
            | Self::OpenApi => None,
        }
    }

    /// Returns its path, which is also its label in the metrics.
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

    /// Returns whether it supports this method.
    pub(super) fn supports(self, method: &Method) -> bool {
        if self.is_page() {
            // For HEAD, hyper sends only the head of the response to GET.
            return method == Method::GET || method == Method::HEAD;
        }
        // A proxy may use the method of the original request.
        self == Self::Authorize || method == Method::POST
    }

    /// Returns the supported methods, for the header `Allow`.
    pub(super) const fn methods(self) -> &'static str {
        if self.is_page() { "GET, HEAD" } else { "POST" }
    }

    /// Returns whether it is a read-only page.
    const fn is_page(self) -> bool {
        matches!(self, Self::Index | Self::Health | Self::Ready | Self::Metrics | Self::OpenApi)
    }
}

//! The paths there are, and the methods each takes.

use hyper::Method;

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
    Release,
    Report,
}

impl Route {
    pub(crate) const ALL: [Self; 10] = [
        Self::Index,
        Self::Health,
        Self::Ready,
        Self::Metrics,
        Self::Throttle,
        Self::ThrottleBatch,
        Self::Check,
        Self::CheckBatch,
        Self::Release,
        Self::Report,
    ];

    /// What is at this path.
    pub(super) fn at(path: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|route| route.path() == path)
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
            Self::Release => "/v1/release",
            Self::Report => "/v1/report",
        }
    }

    /// Whether it can be asked with this method.
    pub(super) fn takes(self, method: &Method) -> bool {
        if self.is_page() {
            // The answer to HEAD is made like that to GET; hyper sends only its head.
            return method == Method::GET || method == Method::HEAD;
        }
        method == Method::POST
    }

    /// The methods it can be asked with, as `Allow` lists them.
    pub(super) const fn methods(self) -> &'static str {
        if self.is_page() { "GET, HEAD" } else { "POST" }
    }

    /// Whether it is only looked at.
    const fn is_page(self) -> bool {
        matches!(self, Self::Index | Self::Health | Self::Ready | Self::Metrics)
    }
}

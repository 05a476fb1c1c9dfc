//! The paths there are, and the methods each takes.

use hyper::Method;

/// A path with something behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Route {
    Index,
    Health,
    Metrics,
    Throttle,
    ThrottleBatch,
}

impl Route {
    pub(crate) const ALL: [Self; 5] =
        [Self::Index, Self::Health, Self::Metrics, Self::Throttle, Self::ThrottleBatch];

    /// What is at this path.
    pub(super) fn at(path: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|route| route.path() == path)
    }

    /// Its path, which is also its label in the metrics.
    pub(crate) const fn path(self) -> &'static str {
        match self {
            Self::Index => "/",
            Self::Health => "/healthz",
            Self::Metrics => "/metrics",
            Self::Throttle => "/v1/throttle",
            Self::ThrottleBatch => "/v1/throttle/batch",
        }
    }

    /// Whether it can be asked with this method.
    pub(super) fn takes(self, method: &Method) -> bool {
        match self {
            Self::Index | Self::Health | Self::Metrics => {
                // The answer to HEAD is made like that to GET; hyper sends only its head.
                method == Method::GET || method == Method::HEAD
            }
            Self::Throttle | Self::ThrottleBatch => method == Method::POST,
        }
    }

    /// The methods it can be asked with, as `Allow` lists them.
    pub(super) const fn methods(self) -> &'static str {
        match self {
            Self::Index | Self::Health | Self::Metrics => "GET, HEAD",
            Self::Throttle | Self::ThrottleBatch => "POST",
        }
    }
}

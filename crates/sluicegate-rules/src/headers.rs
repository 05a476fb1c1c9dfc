//! What callers are told about their limits, whatever transport tells it: the names, and what is left out.

/// How callers are told how they stand: `headers` in a rule file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeaderSettings {
    /// What the headers that most clients read are called.
    pub names: HeaderNames,
    /// How the moment is told at which a counter is untouched again.
    pub reset: Reset,
    /// Whether there are `RateLimit` and `RateLimit-Policy`, with every limit that was met.
    pub ietf: bool,
    /// Where more is to be had; told with refusals.
    pub upgrade_url: Option<String>,
    /// The same in a sentence.
    pub upgrade_message: Option<String>,
}

/// What the headers about the strictest limit are called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HeaderNames {
    /// `X-RateLimit-Limit`, `-Remaining`, `-Reset`.
    #[default]
    XRateLimit,
    /// `X-Rate-Limit-Limit`, `-Remaining`, `-Reset`.
    XRateLimitDashed,
    /// `RateLimit-Limit`, `-Remaining`, `-Reset`, as early drafts of the standard had them.
    Legacy,
    /// There are none.
    Off,
}

/// How a moment is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reset {
    /// In seconds from now, rounded up.
    #[default]
    Delta,
    /// In seconds since 1970 began, rounded up.
    Epoch,
}

impl HeaderSettings {
    /// What holds where a file says nothing.
    pub const DEFAULT: Self = Self {
        names: HeaderNames::XRateLimit,
        reset: Reset::Delta,
        ietf: true,
        upgrade_url: None,
        upgrade_message: None,
    };
}

impl Default for HeaderSettings {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl HeaderNames {
    /// Every one.
    pub const ALL: [Self; 4] = [Self::XRateLimit, Self::XRateLimitDashed, Self::Legacy, Self::Off];

    /// As a file calls it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::XRateLimit => "x-ratelimit",
            Self::XRateLimitDashed => "x-rate-limit",
            Self::Legacy => "ratelimit-legacy",
            Self::Off => "off",
        }
    }

    /// The one that a file calls so.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|names| names.as_str() == name)
    }
}

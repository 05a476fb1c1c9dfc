//! Settings of the response headers that report the state of limits.

/// The settings of the response headers: `headers` in a rule file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeaderSettings {
    /// The names of the headers about the strictest limit.
    pub names: HeaderNames,
    /// The format of the time at which a counter is fully reset.
    pub reset: Reset,
    /// Whether to send `RateLimit` and `RateLimit-Policy`, with every limit that applies.
    pub ietf: bool,
    /// The URL where callers can get higher limits; sent with refusals.
    pub upgrade_url: Option<String>,
    /// A message about higher limits; sent with refusals.
    pub upgrade_message: Option<String>,
}

/// The names of the headers about the strictest limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HeaderNames {
    /// `X-RateLimit-Limit`, `-Remaining`, `-Reset`.
    #[default]
    XRateLimit,
    /// `X-Rate-Limit-Limit`, `-Remaining`, `-Reset`.
    XRateLimitDashed,
    /// `RateLimit-Limit`, `-Remaining`, `-Reset`, from early drafts of the standard.
    Legacy,
    /// No headers.
    Off,
}

/// The format of a reset time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reset {
    /// Seconds from now, rounded up.
    #[default]
    Delta,
    /// Seconds since 1970 (Unix time), rounded up.
    Epoch,
}

impl HeaderSettings {
    /// The settings of a file without `headers`.
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
    /// All values.
    pub const ALL: [Self; 4] = [Self::XRateLimit, Self::XRateLimitDashed, Self::Legacy, Self::Off];

    /// The value in a rule file.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::XRateLimit => "x-ratelimit",
            Self::XRateLimitDashed => "x-rate-limit",
            Self::Legacy => "ratelimit-legacy",
            Self::Off => "off",
        }
    }

    /// The names with this value in a rule file.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|names| names.as_str() == name)
    }
}

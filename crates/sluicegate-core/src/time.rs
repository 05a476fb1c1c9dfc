//! Points in time and lengths of time, in whole microseconds.
//!
//! Both stay far enough below 2^53 that a time plus two recoveries is still an
//! exact number in languages whose only number is a double, Redis' Lua among them.

use core::fmt;
use core::ops::{Add, Sub};
use core::time::Duration;

/// A point in time: whole microseconds since 1970-01-01T00:00:00Z.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(u64);

impl Time {
    /// The beginning of 1970.
    pub const EPOCH: Self = Self(0);
    /// The largest representable time, in the year 2112.
    pub const MAX: Self = Self(1 << 52);

    /// Creates the time this many microseconds after the beginning of 1970.
    ///
    /// It saturates at [`Time::MAX`]: from then on nothing refills, so nothing is granted in
    /// excess.
    pub const fn from_micros(micros: u64) -> Self {
        if micros > Self::MAX.0 { Self::MAX } else { Self(micros) }
    }

    /// Creates a time from arithmetic; may exceed [`Time::MAX`] by a recovery or two.
    pub(crate) const fn computed(micros: u64) -> Self {
        Self(micros)
    }

    /// Returns the microseconds since the beginning of 1970.
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// Returns the time since `earlier`; zero if this is not after it.
    pub const fn since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

/// Adds a span, saturating.
impl Add<Span> for Time {
    type Output = Self;
    fn add(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

/// A length of time in whole microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span(u64);

impl Span {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// The longest recovery a limit may have: about 35 years.
    pub const MAX: Self = Self(1 << 50);
    /// The largest difference between two correct readings of one clock.
    ///
    /// State further ahead than a full recovery plus this was written under a clock that has since
    /// been set back, and is read as "exhausted now".
    pub const CLOCK_SLACK: Self = Self(1_000_000);

    /// Creates a span of microseconds.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros)
    }

    /// Creates a span of milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000))
    }

    /// Creates a span of seconds.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(1_000_000))
    }

    /// Returns the microseconds in this span.
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// Returns the milliseconds in this span, rounded up: waits may be longer, never shorter.
    pub const fn as_millis_ceil(self) -> u64 {
        self.0.div_ceil(1_000)
    }

    /// Returns the seconds in this span, rounded up.
    pub const fn as_secs_ceil(self) -> u64 {
        self.0.div_ceil(1_000_000)
    }

    /// Returns the length of a unit of time by its usual names: `ms`, `min`, `hours`.
    pub fn of_unit(name: &str) -> Option<Self> {
        let micros = match name.to_ascii_lowercase().as_str() {
            "us" | "µs" | "μs" => 1,
            "ms" => 1_000,
            "s" | "sec" | "secs" | "second" | "seconds" => 1_000_000,
            "m" | "min" | "mins" | "minute" | "minutes" => 60_000_000,
            "h" | "hr" | "hrs" | "hour" | "hours" => 3_600_000_000,
            "d" | "day" | "days" => 86_400_000_000,
            "w" | "week" | "weeks" => 604_800_000_000,
            _ => return None,
        };
        Some(Self(micros))
    }

    /// Returns whether the span is zero.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
}

impl Add for Span {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

/// Subtracts a span; zero if it is the longer one.
impl Sub for Span {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl From<Span> for Duration {
    fn from(span: Span) -> Self {
        Self::from_micros(span.0)
    }
}

/// Rounds up to the next microsecond, so that waiting a converted span is never too short.
impl From<Duration> for Span {
    fn from(duration: Duration) -> Self {
        let micros = duration.as_nanos().div_ceil(1_000);
        Self(u64::try_from(micros).unwrap_or(u64::MAX))
    }
}

/// Formats with the largest unit that divides the span, as in `15min`, `1500ms` or `1day`.
impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u64, &str); 7] = [
            (604_800_000_000, "week"),
            (86_400_000_000, "day"),
            (3_600_000_000, "hour"),
            (60_000_000, "min"),
            (1_000_000, "s"),
            (1_000, "ms"),
            (1, "us"),
        ];
        if self.0 == 0 {
            return f.write_str("0s");
        }
        for (micros, unit) in UNITS {
            if self.0.is_multiple_of(micros) {
                let plural = if self.0 / micros > 1 && micros >= 3_600_000_000 { "s" } else { "" };
                return write!(f, "{}{unit}{plural}", self.0 / micros);
            }
        }
        Ok(())
    }
}

/// A half-open period of time, `[start, end)`, such as a calendar window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Period {
    start: Time,
    end: Time,
}

impl Period {
    /// Creates the period from `start` up to, not including, `end`; `None` if that is empty.
    pub fn new(start: Time, end: Time) -> Option<Self> {
        (start < end).then_some(Self { start, end })
    }

    /// Returns the first time in the period.
    pub const fn start(self) -> Time {
        self.start
    }

    /// Returns the first time after the period.
    pub const fn end(self) -> Time {
        self.end
    }

    pub(crate) const fn bounds(self) -> (Time, Time) {
        (self.start, self.end)
    }

    /// Returns whether a time is in the period.
    pub fn contains(self, time: Time) -> bool {
        self.start <= time && time < self.end
    }
}

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
    /// The last moment that can be told, in the year 2112.
    pub const MAX: Self = Self(1 << 52);

    /// The time this many microseconds after 1970 began.
    ///
    /// Beyond [`Time::MAX`] time stands still: nothing refills, so nothing is given away.
    pub const fn from_micros(micros: u64) -> Self {
        if micros > Self::MAX.0 { Self::MAX } else { Self(micros) }
    }

    /// A moment computed from an exact one; may lie beyond [`Time::MAX`] by a recovery or two.
    pub(crate) const fn computed(micros: u64) -> Self {
        Self(micros)
    }

    /// Microseconds since 1970 began.
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// How long after `earlier` this is; nothing if it is not after it.
    pub const fn since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

/// A time later by a span; never beyond what still adds up exactly.
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
    /// How far two readings of one clock may lie apart without one of them being wrong.
    ///
    /// State that is further ahead than a full recovery plus this was written
    /// under a clock that has since been set back, and is read as "exhausted now".
    pub const CLOCK_SLACK: Self = Self(1_000_000);

    /// A span of so many microseconds.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros)
    }

    /// A span of so many milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000))
    }

    /// A span of so many seconds.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(1_000_000))
    }

    /// Microseconds in this span.
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// Milliseconds in this span, rounded up: a promise may be kept late, never broken early.
    pub const fn as_millis_ceil(self) -> u64 {
        self.0.div_ceil(1_000)
    }

    /// Seconds in this span, rounded up.
    pub const fn as_secs_ceil(self) -> u64 {
        self.0.div_ceil(1_000_000)
    }

    /// The length of a unit of time, by the names that people write: `ms`, `min`, `hours`.
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

    /// Whether this is no time at all.
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

/// What is left of a span; nothing if the other is longer.
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

/// The largest unit that divides the span, as in `15min`, `1500ms` or `1day`.
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

/// A half-open stretch of time, `start` in it and `end` not: one calendar window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Period {
    start: Time,
    end: Time,
}

impl Period {
    /// The period from `start` up to, not including, `end`; `None` if that is empty.
    pub fn new(start: Time, end: Time) -> Option<Self> {
        (start < end).then_some(Self { start, end })
    }

    /// The first moment in the period.
    pub const fn start(self) -> Time {
        self.start
    }

    /// The first moment after the period.
    pub const fn end(self) -> Time {
        self.end
    }

    pub(crate) const fn bounds(self) -> (Time, Time) {
        (self.start, self.end)
    }

    /// Whether a time lies in the period.
    pub fn contains(self, time: Time) -> bool {
        self.start <= time && time < self.end
    }
}

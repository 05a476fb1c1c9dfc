//! A quota: an amount per time, with a burst, as in `100/min burst 20`.

mod parse;
#[cfg(test)]
mod tests;

use core::fmt;
use core::str::FromStr;

use crate::time::Span;

/// An amount per time, with an optional burst.
///
/// ```
/// use sluicegate_core::{Per, Quota, Span};
///
/// let quota: Quota = "100/min burst 20".parse()?;
/// assert_eq!(quota.amount(), 100);
/// assert_eq!(quota.per(), Per::Span(Span::from_secs(60)));
/// assert_eq!(quota.burst(), Some(20));
///
/// let error = "100/fortnight".parse::<Quota>().unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "cannot read the quota `100/fortnight`: `fortnight` is not a unit of time; \
///      use us, ms, s, min, hour, day, week or month, as in `100/min`",
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # What can be written
///
/// | text | meaning |
/// |---|---|
/// | `100/min` | 100 in every minute |
/// | `5 per 15 minutes` | 5 in every quarter of an hour |
/// | `1/2s` | one every two seconds |
/// | `10/s burst 30` | 10 a second, and up to 30 at once after a pause |
/// | `100/s burst 3s` | the same, with the burst given as three seconds of refill: 300 |
/// | `36/hour burst 864` | a balance that earns 36 an hour and saves up to a day of it |
/// | `10000/month` | per calendar month; for fixed windows only |
///
/// The burst is the capacity of a bucket; left out, it is the amount. Windows have none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Quota {
    amount: u64,
    per: Per,
    burst: Option<u64>,
}

/// The period of a quota.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Per {
    /// A fixed length of time.
    Span(Span),
    /// A number of calendar months, whose length depends on the calendar.
    Months(u32),
}

impl Quota {
    /// The largest amount or burst: 2^52.
    pub const MAX_AMOUNT: u64 = 1 << 52;

    /// Creates a quota of `amount` units in every `period`.
    pub fn new(amount: u64, period: Span) -> Result<Self, QuotaError> {
        Self::checked(amount, Per::Span(period))
    }

    /// Creates a quota of `amount` units in every period of this many calendar months.
    pub fn per_months(amount: u64, months: u32) -> Result<Self, QuotaError> {
        Self::checked(amount, Per::Months(months))
    }

    fn checked(amount: u64, per: Per) -> Result<Self, QuotaError> {
        if amount == 0 {
            return Err(QuotaError::ZeroAmount);
        }
        if amount > Self::MAX_AMOUNT {
            return Err(QuotaError::TooMuch { found: amount });
        }
        match per {
            Per::Span(Span::ZERO) | Per::Months(0) => Err(QuotaError::ZeroPeriod),
            Per::Span(span) if span > Span::MAX => Err(QuotaError::PeriodTooLong),
            Per::Months(months) if !12_u32.is_multiple_of(months) => {
                Err(QuotaError::UnevenMonths { months })
            }
            _ => Ok(Self { amount, per, burst: None }),
        }
    }

    /// Returns the quota with a bucket of this capacity.
    ///
    /// A queue may have none (0); a bucket needs one.
    pub fn with_burst(self, burst: u64) -> Result<Self, QuotaError> {
        if burst > Self::MAX_AMOUNT {
            return Err(QuotaError::TooMuch { found: burst });
        }
        Ok(Self { burst: Some(burst), ..self })
    }

    /// Returns the quota with a bucket that holds the refill of `span`.
    ///
    /// An error where that is not a whole number of units.
    pub fn with_burst_lasting(self, span: Span) -> Result<Self, QuotaError> {
        let Per::Span(period) = self.per else {
            return Err(QuotaError::MonthlyBurst);
        };
        let product = u128::from(self.amount) * u128::from(span.as_micros());
        let period = u128::from(period.as_micros());
        let units = u64::try_from(product / period).unwrap_or(u64::MAX);
        if product % period != 0 {
            return Err(QuotaError::BurstNotWhole { span, units });
        }
        self.with_burst(units)
    }

    /// Returns the units per period.
    pub const fn amount(&self) -> u64 {
        self.amount
    }

    /// Returns the period.
    pub const fn per(&self) -> Per {
        self.per
    }

    /// Returns the burst, if one was given.
    pub const fn burst(&self) -> Option<u64> {
        self.burst
    }
}

impl FromStr for Quota {
    type Err = ParseQuotaError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse::quota(text).map_err(|reason| ParseQuotaError { text: shortened(text), reason })
    }
}

/// Formats the quota so that it parses back to itself.
impl fmt::Display for Quota {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/", self.amount)?;
        match self.per {
            Per::Months(1) => f.write_str("month")?,
            Per::Months(months) => write!(f, "{months}months")?,
            Per::Span(span) => {
                let text = span.to_string();
                // `100/min` reads better than `100/1min`.
                let single = text.strip_prefix('1').filter(|unit| unit.starts_with(is_letter));
                f.write_str(single.unwrap_or(&text))?;
            }
        }
        match self.burst {
            Some(burst) => write!(f, " burst {burst}"),
            None => Ok(()),
        }
    }
}

fn is_letter(c: char) -> bool {
    c.is_ascii_alphabetic()
}

/// Shortens the input for an error message.
fn shortened(text: &str) -> Box<str> {
    const SHOWN: usize = 60;
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]).into(),
        None => text.into(),
    }
}

/// The error of an invalid quota.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum QuotaError {
    /// An amount of zero.
    ZeroAmount,
    /// A period of no time.
    ZeroPeriod,
    /// An amount or burst above [`Quota::MAX_AMOUNT`].
    TooMuch {
        /// The value given.
        found: u64,
    },
    /// A period above [`Span::MAX`].
    PeriodTooLong,
    /// Months that do not divide a year.
    UnevenMonths {
        /// The value given.
        months: u32,
    },
    /// A burst in time that is not a whole number of units.
    BurstNotWhole {
        /// The burst given.
        span: Span,
        /// The whole units in it.
        units: u64,
    },
    /// A burst in time for a quota by months.
    MonthlyBurst,
}

impl fmt::Display for QuotaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ZeroAmount => f.write_str(
                "an amount of 0 never admits a request; use at least 1, or a block-list to refuse \
                 a caller",
            ),
            Self::ZeroPeriod => {
                f.write_str("a period of 0 has no rate; use at least 1us, as in `100/s`")
            }
            Self::TooMuch { found } => write!(
                f,
                "{found} is more than can be counted exactly; use at most {}",
                Quota::MAX_AMOUNT
            ),
            Self::PeriodTooLong => f.write_str(
                "the period is too long to be counted exactly; use at most 35 years (12775 days)",
            ),
            Self::UnevenMonths { months } => write!(
                f,
                "windows of {months} months do not divide a year; use 1, 2, 3, 4, 6 or 12"
            ),
            Self::BurstNotWhole { span, units } => write!(
                f,
                "a burst of {span} is not a whole number of units; write `burst {}` or `burst {}`",
                (*units).max(1),
                units.saturating_add(1).max(2),
            ),
            Self::MonthlyBurst => f.write_str(
                "months have no fixed length, so a burst cannot be given as a time; \
                 use days, as in `10000/30days burst 1day`",
            ),
        }
    }
}

impl core::error::Error for QuotaError {}

/// The error of a text that is not a quota.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseQuotaError {
    text: Box<str>,
    reason: parse::ParseErrorKind,
}

impl fmt::Display for ParseQuotaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot read the quota `{}`: {}", self.text.escape_debug(), self.reason)
    }
}

impl core::error::Error for ParseQuotaError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match &self.reason {
            parse::ParseErrorKind::Impossible(error) => Some(error),
            _ => None,
        }
    }
}

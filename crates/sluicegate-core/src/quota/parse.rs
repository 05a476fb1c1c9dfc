//! The parser of quotas.
//!
//! ```text
//! quota  = amount ( "/" | "per" ) length [ "burst" ( amount | length ) ]
//! length = [ amount ] unit
//! ```

use core::fmt;

use super::{Per, Quota, QuotaError, shortened};
use crate::time::Span;

/// The reason why a text is not a quota.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ParseErrorKind {
    Empty,
    AmountMissing(Box<str>),
    NumberTooLarge(Box<str>),
    SeparatorMissing(Box<str>),
    UnitMissing,
    UnitUnknown(Box<str>),
    BurstMissing,
    Leftover(Box<str>),
    Fraction(Box<str>),
    Negative,
    Impossible(QuotaError),
}

impl From<QuotaError> for ParseErrorKind {
    fn from(error: QuotaError) -> Self {
        Self::Impossible(error)
    }
}

impl fmt::Display for ParseErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("it is empty; write an amount and a time, as in `100/min`"),
            Self::AmountMissing(found) => write!(
                f,
                "expected a whole number instead of `{}`; write it as in `100/min`",
                found.escape_debug()
            ),
            Self::NumberTooLarge(found) => {
                write!(f, "{found} is too large a number; use at most {}", Quota::MAX_AMOUNT)
            }
            Self::SeparatorMissing(found) if found.is_empty() => {
                f.write_str("it has no time; say per how long, as in `100/min`")
            }
            Self::SeparatorMissing(found) => write!(
                f,
                "expected `/` or `per` where `{}` stands, as in `100/min`",
                found.escape_debug()
            ),
            Self::UnitMissing => f.write_str(
                "a unit of time is missing; write it as in `100/min` or `5 per 15 minutes`",
            ),
            Self::UnitUnknown(found) => write!(
                f,
                "`{}` is not a unit of time; \
                 use us, ms, s, min, hour, day, week or month, as in `100/min`",
                found.escape_debug()
            ),
            Self::BurstMissing => f.write_str(
                "`burst` needs a number or a time behind it, as in `10/s burst 30` or \
                 `10/s burst 3s`",
            ),
            Self::Leftover(found) => write!(
                f,
                "nothing may follow but `burst` and a number or a time; found `{}`",
                found.escape_debug()
            ),
            Self::Fraction(found) => write!(
                f,
                "`{}` is not a whole number; spread it over a longer time, as in `1/2s` for half \
                 a unit a second",
                found.escape_debug()
            ),
            Self::Negative => {
                f.write_str("a quota cannot be negative; use at least 1, as in `1/min`")
            }
            Self::Impossible(error) => error.fmt(f),
        }
    }
}

pub(super) fn quota(text: &str) -> Result<Quota, ParseErrorKind> {
    let mut rest = QuotaCursor { rest: text.trim() };
    if rest.rest.is_empty() {
        return Err(ParseErrorKind::Empty);
    }
    if rest.rest.starts_with('-') {
        return Err(ParseErrorKind::Negative);
    }
    let amount = rest.number()?.ok_or_else(|| ParseErrorKind::AmountMissing(rest.next_word()))?;
    if !rest.symbol("/") && !rest.word("per") {
        return Err(ParseErrorKind::SeparatorMissing(rest.next_word()));
    }
    let quota = match rest.length()? {
        Per::Span(span) => Quota::new(amount, span)?,
        Per::Months(months) => Quota::per_months(amount, months)?,
    };
    if !rest.word("burst") {
        return rest.finish(quota);
    }
    if rest.rest.is_empty() {
        return Err(ParseErrorKind::BurstMissing);
    }
    let before = rest;
    let units = rest.number()?;
    if rest.rest.is_empty() {
        let units = units.ok_or(ParseErrorKind::BurstMissing)?;
        return Ok(quota.with_burst(units)?);
    }
    rest = before;
    let quota = match rest.length()? {
        Per::Span(span) => quota.with_burst_lasting(span)?,
        Per::Months(_) => return Err(QuotaError::MonthlyBurst.into()),
    };
    rest.finish(quota)
}

/// The input that is left to parse.
#[derive(Clone, Copy)]
struct QuotaCursor<'a> {
    rest: &'a str,
}

impl QuotaCursor<'_> {
    fn advance(&mut self, bytes: usize) {
        self.rest = self.rest[bytes..].trim_start();
    }

    fn symbol(&mut self, symbol: &str) -> bool {
        let found = self.rest.starts_with(symbol);
        if found {
            self.advance(symbol.len());
        }
        found
    }

    fn word(&mut self, word: &str) -> bool {
        let end = self.rest.find(|c: char| !c.is_alphabetic()).unwrap_or(self.rest.len());
        let found = self.rest[..end].eq_ignore_ascii_case(word);
        if found {
            self.advance(end);
        }
        found
    }

    /// Parses a whole number, with optional `_` between digits.
    fn number(&mut self) -> Result<Option<u64>, ParseErrorKind> {
        let end =
            self.rest.find(|c: char| !c.is_ascii_digit() && c != '_').unwrap_or(self.rest.len());
        let digits = &self.rest[..end];
        if !digits.starts_with(|c: char| c.is_ascii_digit()) {
            return Ok(None);
        }
        if self.rest[end..].starts_with(['.', ',']) {
            return Err(ParseErrorKind::Fraction(self.next_word()));
        }
        let value = digits
            .bytes()
            .filter(u8::is_ascii_digit)
            .try_fold(0_u64, |value, digit| {
                value.checked_mul(10)?.checked_add(u64::from(digit - b'0'))
            })
            .ok_or_else(|| ParseErrorKind::NumberTooLarge(shortened(digits)))?;
        self.advance(end);
        Ok(Some(value))
    }

    fn length(&mut self) -> Result<Per, ParseErrorKind> {
        let count = self.number()?.unwrap_or(1);
        let end = self.rest.find(|c: char| !c.is_alphabetic()).unwrap_or(self.rest.len());
        if end == 0 {
            return Err(if self.rest.is_empty() {
                ParseErrorKind::UnitMissing
            } else {
                ParseErrorKind::UnitUnknown(self.next_word())
            });
        }
        let unit = &self.rest[..end];
        let per = match Span::of_unit(unit) {
            Some(unit) => Per::Span(Span::from_micros(count.saturating_mul(unit.as_micros()))),
            None if ["month", "months"].iter().any(|month| unit.eq_ignore_ascii_case(month)) => {
                Per::Months(u32::try_from(count).unwrap_or(u32::MAX))
            }
            None => return Err(ParseErrorKind::UnitUnknown(shortened(unit))),
        };
        self.advance(end);
        Ok(per)
    }

    fn next_word(&self) -> Box<str> {
        let end = self.rest.find(char::is_whitespace).unwrap_or(self.rest.len());
        shortened(&self.rest[..end])
    }

    fn finish(self, quota: Quota) -> Result<Quota, ParseErrorKind> {
        if self.rest.is_empty() {
            Ok(quota)
        } else {
            Err(ParseErrorKind::Leftover(shortened(self.rest)))
        }
    }
}

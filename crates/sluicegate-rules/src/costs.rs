//! What a request costs a rule.

use std::fmt;

use crate::facts::Facts;
use crate::number::Number;
use crate::path::Pattern;
use crate::request::Value;

/// What requests cost a rule.
#[derive(Debug, Default)]
pub(crate) struct Costs {
    /// The first that matches counts.
    pub(crate) endpoints: Vec<Endpoint>,
    pub(crate) measure: Option<Measure>,
    /// What everything else costs; what the sender says, or 1, where nothing is said here.
    pub(crate) default: Option<u64>,
    /// The most that anything costs.
    pub(crate) max: Option<u64>,
}

/// What one endpoint costs.
#[derive(Debug)]
pub(crate) struct Endpoint {
    pub(crate) method: Option<Box<str>>,
    pub(crate) path: Option<Pattern>,
    pub(crate) cost: u64,
}

/// Which readings of a path are endpoints, and what the dearest of them costs.
enum Endpoints {
    All(u64),
    /// Read in another way, it is none of them.
    Some(u64),
    None,
}

/// What a cost is read from.
#[derive(Debug)]
pub(crate) enum Measure {
    Header(Box<str>),
    Attribute(Box<str>),
    /// So many units for every so many bytes of the body that have begun.
    Body {
        units: u64,
        bytes: u64,
    },
}

impl Costs {
    /// What a request costs; 0 only if its sender asks to look.
    pub(crate) fn of(&self, facts: &mut Facts<'_>) -> u64 {
        if facts.request.cost == Some(0) {
            return 0;
        }
        if self.is_callers() {
            return facts.request.cost.unwrap_or(1).min(sluicegate::Cost::MAX.units());
        }
        let cost = match self.endpoint(facts) {
            Endpoints::All(cost) => cost,
            Endpoints::Some(cost) => cost.max(self.everything_else(facts)),
            Endpoints::None => self.everything_else(facts),
        };
        // A measure that says nothing, or less, still was a request.
        cost.clamp(1, self.max.unwrap_or(u64::MAX).max(1)).min(sluicegate::Cost::MAX.units())
    }

    /// Whether the rule itself says what a request costs, whatever is used by it: a price for its
    /// endpoint, or for everything. What its sender says, or what is measured, may be an estimate.
    pub(crate) fn sets_price(&self, facts: &mut Facts<'_>) -> bool {
        match self.endpoint(facts) {
            Endpoints::All(_) => true,
            Endpoints::Some(_) | Endpoints::None => {
                let estimate = self.measured(facts).or_else(|| self.of_unknown_size(facts));
                estimate.is_none() && self.default.is_some()
            }
        }
    }

    /// Whether nothing is said here: what nearly every rule has.
    fn is_callers(&self) -> bool {
        self.endpoints.is_empty()
            && self.measure.is_none()
            && self.default.is_none()
            && self.max.is_none()
    }

    /// What a request costs that is none of the endpoints.
    fn everything_else(&self, facts: &Facts<'_>) -> u64 {
        let own = self.measured(facts).or_else(|| self.of_unknown_size(facts));
        let own = own.or_else(|| self.of_repeated_length(facts)).or(self.default);
        own.unwrap_or_else(|| facts.request.cost.unwrap_or(1))
    }

    /// What a body costs whose size nobody knows: it must not be cheap to leave it out.
    fn of_unknown_size(&self, facts: &Facts<'_>) -> Option<u64> {
        let body = matches!(self.measure, Some(Measure::Body { .. }));
        self.max.filter(|_| body && !is_bodiless(facts))
    }

    /// The cost of a body whose length is stated several times: the largest counts.
    fn of_repeated_length(&self, facts: &Facts<'_>) -> Option<u64> {
        let Some(Measure::Body { units, bytes }) = &self.measure else { return None };
        let size = largest(facts, "content-length", |text| text.parse().ok())?;
        Some(size.div_ceil(*bytes).saturating_mul(*units))
    }

    /// What the first endpoint costs that matches: the dearest, where a path can be read in several
    /// ways.
    fn endpoint(&self, facts: &mut Facts<'_>) -> Endpoints {
        if self.endpoints.is_empty() {
            return Endpoints::None;
        }
        let method = facts.method();
        let method = method.as_deref();
        let cost = |path| {
            let fits = |endpoint: &&Endpoint| endpoint.fits(method, path);
            self.endpoints.iter().find(fits).map(|endpoint| endpoint.cost)
        };
        let Some(paths) = facts.paths() else {
            return cost(None).map_or(Endpoints::None, Endpoints::All);
        };
        let (mut dearest, mut all) = (None, true);
        for path in paths.readings() {
            let found = cost(Some(path));
            all &= found.is_some();
            dearest = dearest.max(found);
        }
        match dearest {
            Some(cost) if all => Endpoints::All(cost),
            Some(cost) => Endpoints::Some(cost),
            None => Endpoints::None,
        }
    }

    fn measured(&self, facts: &Facts<'_>) -> Option<u64> {
        match self.measure.as_ref()? {
            Measure::Header(name) => {
                largest(facts, name, |text| Number::parse(text).map(rounded_up))
            }
            Measure::Attribute(name) => match facts.attribute(name)? {
                Value::Flag(_) => None,
                value => Number::of(&value).map(rounded_up),
            },
            Measure::Body { units, bytes } => {
                let size = facts.request.body_size.or_else(|| {
                    let length = facts.header("content-length")?;
                    std::str::from_utf8(length).ok()?.parse().ok()
                });
                Some(size?.div_ceil(*bytes).saturating_mul(*units))
            }
        }
    }
}

impl Endpoint {
    fn fits(&self, method: Option<&str>, path: Option<&[u8]>) -> bool {
        let wanted =
            |wanted: &str| method.is_some_and(|method| method.eq_ignore_ascii_case(wanted));
        let matches = |pattern: &Pattern| path.is_some_and(|path| pattern.matches(path));
        self.method.as_deref().is_none_or(wanted) && self.path.as_ref().is_none_or(matches)
    }
}

/// The largest number among the lines of a header, so that a repeated line makes nothing cheaper.
fn largest(facts: &Facts<'_>, name: &str, read: impl Fn(&str) -> Option<u64>) -> Option<u64> {
    let mut most = None;
    facts.request.headers.each(name, &mut |line| {
        let text = std::str::from_utf8(line.trim_ascii()).ok();
        most = most.max(text.and_then(&read));
    });
    most
}

/// Whether a request usually has no body, and says nothing of one.
fn is_bodiless(facts: &Facts<'_>) -> bool {
    let told = |name: &str| {
        let mut lines = 0;
        facts.request.headers.each(name, &mut |_| lines += 1);
        lines > 0
    };
    let without = ["GET", "HEAD", "OPTIONS", "TRACE"];
    let usual = |method: &str| without.iter().any(|one| method.eq_ignore_ascii_case(one));
    facts.method().is_some_and(|method| usual(&method))
        && !told("content-length")
        && !told("transfer-encoding")
}

/// A measure in whole units; what is negative costs nothing of its own.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cast from a real number stops at the ends of the range, which is what is wanted"
)]
fn rounded_up(number: Number) -> u64 {
    match number {
        Number::Whole(whole) => u64::try_from(whole.max(0)).unwrap_or(u64::MAX),
        Number::Real(real) => real.ceil() as u64,
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header(name) => write!(f, "the header `{name}`"),
            Self::Attribute(name) => write!(f, "the attribute `{name}`"),
            Self::Body { units, bytes } => write!(f, "{units} per {bytes} bytes of the body"),
        }
    }
}

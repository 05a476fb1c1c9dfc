//! The cost of a request under a rule.

use std::fmt;

use crate::matching::number::Number;
use crate::request::AttributeValue;
use crate::request::context::RequestContext;
use crate::request::path::Pattern;

/// The cost settings of a rule.
#[derive(Debug, Default)]
pub(crate) struct Costs {
    /// The first endpoint that matches determines the cost.
    pub(crate) endpoints: Vec<Endpoint>,
    pub(crate) measure: Option<CostSource>,
    /// The cost of all other requests; if `None`, the cost that the sender requests, or 1.
    pub(crate) default: Option<u64>,
    /// The maximum cost.
    pub(crate) max: Option<u64>,
}

/// The cost of one endpoint.
#[derive(Debug)]
pub(crate) struct Endpoint {
    pub(crate) method: Option<Box<str>>,
    pub(crate) path: Option<Pattern>,
    pub(crate) cost: u64,
}

/// How many readings of a path are endpoints, with the highest cost among them.
enum Endpoints {
    All(u64),
    /// Other readings of the path are not endpoints.
    Some(u64),
    None,
}

/// The source of a measured cost.
#[derive(Debug)]
pub(crate) enum CostSource {
    Header(Box<str>),
    Attribute(Box<str>),
    /// `units` for every started block of `bytes` of the body.
    Body {
        units: u64,
        bytes: u64,
    },
}

impl Costs {
    /// The cost of a request; 0 only if the sender peeks.
    pub(crate) fn of(&self, context: &mut RequestContext<'_>) -> u64 {
        if context.request.cost == Some(0) {
            return 0;
        }
        if self.is_unset() {
            return context.request.cost.unwrap_or(1).min(sluicegate::Cost::MAX.units());
        }
        let cost = match self.endpoint(context) {
            Endpoints::All(cost) => cost,
            Endpoints::Some(cost) => cost.max(self.cost_of_others(context)),
            Endpoints::None => self.cost_of_others(context),
        };
        // A request costs at least 1, even if its measure is smaller or missing.
        cost.clamp(1, self.max.unwrap_or(u64::MAX).max(1)).min(sluicegate::Cost::MAX.units())
    }

    /// Whether the rule sets a fixed price for a request, by endpoint or by default.
    ///
    /// A cost from the sender or from a measure is an estimate, which a settlement corrects.
    pub(crate) fn sets_price(&self, context: &mut RequestContext<'_>) -> bool {
        match self.endpoint(context) {
            Endpoints::All(_) => true,
            Endpoints::Some(_) | Endpoints::None => {
                let estimate = self.measured(context).or_else(|| self.of_unknown_size(context));
                estimate.is_none() && self.default.is_some()
            }
        }
    }

    /// Whether the rule has no cost settings, as nearly every rule.
    fn is_unset(&self) -> bool {
        self.endpoints.is_empty()
            && self.measure.is_none()
            && self.default.is_none()
            && self.max.is_none()
    }

    /// The cost of a request that matches no endpoint.
    fn cost_of_others(&self, context: &RequestContext<'_>) -> u64 {
        let own = self.measured(context).or_else(|| self.of_unknown_size(context));
        let own = own.or_else(|| self.of_repeated_length(context)).or(self.default);
        own.unwrap_or_else(|| context.request.cost.unwrap_or(1))
    }

    /// The cost of a body of unknown size: the maximum, so that omitting the size saves nothing.
    fn of_unknown_size(&self, context: &RequestContext<'_>) -> Option<u64> {
        let body = matches!(self.measure, Some(CostSource::Body { .. }));
        self.max.filter(|_| body && !is_bodiless(context))
    }

    /// The cost of a body with several stated lengths: that of the largest.
    fn of_repeated_length(&self, context: &RequestContext<'_>) -> Option<u64> {
        let Some(CostSource::Body { units, bytes }) = &self.measure else { return None };
        let size = largest(context, "content-length", |text| text.parse().ok())?;
        Some(size.div_ceil(*bytes).saturating_mul(*units))
    }

    /// The cost of the first endpoint that matches; the highest among all readings of the path.
    fn endpoint(&self, context: &mut RequestContext<'_>) -> Endpoints {
        if self.endpoints.is_empty() {
            return Endpoints::None;
        }
        let method = context.method();
        let method = method.as_deref();
        let cost = |path| {
            let fits = |endpoint: &&Endpoint| endpoint.fits(method, path);
            self.endpoints.iter().find(fits).map(|endpoint| endpoint.cost)
        };
        let Some(paths) = context.paths() else {
            return cost(None).map_or(Endpoints::None, Endpoints::All);
        };
        let (mut highest, mut all) = (None, true);
        for path in paths.readings() {
            let found = cost(Some(path));
            all &= found.is_some();
            highest = highest.max(found);
        }
        match highest {
            Some(cost) if all => Endpoints::All(cost),
            Some(cost) => Endpoints::Some(cost),
            None => Endpoints::None,
        }
    }

    fn measured(&self, context: &RequestContext<'_>) -> Option<u64> {
        match self.measure.as_ref()? {
            CostSource::Header(name) => {
                largest(context, name, |text| Number::parse(text).map(round_up))
            }
            CostSource::Attribute(name) => match context.attribute(name)? {
                AttributeValue::Flag(_) => None,
                value => Number::of(&value).map(round_up),
            },
            CostSource::Body { units, bytes } => {
                let size = context.request.body_size.or_else(|| {
                    let length = context.header("content-length")?;
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

/// The largest number among the lines of a header, so that a repeated line never lowers the cost.
fn largest(
    context: &RequestContext<'_>,
    name: &str,
    read: impl Fn(&str) -> Option<u64>,
) -> Option<u64> {
    let mut most = None;
    context.request.headers.each(name, &mut |line| {
        let text = std::str::from_utf8(line.trim_ascii()).ok();
        most = most.max(text.and_then(&read));
    });
    most
}

/// Whether a request has a method without a body and no header that announces one.
fn is_bodiless(context: &RequestContext<'_>) -> bool {
    let has_header = |name: &str| {
        let mut lines = 0;
        context.request.headers.each(name, &mut |_| lines += 1);
        lines > 0
    };
    let without = ["GET", "HEAD", "OPTIONS", "TRACE"];
    let usual = |method: &str| without.iter().any(|one| method.eq_ignore_ascii_case(one));
    context.method().is_some_and(|method| usual(&method))
        && !has_header("content-length")
        && !has_header("transfer-encoding")
}

/// Rounds a measure up to whole units; a negative one becomes 0.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cast from a float saturates, as intended"
)]
fn round_up(number: Number) -> u64 {
    match number {
        Number::Whole(whole) => u64::try_from(whole.max(0)).unwrap_or(u64::MAX),
        Number::Real(real) => real.ceil() as u64,
    }
}

impl fmt::Display for CostSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header(name) => write!(f, "the header `{name}`"),
            Self::Attribute(name) => write!(f, "the attribute `{name}`"),
            Self::Body { units, bytes } => write!(f, "{units} per {bytes} bytes of the body"),
        }
    }
}

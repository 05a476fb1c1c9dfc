//! A rule of a header, prepared for the audit: the limit to replay, and its bound.

use sluicegate_core::{Algorithm, Limit, Per, Quota, Slices};

use crate::trace::header::{HeaderError, OutagePolicy, RuleSpec};

/// A rule, prepared for the audit.
#[derive(Debug)]
pub(crate) struct PreparedRule {
    pub(crate) name: String,
    /// The limit in readable form.
    pub(crate) title: String,
    pub(crate) kind: RuleKind,
    pub(crate) on_store_error: Option<OutagePolicy>,
    /// The rule as in the header.
    pub(crate) spec: RuleSpec,
}

/// The checks that are possible for a rule.
#[derive(Debug)]
pub(crate) enum RuleKind {
    /// Units that recover with time.
    Counted(Box<QuotaRule>),
    /// Slots that are held and released.
    Held(ConcurrencyRule),
    /// None, with the reason.
    Unchecked(&'static str),
}

/// A limit whose units recover with time.
#[derive(Debug)]
pub(crate) struct QuotaRule {
    pub(crate) limit: Limit,
    pub(crate) bound: AdmissionBound,
}

/// Slots that are held for a lease.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConcurrencyRule {
    pub(crate) slots: u64,
    pub(crate) lease_us: u64,
}

/// The bound on admissions, derived from the quota alone and not from the audited code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AdmissionBound {
    /// `burst` and `amount` per `period` over any time.
    Envelope { amount: u64, period: u64, burst: u64 },
    /// One, and `amount` per `period`, leave in any time; up to `places` are on their way.
    Releases { amount: u64, period: u64, places: u64 },
    /// `amount` in each calendar period.
    Calendar { amount: u64, per: Per },
    /// `amount` in any time of this length.
    AnySpan { amount: u64, length: u64 },
    /// `amount` in any time of the first length, below twice that in any of the second.
    TwoSpans { amount: u64, length: u64, window: u64 },
}

impl PreparedRule {
    pub(crate) fn new(name: &str, spec: &RuleSpec) -> Result<Self, HeaderError> {
        let kind = kind(name, spec).map_err(|why| {
            HeaderError::new(format!("cannot use the rule `{}`: {why}", name.escape_debug()))
        })?;
        Ok(Self {
            name: name.to_owned(),
            title: spec.to_string(),
            kind,
            on_store_error: spec.on_store_error,
            spec: spec.clone(),
        })
    }

    /// Returns the name of its counters.
    pub(crate) fn family(&self) -> &str {
        self.spec.counter.as_deref().unwrap_or(&self.name)
    }
}

fn kind(name: &str, spec: &RuleSpec) -> Result<RuleKind, String> {
    if spec.by_node {
        return Ok(RuleKind::Unchecked(
            "counters of a single node are decided before those of the store, at another time",
        ));
    }
    match spec.algorithm.as_str() {
        "concurrency" => return held(spec),
        "cooldown" => {
            return Ok(RuleKind::Unchecked(
                "a cooldown depends on failures, which traces do not contain",
            ));
        }
        _ => {}
    }
    if spec.timezone.as_deref().is_some_and(|zone| !zone.eq_ignore_ascii_case("utc")) {
        return Ok(RuleKind::Unchecked("only calendar windows in UTC are supported"));
    }
    let Some(text) = &spec.quota else {
        return Err(format!(
            "it has no `quota`; write one, as in `\"algorithm\":\"{}\",\"quota\":\"100/min\"`",
            spec.algorithm
        ));
    };
    let quota: Quota = text.parse().map_err(|error| format!("{error}"))?;
    let limit = limit(name.to_owned(), spec, quota)?;
    Ok(RuleKind::Counted(Box::new(QuotaRule { limit, bound: bound(spec, quota)? })))
}

fn held(spec: &RuleSpec) -> Result<RuleKind, String> {
    match (spec.slots, spec.lease_ms) {
        (Some(slots @ 1..), Some(lease @ 1..)) => Ok(RuleKind::Held(ConcurrencyRule {
            slots: slots.into(),
            lease_us: lease.saturating_mul(1_000),
        })),
        _ => Err("concurrency needs `slots` and `lease_ms`, each at least 1".to_owned()),
    }
}

/// The defaults of rule files: ten slices if strict, else one.
fn slices(spec: &RuleSpec) -> u32 {
    spec.slices.unwrap_or(if spec.strict { 10 } else { 1 })
}

fn algorithm(spec: &RuleSpec) -> Result<Algorithm, String> {
    Algorithm::named(&spec.algorithm).ok_or_else(|| {
        format!(
            "`{}` is not an algorithm; use token_bucket, leaky_bucket, queue, fixed_window, \
             sliding_window, sliding_log, concurrency or cooldown",
            spec.algorithm.escape_debug()
        )
    })
}

fn limit(name: String, spec: &RuleSpec, quota: Quota) -> Result<Limit, String> {
    let count = slices(spec);
    let slices = if spec.strict { Slices::Strict(count) } else { Slices::Weighted(count) };
    let limit = Limit::new(name, algorithm(spec)?.by(quota).with_slices(slices));
    limit.map_err(|error| error.reason().to_string())
}

fn bound(spec: &RuleSpec, quota: Quota) -> Result<AdmissionBound, String> {
    let (amount, per) = (quota.amount(), quota.per());
    let algorithm = algorithm(spec)?;
    if algorithm == Algorithm::FixedWindow {
        return Ok(AdmissionBound::Calendar { amount, per });
    }
    let Per::Span(period) = per else {
        return Err("a month has no fixed length; use a fixed window".to_owned());
    };
    let period = period.as_micros();
    Ok(match algorithm {
        Algorithm::Queue => {
            let places = quota.burst().unwrap_or(amount) + 1;
            AdmissionBound::Releases { amount, period, places }
        }
        Algorithm::SlidingLog => AdmissionBound::AnySpan { amount, length: period },
        Algorithm::SlidingWindow if spec.strict => {
            AdmissionBound::AnySpan { amount, length: period }
        }
        Algorithm::SlidingWindow if slices(spec) == 1 => {
            AdmissionBound::Envelope { amount, period, burst: amount }
        }
        Algorithm::SlidingWindow => {
            let length = period - period / u64::from(slices(spec));
            AdmissionBound::TwoSpans { amount, length, window: period }
        }
        _ => AdmissionBound::Envelope { amount, period, burst: quota.burst().unwrap_or(amount) },
    })
}

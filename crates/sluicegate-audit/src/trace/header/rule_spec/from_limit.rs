//! The conversion of a limit to a rule of a header.

use sluicegate_core::{BucketParameters, Limit, Parameters, Per, Quota, Span};

use super::RuleSpec;
use crate::trace::header::OutagePolicy;

/// The common periods, shortest first.
const USUAL: [Span; 4] =
    [Span::from_secs(1), Span::from_secs(60), Span::from_secs(3_600), Span::from_secs(86_400)];

impl RuleSpec {
    /// Returns the rule of a limit: its algorithm, with an equivalent quota.
    pub fn of(limit: &Limit) -> Self {
        let name = limit.algorithm();
        match limit.figures() {
            Parameters::Bucket(figures) => Self::quota(name, bucket(&figures, figures.capacity)),
            Parameters::Queue(figures) => {
                Self::quota(name, bucket(&figures, figures.capacity.saturating_sub(1)))
            }
            Parameters::FixedWindow { amount, .. } => {
                let quota = match limit.calendar() {
                    Some(Per::Months(months)) => Quota::per_months(amount, months),
                    Some(Per::Span(span)) => Quota::new(amount, span),
                    None => Quota::new(amount, Span::from_secs(1)),
                };
                let timezone = limit.named_calendar().map(|calendar| calendar.name().to_owned());
                Self {
                    timezone,
                    quota: quota.ok().map(|quota| quota.to_string()),
                    ..Self::called(name)
                }
            }
            Parameters::SlidingWindow { amount, slices, block, tick, .. } => {
                let window = Span::from_micros(block.as_micros().saturating_mul(slices));
                let slices = u32::try_from(slices).ok();
                Self { slices, strict: tick == block, ..Self::windowed(name, amount, window) }
            }
            Parameters::SlidingLog { amount, window, .. } => Self::windowed(name, amount, window),
            Parameters::Concurrency { slots, lease } => {
                let slots = u32::try_from(slots).unwrap_or(u32::MAX);
                Self::concurrency(slots, lease.as_micros().div_ceil(1_000))
            }
            Parameters::Cooldown(_) => Self::called(name),
        }
    }

    /// Returns the rule with the fallback of a check.
    #[must_use]
    pub fn with_outage(self, outage: sluicegate_core::OnStoreError) -> Self {
        self.on_store_error(match outage {
            sluicegate_core::OnStoreError::Local => OutagePolicy::Local,
            sluicegate_core::OnStoreError::Allow => OutagePolicy::Allow,
            sluicegate_core::OnStoreError::Deny => OutagePolicy::Deny,
        })
    }

    fn called(algorithm: &str) -> Self {
        Self { algorithm: algorithm.to_owned(), ..Self::default() }
    }

    fn windowed(algorithm: &str, amount: u64, window: Span) -> Self {
        let quota = Quota::new(amount, window).ok().map(|quota| quota.to_string());
        Self { quota, ..Self::called(algorithm) }
    }
}

/// Returns the quota of a bucket: `parts` units in `unit_parts` microseconds, in a common period
/// if that gives a whole number.
fn bucket(figures: &BucketParameters, burst: u64) -> String {
    let BucketParameters { parts, unit_parts, .. } = *figures;
    let in_usual = |period: &Span| {
        let micros = u128::from(period.as_micros()) * u128::from(parts);
        let amount = u64::try_from(micros / u128::from(unit_parts.max(1))).ok()?;
        (micros % u128::from(unit_parts.max(1)) == 0 && amount > 0)
            .then(|| Quota::new(amount, *period).ok())?
    };
    let usual = || USUAL.iter().filter_map(in_usual);
    if let Some(quota) = usual().find(|quota| quota.amount() == burst) {
        return quota.to_string();
    }
    let plain = || Quota::new(parts, Span::from_micros(unit_parts)).ok();
    let quota = usual().next().or_else(plain).and_then(|quota| quota.with_burst(burst).ok());
    quota.map(|quota| quota.to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use sluicegate_core::{Cooldown, Slices};

    use super::*;

    fn quota(text: &str) -> Quota {
        text.parse().unwrap()
    }

    #[test]
    fn a_bucket_is_written_in_common_units_with_the_same_meaning() {
        for (text, reported) in [
            ("5/h", "5/h"),
            ("100/min burst 20", "100/min burst 20"),
            ("6000/h burst 20", "100/min burst 20"),
            ("7/3s burst 9", "140/min burst 9"),
            ("1/7us burst 3", "1/7us burst 3"),
            ("1/2s", "30/min burst 1"),
            ("10/day burst 5", "10/day burst 5"),
        ] {
            let limit = Limit::token_bucket("a", quota(text)).unwrap();
            let spec = RuleSpec::of(&limit);
            let meant = spec.quota.as_deref().unwrap();
            let again = Limit::token_bucket("a", quota(meant)).unwrap();
            assert_eq!(again.figures(), limit.figures(), "{text}: {meant}");
            assert_eq!(quota(meant), quota(reported), "{text}: {meant}");
        }
        let queue = Limit::queue("q", quota("10/s burst 30")).unwrap();
        assert_eq!(RuleSpec::of(&queue).to_string(), "queue 10/s burst 30");
    }

    #[test]
    fn other_limits_are_written_with_all_parameters() {
        let cooldown = Cooldown {
            after: 5,
            within: Span::from_secs(60),
            block: Span::from_secs(10),
            escalation: None,
            pending: None,
            reset_on_success: false,
        };
        let minute = Slices::Strict(10);
        let window = Slices::Weighted(6);
        let lease = Span::from_secs(10);
        for (limit, reported) in [
            (Limit::fixed_window("a", quota("1000/day")), "fixed_window 1000/day"),
            (Limit::fixed_window("a", quota("9/month")), "fixed_window 9/month"),
            (Limit::sliding_log("a", quota("50/min")), "sliding_log 50/min"),
            (
                Limit::sliding_window("a", quota("100/min"), minute),
                "sliding_window 100/min in 10 slices, strict",
            ),
            (
                Limit::sliding_window("a", quota("100/min"), window),
                "sliding_window 100/min in 6 slices",
            ),
            (Limit::concurrency("a", 20, lease), "concurrency of 20 slots for 10000ms"),
            (Limit::cooldown("a", cooldown), "cooldown"),
            (Limit::leaky_bucket("a", quota("5/s")), "leaky_bucket 5/s"),
        ] {
            assert_eq!(RuleSpec::of(&limit.unwrap()).to_string(), reported);
        }
    }
}

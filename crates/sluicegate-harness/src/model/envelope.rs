//! A bound that is independent of the model: the envelope of each bucket.

use std::collections::BTreeMap;

use sluicegate_oracle::trace::AskSpec;

use super::evaluation::{Planned, Verdict};

/// The admissions of every bucket, with its quotas.
#[derive(Debug, Default)]
pub(crate) struct Envelopes(BTreeMap<(String, String), Envelope>);

#[derive(Debug, Default)]
struct Envelope {
    burst: u64,
    /// The largest rate as units per microseconds.
    rate: (u64, u64),
    admitted: Vec<(u64, u64)>,
    /// Debts and refunds are outside of the bound.
    other: bool,
}

impl Envelopes {
    pub(crate) fn add(&mut self, checks: &[Planned], verdict: &Verdict, now: u64) {
        let made = verdict.decisions.iter().zip(&verdict.admitted);
        for (check, (made, admitted)) in checks.iter().zip(made) {
            let Some(quota) = check.limit.quota.filter(|_| check.limit.is_bucket()) else {
                continue;
            };
            let name = (check.limit.name.clone(), check.key.clone());
            let envelope = self.0.entry(name).or_default();
            envelope.burst = envelope.burst.max(check.limit.capacity);
            let (units, micros) = envelope.rate;
            let faster = u128::from(quota.amount) * u128::from(micros)
                > u128::from(units) * u128::from(quota.period_us);
            if micros == 0 || faster {
                envelope.rate = (quota.amount, quota.period_us);
            }
            match (check.ask, made) {
                (AskSpec::Take { .. }, Some(made)) if *admitted && made.allowed => {
                    envelope.admitted.push((now, made.granted));
                }
                (AskSpec::Take { .. } | AskSpec::Rescale { .. }, _) => {}
                _ => envelope.other = true,
            }
        }
    }

    /// The first bucket that admitted more than its largest burst plus its largest rate.
    pub(crate) fn broken(&self) -> Option<String> {
        self.0.iter().find_map(|((limit, key), envelope)| {
            let (first, last, admitted, most) = envelope.broken()?;
            Some(format!(
                "`{limit}` of `{key}` admitted {admitted} units in {} us, and {most} are the bound",
                last - first
            ))
        })
    }
}

impl Envelope {
    fn broken(&self) -> Option<(u64, u64, u64, u64)> {
        if self.other || self.rate.1 == 0 {
            return None;
        }
        for (start, (first, _)) in self.admitted.iter().enumerate() {
            let mut sum = 0;
            for (at, units) in &self.admitted[start..] {
                sum += units;
                let refilled = u128::from(at.saturating_sub(*first)) * u128::from(self.rate.0);
                let refilled =
                    u64::try_from(refilled / u128::from(self.rate.1)).unwrap_or(u64::MAX);
                let most = self.burst.saturating_add(refilled).saturating_add(1);
                if sum > most {
                    return Some((*first, *at, sum, most));
                }
            }
        }
        None
    }
}

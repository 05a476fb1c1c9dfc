//! Limits at hand: most clients bring the same few quotas again and again.

use sluicegate::{Limit, Quota, Slices, Span};
use sluicegate_rules::Algorithm;

use super::mistake::Mistake;
use crate::throttled;

/// How many are kept.
const KEPT: usize = 64;

/// A quota as it comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Terms {
    /// How many more than one may be taken at once …
    pub(super) max_burst: i64,
    /// … and how many there are …
    pub(super) count: i64,
    /// … in so many seconds.
    pub(super) period: i64,
}

/// Limits, each in the one place that its terms have.
#[derive(Debug)]
pub(super) struct Limits {
    kept: Vec<Option<(Terms, Limit)>>,
    /// The places, as bits, that somebody still refers to.
    used: u64,
}

/// Where a limit is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place(u8);

/// Why a limit has no place.
#[derive(Debug)]
pub(super) enum NoPlace {
    /// Another one is there that is still needed.
    Taken,
    /// There is no such limit.
    Wrong(Mistake),
}

impl Default for Limits {
    fn default() -> Self {
        Self { kept: vec![None; KEPT], used: 0 }
    }
}

impl Limits {
    /// Where the limit of these terms is kept; it stays there until all are [released](Self::release).
    #[inline]
    pub(super) fn place(&mut self, terms: Terms) -> Result<Place, NoPlace> {
        let place = terms.place();
        let used = 1 << place.0;
        match self.kept.get(usize::from(place.0)) {
            Some(Some((other, _))) if *other == terms => {}
            _ if self.used & used != 0 => return Err(NoPlace::Taken),
            _ => self.keep(place, terms)?,
        }
        self.used |= used;
        Ok(place)
    }

    /// Nobody refers to a place any longer.
    pub(super) fn release(&mut self) {
        self.used = 0;
    }

    /// The limit that is kept there.
    #[inline]
    pub(super) fn at(&self, place: Place) -> Option<&Limit> {
        self.kept.get(usize::from(place.0))?.as_ref().map(|(_, limit)| limit)
    }

    #[cold]
    fn keep(&mut self, place: Place, terms: Terms) -> Result<(), NoPlace> {
        let limit = terms.limit().map_err(NoPlace::Wrong)?;
        if let Some(kept) = self.kept.get_mut(usize::from(place.0)) {
            *kept = Some((terms, limit));
        }
        Ok(())
    }
}

impl Terms {
    /// One of 64 places, which the top six bits of a product tell.
    #[inline]
    fn place(self) -> Place {
        let mix = |hash: u64, number: i64| {
            (hash.rotate_left(23) ^ number.cast_unsigned()).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        };
        let hash = [self.max_burst, self.count, self.period].into_iter().fold(0, mix);
        Place(u8::try_from(hash >> 58).unwrap_or_default())
    }

    fn limit(self) -> Result<Limit, Mistake> {
        let Self { max_burst, count, period } = self;
        let positive = |number| u64::try_from(number).ok().filter(|number| *number > 0);
        let burst = u64::try_from(max_burst).map_err(|_| Mistake::NegativeBurst(max_burst))?;
        let (Some(count), Some(period)) = (positive(count), positive(period)) else {
            let negative = [count, period].into_iter().find(|number| *number < 0);
            return Err(negative.map_or(Mistake::ZeroRate, Mistake::NegativeRate));
        };
        let quota = Quota::new(count, Span::from_secs(period));
        let quota = quota.and_then(|quota| quota.with_burst(burst.saturating_add(1)));
        let quota = quota.map_err(|error| Mistake::Quota(error.to_string()))?;
        throttled::limit(Algorithm::TokenBucket, quota, Slices::Weighted(1))
            // Without the name of the limit, which is ours and not the caller's.
            .map_err(|error| Mistake::Quota(error.reason().to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(max_burst: i64, count: i64, period: i64) -> Terms {
        Terms { max_burst, count, period }
    }

    #[test]
    fn a_limit_stays_as_long_as_somebody_refers_to_it() {
        let mut limits = Limits::default();
        let first = terms(15, 30, 60);
        let place = limits.place(first).unwrap();
        let another =
            (1..10_000).map(|count| terms(0, count, 1)).find(|other| other.place() == place);
        let another = another.unwrap();
        assert!(matches!(limits.place(another), Err(NoPlace::Taken)));
        assert_eq!(limits.at(place).unwrap().capacity(), 16);
        limits.release();
        assert_eq!(limits.place(another).unwrap(), place);
        assert_eq!(limits.at(place).unwrap().capacity(), 1);
        assert!(matches!(limits.place(first), Err(NoPlace::Taken)));
    }

    #[test]
    fn quotas_spread_over_all_places() {
        let places = (1..1_000).map(|count| terms(count, count, 60).place().0);
        let mut found = [0; KEPT];
        places.for_each(|place| found[usize::from(place)] += 1);
        assert!(found.iter().all(|times| (1..60).contains(times)), "{found:?}");
    }

    #[test]
    fn what_is_wrong_with_a_quota_is_said() {
        for (wrong, expected) in [
            (terms(1, 0, 60), "Zero rates are not supported"),
            (terms(1, 1, 0), "Zero rates are not supported"),
            (terms(1, -1, 60), "a rate cannot be made of -1; use whole numbers from 1 on"),
            (terms(1, 1, -60), "a rate cannot be made of -60; use whole numbers from 1 on"),
            (terms(-1, 1, 60), "max_burst is -1; use 0 for one at a time, or more"),
            (
                terms(1, 1, i64::MAX),
                "the period is too long to be counted exactly; use at most 35 years (12775 days)",
            ),
            (
                terms(i64::MAX, 1, 1),
                "9223372036854775808 is more than can be counted exactly; use at most 4503599627370496",
            ),
        ] {
            let mistake = wrong.limit().unwrap_err();
            assert_eq!(mistake.to_string(), format!("Cell error: {expected}"), "{wrong:?}");
        }
    }
}

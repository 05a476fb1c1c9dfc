//! How long answers took.

use serde::Serialize;

use crate::findings::WaitFindings;

/// How long answers may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct WaitBounds {
    /// What 99 of 100 may not exceed, in microseconds.
    pub p99_us: Option<u64>,
    /// What none may exceed.
    pub max_us: Option<u64>,
}

/// Sub-buckets to each doubling: a figure that is shown is at most a 64th too large.
const FINE: u32 = 6;
const BUCKETS: usize = (64 - FINE as usize + 1) << FINE;

/// Counts of waits, in buckets that grow with them: memory does not.
#[derive(Debug)]
pub(crate) struct Waits {
    bounds: WaitBounds,
    counts: Box<[u64]>,
    total: u64,
    longest: u64,
    /// How many were longer than 99 of 100 may be.
    beyond: u64,
}

impl Waits {
    pub(crate) fn new(bounds: WaitBounds) -> Self {
        let counts = vec![0; BUCKETS].into_boxed_slice();
        Self { bounds, counts, total: 0, longest: 0, beyond: 0 }
    }

    /// Counts one; says if it is longer than any may be.
    pub(crate) fn add(&mut self, waited: u64) -> Option<String> {
        self.total += 1;
        self.longest = self.longest.max(waited);
        if self.bounds.p99_us.is_some_and(|most| waited > most) {
            self.beyond += 1;
        }
        if let Some(count) = self.counts.get_mut(bucket(waited)) {
            *count += 1;
        }
        let most = self.bounds.max_us.filter(|most| waited > *most)?;
        Some(format!("waited {waited} us; at most {most} us are allowed"))
    }

    /// Says if too many were longer than 99 of 100 may be: counted, not estimated.
    pub(crate) fn too_many(&self) -> Option<String> {
        let most = self.bounds.p99_us?;
        (u128::from(self.beyond) * 100 > u128::from(self.total)).then(|| {
            format!(
                "{} of {} waited longer than {most} us; one in a hundred may",
                self.beyond, self.total
            )
        })
    }

    pub(crate) fn findings(&self) -> Option<WaitFindings> {
        (self.total > 0).then(|| WaitFindings {
            count: self.total,
            p50_us: self.quantile(50),
            p99_us: self.quantile(99),
            max_us: self.longest,
        })
    }

    /// What so many of a hundred did not exceed, rounded up to a bucket.
    fn quantile(&self, percent: u64) -> u64 {
        let wanted = (u128::from(self.total) * u128::from(percent)).div_ceil(100);
        let mut seen = 0_u128;
        let found = self.counts.iter().position(|count| {
            seen += u128::from(*count);
            seen >= wanted
        });
        found.map_or(self.longest, |index| largest_in(index).min(self.longest))
    }
}

fn bucket(value: u64) -> usize {
    let doublings = (u64::BITS - value.leading_zeros()).saturating_sub(FINE + 1);
    let within = usize::try_from(value >> doublings).unwrap_or(0);
    ((doublings as usize) << FINE) + within
}

/// The largest value of a bucket.
fn largest_in(index: usize) -> u64 {
    let doublings = (index >> FINE).saturating_sub(1);
    let within = (index - (doublings << FINE)) as u64;
    // The last bucket ends where numbers do.
    within
        .checked_add(1)
        .and_then(|next| next.checked_shl(u32::try_from(doublings).ok()?))
        .filter(|next| *next > 0)
        .map_or(u64::MAX, |next| next - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_wait_has_a_bucket_whose_end_is_a_64th_away_at_most() {
        for shift in 0..64 {
            for value in [1_u64 << shift, (1 << shift) + 1, (1 << shift) - 1, !0 >> shift] {
                let end = largest_in(bucket(value));
                assert!(bucket(value) < BUCKETS, "{value}");
                assert!(end >= value && end - value <= value / 64, "{value} up to {end}");
            }
        }
    }

    #[test]
    fn quantiles_are_told_and_bounds_are_counted() {
        let bounds = WaitBounds { p99_us: Some(99), max_us: Some(150) };
        let mut waits = Waits::new(bounds);
        assert_eq!(waits.findings(), None);
        for waited in 1..=100 {
            assert_eq!(waits.add(waited), None);
        }
        let expected = WaitFindings { count: 100, p50_us: 50, p99_us: 99, max_us: 100 };
        assert_eq!(waits.findings(), Some(expected));
        assert_eq!(waits.too_many(), None, "one in a hundred");
        assert_eq!(waits.add(150), None);
        assert!(waits.too_many().is_some_and(|text| text.starts_with("2 of 101 waited longer")));
        assert!(waits.add(151).is_some_and(|text| text.contains("waited 151 us; at most 150 us")));
    }
}

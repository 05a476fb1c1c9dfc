//! The histogram of waits for answers, and its bounds.

use hdrhistogram::Histogram;
use serde::Serialize;

use crate::findings::LatencyFindings;

/// Bounds on how long answers may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct LatencyBounds {
    /// The bound of the 99th percentile, in microseconds.
    pub p99_us: Option<u64>,
    /// The maximum, in microseconds.
    pub max_us: Option<u64>,
}

/// Significant decimal digits of the histogram: a percentile is at most a 128th too large.
const DIGITS: u8 = 2;

/// A histogram of waits in microseconds; its memory does not grow.
#[derive(Debug)]
pub(crate) struct Latency {
    bounds: LatencyBounds,
    waits: Histogram<u64>,
    /// The longest wait, exactly: the histogram keeps only its bucket.
    longest: u64,
    /// Waits longer than the bound of the 99th percentile.
    beyond: u64,
}

impl Latency {
    pub(crate) fn new(bounds: LatencyBounds) -> Self {
        let waits = Histogram::new_with_bounds(1, u64::MAX, DIGITS)
            .unwrap_or_else(|_| unreachable!("the bounds are in order"));
        Self { bounds, waits, longest: 0, beyond: 0 }
    }

    /// Counts one wait; describes it if it exceeds the maximum.
    pub(crate) fn add(&mut self, waited: u64) -> Option<String> {
        if self.bounds.p99_us.is_some_and(|most| waited > most) {
            self.beyond += 1;
        }
        self.longest = self.longest.max(waited);
        self.waits.saturating_record(waited);
        let most = self.bounds.max_us.filter(|most| waited > *most)?;
        Some(format!("waited {waited} us; at most {most} us are allowed"))
    }

    /// Describes the excess if more than one wait in a hundred exceeds the bound of the 99th
    /// percentile. It is counted exactly, not read from the histogram.
    pub(crate) fn too_many(&self) -> Option<String> {
        let (most, total) = (self.bounds.p99_us?, self.waits.len());
        (u128::from(self.beyond) * 100 > u128::from(total)).then(|| {
            let beyond = self.beyond;
            format!("{beyond} of {total} waited longer than {most} us; one in a hundred may")
        })
    }

    pub(crate) fn findings(&self) -> Option<LatencyFindings> {
        (!self.waits.is_empty()).then(|| LatencyFindings {
            count: self.waits.len(),
            p50_us: self.quantile(0.5),
            p99_us: self.quantile(0.99),
            max_us: self.longest,
        })
    }

    /// A quantile, rounded up to the end of its bucket but not beyond the longest wait.
    fn quantile(&self, quantile: f64) -> u64 {
        self.waits.value_at_quantile(quantile).min(self.longest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_a_128th_too_large_at_most() {
        let longest = u64::MAX >> 1;
        for shift in 1..63 {
            for value in [1_u64 << shift, (1 << shift) + 1, (1 << shift) - 1, !0 >> shift] {
                let mut waits = Latency::new(LatencyBounds::default());
                for waited in [value, value, longest] {
                    assert_eq!(waits.add(waited), None);
                }
                let LatencyFindings { p50_us, p99_us, max_us, .. } = waits.findings().unwrap();
                assert!(p50_us >= value && p50_us - value <= value / 128, "{value}: {p50_us}");
                assert_eq!((p99_us, max_us), (longest, longest), "{value}");
            }
        }
    }

    #[test]
    fn reports_percentiles_and_counts_waits_beyond_bounds() {
        let bounds = LatencyBounds { p99_us: Some(99), max_us: Some(150) };
        let mut waits = Latency::new(bounds);
        assert_eq!(waits.findings(), None);
        for waited in 1..=100 {
            assert_eq!(waits.add(waited), None);
        }
        let expected = LatencyFindings { count: 100, p50_us: 50, p99_us: 99, max_us: 100 };
        assert_eq!(waits.findings(), Some(expected));
        assert_eq!(waits.too_many(), None, "one in a hundred");
        assert_eq!(waits.add(150), None);
        assert!(waits.too_many().is_some_and(|text| text.starts_with("2 of 101 waited longer")));
        assert!(waits.add(151).is_some_and(|text| text.contains("waited 151 us; at most 150 us")));
    }
}

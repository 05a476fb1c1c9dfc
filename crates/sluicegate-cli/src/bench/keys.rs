//! The random callers of requests.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use rand_distr::{Distribution, Zipf};

/// Draws callers from a uniform or a Zipf distribution.
#[derive(Debug)]
pub(super) struct BenchKeys {
    random: SmallRng,
    count: u64,
    zipf: Option<Zipf<f64>>,
}

impl BenchKeys {
    /// Creates a generator; each `seed` has its own sequence.
    pub(super) fn new(count: u64, exponent: Option<f64>, seed: u64) -> Self {
        #[allow(clippy::cast_precision_loss, reason = "a billion callers at most")]
        let zipf = exponent.and_then(|exponent| Zipf::new(count as f64, exponent).ok());
        Self { random: SmallRng::seed_from_u64(seed), count, zipf }
    }

    /// Draws the number of the next caller, below the count.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "ranks are whole numbers from 1 to the count"
    )]
    pub(super) fn next(&mut self) -> u64 {
        match &self.zipf {
            None => self.random.random_range(0..self.count),
            Some(zipf) => (zipf.sample(&mut self.random) as u64).clamp(1, self.count) - 1,
        }
    }
}

/// The name of a caller: always ten characters, so that lengths can precede it.
pub(super) fn name(number: u64) -> [u8; 10] {
    let mut name = *b"u000000000";
    let mut rest = number;
    for digit in name.iter_mut().skip(1).rev() {
        *digit = b'0' + u8::try_from(rest % 10).unwrap_or(0);
        rest /= 10;
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        assert_eq!(&name(0), b"u000000000");
        assert_eq!(&name(42), b"u000000042");
        assert_eq!(&name(999_999_999), b"u999999999");
    }

    #[test]
    fn zipf_prefers_the_first_callers() {
        let mut keys = BenchKeys::new(1_000, Some(1.1), 7);
        let drawn: Vec<u64> = (0..10_000).map(|_| keys.next()).collect();
        assert!(drawn.iter().all(|key| *key < 1_000));
        let first = drawn.iter().filter(|key| **key == 0).count();
        let tenth = drawn.iter().filter(|key| **key == 9).count();
        assert!(first > 5 * tenth, "{first} and {tenth}");
        let mut keys = BenchKeys::new(1_000, None, 7);
        let first = (0..10_000).filter(|_| keys.next() == 0).count();
        assert!(first < 40, "{first}");
    }
}

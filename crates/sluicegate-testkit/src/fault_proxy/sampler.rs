//! Reproducible random selection of replies.

use crate::rng::Rng;

/// A fraction of all replies, and the seed of the selection.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Sampler {
    fraction: f64,
    seed: u64,
}

impl Sampler {
    pub(super) fn new(fraction: f64, seed: u64) -> Self {
        assert!((0.0..=1.0).contains(&fraction), "a fraction is between 0 and 1, not {fraction}");
        Self { fraction, seed }
    }

    /// Whether this reply of this connection is selected. There is no state, so the result does not
    /// depend on the order of connections.
    pub(super) fn falls_on(self, connection: u64, reply: u64) -> bool {
        let drawn = mixed(mixed(mixed(self.seed) ^ connection) ^ reply);
        let high = u32::try_from(drawn >> 32).unwrap_or(u32::MAX);
        f64::from(high) < self.fraction * (f64::from(u32::MAX) + 1.0)
    }
}

/// Makes neighbouring numbers unrelated.
const fn mixed(number: u64) -> u64 {
    Rng::new(number).number()
}

#[cfg(test)]
mod tests {
    use super::Sampler;

    fn count(fraction: f64, seed: u64) -> usize {
        let chance = Sampler::new(fraction, seed);
        let drawn = (0..100).flat_map(|connection| (0..100).map(move |reply| (connection, reply)));
        drawn.filter(|(connection, reply)| chance.falls_on(*connection, *reply)).count()
    }

    #[test]
    fn selects_the_given_fraction() {
        for (fraction, least, most) in
            [(0.0, 0, 0), (0.01, 70, 130), (0.2, 1_900, 2_100), (1.0, 10_000, 10_000)]
        {
            for seed in 0..5 {
                let fell = count(fraction, seed);
                assert!(
                    (least..=most).contains(&fell),
                    "{fell} of 10000 at {fraction}, seed {seed}"
                );
            }
        }
    }

    #[test]
    fn the_selection_depends_on_the_seed() {
        let which = |seed| {
            let chance = Sampler::new(0.5, seed);
            (0..64).map(|reply| chance.falls_on(1, reply)).collect::<Vec<_>>()
        };
        assert_eq!(which(1), which(1));
        assert_ne!(which(1), which(2));
    }
}

//! Keys, generated before the timing.

use std::fmt::Write;

use sluicegate_testkit::Rng;

/// The length of every key: `user:0012345678`.
const LENGTH: usize = 15;

/// Keys one after the other in a single text.
///
/// They are used in this order, so the next one is as close in memory as a key that has just
/// arrived with a request.
pub(crate) struct Keys {
    text: String,
}

impl Keys {
    /// The keys with these numbers, in this order.
    pub(crate) fn numbered(numbers: impl ExactSizeIterator<Item = usize>) -> Self {
        let mut text = String::with_capacity(numbers.len() * LENGTH);
        numbers.for_each(|number| append(&mut text, number));
        Self { text }
    }

    pub(crate) fn all(&self) -> Vec<&str> {
        (0..self.text.len()).step_by(LENGTH).map(|at| &self.text[at..at + LENGTH]).collect()
    }
}

/// Appends the key with this number.
pub(crate) fn append(text: &mut String, number: usize) {
    write!(text, "user:{number:010}").unwrap();
}

/// Numbers below `size`, each as likely as the others.
pub(crate) fn uniform(size: usize, draws: usize) -> impl ExactSizeIterator<Item = usize> {
    let mut rng = Rng::new(1);
    (0..draws).map(move |_| (fraction(&mut rng) * size as f64) as usize)
}

/// Numbers below `size`; the one on rank k is drawn in proportion to 1/k^1.1.
pub(crate) fn zipf(size: usize, draws: usize) -> impl ExactSizeIterator<Item = usize> {
    let weight = |rank: usize| (rank as f64).powf(-1.1);
    let sums: Vec<f64> = (1..=size)
        .scan(0.0, |sum, rank| {
            *sum += weight(rank);
            Some(*sum)
        })
        .collect();
    let mut rng = Rng::new(2);
    (0..draws).map(move |_| {
        let place = fraction(&mut rng) * sums[size - 1];
        let rank = sums.partition_point(|sum| *sum <= place).min(size - 1);
        // Popular keys are scattered among the others; the factor is prime.
        rank * 2_654_435_761 % size
    })
}

/// A number that is at least 0 and less than 1.
fn fraction(rng: &mut Rng) -> f64 {
    (rng.number() >> 11) as f64 / (1_u64 << 53) as f64
}

//! Deterministic selection of a fraction of several items.

/// As many of `items` as `fraction` gives, rounded to the nearest, evenly spread.
pub(crate) fn share_of<T>(items: Vec<T>, fraction: f64) -> Vec<T> {
    assert!((0.0..=1.0).contains(&fraction), "a fraction is between 0 and 1, not {fraction}");
    let mut owed = 0.5;
    items
        .into_iter()
        .filter(|_| {
            owed += fraction;
            // Ten tenths are a little less than one.
            let due = owed + 1e-9 >= 1.0;
            if due {
                owed -= 1.0;
            }
            due
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::share_of;

    #[test]
    fn takes_the_nearest_number() {
        for (count, fraction, expected) in [
            (10, 0.0, 0),
            (10, 0.1, 1),
            (10, 1.0, 10),
            (1, 0.5, 1),
            (3, 0.1, 0),
            (100, 0.07, 7),
            (0, 1.0, 0),
        ] {
            let taken = share_of((0..count).collect(), fraction);
            assert_eq!(taken.len(), expected, "{fraction} of {count}");
        }
    }

    #[test]
    fn spreads_evenly() {
        assert_eq!(share_of((0..8).collect(), 0.25), [1, 5]);
    }
}

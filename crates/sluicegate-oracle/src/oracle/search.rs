//! Searches for edges by trial: slow, but without a formula that could be wrong.

/// The smallest wait of at least 1 for which `holds`, which once true must stay true.
pub(crate) fn smallest_wait(holds: impl Fn(u64) -> bool) -> u64 {
    let mut high = 1;
    while !holds(high) {
        high *= 2;
        assert!(high < 1 << 60, "no wait helps, although the cost is within the limit");
    }
    // `high / 2` was tried and is too little (0 is "now", which was refused).
    let mut low = high / 2;
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if holds(middle) { high = middle } else { low = middle }
    }
    high
}

/// The largest number in `0..=most` for which `fits`, which once false must stay false; 0 if none.
pub(crate) fn largest_fit(most: u64, fits: impl Fn(u64) -> bool) -> u64 {
    if fits(most) {
        return most;
    }
    let (mut low, mut high) = (0, most);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if fits(middle) { low = middle } else { high = middle }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_edge_wherever_it_is() {
        for edge in 1..200 {
            assert_eq!(smallest_wait(|wait| wait >= edge), edge);
            assert_eq!(largest_fit(150, |units| units < edge), (edge - 1).min(150));
        }
        assert_eq!(largest_fit(0, |_| false), 0);
    }
}

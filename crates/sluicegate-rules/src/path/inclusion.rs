//! Whether one sequence with gaps takes in everything another one does.

/// One place of a sequence: a gap stands for any number of places.
pub(super) trait Place {
    fn is_gap(&self) -> bool;
    /// Whether this place, no gap, takes in everything the other place, no gap, does.
    fn covers_one(&self, other: &Self) -> bool;
}

/// True only if `wide` surely takes in everything that `narrow` does.
///
/// Fills a table row by row from the ends, so the work is the product of the lengths.
pub(super) fn covers<P: Place>(wide: &[P], narrow: &[P]) -> bool {
    // row[j]: whether the part of `wide` looked at so far covers narrow[j..].
    let mut row = vec![false; narrow.len() + 1];
    if let Some(both_ended) = row.last_mut() {
        *both_ended = true;
    }
    for place in wide.iter().rev() {
        let mut next = Vec::with_capacity(row.len());
        // From the end of `narrow`: only a gap can stand for nothing at all.
        let mut behind = row.last().copied().unwrap_or(false);
        next.push(place.is_gap() && behind);
        for (other, &here) in narrow.iter().zip(&row).rev() {
            let longer = next.last().copied().unwrap_or(false);
            next.push(if place.is_gap() {
                // The gap ends here, or it swallows the other place, whatever that is.
                here || longer
            } else {
                !other.is_gap() && place.covers_one(other) && behind
            });
            behind = here;
        }
        next.reverse();
        row = next;
    }
    row.first().copied().unwrap_or(false)
}

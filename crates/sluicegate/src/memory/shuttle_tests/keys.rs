//! Keys with known cells.

use std::ops::Range;

use sluicegate_core::{Check, Limit};

use crate::memory::directory::FIRST_PAGES;
use crate::memory::fingerprint::{Fingerprint, HashKey};
use crate::memory::page_state::{home_of, lines_of};

/// The same in all runs, so that the same keys collide.
pub(super) const HASH_KEY: HashKey = HashKey { first: 1, second: 2 };

pub(super) type Key = [u8; 4];

/// The fingerprint of a limit's counter for a key.
pub(super) fn name(limit: &Limit, key: Key) -> Fingerprint {
    HASH_KEY.counter(&Check::new(limit, &key))
}

/// Returns keys whose counters satisfy a condition.
pub(super) fn keys<const N: usize>(
    limit: &Limit,
    wanted: impl Fn(Fingerprint) -> bool,
) -> [Key; N] {
    let mut keys = (0_u32..).map(u32::to_be_bytes).filter(|key| wanted(name(limit, *key)));
    std::array::from_fn(|_| keys.next().unwrap())
}

/// The page of a fingerprint before any split.
pub(super) fn first_page_of(name: Fingerprint) -> usize {
    let units: usize = FIRST_PAGES.iter().sum();
    let unit = ((name.bits() >> 32) * units as u64) >> 32;
    let mut ends = FIRST_PAGES.iter().scan(0, |end, count| {
        *end += *count as u64;
        Some(*end)
    });
    ends.position(|end| unit < end).unwrap()
}

/// Keys that fill the first half of the lines of the first page.
///
/// Each of them may be in the other half as well.
pub(super) fn initial_keys(limit: &Limit) -> Vec<Key> {
    let at = |lines: Range<usize>| {
        keys::<8>(limit, |name| {
            first_page_of(name) == 0 && lines.contains(&home_of(name)) && lines_of(name)[2] >= 4
        })
    };
    [at(0..2), at(2..4)].concat()
}

/// Whether a fingerprint of the first page is limited to the first half of its lines.
pub(super) fn is_stuck_in_front(name: Fingerprint) -> bool {
    first_page_of(name) == 0 && lines_of(name).iter().all(|line| *line < 4)
}

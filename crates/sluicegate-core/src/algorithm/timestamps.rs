//! Timestamped units, oldest first, for sliding logs and cooldowns.

use crate::state::Stamp;
use crate::time::{Span, Time};

/// Returns the stamps younger than the window.
///
/// The window is half-open: a stamp stops counting exactly one window after it was made.
pub(super) fn unexpired(stamps: &[Stamp], now: Time, window: Span) -> &[Stamp] {
    &stamps[stamps.partition_point(|stamp| stamp.at + window <= now)..]
}

pub(super) fn units(stamps: &[Stamp]) -> u64 {
    stamps.iter().map(|stamp| stamp.units).sum()
}

/// Drops the stamps that no longer count.
pub(super) fn prune(stamps: &mut Vec<Stamp>, now: Time, window: Span) {
    let dead = stamps.len() - unexpired(stamps, now, window).len();
    stamps.drain(..dead);
}

/// Adds units at `now`, or at the newest stamp if that is later; returns the time used.
pub(super) fn file(stamps: &mut Vec<Stamp>, now: Time, window: Span, units: u64) -> Time {
    prune(stamps, now, window);
    match stamps.last_mut() {
        Some(newest) if newest.at >= now => {
            newest.units += units;
            newest.at
        }
        _ => {
            stamps.push(Stamp { at: now, units });
            now
        }
    }
}

/// Removes up to `units` from the stamp at exactly `at`; returns the units removed.
pub(super) fn remove(stamps: &mut Vec<Stamp>, at: Time, units: u64) -> u64 {
    let Ok(index) = stamps.binary_search_by_key(&at, |stamp| stamp.at) else { return 0 };
    let struck = units.min(stamps[index].units);
    stamps[index].units -= struck;
    if stamps[index].units == 0 {
        stamps.remove(index);
    }
    struck
}

/// Removes up to `units` from the oldest stamps; returns the units removed.
pub(super) fn remove_oldest(stamps: &mut Vec<Stamp>, units: u64) -> u64 {
    let (mut left, mut gone) = (units, 0);
    for stamp in &mut *stamps {
        let struck = left.min(stamp.units);
        stamp.units -= struck;
        left -= struck;
        if stamp.units > 0 {
            break;
        }
        gone += 1;
    }
    stamps.drain(..gone);
    units - left
}

/// Removes up to `units` from the newest stamps that count; returns the units removed.
pub(super) fn remove_newest(stamps: &mut Vec<Stamp>, now: Time, window: Span, units: u64) -> u64 {
    let mut left = units;
    while let Some(newest) = stamps.last_mut().filter(|newest| newest.at + window > now) {
        let struck = left.min(newest.units);
        newest.units -= struck;
        left -= struck;
        if newest.units > 0 {
            break;
        }
        stamps.pop();
    }
    units - left
}

//! The time sources of a machine: ticks, and the operating system's clock.

use std::sync::OnceLock;
use std::time::Instant;

use super::tsc;

/// Two time sources: a cheap one and a correct one.
pub(super) trait TimeSource {
    /// Returns whether ticks can be read and have a constant rate.
    fn has_sound_ticks(&self) -> bool;
    /// Reads the ticks, possibly before earlier instructions have completed.
    fn ticks(&self) -> u64;
    /// Reads the ticks after earlier loads have completed.
    fn ticks_in_order(&self) -> u64;
    /// Returns nanoseconds of the operating system's monotonic clock.
    fn nanos(&self) -> u64;
}

/// The machine that this process runs on.
#[derive(Debug)]
pub(super) struct OsTimeSource;

/// The origin of the nanoseconds: the first read of the clock.
static ORIGIN: OnceLock<Instant> = OnceLock::new();

impl TimeSource for OsTimeSource {
    fn has_sound_ticks(&self) -> bool {
        tsc::are_sound()
    }

    #[inline]
    fn ticks(&self) -> u64 {
        tsc::read()
    }

    #[inline]
    fn ticks_in_order(&self) -> u64 {
        tsc::read_in_order()
    }

    #[allow(clippy::disallowed_methods, reason = "this is where time comes from")]
    fn nanos(&self) -> u64 {
        let since = ORIGIN.get_or_init(Instant::now).elapsed();
        u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
    }
}

/// A reading of both sources at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sample {
    pub(super) ticks: u64,
    pub(super) nanos: u64,
}

impl Sample {
    /// The width, in ticks, of a reading good enough to stop retrying, about 400 ns …
    const NARROW: u64 = 1 << 10;
    /// … and the width at which a reading is useless, about 10 us.
    const WIDE: u64 = 1 << 15;
    const TRIES: usize = 16;

    /// Reads both sources at the same time; `None` on a source where that fails.
    pub(super) fn take(source: &impl TimeSource) -> Option<Self> {
        let mut best = (Self::WIDE, None);
        for _ in 0..Self::TRIES {
            let before = source.ticks_in_order();
            let nanos = source.nanos();
            // An interruption between the two reads would make the sample wrong.
            let between = source.ticks_in_order().wrapping_sub(before);
            if between < best.0 {
                best = (between, Some(Self { ticks: before + between / 2, nanos }));
            }
            if between < Self::NARROW {
                break;
            }
        }
        best.1
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    /// Ticks from a list; the clock returns 1, 2, 3 …
    struct Scripted(RefCell<(Vec<u64>, u64)>);

    impl TimeSource for Scripted {
        fn has_sound_ticks(&self) -> bool {
            true
        }

        fn ticks(&self) -> u64 {
            self.0.borrow_mut().0.remove(0)
        }

        fn ticks_in_order(&self) -> u64 {
            self.ticks()
        }

        fn nanos(&self) -> u64 {
            self.0.borrow_mut().1 += 1;
            self.0.borrow().1
        }
    }

    fn taken(ticks: &[u64]) -> Option<Sample> {
        Sample::take(&Scripted(RefCell::new((ticks.to_vec(), 0))))
    }

    #[test]
    fn a_reading_that_was_interrupted_is_taken_again() {
        let narrow = [0, 20_000, 50_000, 50_100];
        assert_eq!(taken(&narrow), Some(Sample { ticks: 50_050, nanos: 2 }));
        let mut wide = [0, 1 << 15].repeat(Sample::TRIES);
        assert_eq!(taken(&wide), None, "ten microseconds are no moment");
        wide[7] -= 1;
        assert_eq!(taken(&wide), Some(Sample { ticks: (1 << 14) - 1, nanos: 4 }), "the best");
    }
}

//! The time sources of a machine: ticks, and the operating system's clock.

use std::sync::OnceLock;
use std::time::Instant;

use super::cycle_counter;

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

/// The origin of the nanoseconds: the first reading of the clock.
static ORIGIN: OnceLock<Instant> = OnceLock::new();

impl TimeSource for OsTimeSource {
    fn has_sound_ticks(&self) -> bool {
        static SOUND: OnceLock<bool> = OnceLock::new();
        *SOUND.get_or_init(cycle_counter::are_sound)
    }

    #[inline]
    fn ticks(&self) -> u64 {
        cycle_counter::read()
    }

    #[inline]
    fn ticks_in_order(&self) -> u64 {
        cycle_counter::read_in_order()
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
    /// The widest reading in ticks, about 400 ns.
    ///
    /// The anchors of two threads are wrong by half of that each, and so are the rates between
    /// them: the threads agree within about a microsecond.
    const WIDEST: u64 = 1 << 10;
    const TRIES: usize = 16;

    /// Reads both sources at the same time; `None` if every reading was interrupted.
    pub(super) fn take(source: &impl TimeSource) -> Option<Self> {
        for _ in 0..Self::TRIES {
            let before = source.ticks_in_order();
            let nanos = source.nanos();
            // An interruption between the two reads would make the sample wrong.
            let between = source.ticks_in_order().wrapping_sub(before);
            if between < Self::WIDEST {
                return Some(Self { ticks: before + between / 2, nanos });
            }
        }
        None
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
        let second = [0, 20_000, 50_000, 50_100];
        assert_eq!(taken(&second), Some(Sample { ticks: 50_050, nanos: 2 }));
        let mut interrupted = [0, Sample::WIDEST].repeat(Sample::TRIES);
        assert_eq!(taken(&interrupted), None);
        interrupted[7] -= 1;
        assert_eq!(taken(&interrupted), Some(Sample { ticks: Sample::WIDEST / 2 - 1, nanos: 4 }));
    }
}

//! What a machine tells time by: ticks, and the operating system's clock.

use std::sync::OnceLock;
use std::time::Instant;

use super::ticks;

/// Two ways to tell time: one that is cheap and one that is right.
pub(super) trait Machine {
    /// Whether ticks can be read at all and all last the same.
    fn has_sound_ticks(&self) -> bool;
    /// Ticks, perhaps from a moment before what comes earlier in the program.
    fn ticks(&self) -> u64;
    /// Ticks from after that.
    fn ticks_in_order(&self) -> u64;
    /// Nanoseconds by the operating system's clock, which never goes back.
    fn nanos(&self) -> u64;
}

/// The machine this process runs on.
#[derive(Debug)]
pub(super) struct ThisMachine;

/// Nanoseconds are counted from the first time anybody asked.
static ORIGIN: OnceLock<Instant> = OnceLock::new();

impl Machine for ThisMachine {
    fn has_sound_ticks(&self) -> bool {
        ticks::are_sound()
    }

    #[inline]
    fn ticks(&self) -> u64 {
        ticks::read()
    }

    #[inline]
    fn ticks_in_order(&self) -> u64 {
        ticks::read_in_order()
    }

    #[allow(clippy::disallowed_methods, reason = "this is where time comes from")]
    fn nanos(&self) -> u64 {
        let since = ORIGIN.get_or_init(Instant::now).elapsed();
        u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
    }
}

/// What both ways of telling time said at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reading {
    pub(super) ticks: u64,
    pub(super) nanos: u64,
}

impl Reading {
    /// Ticks between which both were read: good enough not to try again, about 400 ns …
    const NARROW: u64 = 1 << 10;
    /// … and too far apart to be called one moment, about 10 us.
    const WIDE: u64 = 1 << 15;
    const TRIES: usize = 16;

    /// Reads both clocks at one moment; `None` on a machine where that cannot be done.
    pub(super) fn take(machine: &impl Machine) -> Option<Self> {
        let mut best = (Self::WIDE, None);
        for _ in 0..Self::TRIES {
            let before = machine.ticks_in_order();
            let nanos = machine.nanos();
            // Whoever was interrupted in between would take one moment for another.
            let between = machine.ticks_in_order().wrapping_sub(before);
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

    /// Ticks as they are written down; the clock says 1, 2, 3 …
    struct Scripted(RefCell<(Vec<u64>, u64)>);

    impl Machine for Scripted {
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

    fn taken(ticks: &[u64]) -> Option<Reading> {
        Reading::take(&Scripted(RefCell::new((ticks.to_vec(), 0))))
    }

    #[test]
    fn a_reading_that_was_interrupted_is_taken_again() {
        let narrow = [0, 20_000, 50_000, 50_100];
        assert_eq!(taken(&narrow), Some(Reading { ticks: 50_050, nanos: 2 }));
        let mut wide = [0, 1 << 15].repeat(Reading::TRIES);
        assert_eq!(taken(&wide), None, "ten microseconds are no moment");
        wide[7] -= 1;
        assert_eq!(taken(&wide), Some(Reading { ticks: (1 << 14) - 1, nanos: 4 }), "the best");
    }
}

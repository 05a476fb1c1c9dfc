//! The time-stamp counter of x86-64, where it can be trusted.
//!
//! The only unsafe code in the workspace. Reading the counter takes half as long as a call to the
//! operating system's clock, which was most of the cost of a check.

#[cfg(all(target_arch = "x86_64", target_os = "linux", not(miri)))]
#[allow(unsafe_code, reason = "the standard library marks these reads unsafe; see each of them")]
mod counter {
    use core::arch::x86_64::{__cpuid, _mm_lfence, _rdtsc};

    /// Bit 8 of EDX in this leaf: the counter has one rate and never stops.
    const POWER_LEAF: u32 = 0x8000_0007;
    const INVARIANT: u32 = 1 << 8;
    /// Returns in EAX the last supported leaf of this range.
    const LAST_LEAF: u32 = 0x8000_0000;

    /// The kernel checks the counter against its other clocks, and across processors; this file
    /// names it as long as the kernel considers it reliable.
    const TRUSTED: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

    #[inline]
    pub(in crate::clock) fn read() -> u64 {
        // SAFETY: reads a register and touches no memory. Every x86-64 processor has it, and this
        // is not reached before `are_sound` found the kernel itself using it.
        unsafe { _rdtsc() }
    }

    #[inline]
    pub(in crate::clock) fn read_in_order() -> u64 {
        // SAFETY: a fence for earlier loads; part of SSE2, which x86-64 includes.
        #[allow(unused_unsafe, reason = "safe in later versions of the standard library")]
        unsafe {
            _mm_lfence();
        }
        read()
    }

    pub(in crate::clock) fn are_sound() -> bool {
        let leaf = |leaf| {
            // SAFETY: every x86-64 processor has this instruction.
            #[allow(unused_unsafe, reason = "safe in later versions of the standard library")]
            unsafe {
                __cpuid(leaf)
            }
        };
        leaf(LAST_LEAF).eax >= POWER_LEAF
            && leaf(POWER_LEAF).edx & INVARIANT != 0
            && std::fs::read_to_string(TRUSTED).is_ok_and(|source| source.trim() == "tsc")
    }
}

/// Machines whose counter is not read, or is not known to be sound.
#[cfg(not(all(target_arch = "x86_64", target_os = "linux", not(miri))))]
mod counter {
    #[inline]
    pub(in crate::clock) const fn read() -> u64 {
        0
    }

    #[inline]
    pub(in crate::clock) const fn read_in_order() -> u64 {
        0
    }

    pub(in crate::clock) const fn are_sound() -> bool {
        false
    }
}

/// Reads the ticks since some fixed time in the past.
///
/// The processor may read them before earlier instructions have completed, about 100 ns early in
/// measurements. Two reads in one thread keep their order.
pub(super) use counter::read;

/// Reads the ticks after earlier loads have completed; takes twice as long.
pub(super) use counter::read_in_order;

/// Returns whether ticks have one constant rate on all processors, asleep or awake.
pub(super) use counter::are_sound;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sound_ticks_pass() {
        if are_sound() {
            let (first, second) = (read_in_order(), read_in_order());
            assert!(0 < first && first < second && second < read() + (1 << 40));
        }
    }
}

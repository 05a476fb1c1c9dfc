//! The processor's own count of time, where it can be trusted: the time-stamp counter of x86-64.
//!
//! The only unsafe code in the workspace. Reading the counter takes half as long as asking the
//! operating system, and asking was most of what a check cost.

#[cfg(all(target_arch = "x86_64", target_os = "linux", not(miri)))]
#[allow(unsafe_code, reason = "the standard library marks these reads unsafe; see each of them")]
mod counter {
    use core::arch::x86_64::{__cpuid, _mm_lfence, _rdtsc};

    /// Bit 8 of EDX in this leaf: the counter has one rate and never stops.
    const POWER_LEAF: u32 = 0x8000_0007;
    const INVARIANT: u32 = 1 << 8;
    /// Tells in EAX how far leaves of this range go.
    const LAST_LEAF: u32 = 0x8000_0000;

    /// The kernel watches the counter against its other clocks, and across processors; it
    /// names it here as long as it finds nothing wrong.
    const TRUSTED: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

    #[inline]
    pub(in crate::clock) fn read() -> u64 {
        // SAFETY: reads a register and touches no memory. Every x86-64 processor has it, and
        // nobody gets here before `are_sound` found the kernel reading it on our behalf.
        unsafe { _rdtsc() }
    }

    #[inline]
    pub(in crate::clock) fn read_in_order() -> u64 {
        // SAFETY: a fence for what was loaded before; part of SSE2, which x86-64 includes.
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

/// Ticks since some moment in the past.
///
/// The processor may read them a moment before it is done with what comes earlier in the
/// program: about 100 ns before, as far as has been seen. Two reads in one thread keep their
/// order.
pub(super) use counter::read;

/// The same, not before what comes earlier in the program. Takes twice as long.
pub(super) use counter::read_in_order;

/// Whether ticks all last the same, on every processor of this machine, asleep or awake.
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

//! The process-wide clock: the current segment, published to all readers by a seqlock.
//!
//! A read takes a few loads, the ticks and a multiplication. Segments are published under a
//! sequence number that readers load before and after: if it is unchanged, so was the segment. Any
//! reader may compute the next segment before the current one ends (try-lock); the others keep
//! using the current one. Readers wait for the lock only if no read computed the next segment in
//! time.
//!
//! A segment applies to its own ticks and no others. So it does not matter when a reader sees a
//! new segment: at a given tick all readers compute the same time, and time never goes back.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU64, fence};
use std::sync::{Mutex, PoisonError, TryLockError};

use super::calibration::Calibrator;
use super::segment::Segment;
use super::time_source::{Sample, TimeSource};

/// The clock of one machine.
#[derive(Debug)]
pub(super) struct TscClock<M> {
    source: M,
    sequence: Sequence,
    /// The segments of the last two sequence numbers.
    slots: [SegmentSlot; 2],
    /// Up to this tick the operating system's clock is used.
    os_until: AtomicU64,
    /// The offset ahead of it during that time.
    ahead: AtomicU64,
    phase: Mutex<Phase>,
}

/// The number of published segments. On its own cache line because every reader loads it, as is
/// each slot.
#[derive(Debug)]
#[repr(align(64))]
struct Sequence(AtomicU64);

#[derive(Debug)]
#[repr(align(64))]
struct SegmentSlot {
    current: SharedSegment,
    /// The segment before: a segment is published before it starts.
    previous: SharedSegment,
}

#[derive(Debug)]
struct SharedSegment {
    start: AtomicU64,
    nanos: AtomicU64,
    rate: AtomicU64,
}

/// The progress of the calibration of ticks.
#[derive(Debug)]
enum Phase {
    New,
    /// Waiting until enough ticks have passed to measure their rate.
    Measuring(Sample),
    Following(Calibrator),
    /// Ticks cannot be trusted.
    Unusable,
}

/// The clock has not been read yet.
const NEVER_READ: u64 = 0;
/// The operating system's clock is used for good.
const FOR_GOOD: u64 = u64::MAX;
/// The length of the first measurement in ticks, 13 ms at 5 GHz; no reader waits for it.
const MEASURED_TICKS: u64 = 1 << 26;

impl<M: TimeSource> TscClock<M> {
    pub(super) const fn new(source: M) -> Self {
        Self {
            source,
            sequence: Sequence(AtomicU64::new(0)),
            slots: [const { SegmentSlot::new() }; 2],
            os_until: AtomicU64::new(NEVER_READ),
            ahead: AtomicU64::new(0),
            phase: Mutex::new(Phase::New),
        }
    }

    /// Returns nanoseconds since some fixed time of this process.
    #[inline]
    pub(super) fn nanos(&self) -> u64 {
        let sequence = self.sequence.0.load(Acquire);
        let segment = self.slot(sequence).current.load();
        // Without a segment, ticks may not even be readable.
        if segment.rate != 0 {
            let ticks = self.source.ticks().wrapping_sub(segment.start);
            if ticks < Segment::FRESH && self.is_unchanged(sequence) {
                return segment.after(ticks);
            }
        }
        self.nanos_slow()
    }

    #[inline]
    const fn slot(&self, sequence: u64) -> &SegmentSlot {
        &self.slots[(sequence & 1) as usize]
    }

    /// Returns whether the data loaded since `sequence` was consistent.
    #[inline]
    fn is_unchanged(&self, sequence: u64) -> bool {
        fence(Acquire);
        self.sequence.0.load(Relaxed) == sequence
    }

    #[cold]
    #[inline(never)]
    fn nanos_slow(&self) -> u64 {
        loop {
            let sequence = self.sequence.0.load(Acquire);
            if let Some(nanos) = self.os_nanos(sequence) {
                return nanos;
            }
            let slot = self.slot(sequence);
            let (current, previous) = (slot.current.load(), slot.previous.load());
            if !self.is_unchanged(sequence) {
                continue;
            }
            let ticks = self.source.ticks_in_order();
            if current.rate == 0 || ticks >= current.end() {
                self.advance(sequence);
            } else if ticks >= current.start {
                if ticks - current.start >= Segment::FRESH {
                    self.try_advance(sequence);
                }
                return current.at(ticks);
            } else if ticks >= previous.end() {
                // No reader got a time between the two segments, so the start of the later one is
                // valid.
                return current.nanos;
            } else if ticks >= previous.start {
                return previous.at(ticks);
            } else {
                self.stop_trusting_ticks(sequence);
            }
        }
    }

    /// Returns the time of the operating system's clock; `None` once segments are in use.
    fn os_nanos(&self, sequence: u64) -> Option<u64> {
        let mut until = self.os_until.load(Acquire);
        if until == NEVER_READ {
            self.begin();
            until = self.os_until.load(Acquire);
        }
        if until == FOR_GOOD {
            return Some(self.source.nanos() + self.ahead.load(Relaxed));
        }
        if sequence > 0 {
            return None;
        }
        let nanos = self.source.nanos();
        // Checked after the read, so that it cannot return a time after the first segment's start.
        (self.source.ticks_in_order() < until).then_some(nanos)
    }

    fn begin(&self) {
        let mut phase = self.phase.lock().unwrap_or_else(PoisonError::into_inner);
        if !matches!(*phase, Phase::New) {
            return;
        }
        let sound = self.source.has_sound_ticks();
        match sound.then(|| Sample::take(&self.source)).flatten() {
            Some(first) => {
                *phase = Phase::Measuring(first);
                self.os_until.store(first.ticks + MEASURED_TICKS, Release);
            }
            None => self.use_os_clock(&mut phase),
        }
    }

    /// Computes the segment after that of `sequence`, or waits for the thread computing it.
    fn advance(&self, sequence: u64) {
        let mut phase = self.phase.lock().unwrap_or_else(PoisonError::into_inner);
        self.advance_locked(&mut phase, sequence);
    }

    fn try_advance(&self, sequence: u64) {
        match self.phase.try_lock() {
            Ok(mut phase) => self.advance_locked(&mut phase, sequence),
            Err(TryLockError::Poisoned(phase)) => {
                self.advance_locked(&mut phase.into_inner(), sequence);
            }
            Err(TryLockError::WouldBlock) => {}
        }
    }

    fn advance_locked(&self, phase: &mut Phase, sequence: u64) {
        if self.sequence.0.load(Relaxed) != sequence {
            return;
        }
        let Some(now) = Sample::take(&self.source) else { return self.use_os_clock(phase) };
        let segments = match phase {
            Phase::Measuring(first) => {
                let first = *first;
                Calibrator::begin(first, now).map(|calibrator| {
                    let current = calibrator.segment();
                    // Ticks were not used before, so no reader has a time before its start.
                    let previous = Segment { start: first.ticks, nanos: current.nanos, rate: 0 };
                    *phase = Phase::Following(calibrator);
                    (previous, current)
                })
            }
            Phase::Following(calibrator) => {
                let previous = calibrator.segment();
                calibrator.follow(now).map(|current| (previous, current))
            }
            Phase::New | Phase::Unusable => return,
        };
        match segments {
            Some((previous, current)) => self.publish(sequence + 1, previous, current),
            None => self.use_os_clock(phase),
        }
    }

    fn stop_trusting_ticks(&self, sequence: u64) {
        let mut phase = self.phase.lock().unwrap_or_else(PoisonError::into_inner);
        if self.sequence.0.load(Relaxed) == sequence {
            self.use_os_clock(&mut phase);
        }
    }

    /// Uses the operating system's clock for good, from the later of the two times.
    fn use_os_clock(&self, phase: &mut Phase) {
        if let Phase::Following(calibrator) = phase {
            self.ahead.store(calibrator.ahead_of(self.source.nanos()), Relaxed);
            let sequence = self.sequence.0.load(Relaxed);
            self.publish(sequence + 1, Segment::default(), Segment::default());
        }
        *phase = Phase::Unusable;
        self.os_until.store(FOR_GOOD, Release);
    }

    /// Publishes a segment; the caller holds the lock on the phase.
    fn publish(&self, sequence: u64, previous: Segment, current: Segment) {
        // A reader that sees any of this being written will see that the sequence has changed.
        fence(Release);
        let slot = self.slot(sequence);
        slot.previous.store(previous);
        slot.current.store(current);
        self.sequence.0.store(sequence, Release);
    }
}

impl SegmentSlot {
    const fn new() -> Self {
        Self { current: SharedSegment::new(), previous: SharedSegment::new() }
    }
}

impl SharedSegment {
    const fn new() -> Self {
        Self { start: AtomicU64::new(0), nanos: AtomicU64::new(0), rate: AtomicU64::new(0) }
    }

    #[inline]
    fn load(&self) -> Segment {
        Segment {
            start: self.start.load(Relaxed),
            nanos: self.nanos.load(Relaxed),
            rate: self.rate.load(Relaxed),
        }
    }

    fn store(&self, segment: Segment) {
        self.start.store(segment.start, Relaxed);
        self.nanos.store(segment.nanos, Relaxed);
        self.rate.store(segment.rate, Relaxed);
    }
}

#[cfg(test)]
mod tests;

//! States that do not fit a word: windows, logs, holders, fractions.

use sluicegate_core::{State, Time};

use super::fingerprint::Fingerprint;
use super::sync::{AtomicUsize, Mutex, Relaxed, lock};

/// Several free lists, so that threads rarely contend for one.
const LISTS: usize = if cfg!(shuttle) { 2 } else { 16 };

/// The arena of all records.
#[derive(Debug)]
pub(super) struct OverflowArena {
    /// Never shrinks; free records are reused.
    all: boxcar::Vec<Mutex<OverflowState>>,
    free: [Mutex<Vec<u32>>; LISTS],
    /// The heap memory of the states, and the records themselves.
    bytes: AtomicUsize,
    /// The position of the search for an eviction candidate.
    hand: AtomicUsize,
}

/// The state of one counter; only the thread that locked the counter's cell changes it.
#[derive(Debug, Default)]
pub(super) struct OverflowState {
    /// The counter it belongs to; `None` if it is free.
    pub(super) owner: Option<Fingerprint>,
    pub(super) state: State,
    /// From then on the counter is equivalent to none.
    pub(super) recovered_at: Time,
    /// The share of its capacity that was used when it was last changed.
    pub(super) share: u16,
}

impl OverflowArena {
    /// The cost of a record, without its state's heap memory.
    pub(super) const BYTES_EACH: usize = size_of::<Mutex<OverflowState>>() + 8 + size_of::<u32>();

    pub(super) fn new() -> Self {
        Self {
            all: boxcar::Vec::new(),
            free: std::array::from_fn(|_| Mutex::default()),
            bytes: AtomicUsize::new(0),
            hand: AtomicUsize::new(0),
        }
    }

    /// Returns the bytes used by records.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.load(Relaxed)
    }

    /// Stores a state; returns the number of its record.
    pub(super) fn keep(&self, record: OverflowState) -> u32 {
        let list = list_of(&record);
        self.bytes.fetch_add(record.state.heap_bytes(), Relaxed);
        let free = lock(&self.free[list]).pop();
        if let Some(number) = free
            && let Some(place) = self.all.get(number as usize)
        {
            *lock(place) = record;
            return number;
        }
        self.bytes.fetch_add(Self::BYTES_EACH, Relaxed);
        u32::try_from(self.all.push(Mutex::new(record))).unwrap_or(u32::MAX)
    }

    /// Changes a record in place; also returns whether it has grown.
    pub(super) fn change<T>(
        &self,
        number: u32,
        change: impl FnOnce(&mut OverflowState) -> T,
    ) -> Option<(T, bool)> {
        let mut record = lock(self.all.get(number as usize)?);
        let before = record.state.heap_bytes();
        let changed = change(&mut record);
        let after = record.state.heap_bytes();
        if after > before {
            self.bytes.fetch_add(after - before, Relaxed);
        } else if after < before {
            self.bytes.fetch_sub(before - after, Relaxed);
        }
        Some((changed, after > before))
    }

    /// Takes a state out, until it is returned by [`put`](OverflowArena::put).
    pub(super) fn take(&self, number: u32) -> State {
        let Some(record) = self.all.get(number as usize) else { return State::Vacant };
        let state = std::mem::take(&mut lock(record).state);
        self.bytes.fetch_sub(state.heap_bytes(), Relaxed);
        state
    }

    /// Puts back a state that was taken, changed or not.
    pub(super) fn put(&self, number: u32, changed: OverflowState) {
        self.bytes.fetch_add(changed.state.heap_bytes(), Relaxed);
        if let Some(record) = self.all.get(number as usize) {
            *lock(record) = changed;
        }
    }

    /// Frees a record and drops its state.
    pub(super) fn free(&self, number: u32) {
        let Some(record) = self.all.get(number as usize) else { return };
        let record = std::mem::take(&mut *lock(record));
        self.bytes.fetch_sub(record.state.heap_bytes(), Relaxed);
        let list = list_of(&record);
        lock(&self.free[list]).push(number);
    }

    /// Returns the last known used share; 0 is equivalent to none.
    pub(super) fn share(&self, number: u32, now: Time) -> u16 {
        let Some(record) = self.all.get(number as usize) else { return 0 };
        let record = lock(record);
        if record.recovered_at <= now { 0 } else { record.share }
    }

    /// Reads a record.
    pub(super) fn read<T>(&self, number: u32, read: impl FnOnce(&OverflowState) -> T) -> Option<T> {
        Some(read(&lock(self.all.get(number as usize)?)))
    }

    /// Returns the least valuable of a few records from all over the arena.
    pub(super) fn least(&self, few: usize, now: Time) -> Option<Fingerprint> {
        let count = self.all.count() as u64;
        let hand = self.hand.fetch_add(few, Relaxed);
        let looked_at = (hand..hand + few).filter_map(|at| {
            // Neighbours were created at about the same time and are much alike, so skip around.
            let fraction = (at as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
            let number = u32::try_from((fraction * count) >> 32).ok()?;
            let owner = self.read(number, |record| record.owner)??;
            Some((self.share(number, now), owner))
        });
        looked_at.min_by_key(|(share, _)| *share).map(|(_, owner)| owner)
    }
}

fn list_of(record: &OverflowState) -> usize {
    record.owner.map_or(0, |owner| owner.index() / 64 % LISTS)
}

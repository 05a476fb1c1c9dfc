//! Restoring a store from a snapshot.

use sluicegate_core::{Span, State, Time};

use super::format::SnapshotHeader;
use super::reader::SnapshotEntry;
use crate::clock::Clock;
use crate::memory::Memory;
use crate::memory::fingerprint::Fingerprint;
use crate::memory::insert::InsertError;
use crate::memory::overflow::OverflowState;
use crate::memory::pages::{CELLS, LINES};
use crate::memory::sync::lock;
use crate::memory::table::FoundCell;
use crate::memory::word::{Epoch, LimitTag, Word};

/// The number of counters that fit into a page in random order.
const A_PAGE: u64 = (LINES * CELLS) as u64 * 13 / 16;

/// A restore into a store that is not shared yet.
pub(super) struct Load<'m, C> {
    store: &'m Memory<C>,
    /// The origin of the times in the file's words.
    epoch: Epoch,
    now: Time,
    /// The offset of the file's clock ahead of ours.
    ahead: Span,
    /// The number of counters so far.
    pub(super) counters: u64,
}

/// The properties of a counter.
struct CounterProperties {
    limit_tag: LimitTag,
    share: u16,
    recovered_at: Time,
    state: State,
}

impl<'m, C: Clock> Load<'m, C> {
    pub(super) fn new(store: &'m Memory<C>, header: &SnapshotHeader, now: Time) -> Self {
        let (epoch, ahead) = (Epoch::new(header.epoch), header.taken.since(now));
        Self { store, epoch, now, ahead, counters: 0 }
    }

    /// Splits the pages that this many counters would fill, the largest first, while they are
    /// empty.
    ///
    /// Splitting empty pages is faster. It also avoids a failure: counters come in the order of
    /// their old pages, so a page that fills up may have all of them in one of its halves, where a
    /// few would find no place.
    pub(super) fn make_room(&self, counters: u64) {
        let table = &self.store.table;
        let mut most = counters;
        loop {
            let mut page = 0;
            while page < table.page_count() {
                let units = lock(&table.growth).units[page];
                let full = units.part_of(counters) > most.max(A_PAGE);
                if !full || !self.store.split_page_of(page, units.first(), self.now) {
                    page += 1;
                }
            }
            if most <= A_PAGE {
                return;
            }
            most = most / 8 * 7;
        }
    }

    /// Inserts a counter, unless it has recovered.
    pub(super) fn keep(&mut self, entry: SnapshotEntry) {
        let (name, known) = match entry {
            SnapshotEntry::Word { name, word } => {
                let mut state = word.state(self.epoch);
                state.earlier_by(self.ahead);
                let recovered_at = match state {
                    State::Settled { until } => until,
                    _ => state.as_whole_bucket().unwrap_or_default(),
                };
                // Only used if it does not fit a word any more.
                let share = u16::MAX;
                (
                    name,
                    CounterProperties { limit_tag: word.limit_tag(), share, recovered_at, state },
                )
            }
            SnapshotEntry::OverflowState { name, limit_tag, share, recovered_at, mut state } => {
                state.earlier_by(self.ahead);
                let recovered_at = match state {
                    // Not shifted, or by less: kept too long rather than too short.
                    State::Window { .. } | State::Blocks(_) => recovered_at,
                    _ => earlier(recovered_at, self.ahead),
                };
                (name, CounterProperties { limit_tag, share, recovered_at, state })
            }
        };
        if known.recovered_at > self.now && known.state != State::Vacant {
            self.put(name, known);
        }
    }

    fn put(&mut self, name: Fingerprint, known: CounterProperties) {
        let Self { store, now, .. } = *self;
        let mut may_evict = false;
        loop {
            // A repeated counter: this entry is newer.
            if let Some(FoundCell { cell, word }) = store.table.find(name) {
                if cell.lock(word) {
                    cell.unlock(self.file(name, word, known));
                    break;
                }
                continue;
            }
            match store.claim(name, known.limit_tag, now, may_evict) {
                Ok(claimed) => {
                    claimed.fill(self.file(name, Word::EMPTY, known));
                    self.counters += 1;
                    break;
                }
                Err(InsertError::Raced) => {}
                Err(InsertError::Full { page }) => {
                    may_evict = !store.split_page_of(page, name, now);
                }
            }
        }
        store.enforce_bounds(now);
    }

    /// Returns the word of a counter, after dropping its previous state.
    fn file(&self, name: Fingerprint, before: Word, known: CounterProperties) -> Word {
        let CounterProperties { limit_tag, share, recovered_at, state } = known;
        let records = &self.store.records;
        if let Some(record) = before.record() {
            records.free(record);
        }
        let word = before.vacated().with_limit_tag(limit_tag);
        word.with_state(&state, self.store.epoch).unwrap_or_else(|| {
            word.with_record(records.keep(OverflowState {
                owner: Some(name),
                state,
                recovered_at,
                share,
            }))
        })
    }
}

fn earlier(time: Time, by: Span) -> Time {
    Time::from_micros(time.as_micros().saturating_sub(by.as_micros()))
}

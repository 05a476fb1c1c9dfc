//! Filling a store with what is read from a snapshot.

use sluicegate_core::{Span, State, Time};

use super::format::Header;
use super::reader::Entry;
use crate::clock::Clock;
use crate::memory::Memory;
use crate::memory::hash::Fingerprint;
use crate::memory::newcomer::Obstacle;
use crate::memory::records::Record;
use crate::memory::slab::{CELLS, LINES};
use crate::memory::sync::lock;
use crate::memory::table::Found;
use crate::memory::word::{Epoch, Mark, Word};

/// As many counters as a page has room for when they come at random.
const A_PAGE: u64 = (LINES * CELLS) as u64 * 13 / 16;

/// A store that nobody else has yet.
pub(super) struct Load<'m, C> {
    store: &'m Memory<C>,
    /// The one that the file's words tell their times from.
    epoch: Epoch,
    now: Time,
    /// How far the clock of the file was ahead of ours.
    ahead: Span,
    /// How many counters there are by now.
    pub(super) counters: u64,
}

/// What is known of a counter.
struct Known {
    mark: Mark,
    share: u16,
    fresh_at: Time,
    state: State,
}

impl<'m, C: Clock> Load<'m, C> {
    pub(super) fn new(store: &'m Memory<C>, header: &Header, now: Time) -> Self {
        let (epoch, ahead) = (Epoch::new(header.epoch), header.taken.since(now));
        Self { store, epoch, now, ahead, counters: 0 }
    }

    /// Divides the pages that so many counters would fill, the largest first, while they are
    /// empty. That is quicker; and because counters come in the order of the pages they were in,
    /// a page that fills up may have all of them in one of its halves, where a few could find no
    /// place.
    pub(super) fn make_room(&self, counters: u64) {
        let table = &self.store.table;
        let mut most = counters;
        loop {
            let mut page = 0;
            while page < table.page_count() {
                let units = lock(&table.growth).units[page];
                let full = units.part_of(counters) > most.max(A_PAGE);
                if !full || !self.store.grow(page, units.first(), self.now) {
                    page += 1;
                }
            }
            if most <= A_PAGE {
                return;
            }
            most = most / 8 * 7;
        }
    }

    /// Puts a counter where it belongs, unless it has recovered.
    pub(super) fn keep(&mut self, entry: Entry) {
        let (name, known) = match entry {
            Entry::Word { name, word } => {
                let mut state = word.state(self.epoch);
                state.earlier_by(self.ahead);
                let fresh_at = match state {
                    State::Settled { until } => until,
                    _ => state.as_whole_bucket().unwrap_or_default(),
                };
                // Only looked at if it does not fit a word any more.
                let share = u16::MAX;
                (name, Known { mark: word.mark(), share, fresh_at, state })
            }
            Entry::Record { name, mark, share, fresh_at, mut state } => {
                state.earlier_by(self.ahead);
                let fresh_at = match state {
                    // Not moved, or not by as much: rather kept too long than not long enough.
                    State::Window { .. } | State::Blocks(_) => fresh_at,
                    _ => earlier(fresh_at, self.ahead),
                };
                (name, Known { mark, share, fresh_at, state })
            }
        };
        if known.fresh_at > self.now && known.state != State::Vacant {
            self.put(name, known);
        }
    }

    fn put(&mut self, name: Fingerprint, known: Known) {
        let Self { store, now, .. } = *self;
        let mut may_forget = false;
        loop {
            // It came before: this one is newer.
            if let Some(Found { cell, word }) = store.table.find(name) {
                if cell.lock(word) {
                    cell.unlock(self.file(name, word, known));
                    break;
                }
                continue;
            }
            match store.claim(name, known.mark, now, may_forget) {
                Ok(claimed) => {
                    claimed.fill(self.file(name, Word::EMPTY, known));
                    self.counters += 1;
                    break;
                }
                Err(Obstacle::Raced) => {}
                Err(Obstacle::Full { page }) => may_forget = !store.grow(page, name, now),
            }
        }
        store.keep_within_bounds(now);
    }

    /// The word of a counter, after what it had before was thrown away.
    fn file(&self, name: Fingerprint, before: Word, known: Known) -> Word {
        let Known { mark, share, fresh_at, state } = known;
        let records = &self.store.records;
        if let Some(record) = before.record() {
            records.free(record);
        }
        let word = before.vacated().marked(mark);
        word.with_state(&state, self.store.epoch).unwrap_or_else(|| {
            word.with_record(records.keep(Record { owner: Some(name), state, fresh_at, share }))
        })
    }
}

fn earlier(time: Time, by: Span) -> Time {
    Time::from_micros(time.as_micros().saturating_sub(by.as_micros()))
}

//! A state as if it had been made earlier.

use super::{Blocks, Cooling, Holders, Stamp, State};
use crate::moment::Moment;
use crate::time::{Span, Time};

impl State {
    /// Makes this the state it would be, had it been made `by` earlier: for one that was made
    /// under a clock so much ahead of ours. Nothing gets earlier than 1970.
    ///
    /// Blocks move by whole blocks, so that what they count is believed up to a block longer
    /// and never shorter; one that then has still to begin is read as exhausted, as any is. A
    /// calendar window stays where it is: calendars do not move with clocks.
    pub fn earlier_by(&mut self, by: Span) {
        match self {
            Self::Vacant | Self::Window { .. } => {}
            Self::Bucket { full_at, .. } => {
                *full_at = match full_at.micros.checked_sub(by.as_micros()) {
                    Some(micros) => Moment { micros, ..*full_at },
                    None => Moment::default(),
                };
            }
            Self::Blocks(blocks) => blocks.earlier_by(by),
            Self::Log(stamps) => stamps_earlier_by(stamps, by),
            Self::Holders(holders) => holders.earlier_by(by),
            Self::Cooling(cooling) => cooling.earlier_by(by),
            Self::Settled { until } => *until = earlier(*until, by),
        }
    }
}

fn earlier(time: Time, by: Span) -> Time {
    Time::computed(time.as_micros().saturating_sub(by.as_micros()))
}

fn stamps_earlier_by(stamps: &mut Vec<Stamp>, by: Span) {
    for stamp in &mut *stamps {
        stamp.at = earlier(stamp.at, by);
    }
    // What is now at the beginning of time was not all made at once, but is one stamp.
    stamps.dedup_by(|later, earlier| {
        let same = later.at == earlier.at;
        if same {
            earlier.units += later.units;
        }
        same
    });
}

impl Blocks {
    fn earlier_by(&mut self, by: Span) {
        self.newest = self.newest.saturating_sub(by.as_micros() / self.length);
        // No block begins before 1970: what would is counted in the first that does not.
        let first = usize::try_from(self.newest).unwrap_or(usize::MAX);
        if let Some((last, before)) =
            self.counts.get_mut(first..).and_then(<[u64]>::split_first_mut)
        {
            *last += before.iter().sum::<u64>();
            before.fill(0);
        }
    }
}

impl Holders {
    fn earlier_by(&mut self, by: Span) {
        for holder in &mut self.list {
            holder.expires = earlier(holder.expires, by);
        }
    }
}

impl Cooling {
    fn earlier_by(&mut self, by: Span) {
        stamps_earlier_by(&mut self.failures, by);
        stamps_earlier_by(&mut self.attempts, by);
        self.blocked_until = earlier(self.blocked_until, by);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ask::Id;
    use crate::state::Holder;

    const BY: Span = Span::from_micros(100);

    fn moved(mut state: State) -> State {
        state.earlier_by(BY);
        state
    }

    fn at(micros: u64) -> Time {
        Time::from_micros(micros)
    }

    fn stamps(stamps: &[(u64, u64)]) -> Vec<Stamp> {
        stamps.iter().map(|(micros, units)| Stamp { at: at(*micros), units: *units }).collect()
    }

    fn blocks(length: u64, newest: u64, counts: &[u64]) -> State {
        State::Blocks(Box::new(Blocks { length, newest, counts: counts.into() }))
    }

    #[test]
    fn moves_all_times_and_nothing_else() {
        let bucket = |micros, parts| State::Bucket { full_at: Moment { micros, parts }, parts: 7 };
        assert_eq!(moved(bucket(150, 3)), bucket(50, 3));
        assert_eq!(
            moved(State::Log(stamps(&[(120, 1), (130, 2)]))),
            State::Log(stamps(&[(20, 1), (30, 2)]))
        );
        assert_eq!(moved(State::Settled { until: at(101) }), State::Settled { until: at(1) });
        let cooling = |failure, attempt, blocked_until| {
            State::Cooling(Box::new(Cooling {
                failures: stamps(&[(failure, 1)]),
                blocked_until: at(blocked_until),
                streak: 2,
                attempts: stamps(&[(attempt, 3)]),
            }))
        };
        assert_eq!(moved(cooling(120, 130, 150)), cooling(20, 30, 50));
        let holders = |expires| {
            let list = [Holder { id: Id::from_bits(1), expires: at(expires), units: 2 }].into();
            State::Holders(Box::new(Holders { list, units: 2 }))
        };
        assert_eq!(moved(holders(150)), holders(50));
        let window = State::Window { start: at(100), end: at(200), count: 3 };
        assert_eq!(moved(window.clone()), window, "the calendar stays");
        assert_eq!(moved(State::Vacant), State::Vacant);
    }

    #[test]
    fn nothing_gets_earlier_than_1970_or_lost_there() {
        let bucket = |micros, parts| State::Bucket { full_at: Moment { micros, parts }, parts: 7 };
        assert_eq!(moved(bucket(99, 3)), bucket(0, 0));
        let log = State::Log(stamps(&[(40, 2), (90, 3), (100, 4), (101, 5)]));
        assert_eq!(moved(log), State::Log(stamps(&[(0, 9), (1, 5)])));
        assert_eq!(moved(blocks(10, 12, &[1, 2, 3, 4, 5])), blocks(10, 2, &[1, 2, 12, 0, 0]));
        assert_eq!(moved(blocks(10, 3, &[1, 2, 3])), blocks(10, 0, &[6, 0, 0]));
    }

    #[test]
    fn blocks_are_believed_longer_rather_than_shorter() {
        assert_eq!(moved(blocks(30, 50, &[1, 2])), blocks(30, 47, &[1, 2]), "3 1/3 blocks");
        assert_eq!(moved(blocks(50, 50, &[1, 2])), blocks(50, 48, &[1, 2]), "just 2 blocks");
        assert_eq!(moved(blocks(101, 50, &[1, 2])), blocks(101, 50, &[1, 2]), "less than one");
    }
}

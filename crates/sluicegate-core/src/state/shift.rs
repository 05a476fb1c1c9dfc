//! Shifting a state back in time.

use super::{Blocks, Cooling, Holders, Stamp, State};
use crate::exact_time::ExactTime;
use crate::time::{Span, Time};

impl State {
    /// Shifts the state back by `by`, for one written under a clock that was ahead by that much.
    ///
    /// No time gets earlier than 1970. Blocks move by whole blocks, so that their counts last up
    /// to a block longer and never shorter; a block that then has not begun yet is read as
    /// exhausted, as always. A calendar window does not move: calendars do not depend on the
    /// clock.
    pub fn earlier_by(&mut self, by: Span) {
        match self {
            Self::Vacant | Self::Window { .. } => {}
            Self::Bucket { full_at, .. } => {
                *full_at = match full_at.micros.checked_sub(by.as_micros()) {
                    Some(micros) => ExactTime { micros, ..*full_at },
                    None => ExactTime::default(),
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
    // Stamps moved to the beginning of time were not made at once, but become one stamp.
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
        // Blocks that would begin before 1970 are counted in the first one that does not.
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
    use crate::receipt::ChargeId;
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
        let bucket =
            |micros, parts| State::Bucket { full_at: ExactTime { micros, parts }, parts: 7 };
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
            let list =
                [Holder { id: ChargeId::from_bits(1), expires: at(expires), units: 2 }].into();
            State::Holders(Box::new(Holders { list, units: 2 }))
        };
        assert_eq!(moved(holders(150)), holders(50));
        let window = State::Window { start: at(100), end: at(200), count: 3 };
        assert_eq!(moved(window.clone()), window, "the calendar does not move");
        assert_eq!(moved(State::Vacant), State::Vacant);
    }

    #[test]
    fn times_stop_at_1970_and_no_units_are_lost() {
        let bucket =
            |micros, parts| State::Bucket { full_at: ExactTime { micros, parts }, parts: 7 };
        assert_eq!(moved(bucket(99, 3)), bucket(0, 0));
        let log = State::Log(stamps(&[(40, 2), (90, 3), (100, 4), (101, 5)]));
        assert_eq!(moved(log), State::Log(stamps(&[(0, 9), (1, 5)])));
        assert_eq!(moved(blocks(10, 12, &[1, 2, 3, 4, 5])), blocks(10, 2, &[1, 2, 12, 0, 0]));
        assert_eq!(moved(blocks(10, 3, &[1, 2, 3])), blocks(10, 0, &[6, 0, 0]));
    }

    #[test]
    fn blocks_last_longer_rather_than_shorter() {
        assert_eq!(moved(blocks(30, 50, &[1, 2])), blocks(30, 47, &[1, 2]), "3 1/3 blocks");
        assert_eq!(moved(blocks(50, 50, &[1, 2])), blocks(50, 48, &[1, 2]), "just 2 blocks");
        assert_eq!(moved(blocks(101, 50, &[1, 2])), blocks(101, 50, &[1, 2]), "less than one");
    }
}

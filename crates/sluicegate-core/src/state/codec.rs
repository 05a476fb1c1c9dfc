//! States as bytes, in a format that is stable across versions.
//!
//! A state is a tag and its numbers, encoded as in [`varint`]. The format of a tag never changes:
//! a different encoding gets a new tag.
//!
//! | tag | state | numbers |
//! |---|---|---|
//! | 0 | vacant | |
//! | 1 | bucket in whole microseconds | full at |
//! | 2 | bucket in fractions | full at, parts to a microsecond, parts beyond full at |
//! | 3 | window | start, length, count |
//! | 4 | blocks | length, index of the newest, how many counts, the counts from the newest on |
//! | 5 | log | stamps |
//! | 6 | holders | how many, of each: end of its lease, units, id in 16 bytes |
//! | 7 | cooling | stamps, blocked until, streak |
//! | 8 | settled | until |
//! | 9 | cooling with attempts | stamps of failures, blocked until, streak, stamps of attempts |
//!
//! Times and lengths are microseconds, times since 1970. Stamps are their number, then the time
//! and units of each. Where several times follow each other, in stamps and holders, each is the
//! difference from the one before.
//!
//! Only states that some limit can have left behind are read. The algorithms rely on it: that
//! lists are in order, that sums are what they should be, and that nothing overflows when more
//! is added.

use core::ops::RangeInclusive;
use std::collections::VecDeque;

use super::reader::StateReader;
use super::{Blocks, Cooling, Holder, Holders, Stamp, State, StateError};
use crate::exact_time::ExactTime;
use crate::limit::Limit;
use crate::quota::Quota;
use crate::time::{Span, Time};
use crate::varint;

const VACANT: u8 = 0;
const WHOLE_BUCKET: u8 = 1;
const BUCKET: u8 = 2;
const WINDOW: u8 = 3;
const BLOCKS: u8 = 4;
const LOG: u8 = 5;
const HOLDERS: u8 = 6;
const COOLING: u8 = 7;
const SETTLED: u8 = 8;
const COOLING_WITH_ATTEMPTS: u8 = 9;

/// Later than any state: the largest time in a store, two recoveries and the slack.
const LATEST: u64 = (1 << 53) - 1;
/// More units than any state can count. One limit stops at 2^53; blocks that were converted for
/// other limits may hold several times that. Far enough from 2^64 to add to.
const MOST_UNITS: u64 = 1 << 56;
/// The most units of a log: its debt included.
const MOST_STAMPED: u64 = Limit::MAX_LOG * 2;
/// The number of blocks, current and past, from a window of one slice to the largest.
const BLOCK_COUNTS: RangeInclusive<u64> = 2..=Limit::MAX_SLICES as u64 + 1;
/// The shortest encodings of a stamp, a holder and a count.
const STAMP_BYTES: usize = 2;
const HOLDER_BYTES: usize = 18;
const COUNT_BYTES: usize = 1;

impl State {
    /// Appends the encoding of this state to `out`, for [`State::decode`].
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Vacant => out.push(VACANT),
            Self::Bucket { full_at, parts: 1 } => put(out, WHOLE_BUCKET, &[full_at.micros]),
            Self::Bucket { full_at, parts } => {
                put(out, BUCKET, &[full_at.micros, *parts, full_at.parts]);
            }
            Self::Window { start, end, count } => {
                put(out, WINDOW, &[start.as_micros(), end.since(*start).as_micros(), *count]);
            }
            Self::Blocks(blocks) => {
                let Blocks { length, newest, counts } = &**blocks;
                put(out, BLOCKS, &[*length, *newest, counts.len() as u64]);
                for count in counts {
                    varint::put(out, *count);
                }
            }
            Self::Log(stamps) => {
                out.push(LOG);
                put_stamps(out, stamps);
            }
            Self::Holders(holders) => {
                put(out, HOLDERS, &[holders.list.len() as u64]);
                let mut before = Time::EPOCH;
                for Holder { id, expires, units } in &holders.list {
                    varint::put(out, expires.since(before).as_micros());
                    varint::put(out, *units);
                    out.extend_from_slice(&id.to_bits().to_be_bytes());
                    before = *expires;
                }
            }
            Self::Cooling(cooling) => {
                let plain = cooling.attempts.is_empty();
                out.push(if plain { COOLING } else { COOLING_WITH_ATTEMPTS });
                put_stamps(out, &cooling.failures);
                varint::put(out, cooling.blocked_until.as_micros());
                varint::put(out, cooling.streak.into());
                if !plain {
                    put_stamps(out, &cooling.attempts);
                }
            }
            Self::Settled { until } => put(out, SETTLED, &[until.as_micros()]),
        }
    }

    /// Decodes the state at the start of `bytes`, and removes it from them.
    ///
    /// Accepts any input: a decoded state is one that every limit can continue from.
    ///
    /// ```
    /// use sluicegate_core::{State, StateError, Time};
    ///
    /// let mut bytes = Vec::new();
    /// State::whole_bucket(Time::from_micros(300)).encode(&mut bytes);
    /// assert_eq!(bytes, [1, 0xac, 0x02]);
    ///
    /// let mut left = &bytes[..];
    /// assert_eq!(State::decode(&mut left), Ok(State::whole_bucket(Time::from_micros(300))));
    /// assert_eq!(State::decode(&mut left), Err(StateError::Incomplete));
    /// ```
    pub fn decode(bytes: &mut &[u8]) -> Result<Self, StateError> {
        let mut reader = StateReader { left: bytes };
        let state = reader.state()?;
        *bytes = reader.left;
        Ok(state)
    }
}

fn put(out: &mut Vec<u8>, tag: u8, numbers: &[u64]) {
    out.push(tag);
    for number in numbers {
        varint::put(out, *number);
    }
}

fn put_stamps(out: &mut Vec<u8>, stamps: &[Stamp]) {
    varint::put(out, stamps.len() as u64);
    let mut before = Time::EPOCH;
    for Stamp { at, units } in stamps {
        varint::put(out, at.since(before).as_micros());
        varint::put(out, *units);
        before = *at;
    }
}

impl StateReader<'_> {
    fn state(&mut self) -> Result<State, StateError> {
        Ok(match self.byte()? {
            VACANT => State::Vacant,
            WHOLE_BUCKET => {
                State::Bucket { full_at: ExactTime::at(self.time("time of a bucket")?), parts: 1 }
            }
            BUCKET => {
                let micros = self.time("time of a bucket")?.as_micros();
                let parts = self.number_in("parts to a microsecond", 2..=Quota::MAX_AMOUNT)?;
                let fraction = self.number_in("parts of a microsecond", 0..=parts - 1)?;
                State::Bucket { full_at: ExactTime { micros, parts: fraction }, parts }
            }
            WINDOW => {
                let start = self.time("start of a window")?;
                let longest = LATEST - start.as_micros();
                let length = self.number_in("length of a window", 1..=longest)?;
                let count = self.number_in("count of a window", 1..=MOST_UNITS)?;
                State::Window { start, end: start + Span::from_micros(length), count }
            }
            BLOCKS => State::Blocks(Box::new(self.blocks()?)),
            LOG => State::Log(self.stamps()?),
            HOLDERS => State::Holders(Box::new(self.holders()?)),
            COOLING => State::Cooling(Box::new(self.cooling()?)),
            COOLING_WITH_ATTEMPTS => {
                let cooling = self.cooling()?;
                let attempts = self.stamps()?;
                if attempts.is_empty() {
                    return Err(StateError::Misspelled);
                }
                State::Cooling(Box::new(Cooling { attempts, ..cooling }))
            }
            SETTLED => State::Settled { until: self.time("time of a settlement")? },
            found => return Err(StateError::UnknownTag { found }),
        })
    }

    fn time(&mut self, part: &'static str) -> Result<Time, StateError> {
        self.time_after(Time::EPOCH, 0, part)
    }

    /// Reads a time encoded as the difference from the one before, which is at least `least`.
    fn time_after(
        &mut self,
        before: Time,
        least: u64,
        part: &'static str,
    ) -> Result<Time, StateError> {
        let most = LATEST - before.as_micros();
        Ok(before + Span::from_micros(self.number_in(part, least..=most)?))
    }

    fn cooling(&mut self) -> Result<Cooling, StateError> {
        Ok(Cooling {
            failures: self.stamps()?,
            blocked_until: self.time("end of a block")?,
            streak: self.streak()?,
            attempts: Vec::new(),
        })
    }

    fn streak(&mut self) -> Result<u32, StateError> {
        let streak = self.number_in("streak of blocks", 0..=u32::MAX.into())?;
        Ok(u32::try_from(streak).unwrap_or(u32::MAX))
    }

    fn blocks(&mut self) -> Result<Blocks, StateError> {
        let length = self.number_in("length of a block", 1..=Span::MAX.as_micros())?;
        let newest = self.number_in("index of the newest block", 0..=LATEST / length)?;
        let count = self.count("number of blocks", BLOCK_COUNTS, COUNT_BYTES)?;
        let mut counts = vec![0; count].into_boxed_slice();
        let mut room = MOST_UNITS;
        for (back, count) in (0..).zip(&mut counts) {
            // The newest block has a nonzero count; blocks before 1970 have none.
            let least = u64::from(back == 0);
            let most = if back <= newest { room } else { 0 };
            *count = self.number_in("count of a block", least..=most)?;
            room -= *count;
        }
        Ok(Blocks { length, newest, counts })
    }

    fn stamps(&mut self) -> Result<Vec<Stamp>, StateError> {
        let count = self.count("number of stamps", 0..=MOST_STAMPED, STAMP_BYTES)?;
        let mut stamps = Vec::with_capacity(count);
        let (mut before, mut room) = (Time::EPOCH, MOST_STAMPED);
        for index in 0..count {
            // Units of one time are one stamp.
            let at = self.time_after(before, u64::from(index > 0), "time of a stamp")?;
            let units = self.number_in("units of a stamp", 1..=room)?;
            stamps.push(Stamp { at, units });
            (before, room) = (at, room - units);
        }
        Ok(stamps)
    }

    fn holders(&mut self) -> Result<Holders, StateError> {
        let count = self.count("number of holders", 0..=u64::MAX, HOLDER_BYTES)?;
        let mut list = VecDeque::with_capacity(count);
        let (mut before, mut units_of_all) = (Time::EPOCH, 0);
        for _ in 0..count {
            let expires = self.time_after(before, 0, "end of a lease")?;
            let units = self.number_in("units of a holder", 1..=MOST_UNITS - units_of_all)?;
            list.push_back(Holder { id: self.id()?, expires, units });
            (before, units_of_all) = (expires, units_of_all + units);
        }
        Ok(Holders { list, units: units_of_all })
    }
}

#[cfg(test)]
mod tests;

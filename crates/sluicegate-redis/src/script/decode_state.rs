//! Decodes states as the server stores them.
//!
//! A state that is not a bucket is a list in `MessagePack`: a number for its kind, then the fields
//! that `lua/states.lua` lists. It is converted to the core's encoding and decoded by
//! [`State::decode`], so that validation is in one place.

use sluicegate_core::{State, StateError, Time, varint};

use super::reply::MalformedReply;

/// Decodes a bucket of whole microseconds; 0 is vacant.
pub(super) fn bucket(full_at: i64) -> Result<State, MalformedReply> {
    match u64::try_from(full_at) {
        Ok(0) => Ok(State::Vacant),
        Ok(micros) if micros <= Time::MAX.as_micros() => {
            Ok(State::whole_bucket(Time::from_micros(micros)))
        }
        Ok(micros) => decode(&Bytes::default().tag(1).number(micros)),
        Err(_) => Err(MalformedReply::Shape { expected: "a state", found: "a negative number" }),
    }
}

/// Decodes any other state.
pub(super) fn state(bytes: &[u8]) -> Result<State, MalformedReply> {
    let mut list = List::of(bytes)?;
    let tag = list.number()?;
    let mut out = Bytes::default();
    match tag {
        2 => {
            let [micros, parts, counted_in] = list.numbers()?;
            out = out.tag(2).number(micros).number(counted_in).number(parts);
        }
        3 => {
            let [start, end, count] = list.numbers()?;
            out = out.tag(3).number(start).number(end.saturating_sub(start)).number(count);
        }
        4 => {
            let [length, newest] = list.numbers()?;
            out = out.tag(4).number(length).number(newest).number(list.left);
            while list.left > 0 {
                out = out.number(list.number()?);
            }
        }
        5 => out = list.timestamps(list.left / 2, out.tag(5))?,
        6 => out = list.holders(out.tag(6))?,
        7 => {
            let [blocked_until, streak] = list.numbers()?;
            out = list.timestamps(list.left / 2, out.tag(7))?.number(blocked_until).number(streak);
        }
        9 => {
            let [blocked_until, streak, count] = list.numbers()?;
            let attempts = list.timestamps(count, Bytes::default())?;
            out = list.timestamps(list.left / 2, out.tag(9))?.number(blocked_until).number(streak);
            out.0.extend(attempts.0);
        }
        8 => {
            let [until] = list.numbers()?;
            out = out.tag(8).number(until);
        }
        other => {
            let found = u8::try_from(other).unwrap_or(u8::MAX);
            return Err(MalformedReply::State(StateError::UnknownTag { found }));
        }
    }
    list.end()?;
    decode(&out)
}

fn decode(bytes: &Bytes) -> Result<State, MalformedReply> {
    let mut left = &bytes.0[..];
    let state = State::decode(&mut left).map_err(MalformedReply::State)?;
    if left.is_empty() { Ok(state) } else { Err(MalformedReply::State(StateError::Misspelled)) }
}

/// The core's encoding of a state.
#[derive(Default)]
struct Bytes(Vec<u8>);

impl Bytes {
    fn tag(mut self, tag: u8) -> Self {
        self.0.push(tag);
        self
    }

    fn number(mut self, number: u64) -> Self {
        varint::put(&mut self.0, number);
        self
    }
}

/// A list in `MessagePack`, partly read.
struct List<'a> {
    bytes: &'a [u8],
    /// The number of elements left.
    left: u64,
}

const TOO_SHORT: MalformedReply = MalformedReply::State(StateError::Incomplete);
const NO_NUMBER: MalformedReply =
    MalformedReply::Shape { expected: "a whole number in a state", found: "something else" };

impl<'a> List<'a> {
    fn of(bytes: &'a [u8]) -> Result<Self, MalformedReply> {
        let mut list = Self { bytes, left: 0 };
        list.left = match list.byte()? {
            short @ 0x90..=0x9f => u64::from(short & 0x0f),
            0xdc => list.big_endian::<2>()?,
            0xdd => list.big_endian::<4>()?,
            _ => {
                return Err(MalformedReply::Shape { expected: "a state", found: "something else" });
            }
        };
        Ok(list)
    }

    fn byte(&mut self) -> Result<u8, MalformedReply> {
        self.bytes.split_off_first().copied().ok_or(TOO_SHORT)
    }

    fn big_endian<const BYTES: usize>(&mut self) -> Result<u64, MalformedReply> {
        let (number, rest) = self.bytes.split_first_chunk::<BYTES>().ok_or(TOO_SHORT)?;
        self.bytes = rest;
        Ok(number.iter().fold(0, |value, byte| value << 8 | u64::from(*byte)))
    }

    fn take_one(&mut self) -> Result<(), MalformedReply> {
        self.left = self.left.checked_sub(1).ok_or(TOO_SHORT)?;
        Ok(())
    }

    fn number(&mut self) -> Result<u64, MalformedReply> {
        self.take_one()?;
        match self.byte()? {
            small @ 0..=0x7f => Ok(small.into()),
            0xcc => self.big_endian::<1>(),
            0xcd => self.big_endian::<2>(),
            0xce => self.big_endian::<4>(),
            0xcf => self.big_endian::<8>(),
            // Numbers above 2^31 may be written as signed integers.
            0xd3 => self.big_endian::<8>().and_then(|number| {
                if number <= i64::MAX.unsigned_abs() { Ok(number) } else { Err(NO_NUMBER) }
            }),
            _ => Err(NO_NUMBER),
        }
    }

    fn numbers<const COUNT: usize>(&mut self) -> Result<[u64; COUNT], MalformedReply> {
        let mut numbers = [0; COUNT];
        for number in &mut numbers {
            *number = self.number()?;
        }
        Ok(numbers)
    }

    fn id(&mut self) -> Result<&'a [u8; 16], MalformedReply> {
        const SIXTEEN_BYTES: u8 = 0xb0;
        self.take_one()?;
        if self.byte()? != SIXTEEN_BYTES {
            return Err(MalformedReply::Shape { expected: "an id", found: "something else" });
        }
        let (id, rest) = self.bytes.split_first_chunk().ok_or(TOO_SHORT)?;
        self.bytes = rest;
        Ok(id)
    }

    /// Converts `count` pairs of a time and units; each time becomes the difference to the one
    /// before.
    fn timestamps(&mut self, count: u64, out: Bytes) -> Result<Bytes, MalformedReply> {
        let mut out = out.number(count);
        let mut before = 0;
        for _ in 0..count {
            let [at, units] = self.numbers()?;
            out = out.number(since(at, before)?).number(units);
            before = at;
        }
        Ok(out)
    }

    fn holders(&mut self, out: Bytes) -> Result<Bytes, MalformedReply> {
        let mut out = out.number(self.left / 3);
        let mut before = 0;
        while self.left > 0 {
            let [expires, units] = self.numbers()?;
            out = out.number(since(expires, before)?).number(units);
            out.0.extend_from_slice(self.id()?);
            before = expires;
        }
        Ok(out)
    }

    fn end(&self) -> Result<(), MalformedReply> {
        if self.left == 0 && self.bytes.is_empty() {
            Ok(())
        } else {
            Err(MalformedReply::Shape { expected: "the end of a state", found: "more" })
        }
    }
}

fn since(time: u64, before: u64) -> Result<u64, MalformedReply> {
    time.checked_sub(before)
        .ok_or(MalformedReply::Shape { expected: "times in order", found: "an earlier one" })
}

//! Parses the reply of a script: the time, and for each set the ruling and the states it saw.

use core::fmt;

use redis::Value;
use sluicegate_core::{Ruling, State, StateError, Time};
use smallvec::SmallVec;

use super::decode_state;

/// The answer to one set.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SetReply {
    /// The server's time of the decision.
    pub(crate) now: Time,
    /// The ruling of the script.
    pub(crate) ruling: ScriptRuling,
    /// The state of each cell before the set; [`explain`](super::explain()) replaces it by the one
    /// after.
    pub(crate) states: SmallVec<[State; 2]>,
}

/// The ruling of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScriptRuling {
    /// A ruling.
    Decided(Ruling),
    /// None, and nothing was charged: the full script has to decide.
    NotPlain,
}

/// A reply that cannot be parsed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum MalformedReply {
    /// The reply belongs to another call: the connection is out of step.
    OfAnotherCall,
    /// The reply does not have the shape of a script's reply.
    Shape {
        /// The expected value.
        expected: &'static str,
        /// The actual value.
        found: &'static str,
    },
    /// It contains an invalid state.
    State(StateError),
}

impl fmt::Display for MalformedReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cannot parse the answer of the store: ")?;
        match self {
            Self::OfAnotherCall => f.write_str("it belongs to another call"),
            Self::Shape { expected, found } => write!(f, "found {found}, expected {expected}"),
            Self::State(error) => write!(
                f,
                "{error}; if something else writes keys with this prefix, choose another prefix"
            ),
        }
    }
}

impl core::error::Error for MalformedReply {}

/// Parses the reply to a call with this tag, whose sets have these numbers of cells.
pub(super) fn read(
    tag: u64,
    cells: &[usize],
    reply: Value,
) -> Result<Vec<SetReply>, MalformedReply> {
    let Value::Array(values) = reply else {
        return Err(shape("a list", &reply));
    };
    let mut values = values.into_iter();
    match values.next() {
        Some(Value::BulkString(found)) if found == tag.to_string().as_bytes() => {}
        Some(Value::BulkString(_)) => return Err(MalformedReply::OfAnotherCall),
        found => return Err(missing("the tag of a call", found.as_ref())),
    }
    let now = match values.next() {
        Some(Value::Int(micros)) => u64::try_from(micros).ok(),
        found => return Err(missing("a time", found.as_ref())),
    };
    let negative = MalformedReply::Shape { expected: "a time", found: "a negative number" };
    let now = Time::from_micros(now.ok_or(negative)?);
    let mut answers = Vec::with_capacity(cells.len());
    for count in cells {
        let ruling = match values.next() {
            Some(Value::Int(0)) => ScriptRuling::Decided(Ruling::Refused),
            Some(Value::Int(1)) => ScriptRuling::Decided(Ruling::Admitted),
            Some(Value::Int(2)) => ScriptRuling::Decided(Ruling::Stale),
            Some(Value::Int(3)) => ScriptRuling::NotPlain,
            found => return Err(missing("a ruling", found.as_ref())),
        };
        let mut states = SmallVec::with_capacity(*count);
        for _ in 0..*count {
            states.push(match values.next() {
                Some(Value::Int(full_at)) => decode_state::bucket(full_at)?,
                Some(Value::BulkString(bytes)) => decode_state::state(&bytes)?,
                found => return Err(missing("a state", found.as_ref())),
            });
        }
        answers.push(SetReply { now, ruling, states });
    }
    match values.next() {
        None => Ok(answers),
        Some(found) => Err(shape("the end", &found)),
    }
}

fn missing(expected: &'static str, found: Option<&Value>) -> MalformedReply {
    match found {
        Some(found) => shape(expected, found),
        None => MalformedReply::Shape { expected, found: "the end" },
    }
}

fn shape(expected: &'static str, found: &Value) -> MalformedReply {
    let found = match found {
        Value::Nil => "nothing",
        Value::Int(_) => "a number",
        Value::BulkString(_) => "bytes",
        Value::Array(_) => "a list",
        Value::SimpleString(_) | Value::Okay | Value::VerbatimString { .. } => "a text",
        Value::ServerError(_) => "an error",
        _ => "something else",
    };
    MalformedReply::Shape { expected, found }
}

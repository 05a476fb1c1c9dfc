//! Encodes sets for the scripts on the server, and decodes their answers.
//!
//! The script decides and writes, the node explains: a script returns its ruling and the states it
//! saw, and [`explain`] runs [`sluicegate_core::decide`] on those. Both have to agree.
//!
//! A set becomes an [`EncodedSet`], some of those a [`ScriptCall`], its reply some [`SetReply`]s.
//! [`KeySpace`] defines the keys of counters; `lua/page.lua` and `lua/states.lua` define the
//! values.

mod call;
mod cells;
mod decode_state;
mod encode;
mod encoded_set;
mod explain;
mod key_space;
mod reply;
mod source;
#[cfg(test)]
mod tests;

pub(crate) use self::call::{ScriptCall, ScriptRef};
pub(crate) use self::cells::{cells_of, is_contradictory};
pub(crate) use self::encoded_set::EncodedSet;
pub(crate) use self::explain::explain;
pub(crate) use self::key_space::{Counter, KeySpace};
pub(crate) use self::reply::{ScriptRuling, SetReply};
pub(crate) use self::source::Script;

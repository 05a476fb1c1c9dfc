//! What sets are put to the server, and what its answers mean.
//!
//! The script decides and writes, the node explains: a script tells what it ruled and which
//! states it saw, and [`explain`] runs [`sluicegate_core::decide`] on those. Both have to agree.
//!
//! A set becomes a [`Packed`], some of those a [`Call`], its reply some [`Answer`]s. Where the
//! server keeps a counter, [`Naming`] says; what it keeps there, `lua/page.lua` and
//! `lua/states.lua`.

mod answer;
mod body;
mod call;
mod cells;
mod explain;
mod naming;
mod packed;
mod script;
mod stored;
#[cfg(test)]
mod tests;

pub(crate) use self::answer::{Answer, Reached};
pub(crate) use self::call::{Call, How};
pub(crate) use self::cells::{Cells, is_contradictory};
pub(crate) use self::explain::explain;
pub(crate) use self::naming::{Counter, Naming};
pub(crate) use self::packed::Packed;
pub(crate) use self::script::Script;

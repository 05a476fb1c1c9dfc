//! The one field of `/v1/release` and `/v1/renew`: a slot that `/v1/check` answered.

use std::borrow::Cow;

use sluicegate_rules::NotASlot;

use super::problem::{Mistake, Problem};
use super::reading::{self, Field, Found, Reader};

/// The one field that a body may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Slot;

impl Field for Slot {
    const ALL: &'static [Self] = &[Self];
    const EXAMPLE: &'static str = r#"{"slot":"the text of `slot` that /v1/check answered"}"#;

    fn as_str(self) -> &'static str {
        "slot"
    }
}

/// The slot that a body names.
pub(super) fn read(body: &[u8]) -> Result<Cow<'_, str>, Vec<Mistake>> {
    let mut fields = reading::object(body)?;
    let mut reader = Reader::of(&fields);
    let slot = match fields.take(Slot) {
        Some(Found::Text(slot)) => Some(slot),
        Some(found) => {
            let detail = format!("found {found}; use the text of `slot` that was answered");
            reader.refuse(Slot, detail)
        }
        None => reader.refuse(Slot, "it is missing; say which slot is meant"),
    };
    reader.finish(slot)
}

/// A text that is none.
pub(super) fn none(error: NotASlot) -> Problem {
    Problem::mistaken(vec![Slot.mistake(error.to_string())])
}

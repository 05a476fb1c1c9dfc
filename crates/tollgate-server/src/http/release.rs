//! `POST /v1/release`: a request that held a slot has ended.

use hyper::Request;
use hyper::body::Incoming;
use serde::Serialize;
use tollgate::Store;
use tollgate_rules::{Released, Tollgate};

use super::problem::{Mistake, Problem};
use super::reading::{self, Found, Reader};
use super::{Answer, body, json, query};

/// The one field that a body may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Slot;

impl reading::Field for Slot {
    const ALL: &'static [Self] = &[Self];
    const EXAMPLE: &'static str = r#"{"slot":"the text of `slot` that /v1/check answered"}"#;

    fn as_str(self) -> &'static str {
        "slot"
    }
}

#[derive(Serialize)]
struct Body {
    released: usize,
    gone: usize,
}

/// Gives back what a slot stands for.
pub(super) async fn answer<S: Store>(
    gate: &Tollgate<S>,
    request: Request<Incoming>,
) -> Result<Answer, Problem> {
    let nothing = query::nothing(request.uri().query());
    let body = body::read(request, body::LONGEST).await?;
    let ((), slot) = reading::both(nothing, read(&body))?;
    let released = gate.release(&slot).await;
    let released = released
        .map_err(|error| Problem::mistaken(vec![Mistake::new("slot", error.to_string())]))?;
    let Released { released, gone } = released.map_err(Problem::undecided)?;
    // Writing numbers to memory does not fail.
    Ok(json(serde_json::to_vec(&Body { released, gone }).unwrap_or_default()))
}

fn read(body: &[u8]) -> Result<std::borrow::Cow<'_, str>, Vec<Mistake>> {
    let mut fields = reading::object(body)?;
    let mut reader = Reader::of(&fields);
    let slot = match fields.take(Slot) {
        Some(Found::Text(slot)) => Some(slot),
        Some(found) => {
            let detail = format!("found {found}; use the text of `slot` that was answered");
            reader.refuse(Slot, detail)
        }
        None => reader.refuse(Slot, "it is missing; say which slot is given back"),
    };
    reader.finish(slot)
}

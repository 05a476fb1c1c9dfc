//! Reads the objects and lists that bodies are; every mistake in one is told at once.

mod field;
mod found;
mod list;
mod reader;

pub(super) use self::field::{Field, Fields, object};
pub(super) use self::found::Found;
pub(super) use self::list::{Listed, list};
pub(super) use self::reader::Reader;

use super::problem::{Mistake, Problem};

/// What a query and a body say; whoever has made mistakes in both hears of all of them.
pub(super) fn both<Q, B>(
    query: Result<Q, Mistake>,
    body: Result<B, Vec<Mistake>>,
) -> Result<(Q, B), Problem> {
    match (query, body) {
        (Ok(query), Ok(body)) => Ok((query, body)),
        (query, body) => {
            let mut mistakes: Vec<_> = query.err().into_iter().collect();
            mistakes.extend(body.err().unwrap_or_default());
            Err(Problem::mistaken(mistakes))
        }
    }
}

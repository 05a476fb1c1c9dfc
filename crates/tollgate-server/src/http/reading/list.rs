//! A list of requests in one body.

use serde_json::value::RawValue;

use crate::http::problem::Mistake;

/// The most requests in a list.
const MOST: usize = 1_000;
/// The most mistakes that are told one by one.
const TOLD: usize = 32;

/// What may stand in a list.
pub(in crate::http) trait Listed<'a>: Sized {
    /// A list that is right, for those whose is not.
    const EXAMPLE: &'static str;

    /// Reads one; the error lists all of its mistakes.
    fn read(text: &'a [u8]) -> Result<Self, Vec<Mistake>>;
}

/// All requests of a list, or all mistakes in it, each with its place in the list.
pub(in crate::http) fn list<'a, T: Listed<'a>>(body: &'a [u8]) -> Result<Vec<T>, Vec<Mistake>> {
    let wrong = |detail: String| vec![Mistake::new("body", detail)];
    let list: Vec<&'a RawValue> = serde_json::from_slice(body).map_err(|error| {
        wrong(format!("it is not a list of objects: {error}; send one, as in {}", T::EXAMPLE))
    })?;
    if list.len() > MOST {
        let found = list.len();
        return Err(wrong(format!("it has {found} requests; send at most {MOST} at a time")));
    }
    let mut read = Vec::with_capacity(list.len());
    let mut mistakes = Vec::new();
    for (place, one) in list.into_iter().enumerate() {
        match T::read(one.get().as_bytes()) {
            Ok(one) => read.push(one),
            Err(found) => mistakes.extend(found.into_iter().map(|mistake| {
                Mistake::new(format!("[{place}].{}", mistake.field), mistake.detail)
            })),
        }
    }
    if mistakes.is_empty() { Ok(read) } else { Err(shortened(mistakes)) }
}

/// Of a long list of mistakes, the first few and how many more there are.
pub(super) fn shortened(mut mistakes: Vec<Mistake>) -> Vec<Mistake> {
    let more = mistakes.len().saturating_sub(TOLD);
    mistakes.truncate(TOLD);
    if more > 0 {
        mistakes.push(Mistake::new("body", format!("there are {more} more mistakes")));
    }
    mistakes
}

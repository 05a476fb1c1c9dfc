//! Reads fields one after the other; what cannot be used becomes `None` and a mistake.

use sluicegate::Cost;

use super::field::{Field, Fields};
use super::found::Found;
use super::list;
use crate::http::problem::Mistake;

/// The mistakes that were found so far.
#[derive(Debug)]
pub(in crate::http) struct Reader {
    mistakes: Vec<Mistake>,
}

impl Reader {
    /// Begins with what is wrong with the fields themselves.
    pub(in crate::http) fn of<F: Field>(fields: &Fields<'_, F>) -> Self {
        Self { mistakes: fields.mistakes() }
    }

    /// What was read, if there was no mistake; otherwise all of them.
    pub(in crate::http) fn finish<T>(self, read: Option<T>) -> Result<T, Vec<Mistake>> {
        match read {
            Some(read) if self.mistakes.is_empty() => Ok(read),
            _ => Err(list::shortened(self.mistakes)),
        }
    }

    pub(in crate::http) fn add(&mut self, mistake: Mistake) {
        self.mistakes.push(mistake);
    }

    pub(in crate::http) fn refuse<T>(
        &mut self,
        field: impl Field,
        detail: impl Into<String>,
    ) -> Option<T> {
        self.add(field.mistake(detail));
        None
    }

    /// A number of units, where there is one.
    pub(in crate::http) fn units(
        &mut self,
        field: impl Field,
        found: Option<Found<'_>>,
        least: u64,
    ) -> Option<Cost> {
        let detail = match found? {
            Found::Whole(units) if units >= least => match Cost::new(units) {
                Ok(cost) => return Some(cost),
                Err(error) => error.to_string(),
            },
            found => format!("found {found}; use a whole number from {least} to {}", Cost::MAX),
        };
        self.refuse(field, detail)
    }
}

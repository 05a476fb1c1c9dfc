//! Collects the errors in the fields of a body.

use sluicegate::Cost;

use super::batch;
use super::fields::{Fields, JsonField};
use super::value::JsonValue;
use sluicegate_http::FieldError;

/// The errors that were found so far.
#[derive(Debug)]
pub(in crate::http) struct ErrorCollector {
    errors: Vec<FieldError>,
}

impl ErrorCollector {
    /// Starts with the errors of the fields themselves.
    pub(in crate::http) fn new<F: JsonField>(fields: &Fields<'_, F>) -> Self {
        Self { errors: fields.errors() }
    }

    /// Returns the value if there are no errors, otherwise all errors.
    pub(in crate::http) fn finish<T>(self, read: Option<T>) -> Result<T, Vec<FieldError>> {
        match read {
            Some(read) if self.errors.is_empty() => Ok(read),
            _ => Err(batch::truncated(self.errors)),
        }
    }

    /// Adds an error.
    pub(in crate::http) fn push(&mut self, error: FieldError) {
        self.errors.push(error);
    }

    /// Adds an error of a field, and returns `None` as its value.
    pub(in crate::http) fn add<T>(
        &mut self,
        field: impl JsonField,
        detail: impl Into<String>,
    ) -> Option<T> {
        self.push(field.error(detail));
        None
    }

    /// Reads an optional number of units.
    pub(in crate::http) fn units(
        &mut self,
        field: impl JsonField,
        found: Option<JsonValue<'_>>,
        least: u64,
    ) -> Option<Cost> {
        let detail = match found? {
            JsonValue::Whole(units) if units >= least => match Cost::new(units) {
                Ok(cost) => return Some(cost),
                Err(error) => error.to_string(),
            },
            found => format!("found {found}; use a whole number from {least} to {}", Cost::MAX),
        };
        self.add(field, detail)
    }
}

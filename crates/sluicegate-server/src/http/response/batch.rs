//! Writes a list of verdicts as JSON.

use serde::Serialize;
use sluicegate::CheckError;
use tracing::debug;

use super::CheckResponse;
use crate::http::request_error;

/// The item for a request that could not be decided.
#[derive(Serialize)]
struct UndecidedItem {
    /// Always null: unknown.
    allowed: Option<bool>,
    error: String,
}

/// The JSON of a list of verdicts.
pub(in crate::http) struct Verdicts {
    list: Vec<u8>,
}

impl Verdicts {
    pub(in crate::http) fn with_capacity(verdicts: usize) -> Self {
        let mut list = Vec::with_capacity(2 + verdicts * CheckResponse::USUAL_LENGTH);
        list.push(b'[');
        Self { list }
    }

    pub(in crate::http) fn add(&mut self, response: &CheckResponse<'_>) {
        self.next();
        response.write(&mut self.list, response.status(None));
    }

    /// Adds a request that could not be decided; the verdicts of the others are still returned.
    pub(in crate::http) fn add_undecided(&mut self, error: &CheckError) {
        self.next();
        let undecided = UndecidedItem { allowed: None, error: request_error::undecided(error) };
        // Serializing texts does not fail.
        let _ = serde_json::to_writer(&mut self.list, &undecided);
        debug!(%error, "not decided");
    }

    fn next(&mut self) {
        if self.list.len() > 1 {
            self.list.push(b',');
        }
    }

    pub(in crate::http) fn finish(mut self) -> Vec<u8> {
        self.list.push(b']');
        self.list
    }
}

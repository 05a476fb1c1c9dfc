//! A list of verdicts, as JSON.

use serde::Serialize;
use sluicegate::CheckError;
use tracing::debug;

use super::Decided;
use crate::http::problem;

/// What stands in a list where a verdict would be.
#[derive(Serialize)]
struct Undecided {
    /// Neither: nobody knows.
    allowed: Option<bool>,
    error: String,
}

/// The verdicts of a list, as JSON.
pub(in crate::http) struct Verdicts {
    list: Vec<u8>,
}

impl Verdicts {
    pub(in crate::http) fn with_capacity(verdicts: usize) -> Self {
        let mut list = Vec::with_capacity(2 + verdicts * Decided::USUAL_LENGTH);
        list.push(b'[');
        Self { list }
    }

    pub(in crate::http) fn add(&mut self, decided: &Decided<'_>) {
        self.next();
        decided.write(&mut self.list, decided.status(None));
    }

    /// Adds that one could not be decided: the others have been, and their verdicts have to be told.
    pub(in crate::http) fn add_undecided(&mut self, error: &CheckError) {
        self.next();
        let undecided = Undecided { allowed: None, error: problem::undecided(error) };
        // Writing text to memory does not fail.
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

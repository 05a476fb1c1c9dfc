//! The warning about decisions made without the store although it answers.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::error::ServerError;

/// The least time between two warnings.
const INTERVAL: Duration = Duration::from_secs(10);

/// The decisions made without the store although it answers, counted until the next warning.
#[derive(Debug, Default)]
pub(crate) struct PassedOverWarning(Mutex<PendingWarning>);

#[derive(Debug, Default)]
struct PendingWarning {
    decisions: u64,
    why: String,
    warned: Option<Instant>,
}

impl PassedOverWarning {
    /// Notes one decision and its cause.
    pub(crate) fn note(&self, failure: &ServerError) {
        let mut pending = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        pending.decisions += 1;
        if pending.why != failure.why {
            pending.why.clone_from(&failure.why);
        }
    }

    /// Takes the number of decisions and the last cause, if a warning is due.
    pub(crate) fn take_due(&self, now: Instant) -> Option<(u64, String)> {
        let mut pending = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = pending.warned.is_none_or(|warned| now.duration_since(warned) >= INTERVAL);
        if pending.decisions == 0 || !is_due {
            return None;
        }
        pending.warned = Some(now);
        Some((std::mem::take(&mut pending.decisions), std::mem::take(&mut pending.why)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn warnings_have_an_interval_and_lose_no_decision() {
        let (warning, start) = (PassedOverWarning::default(), Instant::now());
        assert_eq!(warning.take_due(start), None, "nothing to warn about");
        for why in ["first", "second"] {
            warning.note(&ServerError::new(ErrorKind::Overload, why));
        }
        assert_eq!(warning.take_due(start), Some((2, "second".to_owned())));
        warning.note(&ServerError::new(ErrorKind::Late, "third"));
        assert_eq!(warning.take_due(start + INTERVAL / 2), None);
        warning.note(&ServerError::new(ErrorKind::Late, "third"));
        assert_eq!(warning.take_due(start + INTERVAL), Some((2, "third".to_owned())));
        assert_eq!(warning.take_due(start + INTERVAL * 2), None);
    }
}

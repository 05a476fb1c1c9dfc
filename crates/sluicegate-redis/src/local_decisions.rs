//! Decisions made without the store although it answers, and when to warn about them.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::error::ServerError;

/// The least time between two warnings.
const INTERVAL: Duration = Duration::from_secs(10);

/// Decisions made without the store although it answers, since the last warning.
#[derive(Debug, Default)]
pub(crate) struct LocalDecisions(Mutex<PendingWarning>);

#[derive(Debug, Default)]
struct PendingWarning {
    decisions: u64,
    why: String,
    warned: Option<Instant>,
}

impl LocalDecisions {
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
        let (passed_over, start) = (LocalDecisions::default(), Instant::now());
        assert_eq!(passed_over.take_due(start), None, "nothing to warn about");
        for why in ["first", "second"] {
            passed_over.note(&ServerError::new(ErrorKind::Overload, why));
        }
        assert_eq!(passed_over.take_due(start), Some((2, "second".to_owned())));
        passed_over.note(&ServerError::new(ErrorKind::Late, "third"));
        assert_eq!(passed_over.take_due(start + INTERVAL / 2), None);
        passed_over.note(&ServerError::new(ErrorKind::Late, "third"));
        assert_eq!(passed_over.take_due(start + INTERVAL), Some((2, "third".to_owned())));
        assert_eq!(passed_over.take_due(start + INTERVAL * 2), None);
    }
}

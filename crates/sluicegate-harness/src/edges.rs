//! Times at which decisions change: exactly full, at `retry_after`, the end of a window.

use crate::model::Evaluation;
use sluicegate_testkit::Rng;

/// Times named by the last answers, in microseconds.
#[derive(Debug, Default)]
pub(crate) struct Edges(Vec<u64>);

/// The most times to keep.
const MOST: usize = 24;

impl Edges {
    pub(crate) fn learn(&mut self, evaluation: &Evaluation) {
        let decisions = evaluation.verdict.iter().flat_map(|verdict| &verdict.decisions);
        for made in decisions.flatten() {
            let waits = [made.retry_after_us, Some(made.reset_after_us).filter(|wait| *wait > 0)];
            self.0.extend(waits.into_iter().flatten().map(|wait| evaluation.now + wait));
        }
        let over = self.0.len().saturating_sub(MOST);
        self.0.drain(..over);
    }

    /// Adds a time that a rule file names.
    pub(crate) fn add(&mut self, moment: u64) {
        self.0.push(moment);
    }

    /// Microseconds from `now` to an edge, or one before or behind it.
    pub(crate) fn wait(&self, rng: &mut Rng, now: u64) -> Option<i64> {
        let ahead: Vec<u64> = self.0.iter().copied().filter(|moment| *moment > now).collect();
        if ahead.is_empty() {
            return None;
        }
        let wait = i64::try_from(*rng.pick(&ahead) - now).ok()?;
        Some(match rng.below(4) {
            0 => wait - 1,
            1 => wait + 1,
            _ => wait,
        })
    }
}

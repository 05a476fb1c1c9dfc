//! What the core makes of the states that a script saw: the decisions, and whether both agree.

use core::fmt;

use sluicegate::Applied;
use sluicegate_core::{Decision, Ruling, Set, decide};

use super::answer::{Answer, Reached};
use super::cells::Cells;

/// The script and the core ruled differently about the same states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Disagreement {
    /// What the script ruled.
    pub(crate) script: Reached,
    /// What the core ruled, if it could be asked at all.
    pub(crate) core: Option<Ruling>,
}

impl fmt::Display for Disagreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let script = match self.script {
            Reached::Decided(ruling) => word(ruling),
            Reached::NotPlain => "asked for the full script",
        };
        let core = self.core.map_or("cannot make sense of it", word);
        write!(
            f,
            "the store {script} a set that this node {core}, given the same states; \
             see that all nodes run one version"
        )
    }
}

fn word(ruling: Ruling) -> &'static str {
    match ruling {
        Ruling::Admitted => "admitted",
        Ruling::Refused => "refused",
        Ruling::Stale => "found stale",
        Ruling::Contradictory => "found contradictory",
    }
}

impl core::error::Error for Disagreement {}

/// Runs [`decide`] on the states that the script saw; the states after it stay in the answer.
///
/// `decisions` has one place for each check of the set.
pub(crate) fn explain(
    set: &Set<'_>,
    answer: &mut Answer,
    decisions: &mut [Option<Decision>],
) -> Result<Applied, Disagreement> {
    let script = answer.ruling;
    let cells = Cells::of(set);
    if cells.list.len() != answer.states.len() || decisions.len() < set.checks().len() {
        return Err(Disagreement { script, core: None });
    }
    let ruling = decide(set, answer.now, &cells.places, &mut answer.states, decisions);
    if script == Reached::Decided(ruling) {
        Ok(Applied::by_store(ruling, answer.now))
    } else {
        Err(Disagreement { script, core: Some(ruling) })
    }
}

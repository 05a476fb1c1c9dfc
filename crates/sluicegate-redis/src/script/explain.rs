//! Recomputes decisions from the states that a script saw, and checks that both agree.

use core::fmt;

use sluicegate::Applied;
use sluicegate_core::{Decision, Ruling, Set, decide};

use super::cells::cells_of;
use super::reply::{ScriptRuling, SetReply};

/// The script and the core ruled differently on the same states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Disagreement {
    /// The ruling of the script.
    pub(crate) script: ScriptRuling,
    /// The ruling of the core, if it could compute one.
    pub(crate) core: Option<Ruling>,
}

impl fmt::Display for Disagreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let script = match self.script {
            ScriptRuling::Decided(ruling) => word(ruling),
            ScriptRuling::NotPlain => "left undecided",
        };
        let core = self.core.map_or("cannot decide", word);
        write!(
            f,
            "the store {script} a set that this node {core}, given the same states; \
             make sure that all nodes run the same version"
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

/// Runs [`decide`] on the states that the script saw, and leaves the states after it in the answer.
///
/// `decisions` has one place for each check of the set.
pub(crate) fn explain(
    set: &Set<'_>,
    answer: &mut SetReply,
    decisions: &mut [Option<Decision>],
) -> Result<Applied, Disagreement> {
    let script = answer.ruling;
    let cells = cells_of(set);
    if cells.names().len() != answer.states.len() || decisions.len() < set.checks().len() {
        return Err(Disagreement { script, core: None });
    }
    let ruling = decide(set, answer.now, cells.places(), &mut answer.states, decisions);
    if script == ScriptRuling::Decided(ruling) {
        Ok(Applied::by_store(ruling, answer.now))
    } else {
        Err(Disagreement { script, core: Some(ruling) })
    }
}

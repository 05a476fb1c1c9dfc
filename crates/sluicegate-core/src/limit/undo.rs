//! Taking back a charge whose set was refused elsewhere.

use super::Limit;
use crate::ask::{Ask, Receipt};
use crate::cost::Cost;
use crate::decision::Decision;
use crate::moment::Moment;
use crate::time::Span;

/// How long after a charge an undo may arrive and still give back all of it.
const PROMPT: Span = Span::from_secs(10);

impl Limit {
    /// The operation that takes back what `decision` charged to this limit.
    ///
    /// For a set that is decided in several places and was refused in one of them: nothing of the
    /// charge was used. A settlement to zero gives back only what cannot have refilled since the
    /// charge, because it does not know how full the bucket was. This does: without the charge the
    /// bucket would have refilled just as much until it was full, so all units come back unless the
    /// bucket would have become full meanwhile. A charge that is undone within ten seconds, with none
    /// beside it, leaves the state that it found; a later undo is a settlement.
    ///
    /// ```
    /// use sluicegate_core::{Check, Id, Limit, Place, Set, State, Time, decide};
    ///
    /// let limit = Limit::token_bucket("api", "60/min".parse()?)?;
    /// let (mut cells, mut decisions) = ([State::Vacant, State::Vacant], [None]);
    /// let check = Check::new(&limit, "alice");
    /// let set = Set::one(&check, Id::from_bits(1));
    /// decide(&set, Time::from_micros(10_000_000), &[Place::cell(0)], &mut cells, &mut decisions);
    ///
    /// let undo = check.ask(limit.undo(&decisions[0].ok_or("decided")?).ok_or("charged")?);
    /// let place = Place::cell(0).remembered_in(1);
    /// let set = Set::one(&undo, Id::from_bits(2));
    /// decide(&set, Time::from_micros(10_005_000), &[place], &mut cells, &mut decisions);
    /// assert_eq!(cells[0], State::Vacant);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn undo(&self, decision: &Decision) -> Option<Ask> {
        let receipt = *decision.receipt()?;
        let receipt = if self.as_bucket().is_some() {
            let full_at = Moment::at(receipt.at + decision.reset_after());
            let prompt = receipt.until.micros.saturating_add(PROMPT.as_micros());
            let until = full_at.min(Moment { micros: prompt, ..receipt.until });
            Receipt { until: until.max(receipt.until), ..receipt }
        } else {
            // The receipts of other algorithms name the exact units: a window, stamps, a place.
            receipt
        };
        Some(Ask::Settle { receipt, actual: Cost::ZERO })
    }
}

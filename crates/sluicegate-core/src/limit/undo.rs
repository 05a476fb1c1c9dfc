//! Rollback of a charge whose set was refused elsewhere.

use super::Limit;
use crate::cost::Cost;
use crate::decision::Decision;
use crate::exact_time::ExactTime;
use crate::operation::Operation;
use crate::receipt::Receipt;
use crate::time::Span;

/// The longest time after a charge at which an undo returns all of it.
const PROMPT: Span = Span::from_secs(10);

impl Limit {
    /// Returns the operation that rolls back the charge of `decision` on this limit.
    ///
    /// For a set that is decided in several places and refused in one of them: the charge was not
    /// used. A settlement to zero returns only units that cannot have refilled since the charge,
    /// because it does not know how full the bucket was. This operation returns all units unless
    /// the bucket would have become full meanwhile, because without the charge it would have
    /// refilled just as much until it was full. A charge that is undone within ten seconds, with
    /// none beside it, leaves the state as it was before; a later undo is a settlement.
    ///
    /// ```
    /// use sluicegate_core::{Check, ChargeId, Limit, CellRef, Set, State, Time, decide};
    ///
    /// let limit = Limit::token_bucket("api", "60/min".parse()?)?;
    /// let (mut cells, mut decisions) = ([State::Vacant, State::Vacant], [None]);
    /// let check = Check::new(&limit, "alice");
    /// let set = Set::one(&check, ChargeId::from_bits(1));
    /// decide(&set, Time::from_micros(10_000_000), &[CellRef::cell(0)], &mut cells, &mut decisions);
    ///
    /// let undo = check.with_operation(limit.undo(&decisions[0].ok_or("decided")?).ok_or("charged")?);
    /// let place = CellRef::cell(0).remembered_in(1);
    /// let set = Set::one(&undo, ChargeId::from_bits(2));
    /// decide(&set, Time::from_micros(10_005_000), &[place], &mut cells, &mut decisions);
    /// assert_eq!(cells[0], State::Vacant);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn undo(&self, decision: &Decision) -> Option<Operation> {
        let receipt = *decision.receipt()?;
        let receipt = if self.as_bucket().is_some() {
            let full_at = ExactTime::at(receipt.at + decision.reset_after());
            let prompt = receipt.until.micros.saturating_add(PROMPT.as_micros());
            let until = full_at.min(ExactTime { micros: prompt, ..receipt.until });
            Receipt { until: until.max(receipt.until), ..receipt }
        } else {
            // Receipts of other algorithms identify the exact units: a window, stamps, a place.
            receipt
        };
        Some(Operation::Settle { receipt, actual: Cost::ZERO })
    }
}

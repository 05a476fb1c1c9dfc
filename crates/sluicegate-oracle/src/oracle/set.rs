//! One set of checks: evaluated in order, then charged together or not at all.

use std::collections::{BTreeMap, HashMap};

use super::cell::{Cell, CellName, When};
use super::receipt::{Receipt, ReceiptId};
use super::rule::{Rule, Take, Verdict};
use super::{Limit, Oracle};
use crate::trace::{AskSpec, CheckSpec, ExpectedDecision, Reason, Step};

/// A set during its decision: the state as it would be if the set is admitted.
pub(super) struct Set<'a> {
    oracle: &'a mut Oracle,
    index: usize,
    step: &'a Step,
    /// The cells touched by the set, with the effects of everything but takes.
    cells: HashMap<CellName, Cell>,
    /// The receipts created or settled by the set.
    receipts: BTreeMap<ReceiptId, Receipt>,
    /// Units granted to chosen takes so far.
    already: HashMap<CellName, u64>,
    /// The chosen takes to charge, by the index of their check.
    chosen: Vec<(usize, u64)>,
}

impl<'a> Set<'a> {
    pub(super) fn new(oracle: &'a mut Oracle, index: usize, step: &'a Step) -> Set<'a> {
        Set {
            oracle,
            index,
            step,
            cells: HashMap::new(),
            receipts: BTreeMap::new(),
            already: HashMap::new(),
            chosen: Vec::new(),
        }
    }

    /// Decides these terms as one set.
    pub(super) fn decide(
        mut self,
        terms: Vec<Vec<usize>>,
    ) -> (bool, Vec<Option<ExpectedDecision>>) {
        let mut admitted = true;
        let mut asked = Vec::new();
        for term in terms {
            let mut term_admits = false;
            for check in term {
                // Not after an earlier alternative was chosen.
                let decision = (!term_admits).then(|| self.ask(check));
                term_admits |= decision.is_some_and(|decision| decision.allowed);
                asked.push((check, decision));
            }
            admitted &= term_admits;
        }
        if admitted {
            self.commit();
        } else {
            // Nothing was granted: each decision reports the usage without the set.
            for (check, decision) in &mut asked {
                if let Some(found) = decision {
                    *found = self.restated(*check, *found);
                }
            }
        }
        let mut decisions = Vec::new();
        for (check, decision) in asked {
            let receipt = admitted && self.oracle.receipts.contains_key(&(self.index, check));
            decisions.push(decision.map(|decision| ExpectedDecision { receipt, ..decision }));
        }
        (admitted, decisions)
    }

    /// Evaluates one check and stages its effect.
    fn ask(&mut self, index: usize) -> ExpectedDecision {
        let check = &self.step.checks[index];
        let id = (self.index, index);
        let when = When { now: self.step.at, period: check.period };
        let Limit { name, rule, .. } = self.oracle.limits.get(&check.limit).expect("was looked up");
        let rule = rule.as_ref();
        let name = (name.clone(), check.key.clone());

        // The repair of a wrong clock is kept even if the set is refused.
        let kept = self.oracle.cells.entry(name.clone()).or_default();
        rule.correct_clock(kept, when);
        let cell = self.cells.entry(name.clone()).or_insert_with(|| kept.clone());
        rule.correct_clock(cell, when);
        let already = self.already.entry(name.clone()).or_default();

        match check.ask {
            AskSpec::Take { least, most, patience_us } => {
                let take = Take { least, most, patience: patience_us };
                match rule.take(cell, when, *already, &take) {
                    Verdict::Allowed { granted, delay } => {
                        if rule.charges_takes() {
                            *already += granted;
                            self.chosen.push((index, granted));
                        }
                        let decision = allowed(rule, cell, when, *already, granted);
                        ExpectedDecision { delay_us: delay, ..decision }
                    }
                    Verdict::Refused { reason, retry_after } => {
                        let decision = refused(rule, cell, when, *already, reason);
                        ExpectedDecision { retry_after_us: retry_after, ..decision }
                    }
                }
            }
            AskSpec::Charge { units } => {
                let (charged, filed) = rule.charge(cell, when, units, *already, id);
                if let Some(filed) = filed {
                    let receipt = Receipt { cell: name, units: charged, filed, settled: false };
                    self.receipts.insert(id, receipt);
                }
                allowed(rule, cell, when, *already, charged)
            }
            AskSpec::Refund { units } => {
                let given = rule.refund(cell, when, units);
                allowed(rule, cell, when, *already, given)
            }
            AskSpec::Settle { step, check: of, actual } => {
                let id = (step, of);
                let kept = self.oracle.receipts.get(&id);
                let mut receipt = find(&self.receipts, kept, id, &name);
                match rule.settle(cell, when, &receipt, actual, *already) {
                    Ok(standing) => {
                        receipt.settled = true;
                        self.receipts.insert(id, receipt);
                        allowed(rule, cell, when, *already, standing)
                    }
                    Err(reason) => refused(rule, cell, when, *already, reason),
                }
            }
            AskSpec::Renew { step, check: of } => {
                let id = (step, of);
                let receipt = find(&self.receipts, self.oracle.receipts.get(&id), id, &name);
                match rule.renew(cell, when, &receipt) {
                    Ok(units) => allowed(rule, cell, when, *already, units),
                    Err(reason) => refused(rule, cell, when, *already, reason),
                }
            }
            // Applied before the checks were evaluated.
            AskSpec::Rescale { .. } => allowed(rule, cell, when, *already, 0),
            AskSpec::Reset => {
                *cell = Cell::default();
                allowed(rule, cell, when, *already, 0)
            }
        }
    }

    /// Returns the decision on a check of a refused set.
    fn restated(&self, index: usize, found: ExpectedDecision) -> ExpectedDecision {
        let check = &self.step.checks[index];
        let when = When { now: self.step.at, period: check.period };
        let limit = self.oracle.limits.get(&check.limit).expect("was looked up");
        let cell = &self.oracle.cells[&(limit.name.clone(), check.key.clone())];
        let stands = looks(limit.rule.as_ref(), cell, when, 0);
        let ExpectedDecision { allowed, retry_after_us, reason, .. } = found;
        ExpectedDecision { allowed, retry_after_us, reason, ..stands }
    }

    /// Commits the staged effects, then charges the chosen takes in order.
    fn commit(&mut self) {
        self.oracle.receipts.append(&mut self.receipts);
        self.oracle.cells.extend(self.cells.drain());
        for &(index, granted) in self.chosen.iter().filter(|(_, granted)| *granted > 0) {
            let check: &CheckSpec = &self.step.checks[index];
            let limit = self.oracle.limits.get(&check.limit).expect("was looked up");
            let name = (limit.name.clone(), check.key.clone());
            let cell = self.oracle.cells.get_mut(&name).expect("was asked");
            let when = When { now: self.step.at, period: check.period };
            let id = (self.index, index);
            let filed = limit.rule.file(cell, when, granted, id);
            let receipt = Receipt { cell: name, units: granted, filed, settled: false };
            self.oracle.receipts.insert(id, receipt);
        }
    }
}

/// Returns the receipt as seen by this set.
fn find(
    staged: &BTreeMap<ReceiptId, Receipt>,
    kept: Option<&Receipt>,
    id: ReceiptId,
    cell: &CellName,
) -> Receipt {
    let receipt = staged.get(&id).or(kept);
    let receipt = receipt.unwrap_or_else(|| panic!("{id:?} yielded no receipt")).clone();
    assert_eq!(&receipt.cell, cell, "the receipt of {id:?} belongs to another cell");
    receipt
}

/// Returns a decision with the usage of the cell including `already` units.
fn looks(rule: &dyn Rule, cell: &Cell, when: When, already: u64) -> ExpectedDecision {
    let mut after = cell.clone();
    if already > 0 {
        // The id of this charge is never used, so any will do.
        rule.file(&mut after, when, already, (usize::MAX, 0));
    }
    let view = rule.view(&after, when);
    ExpectedDecision {
        allowed: false,
        granted: 0,
        limit: rule.capacity(),
        remaining: view.remaining,
        retry_after_us: None,
        reset_after_us: view.reset_after,
        delay_us: 0,
        reason: None,
        receipt: false,
    }
}

fn allowed(
    rule: &dyn Rule,
    cell: &Cell,
    when: When,
    already: u64,
    granted: u64,
) -> ExpectedDecision {
    ExpectedDecision { allowed: true, granted, ..looks(rule, cell, when, already) }
}

fn refused(
    rule: &dyn Rule,
    cell: &Cell,
    when: When,
    already: u64,
    reason: Reason,
) -> ExpectedDecision {
    ExpectedDecision { reason: Some(reason), ..looks(rule, cell, when, already) }
}

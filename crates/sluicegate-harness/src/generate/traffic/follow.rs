//! Steps that follow one which prepared a rare situation.

use super::Traffic;
use crate::case::{Action, Ended, Request, Step, Via};
use crate::generate::USERS;
use crate::generate::rules::LEASES;
use crate::model::Evaluation;
use crate::rule_file::RuleFile;

/// The steps that follow one which prepared a rare situation.
#[derive(Debug, Clone)]
pub(super) enum Follow {
    /// Checks of a user whose tier has just changed, while its counters are in use.
    Moved { user: String, left: u32 },
    /// Failures of a caller at the end of its block, so that the next block is longer.
    Blocked { request: Request, until: u64 },
    /// A look when a slot would have run out if its lease had not been renewed.
    Renewed { since: u64 },
}

impl Follow {
    /// Returns the steps after an edit that moves a user to another tier.
    pub(super) fn moved(before: &RuleFile, after: &RuleFile) -> Option<Self> {
        let tier = |file: &RuleFile, user: &str| {
            let tiers = file.tiers.as_ref()?;
            Some(tiers.table.get(user).unwrap_or(&tiers.default).clone())
        };
        let user = USERS.iter().find(|user| tier(before, user) != tier(after, user))?;
        Some(Self::Moved { user: (*user).to_owned(), left: 3 })
    }

    /// Returns the steps after a report that blocks a caller.
    fn blocked(request: &Request, evaluation: &Evaluation) -> Option<Self> {
        let decisions = &evaluation.verdict.as_ref()?.decisions;
        let wait = decisions.iter().flatten().filter_map(|made| made.retry_after_us).max()?;
        Some(Self::Blocked { request: request.clone(), until: evaluation.now + wait })
    }
}

impl Traffic<'_> {
    pub(super) fn follow_up(&mut self, id: u32, follow: Follow) -> Step {
        let node = self.rng.index(self.nodes);
        let (wait_us, action) = match follow {
            Follow::Moved { user, left } => {
                let user = Some(user);
                let charged = self.charged.clone().filter(|request| request.user == user);
                let cost = self.rng.one_in(2).then_some(1);
                let request = charged.unwrap_or_else(|| self.request());
                let request = Request { user: user.clone(), cost, ..request };
                let evaluation = self.model.check(id, node, Via::Http, &request);
                self.edges.learn(&evaluation);
                if self.model.has_slot(id) {
                    self.held.push((id, self.model.now()));
                }
                let left = left - 1;
                self.follow = user.filter(|_| left > 0).map(|user| Follow::Moved { user, left });
                (0, Action::Check { via: Via::Http, request })
            }
            Follow::Blocked { request, until } => {
                let wait_us = self.wait_until(until);
                let ended = Ended::Failed { failures: self.rng.between(2, 4) };
                (wait_us, self.report_of(node, request, ended))
            }
            Follow::Renewed { since } => {
                let ends = LEASES.map(|lease| since + lease);
                let end = ends.into_iter().find(|end| *end > self.model.now());
                (end.map_or(0, |end| self.wait_until(end)), Action::Look)
            }
        };
        Step { id, wait_us, node, action }
    }

    /// Moves the clock on to a moment, if that lies ahead; returns the wait.
    fn wait_until(&mut self, moment: u64) -> i64 {
        let now = self.model.now();
        self.model.set_now(now.max(moment));
        i64::try_from(moment.saturating_sub(now)).unwrap_or_default()
    }

    /// Reports a result; failures at the end of the block follow if it blocks.
    pub(super) fn report_of(&mut self, node: usize, request: Request, ended: Ended) -> Action {
        let evaluation = self.model.report(node, &request, ended);
        self.edges.learn(&evaluation);
        self.follow = Follow::blocked(&request, &evaluation);
        Action::Report { request, ended }
    }
}

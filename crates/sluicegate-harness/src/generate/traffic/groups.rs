//! Descriptors over gRPC: several requests in one, and charges and refunds without a receipt.

use super::Traffic;
use crate::case::{Action, Purpose, Request, StoreKind};

impl Traffic<'_> {
    pub(super) fn group(&mut self, node: usize) -> Action {
        // In subsets of a cross-slot set, takes come before charges and refunds.
        let apart = self.store == StoreKind::Cluster
            || self.model.file().rules.iter().any(|rule| rule.node_scope);
        let mut purpose = self.purpose();
        let items: Vec<(Request, Purpose)> = (0..self.rng.between(1, 3))
            .map(|_| {
                if !apart {
                    purpose = self.purpose();
                }
                let mut request = self.request();
                if purpose == Purpose::Refund {
                    request.cost = Some(self.rng.between(1, 9));
                }
                if self.rng.one_in(4) {
                    let Request { user, tenant, .. } = request;
                    request = Request { user, tenant, ..Request::default() };
                }
                if purpose != Purpose::Take && request.cost == Some(0) {
                    request.cost = None;
                }
                (request, purpose)
            })
            .filter(|(request, _)| !request.attributes().is_empty())
            .collect();
        let mut items = items;
        if let Some(first) = items.first().cloned().filter(|_| self.rng.one_in(4)) {
            items.push(first);
        }
        if items.is_empty() {
            return Action::Look;
        }
        let (_, parts) = self.model.group(node, &items);
        for part in &parts {
            self.edges.learn(part);
        }
        Action::Group { items }
    }

    /// Charges or refunds units of a caller that a deny cache may refuse.
    pub(super) fn change_refused(&mut self, node: usize) -> Action {
        let mut request = self.refused.clone().unwrap_or_default();
        (request.second_user, request.cost) = (None, Some(self.rng.between(1, 3)));
        let purpose = if self.rng.one_in(2) { Purpose::Refund } else { Purpose::Charge };
        let items = vec![(request, purpose)];
        self.model.group(node, &items);
        Action::Group { items }
    }

    /// Refunds units, without a receipt, of a request that was charged.
    pub(super) fn refund_charged(&mut self, node: usize) -> Action {
        let Some(request) = self.charged.clone() else { return Action::Look };
        let request = Request { cost: Some(self.rng.between(1, 9)), ..request };
        let items = vec![(request, Purpose::Refund)];
        self.model.group(node, &items);
        Action::Group { items }
    }

    fn purpose(&mut self) -> Purpose {
        match self.rng.below(8) {
            0 => Purpose::Charge,
            1..=3 => Purpose::Refund,
            _ => Purpose::Take,
        }
    }
}

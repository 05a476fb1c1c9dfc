//! Faults of the shared store while a request is under way.

use super::Runner;
use crate::case::{Fault, Request};

impl Runner<'_> {
    pub(super) fn fault(&mut self, _node: usize, fault: Fault, _request: &Request) -> Vec<String> {
        if self.shared.is_none() {
            return Vec::new();
        }
        match fault {
            Fault::Flush | Fault::Pause | Fault::Kill => self.flush(),
        }
        Vec::new()
    }

    /// The servers lose their data, and the nodes notice with their next heartbeat.
    fn flush(&mut self) {
        const LOST: &str = "tollgate_store_state_lost_total";
        let before: Vec<u64> = self.nodes.iter_mut().map(|node| node.metric(LOST)).collect();
        let servers = self.shared.as_ref().map_or(0, |shared| shared.servers.len() as u64);
        if let Some(shared) = &self.shared {
            shared.flush();
        }
        for (node, before) in self.nodes.iter_mut().zip(before) {
            node.wait_for(LOST, before + servers);
        }
        self.model.forget_shared();
    }
}

//! Faults of the shared store while a request is under way.

use tollgate_testbed::{PATIENCE, wait_until};

use super::Runner;
use super::send::check_body;
use crate::case::{Fault, Request};
use crate::expected;

/// Longer than a request waits for a server that does not answer, in microseconds.
const PAST_DEADLINES: u64 = 200_000;

impl Runner<'_> {
    pub(super) fn fault(&mut self, node: usize, fault: Fault, request: &Request) -> Vec<String> {
        if self.shared.is_none() {
            return Vec::new();
        }
        match fault {
            Fault::Flush => {
                self.flush();
                Vec::new()
            }
            Fault::Pause | Fault::Kill => self.outage(node, fault, request),
        }
    }

    /// The servers lose their data, and the nodes notice with their next heartbeat.
    fn flush(&mut self) {
        const LOST: &str = "tollgate_store_state_lost_total";
        let before: Vec<u64> = self.nodes.iter_mut().map(|node| node.metric(LOST)).collect();
        let Some(shared) = &self.shared else { return };
        shared.flush();
        let servers = shared.servers.len() as u64;
        for (node, before) in self.nodes.iter_mut().zip(before) {
            node.wait_for(LOST, before + servers);
        }
        self.model.forget_shared();
    }

    /// A request is under way while the servers stand still; then its deadline passes.
    fn outage(&mut self, node: usize, fault: Fault, request: &Request) -> Vec<String> {
        self.each_server(|server| server.pause());
        let asked = &mut self.nodes[node];
        let body = check_body(request).to_string();
        if let Err(error) = asked.http.write("POST", "/v1/check", &[], &body) {
            return vec![format!("the request could not be sent: {error}")];
        }
        wait_until("the request is under way or answered", PATIENCE, || {
            asked.http.has_response() || asked.metric("tollgate_store_in_flight") > 0
        });
        let answered_before = asked.http.has_response();
        if !answered_before {
            self.move_clock(self.model.now() + PAST_DEADLINES);
        }
        let response = self.nodes[node].http.read();
        let found = self.http_answer(0, response);
        // A deny cache, or a rule file without a rule for the request, needs no store.
        let evaluation = if answered_before {
            self.model.check(0, node, crate::case::Via::Http, request)
        } else {
            self.model.check_without_store(node, request)
        };
        let expected = expected::check(&evaluation, self.model.file(), false);
        let mut what = self.compare(&expected, &found);
        self.recover(fault);
        if !what.is_empty() {
            what.push(format!("the store was down: {fault:?}"));
        }
        what
    }

    /// The servers come back, empty.
    fn recover(&mut self, fault: Fault) {
        if fault == Fault::Pause {
            self.each_server(|server| server.resume());
            self.wait_until_ready();
            // The request that was under way has been counted by now, or never will be.
            self.flush();
            return;
        }
        const TRIED: &str = "tollgate_store_connections_total";
        let tried: Vec<u64> = self.nodes.iter_mut().map(|node| node.metric(TRIED)).collect();
        self.each_server(|server| server.restart());
        for (node, tried) in self.nodes.iter_mut().zip(tried) {
            node.wait_for(TRIED, tried + 1);
        }
        self.wait_until_ready();
        if let Some(shared) = &mut self.shared {
            shared.resubscribe();
        }
        self.heard_before = self.nodes.iter_mut().map(|node| node.metric(super::HEARD)).collect();
        self.heard = 0;
        self.model.forget_shared();
    }

    fn each_server(&self, act: impl Fn(&tollgate_testbed::Server)) {
        for server in self.shared.iter().flat_map(|shared| &shared.servers) {
            act(server);
        }
    }
}

//! Faults of the shared store while a request is in flight.

use serde_json::{Value, json};
use sluicegate_testkit::{PATIENCE, Server, wait_until};

use super::Runner;
use super::send::check_body;
use crate::case::{Fault, OUTAGE_US, Request, SLOW_US, Via};
use crate::expected;

/// A part of a deadline: a call may be in flight during two moves of the clock.
const HALF_A_DEADLINE: u64 = 4_000;
/// After this many identical readings of the calls in flight, all of them have been sent.
const SAME: usize = 400;
const IN_FLIGHT: &str = "sluicegate_store_in_flight";
const TRIED: &str = "sluicegate_store_connections_total";
const CALLS: &str = "sluicegate_store_calls_total";

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
            Fault::Slow => self.slow(node, request),
            Fault::Pause | Fault::Kill => self.outage(node, fault, request),
        }
    }

    /// Moves the clock while a request is in flight.
    ///
    /// Limits of one node and refusals of a cluster are explained at the later time, and resets
    /// since 1970 are computed then. Where a case has any of them, only the decision is compared.
    /// Later steps compare the counters after the request.
    fn slow(&mut self, node: usize, request: &Request) -> Vec<String> {
        self.each_server(Server::pause);
        let answered_before = match self.send_under_way(node, "/v1/check", &check_body(request)) {
            Ok(answered) => answered,
            Err(what) => return vec![what],
        };
        let evaluation = self.model.check(0, node, Via::Http, request);
        self.move_clock(self.model.now() + SLOW_US);
        self.slowed = true;
        self.each_server(Server::resume);
        let response = self.nodes[node].http.read();
        let found = self.http_answer(0, response);
        let mut expected = expected::check(&evaluation, self.model.file(), false);
        let mut found = found;
        let file = self.model.file();
        let cluster = self.shared.as_ref().is_some_and(|shared| shared.servers.len() > 1);
        let node_limits = file.rules.iter().any(|rule| rule.node_scope);
        let later = cluster || node_limits || file.headers.epoch;
        if !answered_before && later {
            expected = json!([expected["status"], expected["body"]["allowed"]]);
            found = json!([found["status"], found["body"]["allowed"]]);
        }
        self.compare(&expected, &found)
    }

    /// Sends a request; returns whether it was answered without the store.
    fn send_under_way(&mut self, node: usize, target: &str, body: &Value) -> Result<bool, String> {
        let asked = &mut self.nodes[node];
        let sent = asked.http.write("POST", target, &[], &body.to_string());
        sent.map_err(|error| format!("the request could not be sent: {error}"))?;
        wait_until("the request is under way or answered", PATIENCE, || {
            asked.http.has_response() || asked.metric(IN_FLIGHT) > 0
        });
        // Subsets of a cross-slot set are sent one after the other.
        let (mut seen, mut since) = (asked.metric(IN_FLIGHT), 0);
        while self.shared.as_ref().is_some_and(|shared| shared.servers.len() > 1) && since < SAME {
            let now = asked.metric(IN_FLIGHT);
            since = if now == seen { since + 1 } else { 0 };
            seen = now;
        }
        Ok(asked.http.has_response())
    }

    /// Sends a batch of many calls, each of which takes a part of its deadline.
    pub(super) fn load(&mut self, node: usize, requests: &[Request]) -> Vec<String> {
        self.each_server(Server::pause);
        let body: Value = requests.iter().map(check_body).collect();
        if let Err(what) = self.send_under_way(node, "/v1/check/batch", &body) {
            return vec![what];
        }
        while !self.nodes[node].http.has_response() {
            let calls = self.nodes[node].metric(CALLS);
            self.move_clock(self.model.now() + HALF_A_DEADLINE);
            self.each_server(Server::resume);
            let asked = &mut self.nodes[node];
            // At most two calls are in flight, and answered in their order.
            wait_until("two further calls are sent or all are answered", PATIENCE, || {
                asked.http.has_response() || asked.metric(CALLS) >= calls + 2
            });
            self.each_server(Server::pause);
        }
        self.each_server(Server::resume);
        let response = self.nodes[node].http.read();
        let found = self.http_answer(0, response);
        let answers = found["body"].as_array().cloned().unwrap_or_default();
        let without = answers.iter().filter(|one| one.get("by").is_some()).count();
        if answers.len() == requests.len() && without == 0 {
            return Vec::new();
        }
        vec![format!("{without} of {} were decided without the store", answers.len())]
    }

    /// Ends the last node, and waits until the others count one less.
    ///
    /// A count that is still wrong after three heartbeats of every node is a difference.
    pub(super) fn stop(&mut self) -> Vec<String> {
        let count = self.nodes.len();
        let counts = self.wait_until_counted();
        if counts.iter().any(|found| *found != count) {
            return vec![format!("{count} nodes run, and they count {counts:?}")];
        }
        self.model.stop_node();
        let Some(last) = self.nodes.pop() else { return Vec::new() };
        last.terminate();
        let start = self.beats();
        let mut wrong = Vec::new();
        wait_until("a node is no longer counted, or some beats have passed", PATIENCE, || {
            let counts = self.nodes.iter_mut().map(counted).enumerate();
            wrong = counts.filter(|(_, found)| *found != count - 1).collect::<Vec<_>>();
            wrong.is_empty() || self.beats() > start + 3 * count as u64
        });
        let what =
            |(place, found)| format!("node {place} counts {found} nodes, and {} run", count - 1);
        wrong.into_iter().map(what).collect()
    }

    /// Waits until every node counts all of them; returns the counts.
    pub(super) fn wait_until_counted(&mut self) -> Vec<usize> {
        let count = self.nodes.len();
        let (start, mut counts) = (self.beats(), Vec::new());
        wait_until("all nodes are counted, or many beats have passed", PATIENCE, || {
            counts = self.nodes.iter_mut().map(counted).collect();
            counts.iter().all(|found| *found == count) || self.beats() > start + 20 * count as u64
        });
        counts
    }

    /// Returns the heartbeats of all nodes so far, and other scripts that were sent in full.
    fn beats(&self) -> u64 {
        let server = self.shared.iter().find_map(|shared| shared.servers.first());
        let stats = server.map(|server| server.info("commandstats")).unwrap_or_default();
        let calls =
            stats.get("cmdstat_eval").and_then(|it| it.split(',').next()?.strip_prefix("calls="));
        calls.and_then(|calls| calls.parse().ok()).unwrap_or(0)
    }

    /// The servers lose their data, and the nodes notice with their next heartbeat.
    fn flush(&mut self) {
        const LOST: &str = "sluicegate_store_state_lost_total";
        let before: Vec<u64> = self.nodes.iter_mut().map(|node| node.metric(LOST)).collect();
        let Some(shared) = &self.shared else { return };
        shared.flush();
        let servers = shared.servers.len() as u64;
        for (node, before) in self.nodes.iter_mut().zip(before) {
            node.wait_for(LOST, before + servers);
        }
        self.model.forget_shared();
    }

    /// Sends a request while the servers are stopped; then its deadline passes.
    ///
    /// Before, the node looks at the same counters: it starts its shares from what it saw last.
    fn outage(&mut self, node: usize, fault: Fault, request: &Request) -> Vec<String> {
        let look = Request { cost: Some(0), ..request.clone() };
        let found = self.send_check(0, node, Via::Http, &look);
        let looked = self.model.check(0, node, Via::Http, &look);
        let expected = expected::check(&looked, self.model.file(), false);
        let mut what = self.compare(&expected, &found);
        what.extend(self.settle_down());
        if !what.is_empty() {
            return what;
        }
        self.wait_until_counted();
        if self.model.has_pending() {
            // A heartbeat drops the charges that have recovered.
            let (start, count) = (self.beats(), self.nodes.len() as u64);
            wait_until("all nodes beat", PATIENCE, || self.beats() > start + 3 * count);
        }
        self.each_server(Server::pause);
        let answered_before = match self.send_under_way(node, "/v1/check", &check_body(request)) {
            Ok(answered) => answered,
            Err(what) => return vec![what],
        };
        // A deny cache, or a rule file without a rule for the request, needs no store.
        let at = self.model.now() + OUTAGE_US;
        let evaluation = if answered_before {
            self.model.check(0, node, Via::Http, request)
        } else {
            let refused = !looked.is_allowed();
            self.model.check_without_store(node, request, refused, at)
        };
        self.move_clock(at);
        let response = self.nodes[node].http.read();
        let found = self.http_answer(0, response);
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
            self.each_server(Server::resume);
            self.wait_until_ready();
            // The request that was in flight has been counted by now, or never will be.
            self.flush();
            return;
        }
        let tried: Vec<u64> = self.nodes.iter_mut().map(|node| node.metric(TRIED)).collect();
        self.each_server(Server::restart);
        for (node, tried) in self.nodes.iter_mut().zip(tried) {
            node.wait_for(TRIED, tried + 1);
        }
        self.wait_until_ready();
        if let Some(shared) = &mut self.shared {
            shared.resubscribe();
        }
        (self.published, self.published_before) = (0, 0);
        let received = self.nodes.iter_mut().map(|node| node.metric(super::RECEIVED));
        self.received_before = received.collect();
        self.model.forget_shared();
    }

    fn each_server(&self, act: impl Fn(&Server)) {
        for server in self.shared.iter().flat_map(|shared| &shared.servers) {
            act(server);
        }
    }
}

/// The nodes that a node counts.
fn counted(node: &mut crate::node::Node) -> usize {
    let count = node.readiness()["store"]["nodes"].as_u64().unwrap_or(0);
    usize::try_from(count).unwrap_or(0)
}

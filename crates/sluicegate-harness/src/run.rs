//! Runs a case on the real program and compares every answer with the model.

// Long because it holds the runner of a case with all of its steps.

mod answer;
mod fault;
mod send;

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sluicegate_testkit::{PATIENCE, wait_until};
use tempfile::TempDir;

use crate::case::{Action, Case, Request, Step, Throttle, Via};
use crate::clock::{DrivenClock, START};
use crate::compare::differences;
use crate::expected;
use crate::model::Model;
use crate::node::{Node, Start, Starting};
use crate::store::{Shared, Stores};

/// The invalidations that a node has received.
const RECEIVED: &str = "sluicegate_store_invalidations_total";

/// The requests of one batch of a look.
const AT_ONCE: usize = 200;

/// Fields with a wait, or with the time of a reset.
const WAITS: [&str; 9] = [
    "retry_after_ms",
    "reset_after_ms",
    "retry-after",
    "ratelimit",
    "ratelimit-reset",
    "x-ratelimit-reset",
    "x-rate-limit-reset",
    "reset_s",
    "detail",
];

/// The first difference of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Difference {
    /// The index of the step; one past the last for the state at the end.
    pub(crate) step: usize,
    pub(crate) what: Vec<String>,
}

impl Difference {
    /// Returns the field that differs, to verify that a smaller case shows the same difference.
    pub(crate) fn kind(&self) -> String {
        let first = self.what.first().map(String::as_str).unwrap_or_default();
        let field = first.split(": ").next().unwrap_or_default();
        field.chars().filter(|letter| !letter.is_ascii_digit()).collect()
    }
}

/// The counts of a run.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Seen {
    pub(crate) steps: u64,
    pub(crate) answers: u64,
    pub(crate) refused: u64,
    /// Refusals from deny caches.
    pub(crate) by_memory: u64,
}

/// The result of a run.
pub(crate) struct Outcome {
    pub(crate) difference: Option<Difference>,
    pub(crate) seen: Seen,
    /// The first counter that admitted more than its bound, as text.
    pub(crate) broken_envelope: Option<String>,
}

/// Runs a case to its end or its first difference.
pub(crate) fn run(program: &Path, stores: &mut Stores, case: &Case) -> Outcome {
    let mut runner = Runner::start(program, stores, case);
    let difference = runner.run(case);
    Outcome { difference, seen: runner.seen, broken_envelope: runner.model.broken_envelope() }
}

struct Runner<'s> {
    model: Model,
    nodes: Vec<Node>,
    shared: Option<Shared<'s>>,
    clock: DrivenClock,
    rules: PathBuf,
    slots: HashMap<u32, String>,
    reservations: HashMap<u32, String>,
    /// A throttle without cost for each counter that throttles have used.
    throttles: Vec<Throttle>,
    seen: Seen,
    reloads: u64,
    /// The invalidations that were published since the subscription began.
    published: u64,
    /// Those of them, and those that each node had received, when the nodes were ready.
    published_before: u64,
    received_before: Vec<u64>,
    failure: Option<String>,
    /// Whether a deny cache gave the last answer, or a part of it.
    last_by_memory: bool,
    /// Whether a call took time on the driven clock.
    slowed: bool,
    /// Removed last.
    folder: TempDir,
}

impl<'s> Runner<'s> {
    fn start(program: &Path, stores: &'s mut Stores, case: &Case) -> Self {
        let in_memory =
            tempfile::Builder::new().prefix("sluicegate-harness-").tempdir_in("/dev/shm");
        let folder = in_memory.or_else(|_| TempDir::new()).expect("a temporary folder can be made");
        let clock = DrivenClock::at(folder.path(), START);
        let rules = folder.path().join("rules.yaml");
        fs::write(&rules, case.rules.to_yaml()).expect("the folder can be written to");
        let shared = stores.empty(case.store);
        let starting: Vec<Starting> = (0..case.nodes)
            .map(|number| {
                Starting::start(Start {
                    program,
                    folder: folder.path(),
                    number,
                    rules: &rules,
                    clock: clock.path(),
                    store: shared.as_ref().map(|shared| shared.url.as_str()),
                })
            })
            .collect();
        let mut failure = None;
        let mut nodes = Vec::new();
        for node in starting {
            match node.listening() {
                Ok(node) => nodes.push(node),
                Err(why) => failure = Some(why),
            }
        }
        let mut runner = Self {
            model: Model::new(case.rules.clone(), case.store, case.nodes, START),
            nodes,
            shared,
            clock,
            rules,
            slots: HashMap::new(),
            reservations: HashMap::new(),
            throttles: Vec::new(),
            seen: Seen::default(),
            reloads: 0,
            published: 0,
            published_before: 0,
            received_before: vec![0; case.nodes],
            failure,
            last_by_memory: false,
            slowed: false,
            folder,
        };
        if runner.failure.is_none() {
            runner.wait_until_ready();
            runner.count_invalidations_from_here();
        }
        runner
    }

    /// Leaves out the invalidations so far: nodes of the case before may have published some late.
    fn count_invalidations_from_here(&mut self) {
        let Some(shared) = &mut self.shared else { return };
        self.published = shared.invalidations();
        self.published_before = self.published;
        self.received_before = self.nodes.iter_mut().map(|node| node.metric(RECEIVED)).collect();
    }

    /// Waits until every node has reached the store.
    fn wait_until_ready(&mut self) {
        if self.shared.is_none() {
            return;
        }
        for node in &mut self.nodes {
            wait_until("a node has reached the store", PATIENCE, || {
                node.readiness()["degraded"] == json!(false)
            });
        }
    }

    fn run(&mut self, case: &Case) -> Option<Difference> {
        if let Some(why) = self.failure.take() {
            return Some(Difference { step: 0, what: vec![why] });
        }
        for (place, step) in case.steps.iter().enumerate() {
            if matches!(step.action, Action::Load { .. }) {
                // Its decisions are made at unpredictable times, so the state is compared before.
                let mut what = self.end();
                if what.is_empty() {
                    what = self.step(step);
                }
                return (!what.is_empty()).then(|| self.difference(place, what));
            }
            let what = self.step(step);
            self.seen.steps += 1;
            if !what.is_empty() {
                return Some(self.difference(place, what));
            }
        }
        let what = self.end();
        (!what.is_empty()).then(|| self.difference(case.steps.len(), what))
    }

    /// Returns a difference together with the warnings of the nodes.
    fn difference(&self, step: usize, mut what: Vec<String>) -> Difference {
        for (place, node) in self.nodes.iter().enumerate() {
            let log = node.log();
            let lines = log.lines().filter(|line| line.contains("WARN") || line.contains("ERROR"));
            what.extend(lines.map(|line| format!("log of node {place}: {line}")));
        }
        Difference { step, what }
    }

    fn step(&mut self, step: &Step) -> Vec<String> {
        let now = self.model.now().saturating_add_signed(step.wait_us);
        self.move_to(now);
        if self.model.has_pending() {
            // A node replays at most what its share has in use.
            self.wait_until_counted();
        }
        let node = step.node.min(self.nodes.len() - 1);
        let what = self.act(step, node);
        if !what.is_empty() {
            return what;
        }
        self.settle_down()
    }

    fn move_clock(&mut self, now: u64) {
        self.model.set_now(now);
        self.clock.set(now);
    }

    fn move_to(&mut self, now: u64) {
        self.move_clock(now);
        if let Some(shared) = &mut self.shared {
            shared.expire(now);
        }
    }

    /// Waits until all nodes have received the invalidations, and looks at the lifetimes of keys.
    fn settle_down(&mut self) -> Vec<String> {
        let Some(shared) = &mut self.shared else { return Vec::new() };
        let published = shared.invalidations();
        if published > self.published {
            for (node, before) in self.nodes.iter_mut().zip(&self.received_before) {
                node.wait_for(RECEIVED, before + published - self.published_before);
            }
            self.published = published;
        }
        shared.note_lifetimes(self.model.now(), self.model.lifetimes()).into_iter().collect()
    }

    fn act(&mut self, step: &Step, node: usize) -> Vec<String> {
        match &step.action {
            Action::Check { via, request } => self.check(step.id, node, *via, request),
            Action::Batch { via, requests } => self.batch(step.id, node, *via, requests),
            Action::Group { items } => self.group(node, items),
            Action::Throttle { via, throttles } => {
                self.remember_throttles(throttles);
                self.throttle(node, *via, throttles)
            }
            Action::Settle { of, cost } => self.settle(node, *of, *cost),
            Action::Release { of } => self.bring_back(node, *of, "release"),
            Action::Renew { of } => self.bring_back(node, *of, "renew"),
            Action::Report { request, ended } => self.report(node, request, *ended),
            Action::Edit { rules } => self.edit(rules),
            Action::Look => self.look(node),
            Action::Fault { fault, request } => self.fault(node, *fault, request),
            Action::Stop => self.stop(),
            Action::Load { requests } => self.load(node, requests),
        }
    }

    /// The state at the end: every counter, seen from each node, and the counts of each node.
    fn end(&mut self) -> Vec<String> {
        for node in 0..self.nodes.len() {
            let what = self.look(node);
            if !what.is_empty() {
                return what;
            }
        }
        let mut out = Vec::new();
        let published = self.shared.as_mut().map_or(0, Shared::invalidations);
        let published = published - self.published_before.min(published);
        for place in 0..self.nodes.len() {
            let received = self.nodes[place].metric(RECEIVED) - self.received_before[place];
            if received > 0 && published == 0 {
                // The fence of `settle_down` would be void.
                out.push(format!("node {place} received {received} invalidations of none"));
            }
            let found: Value = self.nodes[place]
                .metrics()
                .into_iter()
                .filter(|(name, value)| is_compared(name) && *value > 0)
                .map(|(name, value)| (name, json!(value)))
                .collect::<serde_json::Map<_, _>>()
                .into();
            let expected: Value = json!(self.model.counts(place).0);
            out.extend(
                differences(&expected, &found)
                    .into_iter()
                    .map(|it| format!("metrics of node {place}: {it}")),
            );
        }
        out
    }

    /// Asks a node for the state of every counter, with requests that cost nothing.
    fn look(&mut self, node: usize) -> Vec<String> {
        let requests = crate::generate::every_request(self.model.file());
        for some in requests.chunks(AT_ONCE) {
            let what = self.batch(0, node, Via::Http, some);
            if !what.is_empty() {
                return what;
            }
        }
        for some in self.throttles.clone().chunks(AT_ONCE) {
            let what = self.throttle(node, Via::Http, some);
            if !what.is_empty() {
                return what;
            }
        }
        Vec::new()
    }

    /// Records the counters of these throttles for later looks.
    fn remember_throttles(&mut self, throttles: &[Throttle]) {
        for throttle in throttles {
            let look = Throttle { cost: 0, ..throttle.clone() };
            if !self.throttles.contains(&look) {
                self.throttles.push(look);
            }
        }
    }

    fn edit(&mut self, rules: &crate::rule_file::RuleFile) -> Vec<String> {
        let written = self.folder.path().join("rules.new");
        fs::write(&written, rules.to_yaml()).expect("the folder can be written to");
        fs::rename(&written, &self.rules).expect("the rule file can be replaced");
        self.reloads += 1;
        for node in &mut self.nodes {
            node.hang_up();
        }
        for node in &mut self.nodes {
            node.wait_for("sluicegate_rules_reloads_total{outcome=\"loaded\"}", self.reloads);
        }
        self.model.edit(rules.clone());
        Vec::new()
    }

    fn compare(&mut self, expected: &Value, found: &Value) -> Vec<String> {
        self.seen.answers += 1;
        let mut what = differences(expected, found);
        if self.slowed {
            // A deny cache knows the store's time to within the longest call, and reports the
            // longer wait. The answer does not say whether it refused a shadow rule.
            let shadows = self.model.file().rules.iter().any(|rule| rule.shadow);
            let by_memory =
                |line: &str| self.last_by_memory || shadows && line.contains("decisions[");
            what.retain(|line| !(is_wait(line) && by_memory(line)));
        }
        if !what.is_empty() && self.last_by_memory {
            what.push("a deny cache answered".to_owned());
        }
        what
    }

    fn check(&mut self, id: u32, node: usize, via: Via, request: &Request) -> Vec<String> {
        if via == Via::Tricked {
            let found = self.send_tricked(node, request);
            return self.compare(&json!(400), &found);
        }
        let found = self.send_check(id, node, via, request);
        let evaluation = self.model.check(id, node, via, request);
        self.seen.refused += u64::from(!evaluation.is_allowed());
        let file = self.model.file();
        let expected = match via {
            Via::Http => expected::check(&evaluation, file, request.reserve),
            Via::Authorize => expected::authorize(&evaluation, file),
            _ => expected::checked(&evaluation, file),
        };
        self.compare(&expected, &found)
    }

    fn batch(&mut self, id: u32, node: usize, via: Via, requests: &[Request]) -> Vec<String> {
        let found = self.send_batch(node, via, requests);
        let evaluations: Vec<_> = requests
            .iter()
            .map(|request| (self.model.check(id, node, via, request), request.reserve))
            .collect();
        let file = self.model.file();
        let expected = match via {
            Via::Resp => evaluations.iter().map(|(one, _)| expected::checked(one, file)).collect(),
            _ => expected::batch(&evaluations, file),
        };
        self.compare(&expected, &found)
    }

    fn group(&mut self, node: usize, items: &[(Request, crate::case::Purpose)]) -> Vec<String> {
        let found = self.send_group(node, items);
        let (whole, parts) = self.model.group(node, items);
        let expected = expected::group(&whole, &parts, items, self.model.file());
        self.compare(&expected, &found)
    }

    fn throttle(&mut self, node: usize, via: Via, throttles: &[Throttle]) -> Vec<String> {
        let found = self.send_throttles(node, via, throttles);
        let resp = via == Via::Resp;
        let evaluations: Vec<_> =
            throttles.iter().map(|one| self.model.throttle(node, one, resp)).collect();
        let file = self.model.file();
        let expected = match (resp, evaluations.as_slice()) {
            (true, all) => all.iter().map(expected::throttled).collect(),
            (false, [one]) => expected::throttle(one, file),
            (false, all) => expected::throttle_batch(all, file),
        };
        self.compare(&expected, &found)
    }

    fn settle(&mut self, node: usize, of: u32, cost: u64) -> Vec<String> {
        let Some(token) = self.reservations.get(&of).cloned() else { return Vec::new() };
        let body = json!({"reservation": token, "cost": cost});
        let found = self.post(node, "/v1/settle", &body);
        match self.model.settle(node, of, cost) {
            Some(settlement) => {
                let expected = expected::settled(&settlement, cost, self.model.file());
                self.compare(&expected, &found)
            }
            None => vec!["the program handed out a reservation that the model has not".to_owned()],
        }
    }

    fn bring_back(&mut self, node: usize, of: u32, verb: &str) -> Vec<String> {
        let Some(token) = self.slots.get(&of).cloned() else { return Vec::new() };
        let found = self.post(node, &format!("/v1/{verb}"), &json!({"slot": token}));
        let expected = match verb {
            "release" => self.model.release(node, of).map(|it| expected::released(&it)),
            _ => self.model.renew(node, of).map(|it| expected::renewed(&it)),
        };
        match expected {
            Some(expected) => self.compare(&expected, &found),
            None => vec!["the program handed out a slot that the model has not".to_owned()],
        }
    }

    fn report(&mut self, node: usize, request: &Request, ended: crate::case::Ended) -> Vec<String> {
        let found = self.send_report(node, request, ended);
        let evaluation = self.model.report(node, request, ended);
        let expected = expected::report(&evaluation, self.model.file());
        self.compare(&expected, &found)
    }
}

/// Whether a line is about a wait, in an object or in a reply of the Redis protocol.
fn is_wait(line: &str) -> bool {
    let path = line.split(": expected").next().unwrap_or_default();
    let in_reply = path.chars().all(|letter| letter.is_ascii_digit() || "[]".contains(letter));
    let last = path.rsplit('.').next().unwrap_or_default();
    let numbers = ["[3]", "[4]", "[11]", "[13]"];
    WAITS.contains(&last) || in_reply && numbers.iter().any(|number| path.ends_with(number))
}

/// The series that count decisions.
fn is_compared(series: &str) -> bool {
    [
        "sluicegate_decisions_total{",
        "sluicegate_listed_total{",
        "sluicegate_unidentified_total",
        "sluicegate_unmatched_total",
    ]
    .iter()
    .any(|prefix| series.starts_with(prefix))
}

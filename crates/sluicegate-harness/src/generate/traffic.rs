//! Random traffic that aims at the edges the model names.

mod follow;
mod groups;
mod throttles;

use self::follow::Follow;
use super::edits::{Changed, edited};
use super::rules::{LEASES, all_windows};
use super::{ADDRESSES, DEVICE, METHODS, PATHS, ROOMS, TENANTS, USERS};
use crate::case::{
    Action, Ended, Fault, OUTAGE_US, Request, SLOW_US, Step, StoreKind, Throttle, Via,
};
use crate::clock::START;
use crate::edges::Edges;
use crate::model::Model;
use crate::rule_file::{Algorithm, RuleFile, Window};
use sluicegate_testkit::Rng;

pub(super) fn steps(rng: &mut Rng, store: StoreKind, nodes: usize, rules: &RuleFile) -> Vec<Step> {
    let mut edges = Edges::default();
    for one in &rules.overrides {
        one.from_us.into_iter().chain(one.until_us).for_each(|moment| edges.add(moment));
    }
    rules.lists.iter().filter_map(|one| one.until_us).for_each(|moment| edges.add(moment));
    let mut traffic = Traffic {
        rng,
        edges,
        model: Model::new(rules.clone(), store, nodes, START),
        store,
        nodes,
        held: Vec::new(),
        reserved: Vec::new(),
        faults: false,
        edits: false,
        changed: Changed::new(),
        backwards: false,
        slow: false,
        refused: None,
        refused_by: 0,
        again: false,
        exhausted: None,
        charged: None,
        reported: None,
        follow: None,
        blocks: blocks(rules),
        rooms: rules.rules.iter().any(|rule| rule.key.iter().any(|one| one == "room")),
        cooldowns: rules.rules.iter().any(|rule| rule.cooldown.is_some()),
    };
    traffic.faults = matches!(store, StoreKind::Redis | StoreKind::Valkey) && traffic.rng.one_in(5);
    traffic.edits = match rules.tiers {
        Some(_) => !traffic.rng.one_in(3),
        None => traffic.rng.one_in(if store == StoreKind::Cluster { 8 } else { 4 }),
    };
    traffic.backwards = store == StoreKind::Memory && traffic.rng.one_in(3);
    let queues = rules.rules.iter().flat_map(all_windows).any(is_queue);
    // With overrides, a call that takes time may charge at its end. The model does not predict it.
    let is_fixed = !traffic.edits && rules.overrides.is_empty();
    traffic.slow = store != StoreKind::Memory && !queues && is_fixed && !traffic.rng.one_in(4);
    let count = traffic.rng.between(15, 40);
    let number = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    let mut steps: Vec<Step> = (1..=count).map(|place| traffic.step(number(place))).collect();
    let alone = matches!(store, StoreKind::Redis | StoreKind::Valkey);
    if alone && nodes > 1 && traffic.rng.one_in(8) {
        let node = nodes - 1;
        steps.push(Step { id: number(count + 1), wait_us: 0, node, action: Action::Stop });
    }
    if alone && traffic.rng.one_in(6) {
        let requests = (0..300).map(|_| Request { cost: Some(0), ..traffic.request() }).collect();
        let action = Action::Load { requests };
        steps.push(Step { id: number(count + 2), wait_us: 0, node: 0, action });
    }
    steps
}

struct Traffic<'r> {
    rng: &'r mut Rng,
    edges: Edges,
    model: Model,
    store: StoreKind,
    nodes: usize,
    /// Steps that received a slot or a reservation.
    held: Vec<(u32, u64)>,
    reserved: Vec<u32>,
    faults: bool,
    edits: bool,
    changed: Changed,
    backwards: bool,
    slow: bool,
    /// The last request that was refused.
    refused: Option<Request>,
    /// The node that refused it, and where the next step sends it again.
    refused_by: usize,
    again: bool,
    /// The last throttle of one unit that was refused, and the node that refused it.
    exhausted: Option<(usize, Throttle)>,
    /// The last request that was charged.
    charged: Option<Request>,
    /// The last request that was reported.
    reported: Option<Request>,
    /// The steps that follow one which prepared a rare situation.
    follow: Option<Follow>,
    /// The lengths of the blocks of sliding windows.
    blocks: Vec<u64>,
    /// Whether a rule reads a room from the path.
    rooms: bool,
    /// Whether a rule has a cooldown.
    cooldowns: bool,
}

impl Traffic<'_> {
    fn step(&mut self, id: u32) -> Step {
        if self.slow && !self.again && self.refused.is_some() && self.rng.one_in(2) {
            let node = self.rng.index(self.nodes);
            return Step { id, wait_us: 0, node, action: self.slow(node) };
        }
        if self.nodes > 1 && self.refused.is_some() && (self.again || self.rng.one_in(2)) {
            return self.around_deny_cache(id);
        }
        if let Some((node, throttle)) = self.exhausted.take().filter(|_| !self.rng.one_in(4)) {
            return Step { id, wait_us: 0, node, action: self.refund_between(node, &throttle) };
        }
        if let Some(follow) = self.follow.take().filter(|_| !self.rng.one_in(5)) {
            return self.follow_up(id, follow);
        }
        let wait_us = self.wait();
        self.model.set_now(self.model.now().saturating_add_signed(wait_us));
        let node = self.rng.index(self.nodes);
        let action = self.action(id, node);
        Step { id, wait_us, node, action }
    }

    /// Changes a counter that one node refuses from another node, then sends the refused request
    /// again.
    ///
    /// Both steps follow immediately: only then does the deny cache of the first node still
    /// refuse, unless the change was published.
    fn around_deny_cache(&mut self, id: u32) -> Step {
        let (node, action) = if self.again {
            self.again = false;
            (self.refused_by, self.check_refused(id))
        } else {
            self.again = true;
            let other = 1 + self.rng.index(self.nodes - 1);
            let node = (self.refused_by + other) % self.nodes;
            (node, self.change_refused(node))
        };
        Step { id, wait_us: 0, node, action }
    }

    fn wait(&mut self) -> i64 {
        let random = |rng: &mut Rng, most: u64| i64::try_from(rng.below(most)).unwrap_or_default();
        if !self.blocks.is_empty() && self.rng.one_in(4) {
            let length = *self.rng.pick(&self.blocks);
            let next = i64::try_from(length - self.model.now() % length).unwrap_or_default();
            return if self.rng.one_in(2) { next } else { next + random(self.rng, length) };
        }
        match self.rng.below(20) {
            0..=8 => 0,
            9..=15 => self
                .edges
                .wait(self.rng, self.model.now())
                .unwrap_or_else(|| random(self.rng, 2_000_000)),
            16 if self.backwards => -random(self.rng, 5_000_000),
            16 | 17 => random(self.rng, 3_000_000),
            18 => random(self.rng, 100_000_000),
            _ => 1,
        }
    }

    fn action(&mut self, id: u32, node: usize) -> Action {
        match self.rng.below(40) {
            0..=3 => self.batch(node),
            4..=8 => self.group(node),
            9..=11 | 28 | 29 => self.throttle(node),
            12..=14 if !self.held.is_empty() => self.bring_back(node),
            15..=17 if !self.reserved.is_empty() => self.settle(node),
            18..=20 => self.report(node),
            21 | 27 if self.edits => self.edit(),
            38 if self.edits && self.model.file().tiers.is_some() => self.edit(),
            22 if self.faults => self.fault(node),
            23 => Action::Look,
            35 if self.cooldowns => self.report(node),
            36 if !self.blocks.is_empty() => self.refund_charged(node),
            37 => self.refund_charged(node),
            24..=26 | 30..=34 if self.slow => self.slow(node),
            _ => self.check(id, node),
        }
    }

    fn check(&mut self, id: u32, node: usize) -> Action {
        let via = *self.rng.pick(&[Via::Http, Via::Http, Via::Resp, Via::Authorize]);
        let again = self.refused.take().filter(|_| !self.rng.one_in(4));
        let mut request = again.unwrap_or_else(|| self.request());
        request.second_user = None;
        if via == Via::Authorize {
            (request.cost, request.ip) = (None, Some((*self.rng.pick(&ADDRESSES)).to_owned()));
            let file = self.model.file();
            if file.tiers.is_none() && !file.lists.is_empty() && self.rng.one_in(3) {
                let second = (*self.rng.pick(&USERS)).to_owned();
                request.second_user =
                    Some(second).filter(|it| request.user.as_ref().is_some_and(|user| user != it));
            }
            if self.rng.one_in(12) {
                return Action::Check { via: Via::Tricked, request };
            }
        }
        let often = if self.blocks.is_empty() { 4 } else { 2 };
        request.reserve = via == Via::Http && self.rng.one_in(often);
        let evaluation = self.model.check(id, node, via, &request);
        self.edges.learn(&evaluation);
        if !evaluation.is_allowed() {
            self.refused = Some(Request { reserve: false, ..request.clone() });
            self.refused_by = node;
        } else if request.cost != Some(0) {
            self.charged = Some(Request { reserve: false, second_user: None, ..request.clone() });
        }
        if self.model.has_slot(id) {
            self.held.push((id, self.model.now()));
        }
        if self.model.has_reservation(id) {
            self.reserved.push(id);
        }
        Action::Check { via, request }
    }

    fn request(&mut self) -> Request {
        let rng = &mut *self.rng;
        let user = match rng.below(10) {
            0..=5 => Some(USERS[0]),
            6..=7 => Some(USERS[1]),
            8 => Some(USERS[2]),
            _ => None,
        };
        let in_room = rng.one_in(if self.rooms { 3 } else { 12 });
        let path = if in_room { *rng.pick(&ROOMS) } else { *rng.pick(&PATHS) };
        let tenant = match rng.below(6) {
            0..=3 => Some(TENANTS[0]),
            4 => Some(TENANTS[1]),
            _ => None,
        };
        Request {
            user: user.map(str::to_owned),
            tenant: tenant.map(str::to_owned),
            device: (!rng.one_in(4)).then(|| DEVICE.to_owned()),
            ip: (!rng.one_in(6)).then(|| ADDRESSES[usize::from(rng.one_in(4))].to_owned()),
            method: (*rng.pick(&METHODS)).to_owned(),
            path: path.to_owned(),
            cost: rng.one_in(3).then(|| rng.below(5)),
            ..Request::default()
        }
    }

    fn batch(&mut self, node: usize) -> Action {
        let via = *self.rng.pick(&[Via::Http, Via::Resp]);
        let requests: Vec<Request> = (0..self.rng.between(2, 8)).map(|_| self.request()).collect();
        for request in &requests {
            let evaluation = self.model.check(0, node, via, request);
            self.edges.learn(&evaluation);
        }
        Action::Batch { via, requests }
    }

    fn check_refused(&mut self, id: u32) -> Action {
        let via = *self.rng.pick(&[Via::Http, Via::Resp]);
        let request = self.refused.take().unwrap_or_default();
        let request = Request { second_user: None, ..request };
        let evaluation = self.model.check(id, self.refused_by, via, &request);
        self.edges.learn(&evaluation);
        if self.model.has_slot(id) {
            self.held.push((id, self.model.now()));
        }
        Action::Check { via, request }
    }

    fn slow(&mut self, node: usize) -> Action {
        let request = self.refused.take().unwrap_or_else(|| self.request());
        let request = Request { second_user: None, ..request };
        self.model.check(0, node, Via::Http, &request);
        self.model.set_now(self.model.now() + SLOW_US);
        Action::Fault { fault: Fault::Slow, request }
    }

    fn bring_back(&mut self, node: usize) -> Action {
        let (of, since) = *self.rng.pick(&self.held);
        if self.rng.one_in(3) {
            // The ends of leases that the renewal moves.
            for lease in LEASES {
                self.edges.add(since + lease);
            }
            self.follow = Some(Follow::Renewed { since });
            self.model.renew(node, of);
            Action::Renew { of }
        } else {
            self.model.release(node, of);
            Action::Release { of }
        }
    }

    fn settle(&mut self, node: usize) -> Action {
        let of = *self.rng.pick(&self.reserved);
        let cost = if self.rng.one_in(3) { 0 } else { self.rng.below(6) };
        self.model.settle(node, of, cost);
        Action::Settle { of, cost }
    }

    fn report(&mut self, node: usize) -> Action {
        let again = self.reported.take().filter(|_| self.rng.one_in(2));
        let request = Request { cost: None, ..again.unwrap_or_else(|| self.request()) };
        let ended = match self.rng.below(7) {
            0 => Ended::Succeeded,
            1 => Ended::Status(200),
            2 => Ended::Status(404),
            3 | 4 => Ended::Failed { failures: self.rng.between(1, 3) },
            _ => Ended::Status(401),
        };
        self.reported = Some(request.clone());
        self.report_of(node, request, ended)
    }

    fn edit(&mut self) -> Action {
        let charged = self.charged.as_ref().and_then(|request| request.user.as_deref());
        let rules = edited(self.rng, self.model.file(), &mut self.changed, charged);
        self.follow = Follow::moved(self.model.file(), &rules);
        self.model.edit(rules.clone());
        Action::Edit { rules }
    }

    fn fault(&mut self, node: usize) -> Action {
        let request = self.request();
        let mut fault = *self.rng.pick(&[Fault::Pause, Fault::Kill, Fault::Flush]);
        if !self.model.predicts_outage(node, &request) {
            fault = Fault::Flush;
        }
        if fault != Fault::Flush {
            let look = Request { cost: Some(0), ..request.clone() };
            let looked = self.model.check(0, node, Via::Http, &look);
            if looked.has_refused_set_beside_another() {
                fault = Fault::Flush;
            } else {
                let at = self.model.now() + OUTAGE_US;
                self.model.check_without_store(node, &request, !looked.is_allowed(), at);
            }
        }
        self.model.forget_shared();
        // A store that lost its data has no record of settled reservations.
        self.reserved.clear();
        Action::Fault { fault, request }
    }
}

fn is_queue(window: &Window) -> bool {
    matches!(window, Window::Quota { algorithm: Algorithm::Queue, .. })
}

/// The lengths of the blocks of all sliding windows of a file.
fn blocks(rules: &RuleFile) -> Vec<u64> {
    let length = |window: &Window| match window {
        Window::Quota { quota, algorithm: Algorithm::SlidingWindow { slices, .. } } => {
            Some(quota.period_us / slices)
        }
        _ => None,
    };
    rules.rules.iter().flat_map(all_windows).filter_map(length).collect()
}

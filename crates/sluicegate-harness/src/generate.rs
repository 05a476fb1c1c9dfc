//! Random cases: a seed makes the same case every time.

mod edits;
mod rules;
mod traffic;

use crate::case::{Case, Request, StoreKind};
use crate::rule_file::{Rule, RuleFile};
use sluicegate_testkit::Rng;

pub(crate) const USERS: [&str; 3] = ["u1", "u2", "u3"];
pub(crate) const ADDRESSES: [&str; 2] = ["203.0.113.1", "203.0.113.2"];
pub(crate) const TENANTS: [&str; 2] = ["t1", "t2"];
pub(crate) const DEVICE: &str = "d1";
pub(crate) const METHODS: [&str; 2] = ["GET", "POST"];
pub(crate) const PATHS: [&str; 2] = ["/a", "/b"];
pub(crate) const ROOMS: [&str; 3] = ["/rooms/one/x", "/rooms/two/x", "/rooms/one/../two/x"];

/// The case of a seed.
pub(crate) fn case(seed: u64) -> Case {
    let mut rng = Rng::new(seed);
    let store = match seed % 8 {
        0 | 1 => StoreKind::Memory,
        2..=4 => StoreKind::Redis,
        5 => StoreKind::Valkey,
        _ => StoreKind::Cluster,
    };
    let nodes = match store {
        StoreKind::Memory => 1,
        _ => usize::try_from(rng.between(1, 3)).unwrap_or(1),
    };
    let mut rules = rules::file(&mut rng, store, nodes);
    rules.pages = pages(seed, store);
    let steps = traffic::steps(&mut rng, store, nodes, &rules);
    Case { seed, about: String::new(), breaks: None, store, nodes, rules, steps }
}

/// The number of pages of the shared store: few in a third of the cases, so that callers meet.
fn pages(seed: u64, store: StoreKind) -> Option<u32> {
    let alone = matches!(store, StoreKind::Redis | StoreKind::Valkey);
    let few = [1, 2, 4];
    let (third, place) = (seed / 8 % 3, usize::try_from(seed / 24 % 3).unwrap_or(0));
    (alone && third == 0).then(|| few[place])
}

/// A look at every counter that requests can reach: one request for each combination of identities.
pub(crate) fn every_request(file: &RuleFile) -> Vec<Request> {
    let uses = |name: &str| file.rules.iter().any(|rule| rule.key.iter().any(|one| one == name));
    let some = |all: &[&str], used: bool| -> Vec<Option<String>> {
        let all = all.iter().map(|one| Some((*one).to_owned()));
        if used { all.chain([None]).collect() } else { vec![None] }
    };
    let by_user = uses("user") || file.tiers.is_some() || !file.overrides.is_empty();
    let users = some(&USERS, by_user || !file.lists.is_empty());
    let addresses = some(&ADDRESSES, uses("ip"));
    let tenants = some(&TENANTS, uses("tenant"));
    let device = uses("device").then(|| DEVICE.to_owned());
    let named = |of: fn(&Rule) -> Option<&String>| file.rules.iter().any(|rule| of(rule).is_some());
    let methods = if named(|rule| rule.method.as_ref()) { &METHODS[..] } else { &METHODS[..1] };
    let mut paths =
        if named(|rule| rule.path.as_ref()) { &PATHS[..] } else { &PATHS[..1] }.to_vec();
    if uses("room") {
        paths.extend(ROOMS);
    }
    let mut out = Vec::new();
    for user in &users {
        for ip in &addresses {
            for tenant in &tenants {
                for method in methods {
                    for path in &paths {
                        out.push(Request {
                            user: user.clone(),
                            tenant: tenant.clone(),
                            device: device.clone(),
                            ip: ip.clone(),
                            method: (*method).to_owned(),
                            path: (*path).to_owned(),
                            cost: Some(0),
                            ..Request::default()
                        });
                    }
                }
            }
        }
    }
    out
}

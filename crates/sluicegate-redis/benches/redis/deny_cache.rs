//! The cost of refusing a caller from the deny cache.

use std::time::Duration;

use sluicegate::{Check, Limit};
use sluicegate_testkit::ServerKind;

use crate::Scale;
use crate::load::{micros_each, own_time};
use crate::setup::BenchServers;
use crate::table::{head, micros, row};

pub(crate) fn measure(kind: ServerKind, scale: Scale) {
    let ground = BenchServers::new(kind, 1);
    let limit = Limit::token_bucket("scarce", "1/h".parse().unwrap()).unwrap();
    let node = &ground.nodes[0];
    let ask = async || node.check(Check::new(&limit, "greedy")).await.unwrap().is_allowed();
    let (calls, time): (u64, Duration) = ground.runtime.block_on(async {
        assert!(ask().await, "there is one");
        let (calls, time) = (node.store().counts().calls, own_time());
        for _ in 0..scale.decisions {
            assert!(!ask().await, "and no more");
        }
        (node.store().counts().calls - calls, own_time().checked_sub(time).unwrap())
    });
    head(
        &format!("{kind:?}: an exhausted caller"),
        &["ours, µs a decision", "calls a decision", "aim"],
    );
    let trips = calls as f64 / scale.decisions as f64;
    row(&[micros(micros_each(time, scale.decisions)), format!("{trips:.3}"), "0".into()]);
}

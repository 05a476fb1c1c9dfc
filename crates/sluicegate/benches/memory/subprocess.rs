//! This program in a fresh process, because memory freed by others would blur the figures.

use std::env;
use std::process::Command;

use crate::contender::{Budget, FAST_FLOOR, FLOOR, GOVERNOR, Governor, OURS, Sluicegate};
use crate::fingerprint::{FoldedHash, KeyedHash};
use crate::floor::Floor;

pub(crate) const GROWTH: &str = "growth-of";
pub(crate) const LONGEST: &str = "longest-of";

/// Returns the numbers printed by the measurement `what` of a contender in its own process.
pub(crate) fn ask(what: &str, contender: &str, keys: usize) -> Vec<f64> {
    let mut command = Command::new(env::current_exe().unwrap());
    let output = command.args([what, contender, &keys.to_string()]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.split_whitespace().map(|number| number.parse().unwrap()).collect()
}

/// Returns a contender without keys, which will insert this many, each only once.
pub(crate) fn newcomer(contender: &str, keys: usize) -> Box<dyn FnMut(&str)> {
    let budget = Budget::LASTING;
    match contender {
        OURS => {
            let ours = Sluicegate::new(budget);
            Box::new(move |key| assert!(ours.check(key)))
        }
        FLOOR => {
            let floor = Floor::new(KeyedHash::new(), keys, budget);
            Box::new(move |key| assert!(floor.check(key.as_bytes()).0))
        }
        FAST_FLOOR => {
            let floor = Floor::new(FoldedHash, keys, budget);
            Box::new(move |key| assert!(floor.check(key.as_bytes()).0))
        }
        GOVERNOR => {
            let governor = Governor::new(budget);
            let mut owned = String::new();
            Box::new(move |key| {
                owned.clear();
                owned.push_str(key);
                assert!(governor.check(&owned));
            })
        }
        other => unreachable!("no contender called {other}"),
    }
}

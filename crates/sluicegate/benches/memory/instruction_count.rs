//! One case alone, for counting instructions.

use std::hint::black_box;

use crate::batches_and_sets::{Batches, FreshPlan, ThreeLimits};
use crate::contender::{Budget, Contender, NAMES};
use crate::contenders::Field;
use crate::keys::Keys;

/// The number of keys in one pass: a multiple of every batch and set. Instruction
/// counts do not depend on what is in the caches, so a few keys are enough.
const PASS: usize = 4_800;

const COURSES: [&str; 3] = ["hot key, allowed", "hot key, denied", "4,800 keys"];
const BATCHES: &str = "ours: try_check_batch of 16, 4,800 keys, per check";
const SET: &str = "ours: set of three, 4,800 keys, per set";

pub(crate) fn list() {
    for course in COURSES {
        for name in NAMES {
            println!("{name}: {course}");
        }
    }
    println!("{BATCHES}\n{SET}");
}

/// Runs the case, rounded down to whole passes; prints how many were admitted.
pub(crate) fn run(case: &str, times: usize) {
    let keys = Keys::numbered(0..PASS);
    let keys = keys.all();
    let hot = vec![keys[0]; PASS];
    let admitted = match case {
        BATCHES => {
            let field = Field::with_keys(&keys, Budget::LASTING);
            repeat(&Batches(&field.ours), &keys, times)
        }
        SET => {
            let three = ThreeLimits::new(Budget::LASTING);
            three.meet(&keys);
            repeat(&FreshPlan(&three), &keys, times * 3)
        }
        _ => {
            let (name, course) = case.split_once(": ").unwrap();
            let index = NAMES.iter().position(|other| *other == name).unwrap();
            let [allowed, denied, many] = COURSES;
            let (met, budget, asked) = match course {
                _ if course == allowed => (&keys[..1], Budget::ENDLESS, &hot),
                _ if course == denied => (&keys[..1], Budget::TINY, &hot),
                _ if course == many => (&keys[..], Budget::LASTING, &keys),
                other => unreachable!("no case called {other}"),
            };
            let field = Field::with_keys(met, budget);
            repeat(field.all()[index], asked, times)
        }
    };
    println!("{admitted}");
}

/// A separate function, so that valgrind can count within it alone.
#[inline(never)]
fn repeat<'k>(contender: &dyn Contender<'k>, keys: &[&'k str], times: usize) -> usize {
    (0..times / PASS).map(|_| contender.check_all(black_box(keys))).sum()
}

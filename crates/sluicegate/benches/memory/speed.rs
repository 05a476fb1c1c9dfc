//! Nanoseconds per check.

use crate::batches_and_sets::{BATCH, Batches, FreshPlan, ReusedPlan, SingleChecks, ThreeLimits};
use crate::contender::{Budget, NAMES};
use crate::contenders::Field;
use crate::keys::{Keys, uniform, zipf};
use crate::rounds::{RoundPlan, Scale};
use crate::table::{grouped, head, ns, row, times};

const HOT: &str = "user:0000000042";
const THREADS: [usize; 2] = [1, 2];

const NO_AIM: &str = "–";

fn head_of_all(title: &str) {
    let [ours, floor, fast_floor, governor] = NAMES;
    head(
        &format!("{title}: ns per check and thread"),
        &[
            "case",
            "threads",
            ours,
            floor,
            fast_floor,
            governor,
            "ours ÷ floor",
            "aim",
            "governor ÷ ours",
            "aim",
        ],
    );
}

fn row_of_all(case: &str, threads: usize, medians: [f64; NAMES.len()], aims: [&str; 2]) {
    let [ours, floor, _, governor] = medians;
    let mut cells = vec![case.to_owned(), threads.to_string()];
    cells.extend(medians.map(ns));
    cells.extend([times(ours / floor), aims[0].to_owned()]);
    cells.extend([times(governor / ours), aims[1].to_owned()]);
    row(&cells);
}

/// One key, used by all threads.
pub(crate) fn hot(scale: Scale) {
    head_of_all("One hot key");
    let keys = vec![HOT; scale.steps];
    // A round is short here, so there can be more of them.
    let scale = Scale { rounds: scale.rounds * 2 + 1, ..scale };
    for (case, budget, admits) in
        [("allowed", Budget::ENDLESS, true), ("denied", Budget::TINY, false)]
    {
        let field = Field::with_keys(&[HOT], budget);
        for threads in THREADS {
            let course = RoundPlan { scale, keys: &keys, threads, admits };
            row_of_all(case, threads, course.run(field.all()), ["≤ 1.25×", NO_AIM]);
        }
    }
}

/// This many keys with counters; one by one, and in batches.
pub(crate) fn many(size: usize, scale: Scale, one_by_one: bool, batches: bool) {
    let all = Keys::numbered(0..size);
    let even = Keys::numbered(uniform(size, scale.draws()));
    let skewed = Keys::numbered(zipf(size, scale.draws()));
    let field = Field::with_keys(&all.all(), Budget::LASTING);
    let even = even.all();
    if one_by_one {
        head_of_all(&format!("{} keys", grouped(size)));
        for (case, keys) in [("uniform", &even), ("Zipf 1.1", &skewed.all())] {
            for threads in THREADS {
                let course = RoundPlan { scale, keys, threads, admits: true };
                row_of_all(case, threads, course.run(field.all()), ["≤ 1.3×", "≥ 2×"]);
            }
        }
    }
    if batches {
        let title = format!("{} keys, uniform, in batches: ns per check", grouped(size));
        let together = format!("`try_check_batch` of {BATCH}");
        head(&title, &["`check`", &together, "batch ÷ `check`", "aim", "floor, one by one"]);
        let course = RoundPlan { scale, keys: &even, threads: 1, admits: true };
        let [alone, together, floor] =
            course.run([&field.ours, &Batches(&field.ours), &field.floor]);
        row(&[ns(alone), ns(together), times(together / alone), "≤ 0.5×".to_owned(), ns(floor)]);
    }
}

/// Three limits in one step.
pub(crate) fn sets(size: usize, scale: Scale) {
    head(
        "A set of three limits on three keys: ns",
        &["case", "one check", "set of three", "set ÷ check", "aim"],
    );
    let print = |case: &str, alone: f64, per_key: f64| {
        let set = per_key * 3.0;
        row(&[case.to_owned(), ns(alone), ns(set), times(set / alone), "≤ 3.5×".to_owned()]);
    };

    let three = ThreeLimits::new(Budget::ENDLESS);
    let keys = ["user:0000000042", "user:0000000043", "user:0000000044"].repeat(scale.steps / 3);
    let course = RoundPlan { scale, keys: &keys, threads: 1, admits: true };
    let [alone, once, each] = course.run([
        &SingleChecks { three: &three, limits: 1 },
        &ReusedPlan(&three),
        &FreshPlan(&three),
    ]);
    print("hot keys, plan made once", alone, once);
    print("hot keys, plan made for each request", alone, each);

    let three = ThreeLimits::new(Budget::LASTING);
    three.meet(&Keys::numbered(0..size).all());
    let keys = Keys::numbered(uniform(size, scale.draws()));
    let course = RoundPlan { scale, keys: &keys.all(), threads: 1, admits: true };
    // The single checks take the limits in turn, so that they use as many counters as the sets do.
    let [alone, each] =
        course.run([&SingleChecks { three: &three, limits: 3 }, &FreshPlan(&three)]);
    let case = format!("{} keys, uniform, plan made for each request", grouped(size));
    print(&case, alone, each);
}

//! The table grows under load: no counter is lost or duplicated.

use std::thread;

use sluicegate::{Check, Limit, Limiter, ManualClock, Memory, MemoryOptions, Slices};

const KEYS: usize = 150_000;

fn limiter() -> Limiter<Memory<ManualClock>> {
    let options = MemoryOptions::new().max_bytes(256 << 20);
    Limiter::new(options.build_with(ManualClock::default()).unwrap())
}

fn key(number: usize) -> String {
    format!("user:{number:010}")
}

/// Three threads take one unit each of every key, in orders of their own, while the table grows
/// from nothing.
fn fill(limiter: &Limiter<Memory<ManualClock>>, limit: &Limit, keys: usize) {
    thread::scope(|scope| {
        for step in [1, 7, 11] {
            scope.spawn(move || {
                for number in 0..keys {
                    let key = key(number * step % keys);
                    assert!(limiter.check(Check::new(limit, &key)).now().unwrap().is_allowed());
                }
            });
        }
    });
}

#[test]
fn every_counter_survives_the_growth_of_the_table() {
    let limiter = limiter();
    let limit = Limit::token_bucket("limit", "4/day".parse().unwrap()).unwrap();
    fill(&limiter, &limit, KEYS);
    for number in 0..KEYS {
        let key = key(number);
        assert_eq!(limiter.peek(&limit, &key).now().unwrap().remaining(), 1, "{key}");
    }
    assert_eq!(limiter.store().len(), KEYS);
    assert_eq!(limiter.store().forgotten(), 0);
    let bytes = limiter.store().bytes() / KEYS;
    assert!(bytes <= 40, "{bytes} bytes a key");
}

#[test]
fn every_record_survives_the_growth_of_the_table() {
    let limiter = limiter();
    let limit = Limit::sliding_window("limit", "4/day".parse().unwrap(), Slices::Strict(4));
    let limit = limit.unwrap();
    fill(&limiter, &limit, KEYS / 3);
    for number in 0..KEYS / 3 {
        let key = key(number);
        assert_eq!(limiter.peek(&limit, &key).now().unwrap().remaining(), 1, "{key}");
    }
    assert_eq!(limiter.store().forgotten(), 0);
}

#[test]
fn batched_checks_equal_single_ones() {
    let (together, alone) = (limiter(), limiter());
    let limits = [
        Limit::token_bucket("whole", "3/day".parse().unwrap()).unwrap(),
        Limit::token_bucket("fractions", "7/min".parse().unwrap()).unwrap(),
        Limit::fixed_window("calendar", "3/day".parse().unwrap()).unwrap(),
        Limit::sliding_log("log", "3/day".parse().unwrap()).unwrap(),
    ];
    let keys: Vec<String> = (0..50).map(key).collect();
    // Of every length, so that batches begin and end anywhere; the same key several times too.
    for length in 0..100 {
        let checks: Vec<Check<'_>> = (0..length)
            .map(|number| Check::new(&limits[number * 7 % 4], &keys[number * length % 50]))
            .collect();
        // A check that is not decided immediately is awaited, and the rest is tried again.
        let mut answers = Vec::new();
        while answers.len() < length {
            let left = &checks[answers.len()..];
            let done = together.try_check_batch(left, |made| answers.push(*made));
            if done < left.len() {
                answers.push(together.check(left[done]).now().unwrap());
            }
        }
        for (check, answer) in checks.iter().zip(answers) {
            let expected = alone.check(*check).now().unwrap();
            assert_eq!(answer.answer(), expected.answer(), "{check:?}");
            assert_eq!(answer.remaining(), expected.remaining(), "{check:?}");
        }
    }
}

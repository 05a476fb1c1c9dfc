//! Bytes per key: the growth of the process while new keys are inserted.

use std::fs;

use crate::contender::{FLOOR, GOVERNOR, OURS};
use crate::keys;
use crate::subprocess::{self, newcomer};
use crate::table::{grouped, head, row};

pub(crate) fn compare(sizes: &[usize]) {
    head(
        "Bytes per key: growth of the resident memory of a fresh process",
        &["keys", OURS, "aim", FLOOR, GOVERNOR],
    );
    for size in sizes {
        let aim = match size {
            1_000_000 => "≤ 40",
            10_000_000 => "≤ 32",
            _ => "–",
        };
        let [ours, floor, governor] = [OURS, FLOOR, GOVERNOR]
            .map(|contender| subprocess::ask(subprocess::GROWTH, contender, *size))
            .map(|bytes| format!("{:.1}, at the highest {:.1}", bytes[0], bytes[1]));
        row(&[grouped(*size), ours, aim.to_owned(), floor, governor]);
    }
}

/// Runs in a process of its own: prints the bytes per key in the end, and at the maximum.
pub(crate) fn measure(contender: &str, size: usize) {
    let mut key = String::new();
    let before = resident("VmRSS:");
    // Never freed, because that would take time and prove nothing.
    let meet = Box::leak(newcomer(contender, size));
    for number in 0..size {
        key.clear();
        keys::append(&mut key, number);
        meet(&key);
    }
    for line in ["VmRSS:", "VmHWM:"] {
        println!("{}", (resident(line) - before) / size as f64);
    }
}

/// Returns bytes from the line of the process's status with this prefix.
fn resident(line: &str) -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let value = status.lines().find_map(|text| text.strip_prefix(line)).unwrap();
    value.trim().trim_end_matches(" kB").parse::<f64>().unwrap() * 1024.0
}

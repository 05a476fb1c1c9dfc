//! The cost of snapshots: to write, to read, and for concurrent checks.

use std::hint::black_box;
use std::time::Duration;
use std::{env, fs, process};

use sluicegate::{Autosave, Limiter, MemoryOptions};

use crate::contender::{Budget, Contender, Sluicegate};
use crate::keys::{Keys, uniform};
use crate::rounds::Scale;
use crate::stopwatch::Stopwatch;
use crate::table::{grouped, head, ns, row, times};

const ROUNDS: usize = 9;

pub(crate) fn compare(size: usize, scale: Scale) {
    let ours = Sluicegate::new(Budget::LASTING);
    ours.check_all(&Keys::numbered(0..size).all());
    let asked = Keys::numbered(uniform(size, scale.steps));
    let asked = asked.all();
    let folder = env::temp_dir().join(format!("sluicegate-benchmark-{}", process::id()));
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join("snapshot");
    let (mut quiet, mut busy, mut written) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let watch = Stopwatch::start();
        let saved = ours.limiter.store().save(&path).unwrap();
        written.push(watch.stop().by_the_clock);
        assert_eq!(saved.counters, size as u64, "all of them");
    }
    // In the background, as while a server runs.
    let keeper = Autosave::start(&ours.limiter, &path, Duration::from_secs(8), |saved| {
        saved.unwrap();
    });
    // A snapshot in progress has a name of its own.
    let being_written = || fs::read_dir(&folder).unwrap().count() > 1;
    while busy.len() < ROUNDS {
        let (before, price, after) = (being_written(), price(&ours, &asked), being_written());
        match (before, after) {
            (true, true) => busy.push(price),
            (false, false) => quiet.push(price),
            _ => {}
        }
    }
    keeper.unwrap().stop();
    let bytes = fs::metadata(&path).unwrap().len();
    let watch = Stopwatch::start();
    let (store, restored) = MemoryOptions::new().restore(&path).unwrap();
    let read = watch.stop().by_the_clock;
    assert_eq!(restored.counters(), size as u64, "{restored}");
    black_box(Limiter::new(store));
    fs::remove_dir_all(&folder).unwrap();

    head(
        &format!("A snapshot of {} keys", grouped(size)),
        &[
            "bytes",
            "written in",
            "read in",
            "aim",
            "a check meanwhile",
            "otherwise",
            "ratio",
            "aim",
        ],
    );
    let seconds = |time: Duration| format!("{:.2} s", time.as_secs_f64());
    let (quiet, busy) = (median(quiet), median(busy));
    row(&[
        grouped(bytes as usize),
        seconds(median_time(written)),
        seconds(read),
        "≤ 5 s each".to_owned(),
        ns(busy),
        ns(quiet),
        times(busy / quiet),
        "≤ 1.1×".to_owned(),
    ]);
}

/// Nanoseconds on the processor per check.
fn price(ours: &Sluicegate, keys: &[&str]) -> f64 {
    let watch = Stopwatch::start();
    assert_eq!(black_box(ours.check_all(keys)), keys.len());
    watch.stop().on_the_processor.as_nanos() as f64 / keys.len() as f64
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}

fn median_time(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

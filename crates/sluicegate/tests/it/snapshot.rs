//! A restart keeps the usage, in any state of the file.

// Long because it has one case for each way in which a snapshot file can be damaged.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use sluicegate::{
    Algorithm, Autosave, Check, Clock, Cooldown, Cost, Decision, Escalation, Limit, Limiter,
    ManualClock, Memory, MemoryOptions, Operation, RestoreReport, Slices, SnapshotReadError, Span,
    Time,
};

type TestLimiter = Limiter<Memory<ManualClock>>;

/// A folder that is removed with the test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static MADE: AtomicU64 = AtomicU64::new(0);
        let made = MADE.fetch_add(1, Relaxed);
        let name = format!("sluicegate-snapshot-{}-{made}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn path(&self) -> PathBuf {
        self.0.join("snapshot")
    }

    fn files(&self) -> Vec<String> {
        let files = fs::read_dir(&self.0).unwrap();
        files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn gate(clock: &ManualClock) -> TestLimiter {
    Limiter::new(options().build_with(clock.clone()).unwrap())
}

fn options() -> MemoryOptions {
    MemoryOptions::new().max_bytes(64 << 20)
}

fn restored(clock: &ManualClock, path: &Path) -> (TestLimiter, RestoreReport) {
    let (store, restored) = options().restore_with(clock.clone(), path).unwrap();
    (Limiter::new(store), restored)
}

fn restored_from(clock: &ManualClock, bytes: &[u8]) -> (TestLimiter, RestoreReport) {
    let (store, restored) = options().restore_from(clock.clone(), bytes).unwrap();
    (Limiter::new(store), restored)
}

fn saved(gate: &TestLimiter) -> Vec<u8> {
    let mut bytes = Vec::new();
    let saved = gate.store().save_to(&mut bytes).unwrap();
    assert_eq!(saved.bytes, bytes.len() as u64);
    bytes
}

fn bucket(quota: &str) -> Limit {
    Limit::token_bucket("bucket", quota.parse().unwrap()).unwrap()
}

/// One limit of every kind, among them ones with words, fractions and lists.
fn limits() -> Vec<Limit> {
    let quota = |text: &str| text.parse().unwrap();
    let cooldown = Cooldown {
        after: 3,
        within: Span::from_secs(600),
        block: Span::from_secs(60),
        escalation: Some(Escalation { factor: 2, max: Span::from_secs(3_600) }),
        pending: None,
        reset_on_success: false,
    };
    vec![
        bucket("10/hour"),
        Limit::token_bucket("fractions", quota("7/3s burst 20")).unwrap(),
        Limit::leaky_bucket("leaky", quota("10/min")).unwrap(),
        Limit::queue("queue", quota("10/min")).unwrap(),
        Limit::fixed_window("fixed", quota("10/day")).unwrap(),
        Limit::sliding_window("sliding", quota("10/min"), Slices::Strict(6)).unwrap(),
        Limit::sliding_window("weighted", quota("10/min"), Slices::Weighted(1)).unwrap(),
        Limit::sliding_log("log", quota("10/min")).unwrap(),
        Limit::concurrency("slots", 4, Span::from_secs(60)).unwrap(),
        Limit::cooldown("logins", cooldown).unwrap(),
        Limit::cooldown("attempts", Cooldown { pending: Some(Span::from_secs(60)), ..cooldown })
            .unwrap(),
    ]
}

fn ask(gate: &TestLimiter, limit: &Limit, key: &str, ask: Operation) -> Decision {
    gate.check(Check::new(limit, key).with_operation(ask)).now().unwrap()
}

fn take(gate: &TestLimiter, limit: &Limit, key: &str) -> bool {
    gate.check(Check::new(limit, key)).now().unwrap().is_allowed()
}

fn left(gate: &TestLimiter, limit: &Limit, key: &str) -> u64 {
    gate.peek(limit, key).now().unwrap().remaining()
}

/// Takes, charges and time, the same on every run.
fn live(gate: &TestLimiter, clock: &ManualClock, limits: &[Limit], keys: usize) {
    for step in 0..keys * 5 {
        let key = format!("key {}", step % keys);
        for (index, limit) in limits.iter().enumerate() {
            if (step * 7 + index) % 3 == 0 {
                ask(gate, limit, &key, Operation::Charge(Cost::from(1)));
            } else if (step + index) % 4 != 0 {
                take(gate, limit, &key);
            }
        }
        clock.advance(Duration::from_millis(37));
    }
}

#[test]
fn four_of_ten_units_used_leave_six_after_a_restart() {
    let (clock, folder) = (ManualClock::default(), Folder::new());
    let (limit, path) = (bucket("10/hour"), folder.path());
    let (first, start) = restored(&clock, &path);
    let line = format!("the snapshot {} is not there yet; starting empty", path.display());
    assert_eq!(start.to_string(), line);
    assert!(start.is_as_expected() && start.taken().is_none());
    assert!((0..4).all(|_| take(&first, &limit, "user:42")));
    let saved = first.store().save(&path).unwrap();
    assert_eq!((saved.counters, saved.taken), (1, clock.now()));
    assert_eq!(saved.bytes, fs::metadata(&path).unwrap().len());
    drop(first);

    clock.advance(Duration::from_secs(90));
    let (second, start) = restored(&clock, &path);
    assert_eq!(
        start.to_string(),
        format!("restored 1 counter from the snapshot {}, taken 90s ago", path.display())
    );
    assert!(start.is_as_expected());
    assert!((0..6).all(|_| take(&second, &limit, "user:42")));
    assert!(!take(&second, &limit, "user:42"));
    assert_eq!(second.store().len(), 1);
}

#[test]
fn every_limit_continues_after_a_restart() {
    let (clock, limits) = (ManualClock::default(), limits());
    let before = gate(&clock);
    live(&before, &clock, &limits, 50);
    let (after, start) = restored_from(&clock, &saved(&before));
    assert!(start.fault().is_none(), "{start}");
    assert!(start.counters() > 300, "{start}");
    // Both get the same operations from here on, on clocks with the same time.
    for step in 0..2_000 {
        let (limit, key) = (&limits[step % limits.len()], format!("key {}", step % 53));
        let what = if step % 5 == 0 {
            Operation::Charge(Cost::from(1))
        } else {
            Operation::acquire(Cost::ONE)
        };
        let [one, two] = [&before, &after].map(|gate| {
            let decision = ask(gate, limit, &key, what);
            let answer = (decision.is_allowed(), decision.remaining(), decision.retry_after());
            (answer, decision.reset_after(), decision.delay())
        });
        assert_eq!(one, two, "step {step}: {} of {key}", limit.name());
        if step % 3 == 0 {
            clock.advance(Duration::from_millis(113));
        }
    }
}

#[test]
fn a_slot_is_released_and_a_refund_counts_once_across_a_restart() {
    let clock = ManualClock::default();
    let slots = Limit::concurrency("slots", 1, Span::from_secs(60)).unwrap();
    let limit = bucket("10/hour");
    let before = gate(&clock);
    let held = *before.check(Check::new(&slots, "k")).now().unwrap().receipt().unwrap();
    let spent = *before.check(Check::new(&limit, "k")).now().unwrap().receipt().unwrap();
    let open = *before.check(Check::new(&limit, "k")).now().unwrap().receipt().unwrap();
    assert!(before.refund(&limit, "k", spent).now().unwrap().is_allowed());

    let (after, _) = restored_from(&clock, &saved(&before));
    assert!(!take(&after, &slots, "k"), "still held");
    assert!(after.refund(&slots, "k", held).now().unwrap().is_allowed());
    assert!(take(&after, &slots, "k"));
    let again = after.refund(&limit, "k", spent).now().unwrap();
    assert_eq!(again.refusal().unwrap().as_str(), "spent");
    assert_eq!(left(&after, &limit, "k"), 9);
    assert_eq!(after.refund(&limit, "k", open).now().unwrap().remaining(), 10);
}

#[test]
fn recovered_counters_are_neither_saved_nor_restored() {
    let clock = ManualClock::default();
    let (quick, slow) =
        (bucket("1/s"), Limit::sliding_log("log", "2/min".parse().unwrap()).unwrap());
    let gate = gate(&clock);
    for key in 0..10 {
        take(&gate, &quick, &format!("{key}"));
        take(&gate, &slow, &format!("{key}"));
    }
    let all = saved(&gate);
    clock.advance(Duration::from_secs(1));
    let fewer = saved(&gate);
    assert_eq!(restored_from(&clock, &all).1.counters(), 10);
    assert_eq!(restored_from(&clock, &fewer).1.counters(), 10);
    assert!(fewer.len() < all.len());
    clock.advance(Duration::from_secs(60));
    let (empty, start) = restored_from(&clock, &all);
    assert_eq!((start.counters(), empty.store().len()), (0, 0), "{start}");
    assert!(start.fault().is_none());
}

#[test]
fn no_time_has_passed_under_a_clock_that_was_set_back() {
    // At noon, so that an hour earlier it is the same day.
    let clock = ManualClock::default();
    clock.advance(Duration::from_secs(12 * 3_600));
    let limits = limits();
    let before = gate(&clock);
    live(&before, &clock, &limits, 3);
    let bytes = saved(&before);
    let stood: Vec<u64> = limits.iter().map(|limit| left(&before, limit, "key 1")).collect();

    let earlier = ManualClock::at(Time::from_micros(clock.now().as_micros() - 3_600_000_000));
    let (after, start) = restored_from(&earlier, &bytes);
    assert_eq!(start.ahead(), Span::from_secs(3_600));
    let line = start.to_string();
    let words = "taken 1hour ahead of this machine's clock and moved back by that";
    assert!(line.ends_with(words), "{line}");
    for (limit, stood) in limits.iter().zip(stood) {
        // Blocks move by whole blocks, so they may be where they count in full again.
        let now = left(&after, limit, "key 1");
        let blocks = limit.spec().algorithm() == Some(Algorithm::SlidingWindow);
        assert!(now == stood || (blocks && now <= stood), "{}: {now}, {stood}", limit.name());
    }
    // An hour to recover, not two.
    let bucket = &limits[0];
    earlier.advance(Duration::from_secs(3_600));
    assert_eq!(left(&after, bucket, "key 1"), 10);
}

/// A small snapshot with words and records, and the remaining units of each key.
fn small(clock: &ManualClock) -> (Vec<u8>, Vec<(Limit, String, u64)>) {
    let gate = gate(clock);
    let limits =
        [bucket("10/hour"), Limit::sliding_log("log", "10/hour".parse().unwrap()).unwrap()];
    let mut known = Vec::new();
    for key in 0..3 {
        for limit in &limits {
            let key = format!("key {key}");
            assert!(take(&gate, limit, &key) && take(&gate, limit, &key));
            known.push((limit.clone(), key, 8));
        }
    }
    (saved(&gate), known)
}

/// Returns the number of keys with unchanged usage; all others have to be fresh.
fn kept(gate: &TestLimiter, known: &[(Limit, String, u64)]) -> u64 {
    let stands = |(limit, key, stood): &&(Limit, String, u64)| {
        let now = left(gate, limit, key);
        assert!(now == *stood || now == 10, "{} of {key}: {now}", limit.name());
        now == *stood
    };
    known.iter().filter(stands).count() as u64
}

#[test]
fn truncated_at_any_byte_it_restores_the_complete_blocks() {
    let clock = ManualClock::default();
    let (bytes, known) = small(&clock);
    let mut most = 0;
    for length in 0..bytes.len() {
        let (gate, start) = restored_from(&clock, &bytes[..length]);
        assert!(matches!(start.fault(), Some(SnapshotReadError::CutShort)), "{length}: {start}");
        assert_eq!(kept(&gate, &known), start.counters(), "{length}: {start}");
        assert!(start.counters() >= most, "{length}: more is never less");
        most = start.counters();
    }
    assert_eq!(most, 6, "all but the end was there");
    assert_eq!(restored_from(&clock, &bytes).1.counters(), 6);
}

#[test]
fn with_any_byte_changed_it_starts_and_reports_it() {
    let clock = ManualClock::default();
    let (bytes, known) = small(&clock);
    for at in 0..bytes.len() {
        for flip in [0x01, 0x80, 0xFF] {
            let mut bytes = bytes.clone();
            bytes[at] ^= flip;
            let (gate, start) = restored_from(&clock, &bytes);
            let line = start.to_string();
            assert!(start.fault().is_some(), "{at}: {line}");
            assert!(!start.is_as_expected() && !line.contains('\n'), "{at}: {line}");
            // Under another hash key no counter would be found.
            assert_eq!(kept(&gate, &known), start.counters(), "{at}: {line}");
            assert!(take(&gate, &known[0].0, "newcomer"), "and it serves");
        }
    }
}

#[test]
fn each_error_is_one_line_with_its_consequence() {
    let (clock, folder) = (ManualClock::default(), Folder::new());
    let (bytes, _) = small(&clock);
    let path = folder.path();
    let said = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        let (_, start) = restored(&clock, &path);
        start.to_string().replace(&path.display().to_string(), "FILE")
    };
    let nothing = "starting empty, and the next snapshot replaces it";
    assert_eq!(said(b""), format!("cannot restore the snapshot FILE: it was cut short; {nothing}"));
    assert_eq!(
        said(b"# Changelog\n\nWhat changed for people who use Sluicegate, the newest first.\n"),
        format!("cannot restore the snapshot FILE: it is not a snapshot of Sluicegate; {nothing}")
    );
    let mut newer = bytes.clone();
    newer[8] = 2;
    assert_eq!(
        said(&newer),
        format!(
            "cannot restore the snapshot FILE: it has version 2 of the format, and only 1 can be \
             read; {nothing}"
        )
    );
    let mut damaged = bytes.clone();
    damaged[20] ^= 1;
    let line = format!("cannot restore the snapshot FILE: its header is damaged; {nothing}");
    assert_eq!(said(&damaged), line);
    assert_eq!(
        said(&bytes[..bytes.len() - 1]),
        "restored 6 counters from the snapshot FILE, taken 0s ago; the rest of it is lost and \
         starts afresh: it was cut short"
    );
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    let (_, start) = restored(&clock, &path);
    assert!(matches!(start.fault(), Some(SnapshotReadError::Unreadable(_))), "{start}");
}

#[test]
fn no_counter_is_evicted_while_there_is_room() {
    let (clock, limit) = (ManualClock::default(), bucket("10/day"));
    let before = gate(&clock);
    for key in 0..300_000 {
        take(&before, &limit, &format!("{key}"));
    }
    let (after, start) = restored_from(&clock, &saved(&before));
    assert_eq!((start.counters(), after.store().len()), (300_000, 300_000));
    assert_eq!(after.store().forgotten(), 0);
    let (bytes, were) = (after.store().bytes(), before.store().bytes());
    assert!(bytes <= were + were / 8, "{bytes} bytes for what took {were}");
    assert!((0..300_000).step_by(97).all(|key| left(&after, &limit, &format!("{key}")) == 9));
}

#[test]
fn a_smaller_store_keeps_as_many_counters_as_fit() {
    let clock = ManualClock::default();
    let (limit, log) =
        (bucket("10/day"), Limit::sliding_log("log", "9/day".parse().unwrap()).unwrap());
    let large = gate(&clock);
    for key in 0..100_000 {
        take(&large, &limit, &format!("{key}"));
        if key % 10 == 0 {
            take(&large, &log, &format!("{key}"));
        }
    }
    let bytes = saved(&large);
    let small = MemoryOptions::new().max_bytes(MemoryOptions::MIN_BYTES);
    let (small, start) = small.restore_from(clock, &bytes[..]).unwrap();
    assert!(start.fault().is_none(), "{start}");
    assert!(small.bytes() <= small.max_bytes() + small.max_bytes() / 50, "{}", small.bytes());
    assert!(small.len() > 20_000 && small.forgotten() > 50_000, "{start}");
}

#[test]
fn a_concurrent_decision_is_either_saved_or_not() {
    const KEYS: usize = 20_000;
    let clock = ManualClock::default();
    let (limit, log) =
        (bucket("1000/day"), Limit::sliding_log("log", "1000/day".parse().unwrap()).unwrap());
    let limit_of = |key: usize| if key.is_multiple_of(5) { &log } else { &limit };
    let gate = gate(&clock);
    let counts: Vec<AtomicU64> = (0..KEYS).map(|_| AtomicU64::new(0)).collect();
    let done = AtomicU64::new(0);
    thread::scope(|scope| {
        for worker in 0..2 {
            let (gate, counts, done, limit_of) = (&gate, &counts, &done, &limit_of);
            scope.spawn(move || {
                // New keys all the time, so that pages are split during the copy.
                for round in 0..6 {
                    for key in 0..KEYS * (round + 1) / 6 {
                        let other = (key + 1) % (KEYS * (round + 1) / 6);
                        let mut plan = sluicegate::Plan::new();
                        let names = [format!("{key}"), format!("{other}")];
                        plan.require(Check::new(limit_of(key), &names[0]));
                        plan.require(Check::new(limit_of(other), &names[1]));
                        let both = round % 2 == worker && key != other;
                        if both {
                            assert!(gate.check_plan(&plan).now().unwrap().is_allowed());
                            counts[other].fetch_add(1, Relaxed);
                        } else {
                            assert!(take(gate, limit_of(key), &names[0]));
                        }
                        counts[key].fetch_add(1, Relaxed);
                    }
                }
                done.fetch_add(1, Relaxed);
            });
        }
        while done.load(Relaxed) < 2 {
            let before: Vec<u64> = counts.iter().map(|count| count.load(Relaxed)).collect();
            let bytes = saved(&gate);
            let after: Vec<u64> = counts.iter().map(|count| count.load(Relaxed)).collect();
            let (copy, start) = restored_from(&clock, &bytes);
            assert!(start.fault().is_none(), "{start}");
            for key in 0..KEYS {
                let spent = 1_000 - left(&copy, limit_of(key), &format!("{key}"));
                // Each thread may have been between deciding and counting.
                let possible = before[key]..=after[key] + 2;
                assert!(possible.contains(&spent), "key {key}: {spent} not in {possible:?}");
            }
        }
    });
}

#[test]
fn the_file_is_private_and_no_temporary_file_remains() {
    let (clock, folder) = (ManualClock::default(), Folder::new());
    let (path, gate) = (folder.path(), gate(&clock));
    for _ in 0..2 {
        gate.store().save(&path).unwrap();
        assert_eq!(folder.files(), ["snapshot"]);
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
    // A folder cannot be replaced and stays, and the temporary file is removed.
    let taken = folder.0.join("folder");
    fs::create_dir(&taken).unwrap();
    let error = gate.store().save(&taken).unwrap_err();
    let line = error.to_string();
    let start = format!("cannot write the snapshot {}: ", taken.display());
    assert!(line.starts_with(&start), "{line}");
    assert!(line.ends_with("; what was there before is still in place"), "{line}");
    let mut files = folder.files();
    files.sort();
    assert_eq!(files, ["folder", "snapshot"]);
    let nowhere = folder.0.join("none").join("snapshot");
    assert!(gate.store().save(nowhere).is_err());
    assert!(gate.store().save("/").is_err());
}

#[test]
fn autosave_saves_periodically_and_once_more_at_the_end() {
    let (clock, folder) = (ManualClock::default(), Folder::new());
    let (path, gate, limit) = (folder.path(), gate(&clock), bucket("10/hour"));
    let (report, reports) = mpsc::channel();
    let report_each = move |saved: Result<_, _>| report.send(saved.map_err(drop)).unwrap();
    let keeper = Autosave::start(&gate, &path, Duration::from_millis(1), report_each).unwrap();
    take(&gate, &limit, "first");
    // Started after the take, at any later time.
    while reports.recv().unwrap().unwrap().counters < 1 {}
    assert_eq!(restored(&clock, &path).1.counters(), 1);
    keeper.stop();
    assert!(reports.iter().all(|saved| saved.is_ok()));

    let (report, reports) = mpsc::channel();
    let report_each = move |saved: Result<_, _>| report.send(saved.map_err(drop)).unwrap();
    let keeper = Autosave::start(&gate, &path, Duration::from_secs(3_600), report_each).unwrap();
    take(&gate, &limit, "second");
    drop(keeper);
    assert_eq!(reports.iter().map(|saved| saved.unwrap().counters).collect::<Vec<_>>(), [2]);
    assert_eq!(restored(&clock, &path).1.counters(), 2);
}

#[test]
fn autosave_retries_after_a_failure() {
    let (clock, folder) = (ManualClock::default(), Folder::new());
    let (gate, later) = (gate(&clock), folder.0.join("later"));
    let (report, reports) = mpsc::channel();
    let report_each = move |saved: Result<_, _>| report.send(saved).unwrap();
    let path = later.join("snapshot");
    let keeper = Autosave::start(&gate, &path, Duration::from_millis(1), report_each).unwrap();
    assert_eq!(reports.recv().unwrap().unwrap_err().path(), path);
    fs::create_dir(&later).unwrap();
    while reports.recv().unwrap().is_err() {}
    assert!(path.exists());
    drop(keeper);
}

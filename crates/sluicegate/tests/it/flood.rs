//! A flood of invented keys: memory stays within its bound, who is limited stays limited, and
//! newcomers are admitted.
//!
//! `SLUICEGATE_FLOOD=full` floods with 60 million keys under 256 MB, and looks at the process'
//! resident memory too.

use std::time::Duration;

use sluicegate::{
    Check, Cooldown, Cost, Decision, Limit, Limiter, ManualClock, Memory, MemoryOptions,
    PlainMemory, Slices, Span,
};

/// How much is flooded with how many keys.
#[derive(Clone, Copy)]
struct Size {
    bytes: usize,
    keys: u64,
    /// New keys between two questions of somebody who is limited.
    between: u64,
}

fn size() -> Size {
    if std::env::var("SLUICEGATE_FLOOD").is_ok_and(|size| size == "full") {
        return Size { bytes: 256_000_000, keys: 60_000_000, between: 600 };
    }
    Size { bytes: 4_000_000, keys: 900_000, between: 90 }
}

const LIMITED: usize = 1_000;

/// A store that is flooded, beside a plain one that is not and forgets nothing.
struct Flood {
    clock: ManualClock,
    limiter: Limiter<Memory<ManualClock>>,
    plain: Limiter<PlainMemory<ManualClock>>,
    size: Size,
}

impl Flood {
    fn new(size: Size) -> Self {
        let clock = ManualClock::default();
        let options = MemoryOptions::new().max_bytes(size.bytes);
        let limiter = Limiter::new(options.build_with(clock.clone()).unwrap());
        let plain = Limiter::new(PlainMemory::with_clock(clock.clone()));
        Self { clock, limiter, plain, size }
    }

    /// What a limited caller is told; the same as if there had been no flood.
    fn ask(&self, limit: &Limit, caller: usize, cost: u64) -> Decision {
        let key = format!("limited {caller}");
        let check = Check::new(limit, &key).cost(Cost::from(u32::try_from(cost).unwrap()));
        let told = self.limiter.check(check).now().unwrap();
        let truth = self.plain.check(check).now().unwrap();
        assert_eq!(told.is_allowed(), truth.is_allowed(), "{key} of {}", limit.name());
        assert_eq!(told.remaining(), truth.remaining(), "{key} of {}", limit.name());
        assert_eq!(told.retry_after(), truth.retry_after(), "{key} of {}", limit.name());
        told
    }

    /// Uses a limit up for a thousand callers, floods with new keys of another one a microsecond
    /// each, and asks the callers again and again meanwhile.
    fn run(&self, limited: &Limit, flooding: &Limit) {
        for caller in 0..LIMITED {
            while self.ask(limited, caller, 1).is_allowed() {}
        }
        let mut refused = 0;
        let mut next_caller = 0;
        for key in 0..self.size.keys {
            self.clock.advance(Duration::from_micros(1));
            let key = format!("invented {key:x}");
            let newcomer = self.limiter.check(Check::new(flooding, &key)).now().unwrap();
            refused += u64::from(!newcomer.is_allowed());
            next_caller += 1;
            if next_caller % self.size.between == 0 {
                let caller = usize::try_from(next_caller / self.size.between).unwrap() % LIMITED;
                self.ask(limited, caller, 1);
            }
        }
        assert!(refused * 1_000 <= self.size.keys, "{refused} newcomers refused");
        for caller in 0..LIMITED {
            self.ask(limited, caller, 1);
        }
        let store = self.limiter.store();
        assert!(store.bytes() <= store.max_bytes() * 101 / 100, "{} bytes", store.bytes());
        assert!(store.forgotten() > 0, "the flood was no flood: {} counters", store.len());
        if self.size.keys > 10_000_000 {
            let resident = resident_bytes();
            assert!(resident <= self.size.bytes / 10 * 11, "{resident} bytes resident");
        }
    }
}

fn resident_bytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().strip_suffix("kB").unwrap().trim().parse::<usize>().unwrap() * 1024
}

fn bucket(name: &'static str, quota: &str) -> Limit {
    Limit::token_bucket(name, quota.parse().unwrap()).unwrap()
}

#[test]
fn a_flood_of_ones_own_rule_resets_nobody() {
    Flood::new(size()).run(&bucket("api", "50/day"), &bucket("api", "50/day"));
}

#[test]
fn a_flood_of_a_long_period_resets_nobody_of_a_short_one() {
    Flood::new(size()).run(&bucket("login", "5/min"), &bucket("api", "1000/day"));
}

#[test]
fn a_flood_of_keys_that_are_all_used_up_evicts_its_own() {
    // By share used alone, half of what the logins used would be less than what the flood did.
    Flood::new(size()).run(&bucket("login", "5/min"), &bucket("trial", "1/day"));
}

#[test]
fn a_flood_of_records_stays_within_its_bound_and_resets_nobody() {
    let log = Limit::sliding_log("log", "5/day".parse().unwrap()).unwrap();
    let window = Limit::sliding_window("window", "100/day".parse().unwrap(), Slices::Strict(4));
    Flood::new(size()).run(&log, &window.unwrap());
}

#[test]
fn records_of_the_limited_survive_a_flood_of_words() {
    let log = Limit::sliding_log("log", "5/day".parse().unwrap()).unwrap();
    Flood::new(size()).run(&log, &bucket("api", "1000/day"));
}

#[test]
fn words_of_the_limited_survive_a_flood_of_records() {
    let window = Limit::fixed_window("window", "1000/day".parse().unwrap()).unwrap();
    Flood::new(size()).run(&bucket("login", "5/min"), &window);
}

#[test]
fn who_is_blocked_stays_blocked() {
    let flood = Flood::new(size());
    let cooldown = Cooldown {
        after: 3,
        within: Span::from_secs(600),
        block: Span::from_secs(900),
        escalation: None,
        pending: None,
        reset_on_success: false,
    };
    let login = Limit::cooldown("login", cooldown).unwrap();
    for caller in 0..LIMITED {
        let key = format!("limited {caller}");
        for _ in 0..3 {
            flood.limiter.charge(&login, &key, Cost::ONE).now().unwrap();
            flood.plain.charge(&login, &key, Cost::ONE).now().unwrap();
        }
    }
    flood.run(&login, &bucket("api", "1000/day"));
}

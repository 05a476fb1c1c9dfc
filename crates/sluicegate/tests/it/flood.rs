//! A flood of random keys: memory stays bounded, limited callers stay limited, new keys are
//! admitted.
//!
//! `SLUICEGATE_FLOOD=full` floods with 60 million keys under 256 MB, and checks the resident
//! memory of the process too.

use std::sync::Mutex;
use std::time::Duration;

use sluicegate::{
    ChargeId, Check, Clock, Cooldown, Cost, Decision, Limit, Limiter, ManualClock, Memory,
    MemoryOptions, Operation, Set, Slices, Span,
};
use sluicegate_conformance::{MapStore, Subject};

/// The size of a flood.
#[derive(Clone, Copy)]
struct FloodSize {
    bytes: usize,
    keys: u64,
    /// New keys between two checks of a limited caller.
    between: u64,
}

fn size() -> FloodSize {
    if std::env::var("SLUICEGATE_FLOOD").is_ok_and(|size| size == "full") {
        return FloodSize { bytes: 256_000_000, keys: 60_000_000, between: 600 };
    }
    FloodSize { bytes: 4_000_000, keys: 900_000, between: 90 }
}

const LIMITED: usize = 1_000;

/// A store under flood, beside a model without one that evicts nothing.
struct Flood {
    clock: ManualClock,
    limiter: Limiter<Memory<ManualClock>>,
    model: Mutex<MapStore>,
    size: FloodSize,
}

impl Flood {
    fn new(size: FloodSize) -> Self {
        let clock = ManualClock::default();
        let options = MemoryOptions::new().max_bytes(size.bytes);
        let limiter = Limiter::new(options.build_with(clock.clone()).unwrap());
        Self { clock, limiter, model: Mutex::default(), size }
    }

    /// Returns the decision of the model.
    fn truth(&self, check: Check<'_>) -> Decision {
        let set = Set::one(&check, ChargeId::from_bits(1));
        let (_, decisions) = self.model.lock().unwrap().apply(self.clock.now(), &set);
        decisions[0].unwrap()
    }

    /// Returns the decision for a limited caller, which has to equal the model's.
    fn ask(&self, limit: &Limit, caller: usize, cost: u64) -> Decision {
        let key = format!("limited {caller}");
        let check = Check::new(limit, &key).cost(Cost::from(u32::try_from(cost).unwrap()));
        let decision = self.limiter.check(check).now().unwrap();
        let truth = self.truth(check);
        assert_eq!(decision.is_allowed(), truth.is_allowed(), "{key} of {}", limit.name());
        assert_eq!(decision.remaining(), truth.remaining(), "{key} of {}", limit.name());
        assert_eq!(decision.retry_after(), truth.retry_after(), "{key} of {}", limit.name());
        decision
    }

    /// Uses a limit up for a thousand callers, floods with new keys of another one a microsecond
    /// each, and checks the callers again and again meanwhile.
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
fn a_flood_of_the_same_rule_resets_no_limited_key() {
    Flood::new(size()).run(&bucket("api", "50/day"), &bucket("api", "50/day"));
}

#[test]
fn a_flood_of_a_long_period_resets_no_key_of_a_short_one() {
    Flood::new(size()).run(&bucket("login", "5/min"), &bucket("api", "1000/day"));
}

#[test]
fn a_flood_of_keys_that_are_all_used_up_evicts_its_own() {
    // By used share alone, half of the logins' usage would be less than the flood's.
    Flood::new(size()).run(&bucket("login", "5/min"), &bucket("trial", "1/day"));
}

#[test]
fn a_flood_of_records_stays_bounded_and_resets_no_limited_key() {
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
fn blocked_keys_stay_blocked() {
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
            flood.truth(Check::new(&login, &key).with_operation(Operation::Charge(Cost::ONE)));
        }
    }
    flood.run(&login, &bucket("api", "1000/day"));
}

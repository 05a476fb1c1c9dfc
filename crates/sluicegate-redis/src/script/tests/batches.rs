//! Tests that a batch equals single calls, and that the fast path equals the full script.

use sluicegate_core::{
    ChargeId, Check, Cooldown, Cost, Escalation, Limit, Operation, Period, Receipt, Set, Slices,
    Span, State, Time,
};
use sluicegate_testkit::Server;

use super::steps::{ScriptServer, ScriptVariant, connect};
use crate::script::cells::{cells_of, is_contradictory};
use crate::script::reply::ScriptRuling;
use sluicegate_testkit::Rng;

const START: u64 = 1_767_225_600_000_000;
const MINUTE: u64 = 60_000_000;

/// Two limits of each kind; the later ones reuse names of the earlier ones, as if rules had
/// changed.
fn limits() -> Vec<Limit> {
    let quota = |text: &str| text.parse().unwrap();
    let cooldown = Cooldown {
        after: 3,
        within: Span::from_secs(10),
        block: Span::from_secs(5),
        escalation: Some(Escalation { factor: 2, max: Span::from_secs(30) }),
        pending: None,
        reset_on_success: false,
    };
    let pending = Some(Span::from_secs(4));
    let trying = Cooldown { pending, reset_on_success: true, ..cooldown };
    let forgiving = Cooldown { reset_on_success: true, ..cooldown };
    vec![
        Limit::token_bucket("a", quota("5/min")).unwrap(),
        Limit::token_bucket("b", quota("7/3s burst 6")).unwrap().without_debt(),
        Limit::queue("c", quota("7/3s burst 4")).unwrap(),
        Limit::queue("d", quota("2/s burst 3")).unwrap(),
        Limit::fixed_window("e", quota("4/min")).unwrap(),
        Limit::sliding_window("f", quota("4/min"), Slices::Weighted(3)).unwrap(),
        Limit::sliding_log("g", quota("4/min")).unwrap(),
        Limit::concurrency("h", 3, Span::from_secs(20)).unwrap(),
        Limit::cooldown("i", cooldown).unwrap(),
        Limit::cooldown("j", trying).unwrap(),
        Limit::cooldown("k", Cooldown { pending, ..cooldown }).unwrap(),
        // The same names with other algorithms and quotas.
        Limit::sliding_log("a", quota("6/min")).unwrap(),
        Limit::token_bucket("b", quota("3/s")).unwrap(),
        Limit::token_bucket("e", quota("3/s")).unwrap(),
        Limit::queue("f", quota("2/s burst 3")).unwrap(),
        Limit::token_bucket("g", quota("1/s burst 2")).unwrap(),
        Limit::leaky_bucket("h", quota("7/3s burst 2")).unwrap(),
        Limit::fixed_window("i", quota("5/min")).unwrap(),
        Limit::cooldown("j", forgiving).unwrap(),
        Limit::cooldown("k", cooldown).unwrap(),
    ]
}

fn cost(units: u64) -> Cost {
    Cost::new(units).unwrap()
}

fn random_operation(rng: &mut Rng, receipts: &[Receipt]) -> Operation {
    match rng.below(20) {
        0 | 1 if !receipts.is_empty() => {
            Operation::Settle { receipt: *rng.pick(receipts), actual: cost(rng.below(4)) }
        }
        2 if !receipts.is_empty() => Operation::Renew(*rng.pick(receipts)),
        3 => Operation::Reset,
        4 | 5 => Operation::Charge(cost(rng.below(5))),
        6 => Operation::wait(cost(rng.below(4)), Span::from_micros(rng.below(MINUTE))),
        7 => {
            let from = *rng.pick(&["10/s", "7/3s burst 2", "1/min", "10/month"]);
            let id = ChargeId::from_bits(u128::from(rng.below(50)) | 1 << 100);
            Operation::Rescale { from: from.parse().unwrap(), id }
        }
        10 | 11 => Operation::Refund(cost(rng.below(5))),
        8 | 9 => Operation::up_to(cost(rng.below(9)), cost(rng.below(2))),
        _ => Operation::acquire(cost(rng.below(3))),
    }
}

fn random_check<'a>(
    rng: &mut Rng,
    limits: &'a [Limit],
    receipts: &[Receipt],
    now: u64,
) -> Check<'a> {
    let limit = rng.pick(limits);
    let key = rng.pick(&["x", "y", "z"]);
    let mut check = Check::new(limit, *key).with_operation(random_operation(rng, receipts));
    if rng.one_in(5) {
        check = check.or_else();
    }
    let start = now - now % MINUTE - if rng.one_in(50) { MINUTE } else { 0 };
    let end = Time::from_micros(start + MINUTE);
    check.within(Period::new(Time::from_micros(start), end).unwrap())
}

/// Sets of up to four checks, as many as fit into a call.
fn random_checks<'a>(
    rng: &mut Rng,
    limits: &'a [Limit],
    receipts: &[Receipt],
    now: u64,
) -> Vec<Vec<Check<'a>>> {
    (0..=rng.below(12))
        .map(|_| {
            let count = 1 + rng.below(4);
            (0..count).map(|_| random_check(rng, limits, receipts, now)).collect::<Vec<_>>()
        })
        .filter(|checks| !is_contradictory(&Set::all(checks, ChargeId::from_bits(0))))
        .collect()
}

#[test]
fn a_batch_equals_single_calls() {
    let redis = Server::redis();
    let mut together = ScriptServer::new(connect(&redis), "together:", 1);
    together.through = ScriptVariant::Full;
    let mut alone = ScriptServer::new(connect(&redis), "alone:", 1);
    let (limits, mut rng) = (limits(), Rng::new(1));
    let (mut now, mut receipts, mut id) = (START, Vec::new(), 0);
    for _ in 0..400 {
        now = (now + rng.below(2_000_000)).saturating_sub(rng.below(1_500_000));
        let all = random_checks(&mut rng, &limits, &receipts, now);
        let sets: Vec<Set<'_>> = all
            .iter()
            .map(|checks| {
                id += 1 << 8;
                let id = ChargeId::from_bits(id);
                if rng.one_in(6) { Set::independent(checks, id) } else { Set::all(checks, id) }
            })
            .collect();
        let encoded: Vec<_> = sets.iter().map(|set| together.pack(set)).collect();
        if encoded.is_empty() {
            continue;
        }
        let time = Time::from_micros(now);
        let answers = together.call(time, &encoded);
        assert_eq!(answers.len(), sets.len());
        for (set, mut answer) in sets.iter().zip(answers) {
            let mut expected = alone.apply(time, set);
            assert_eq!(answer, expected, "{set:#?}");
            let found = ScriptServer::explained(set, &mut answer);
            assert_eq!(found, ScriptServer::explained(set, &mut expected));
            alone.compare(set, &expected.states);
            receipts.extend(found.1.iter().flatten().filter_map(|decision| decision.receipt()));
        }
        for set in &sets {
            for cell in cells_of(set).names() {
                assert_eq!(together.stored(cell), alone.stored(cell), "{cell:#?}");
            }
        }
        let old = receipts.len().saturating_sub(12);
        receipts.drain(..old);
    }
}

#[test]
fn the_fast_path_equals_the_full_script() {
    compare_scripts(ScriptVariant::Quick, 2);
}

#[test]
fn the_cross_slot_fast_path_equals_the_full_script() {
    compare_scripts(ScriptVariant::CrossSlot, 3);
}

fn compare_scripts(through: ScriptVariant, seed: u64) {
    let redis = Server::redis();
    let mut quick = ScriptServer::new(connect(&redis), "quick:", 1);
    quick.through = through;
    let mut full = ScriptServer::new(connect(&redis), "full:", 1);
    full.through = ScriptVariant::Full;
    let quotas = ["5/min", "1/s burst 3", "1000000/s", "3/day burst 1", "2/s burst 100"];
    let limits: Vec<Limit> = ["a", "b", "c", "d", "e"]
        .iter()
        .zip(quotas)
        .map(|(name, quota)| Limit::token_bucket(*name, quota.parse().unwrap()).unwrap())
        .collect();
    let keys: Vec<String> = (0..6).map(|key| key.to_string()).collect();
    let (mut now, mut rng) = (START, Rng::new(seed));
    for round in 0..1500 {
        // Sometimes the clock goes back, and rarely so far that stored states are invalid.
        now += rng.below(3_000_000);
        now -= if rng.one_in(10) { rng.below(2_000_000) } else { 0 };
        now -= if rng.one_in(200) { rng.below(4 * 86_400_000_000) } else { 0 };
        let all: Vec<Vec<Check<'_>>> = (0..=rng.below(6))
            .map(|_| {
                let count = usize::try_from(1 + rng.below(4)).unwrap();
                let key = rng.pick(&keys);
                limits[..count]
                    .iter()
                    .map(|limit| {
                        let least = rng.below(4);
                        let most = if rng.one_in(3) { least + rng.below(9) } else { least };
                        Check::new(limit, key)
                            .with_operation(Operation::up_to(cost(most), cost(least)))
                    })
                    .collect()
            })
            .collect();
        let sets: Vec<Set<'_>> =
            all.iter().map(|checks| Set::all(checks, ChargeId::from_bits(round << 8))).collect();
        let time = Time::from_micros(now);
        let encoded: Vec<_> = sets.iter().map(|set| quick.pack(set)).collect();
        assert!(
            encoded.iter().all(crate::script::EncodedSet::is_plain),
            "all sets take the fast path"
        );
        let answers = quick.call(time, &encoded);
        let encoded: Vec<_> = sets.iter().map(|set| full.pack(set)).collect();
        let expected = full.call(time, &encoded);
        assert_eq!(answers, expected);
        for (set, mut answer) in sets.iter().zip(answers) {
            ScriptServer::explained(set, &mut answer);
            for cell in cells_of(set).names() {
                assert_eq!(quick.stored(cell), full.stored(cell), "{cell:#?}");
            }
        }
    }
    let lives = |server: &mut ScriptServer| {
        let mut keys = server.keys();
        keys.sort();
        keys.iter().map(|key| server.time_to_live(key) / 5_000).collect::<Vec<_>>()
    };
    assert_eq!(lives(&mut quick), lives(&mut full), "and keys live as long");
}

#[test]
fn the_fast_path_charges_nothing_for_sets_it_cannot_decide() {
    let redis = Server::redis();
    let mut server = ScriptServer::new(connect(&redis), "t:", 0);
    let quota = "5/min".parse().unwrap();
    let (log, bucket) =
        (Limit::sliding_log("a", quota).unwrap(), Limit::token_bucket("a", quota).unwrap());
    let other = Limit::token_bucket("b", quota).unwrap();
    let now = Time::from_micros(START);
    let before = Check::new(&log, "x");
    server.apply(now, &Set::one(&before, ChargeId::from_bits(1)));
    let checks = [Check::new(&other, "x"), Check::new(&bucket, "x")];
    let sets =
        [Set::all(&checks, ChargeId::from_bits(2)), Set::one(&checks[0], ChargeId::from_bits(3))];
    let encoded: Vec<_> = sets.iter().map(|set| server.pack(set)).collect();
    assert!(encoded.iter().all(crate::script::EncodedSet::is_plain));
    let answers = server.call(now, &encoded);
    assert_eq!(answers[0].ruling, ScriptRuling::NotPlain);
    assert_eq!(answers[1].states[0], State::Vacant, "nothing was charged");
    assert_ne!(answers[1].ruling, ScriptRuling::NotPlain, "and the others are decided");
    let mut answer = server.apply(now, &sets[0]);
    ScriptServer::explained(&sets[0], &mut answer);
    assert_eq!(
        answer.ruling,
        ScriptRuling::Decided(sluicegate_core::Ruling::Refused),
        "exhausted now"
    );
    assert_eq!(server.full_calls, 1);
    let answer = server.apply(now, &sets[0]);
    assert_eq!(server.full_calls, 1, "the converted state is in the page");
    assert_eq!(answer.ruling, ScriptRuling::Decided(sluicegate_core::Ruling::Refused));
}

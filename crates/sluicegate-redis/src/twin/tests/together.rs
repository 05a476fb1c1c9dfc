//! Many sets in one call are as good as one after the other, and quick answers as good as full ones.

use sluicegate_core::{
    Ask, Check, Cooldown, Cost, Escalation, Id, Limit, Period, Receipt, Set, Slices, Span, State,
    Time,
};
use sluicegate_testkit::Server;

use super::dice::Dice;
use super::twin::{Through, Twin, connect};
use crate::twin::answer::Reached;
use crate::twin::cells::{Cells, is_contradictory};

const START: u64 = 1_767_225_600_000_000;
const MINUTE: u64 = 60_000_000;

/// Two limits of each kind; those of `b` have the names of others, as if rules had been changed.
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
        // The same names, other algorithms and quotas.
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

fn random_ask(dice: &mut Dice, receipts: &[Receipt]) -> Ask {
    match dice.below(20) {
        0 | 1 if !receipts.is_empty() => {
            Ask::Settle { receipt: *dice.pick(receipts), actual: cost(dice.below(4)) }
        }
        2 if !receipts.is_empty() => Ask::Renew(*dice.pick(receipts)),
        3 => Ask::Reset,
        4 | 5 => Ask::Charge(cost(dice.below(5))),
        6 => Ask::wait(cost(dice.below(4)), Span::from_micros(dice.below(MINUTE))),
        7 => {
            let from = *dice.pick(&["10/s", "7/3s burst 2", "1/min", "10/month"]);
            let id = Id::from_bits(u128::from(dice.below(50)) | 1 << 100);
            Ask::Rescale { from: from.parse().unwrap(), id }
        }
        10 | 11 => Ask::Refund(cost(dice.below(5))),
        8 | 9 => Ask::up_to(cost(dice.below(9)), cost(dice.below(2))),
        _ => Ask::acquire(cost(dice.below(3))),
    }
}

fn random_check<'a>(
    dice: &mut Dice,
    limits: &'a [Limit],
    receipts: &[Receipt],
    now: u64,
) -> Check<'a> {
    let limit = dice.pick(limits);
    let key = dice.pick(&["x", "y", "z"]);
    let mut check = Check::new(limit, *key).ask(random_ask(dice, receipts));
    if dice.one_in(5) {
        check = check.observed();
    }
    if dice.one_in(5) {
        check = check.or_else();
    }
    let start = now - now % MINUTE - if dice.one_in(50) { MINUTE } else { 0 };
    let end = Time::from_micros(start + MINUTE);
    check.within(Period::new(Time::from_micros(start), end).unwrap())
}

/// Sets of up to four checks, as many as fit a call.
fn random_checks<'a>(
    dice: &mut Dice,
    limits: &'a [Limit],
    receipts: &[Receipt],
    now: u64,
) -> Vec<Vec<Check<'a>>> {
    (0..=dice.below(12))
        .map(|_| {
            let count = 1 + dice.below(4);
            (0..count).map(|_| random_check(dice, limits, receipts, now)).collect::<Vec<_>>()
        })
        .filter(|checks| !is_contradictory(&Set::all(checks, Id::from_bits(0))))
        .collect()
}

#[test]
fn many_sets_in_one_call_are_decided_as_one_after_the_other() {
    let server = Server::redis();
    let mut together = Twin::new(connect(&server), "together:", 1);
    together.through = Through::Full;
    let mut alone = Twin::new(connect(&server), "alone:", 1);
    let (limits, mut dice) = (limits(), Dice(1));
    let (mut now, mut receipts, mut id) = (START, Vec::new(), 0);
    for _ in 0..400 {
        now = (now + dice.below(2_000_000)).saturating_sub(dice.below(1_500_000));
        let all = random_checks(&mut dice, &limits, &receipts, now);
        let sets: Vec<Set<'_>> = all
            .iter()
            .map(|checks| {
                id += 1 << 8;
                let id = Id::from_bits(id);
                if dice.one_in(6) { Set::independent(checks, id) } else { Set::all(checks, id) }
            })
            .collect();
        let packed: Vec<_> = sets.iter().map(|set| together.pack(set)).collect();
        if packed.is_empty() {
            continue;
        }
        let time = Time::from_micros(now);
        let answers = together.call(time, &packed);
        assert_eq!(answers.len(), sets.len());
        for (set, mut answer) in sets.iter().zip(answers) {
            let mut expected = alone.ask(time, set);
            assert_eq!(answer, expected, "{set:#?}");
            let found = Twin::explained(set, &mut answer);
            assert_eq!(found, Twin::explained(set, &mut expected));
            alone.compare(set, &expected.states);
            receipts.extend(found.1.iter().flatten().filter_map(|decision| decision.receipt()));
        }
        for set in &sets {
            for cell in &Cells::of(set).list {
                assert_eq!(together.stored(cell), alone.stored(cell), "{cell:#?}");
            }
        }
        let old = receipts.len().saturating_sub(12);
        receipts.drain(..old);
    }
}

#[test]
fn the_quick_script_and_the_full_one_do_the_same() {
    do_the_same(Through::Quick, 2);
}

#[test]
fn the_quick_script_for_many_slots_and_the_full_one_do_the_same() {
    do_the_same(Through::Scattered, 3);
}

fn do_the_same(through: Through, seed: u64) {
    let server = Server::redis();
    let mut quick = Twin::new(connect(&server), "quick:", 1);
    quick.through = through;
    let mut full = Twin::new(connect(&server), "full:", 1);
    full.through = Through::Full;
    let quotas = ["5/min", "1/s burst 3", "1000000/s", "3/day burst 1", "2/s burst 100"];
    let limits: Vec<Limit> = ["a", "b", "c", "d", "e"]
        .iter()
        .zip(quotas)
        .map(|(name, quota)| Limit::token_bucket(*name, quota.parse().unwrap()).unwrap())
        .collect();
    let keys: Vec<String> = (0..6).map(|key| key.to_string()).collect();
    let (mut now, mut dice) = (START, Dice(seed));
    for round in 0..1500 {
        // Now and then back, now and then so far that what is there is not believed.
        now += dice.below(3_000_000);
        now -= if dice.one_in(10) { dice.below(2_000_000) } else { 0 };
        now -= if dice.one_in(200) { dice.below(4 * 86_400_000_000) } else { 0 };
        let all: Vec<Vec<Check<'_>>> = (0..=dice.below(6))
            .map(|_| {
                let count = usize::try_from(1 + dice.below(4)).unwrap();
                let key = dice.pick(&keys);
                limits[..count]
                    .iter()
                    .map(|limit| {
                        let least = dice.below(4);
                        let most = if dice.one_in(3) { least + dice.below(9) } else { least };
                        Check::new(limit, key).ask(Ask::up_to(cost(most), cost(least)))
                    })
                    .collect()
            })
            .collect();
        let sets: Vec<Set<'_>> =
            all.iter().map(|checks| Set::all(checks, Id::from_bits(round << 8))).collect();
        let time = Time::from_micros(now);
        let packed: Vec<_> = sets.iter().map(|set| quick.pack(set)).collect();
        assert!(packed.iter().all(crate::twin::Packed::is_plain), "the quick script is asked");
        let answers = quick.call(time, &packed);
        let packed: Vec<_> = sets.iter().map(|set| full.pack(set)).collect();
        let expected = full.call(time, &packed);
        assert_eq!(answers, expected);
        for (set, mut answer) in sets.iter().zip(answers) {
            Twin::explained(set, &mut answer);
            for cell in &Cells::of(set).list {
                assert_eq!(quick.stored(cell), full.stored(cell), "{cell:#?}");
            }
        }
    }
    let lives = |twin: &mut Twin| {
        let mut keys = twin.keys();
        keys.sort();
        keys.iter().map(|key| twin.lives(key) / 5_000).collect::<Vec<_>>()
    };
    assert_eq!(lives(&mut quick), lives(&mut full), "and keys live as long");
}

#[test]
fn a_set_that_is_not_plain_after_all_is_charged_nothing() {
    let server = Server::redis();
    let mut twin = Twin::new(connect(&server), "t:", 0);
    let quota = "5/min".parse().unwrap();
    let (log, bucket) =
        (Limit::sliding_log("a", quota).unwrap(), Limit::token_bucket("a", quota).unwrap());
    let other = Limit::token_bucket("b", quota).unwrap();
    let now = Time::from_micros(START);
    let before = Check::new(&log, "x");
    twin.ask(now, &Set::one(&before, Id::from_bits(1)));
    let checks = [Check::new(&other, "x"), Check::new(&bucket, "x")];
    let sets = [Set::all(&checks, Id::from_bits(2)), Set::one(&checks[0], Id::from_bits(3))];
    let packed: Vec<_> = sets.iter().map(|set| twin.pack(set)).collect();
    assert!(packed.iter().all(crate::twin::Packed::is_plain));
    let answers = twin.call(now, &packed);
    assert_eq!(answers[0].ruling, Reached::NotPlain);
    assert_eq!(answers[1].states[0], State::Vacant, "nothing was charged");
    assert_ne!(answers[1].ruling, Reached::NotPlain, "and the others are decided");
    let mut answer = twin.ask(now, &sets[0]);
    Twin::explained(&sets[0], &mut answer);
    assert_eq!(answer.ruling, Reached::Decided(sluicegate_core::Ruling::Refused), "exhausted now");
    assert_eq!(twin.asked_again, 1);
    let answer = twin.ask(now, &sets[0]);
    assert_eq!(twin.asked_again, 1, "what was taken over is in the page");
    assert_eq!(answer.ruling, Reached::Decided(sluicegate_core::Ruling::Refused));
}

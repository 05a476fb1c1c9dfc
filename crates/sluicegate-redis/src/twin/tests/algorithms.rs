//! Numbers at the edge of what doubles can tell, and what other nodes are told.

use redis::{Cmd, Value};
use sluicegate_core::{Ask, Check, Cost, Id, Limit, Quota, Receipt, Set, Slices, Span, Time};
use sluicegate_testkit::Server;

use super::dice::Dice;
use super::twin::{Through, Twin, connect};

const START: u64 = 1_767_225_600_000_000;

/// Quotas whose products pass 2^53 by far.
fn extreme_quotas() -> Vec<Quota> {
    let quota = |amount: u64, micros: u64, burst: u64| {
        Quota::new(amount, Span::from_micros(micros)).unwrap().with_burst(burst).unwrap()
    };
    vec![
        quota(4_503_599_627_370_449, 1, 1),
        quota(4_503_599_627_370_495, 1_125_899_906_842_624, 1),
        quota(67_108_859, 1_125_899_906_842_589, 67_108_859),
        quota(1 << 52, 1, 1 << 52),
        quota(1, 1 << 50, 1),
        quota(1, 1, 1 << 50),
        quota(2_251_799_813_685_247, 3, 2),
        quota(999_999_937, 1_000_003, 4_503_599),
        quota((1 << 31) + 11, (1 << 50) - 27, 1 << 20),
        // A quotient of doubles is one unit short of the 8 that fit, and of the 321.
        quota(420_567, 7_963, 8),
        quota(8_270_404_813, 52_515_244, 321),
    ]
}

fn random_ask(dice: &mut Dice, capacity: u64, quotas: &[Quota], receipts: &[Receipt]) -> Ask {
    let units = |dice: &mut Dice| {
        let most = *dice.pick(&[2, capacity / 3 + 2, capacity + 2, Cost::MAX.units()]);
        Cost::new(dice.below(most)).unwrap()
    };
    match dice.below(14) {
        0..3 if !receipts.is_empty() => {
            Ask::Settle { receipt: *dice.pick(receipts), actual: units(dice) }
        }
        3 | 4 => Ask::Charge(units(dice)),
        5 => {
            let id = Id::from_bits(1 << 100 | u128::from(dice.below(1 << 40)));
            Ask::Rescale { from: *dice.pick(quotas), id }
        }
        6 => Ask::wait(units(dice), Span::from_micros(dice.below(u64::MAX))),
        7 | 8 => Ask::up_to(units(dice), Cost::from(1)),
        9 | 10 => Ask::Refund(units(dice)),
        _ => Ask::acquire(units(dice)),
    }
}

#[test]
fn products_beyond_what_a_double_tells_are_exact() {
    let server = Server::redis();
    let mut twin = Twin::new(connect(&server), "t:", 0);
    let quotas = extreme_quotas();
    let mut limits = Vec::new();
    for quota in &quotas {
        limits.extend(Limit::token_bucket("a", *quota));
        limits.extend(Limit::queue("a", *quota));
    }
    assert!(limits.len() >= 9, "most of them can be counted: {}", limits.len());
    let (mut dice, mut now, mut receipts) = (Dice(3), START, Vec::new());
    for step in 0..6_000_u128 {
        now += *dice.pick(&[0, 1, 1_000, 1_000_000, 1 << 40]) * dice.below(2);
        if now > 1 << 52 {
            now = START;
        }
        let limit = dice.pick(&limits);
        let ask = random_ask(&mut dice, limit.capacity(), &quotas, &receipts);
        let check = Check::new(limit, "x").ask(ask);
        let set = Set::one(&check, Id::from_bits(step << 8));
        let mut answer = twin.ask(Time::from_micros(now), &set);
        let (_, decisions) = Twin::explained(&set, &mut answer);
        twin.compare(&set, &answer.states);
        receipts.extend(decisions.iter().flatten().filter_map(|decision| decision.receipt()));
        let old = receipts.len().saturating_sub(6);
        receipts.drain(..old);
    }
}

#[test]
fn large_windows_are_counted_exactly() {
    let server = Server::redis();
    let mut twin = Twin::new(connect(&server), "t:", 0);
    let window = |amount: u64, micros: u64, slices| {
        let quota = Quota::new(amount, Span::from_micros(micros)).unwrap();
        Limit::sliding_window("a", quota, slices).unwrap()
    };
    let hour = 3_600_000_000;
    let limits = [
        window(1 << 51, hour, Slices::Strict(10)),
        window(300_000, hour, Slices::Weighted(1)),
        window(123_456_789, hour * 24, Slices::Weighted(60)),
        window(7, 7_000_000, Slices::Weighted(7)),
    ];
    let (mut dice, mut now) = (Dice(4), START);
    for step in 0..3_000_u128 {
        now += *dice.pick(&[0, 1, 999_999, hour / 7, hour]) * dice.below(2);
        let limit = dice.pick(&limits);
        let most = *dice.pick(&[3, limit.capacity()]);
        let units = Cost::new(dice.below(most)).unwrap();
        let ask = match dice.below(6) {
            0 | 1 => Ask::Charge(units),
            2 => Ask::Refund(units),
            _ => Ask::up_to(units, Cost::ZERO),
        };
        let check = Check::new(limit, "x").ask(ask);
        let set = Set::one(&check, Id::from_bits(step << 8));
        let mut answer = twin.ask(Time::from_micros(now), &set);
        Twin::explained(&set, &mut answer);
        twin.compare(&set, &answer.states);
    }
}

#[test]
fn changes_other_than_takes_are_published() {
    let server = Server::redis();
    let mut twin = Twin::new(connect(&server), "t:", 16);
    let mut listener = connect(&server);
    let mut listening = listener.as_pubsub();
    listening.subscribe(twin.naming.channel()).unwrap();
    let limits = [
        Limit::token_bucket("a", "5/min".parse().unwrap()).unwrap(),
        Limit::concurrency("b c", 5, Span::from_secs(60)).unwrap(),
        Limit::sliding_log("d", "5/min".parse().unwrap()).unwrap(),
    ];
    let now = Time::from_micros(START);
    let mut told = Vec::new();
    for (limit, id) in limits.iter().zip(1..) {
        let check = Check::new(limit, "x");
        let mut apply = |ask: Ask| {
            let check = check.ask(ask);
            let set = Set::one(&check, Id::from_bits(id));
            let mut answer = twin.ask(now, &set);
            let (_, decisions) = Twin::explained(&set, &mut answer);
            decisions[0].and_then(|decision| decision.receipt().copied())
        };
        let receipt = apply(Ask::acquire(Cost::from(2))).unwrap();
        apply(Ask::Charge(Cost::from(1)));
        apply(Ask::Settle { receipt, actual: Cost::ONE });
        apply(Ask::Refund(Cost::ONE));
        apply(Ask::Refund(Cost::ZERO));
        apply(Ask::Reset);
        apply(Ask::Refund(Cost::ONE));
        apply(Ask::acquire(Cost::ONE));
        apply(Ask::wait(Cost::ONE, Span::from_secs(60)));
        // The charge, the settlement, the refund, the reset, and the take that would have waited. Slots do
        // not come back without their receipts, and nothing of what is full.
        let times = if limit.holds() { 4 } else { 5 };
        told.extend(std::iter::repeat_n(twin.naming.counter(&check), times));
    }
    // A set that is refused gives nothing back.
    for ask in [Ask::Reset, Ask::Refund(Cost::ONE)] {
        let x = Check::new(&limits[0], "x");
        twin.ask(now, &Set::one(&x, Id::from_bits(3)));
        let checks = [x.ask(ask), Check::new(&limits[0], "y").cost(9.into())];
        twin.ask(now, &Set::all(&checks, Id::from_bits(2)));
    }
    twin.run(Cmd::new().arg("PUBLISH").arg(twin.naming.channel()).arg("end"));
    let mut heard = Vec::new();
    loop {
        let message = listening.get_message().unwrap();
        let payload: Vec<u8> = message.get_payload().unwrap();
        if payload == b"end" {
            break;
        }
        heard.push(twin.naming.counter_freed(&payload).unwrap());
    }
    assert_eq!(heard, told);
}

#[test]
fn the_server_knows_the_time_where_nobody_tells_it() {
    let server = Server::redis();
    let mut twin = Twin::new(connect(&server), "t:", 16);
    twin.driven = false;
    let limit = Limit::token_bucket("a", "5/day".parse().unwrap()).unwrap();
    for through in Through::ALL {
        twin.through = through;
        let check = Check::new(&limit, "x");
        let set = Set::one(&check, Id::from_bits(1));
        let Value::Array(before) = twin.run(&redis::cmd("TIME")) else { panic!("a time") };
        let answer = twin.ask(Time::EPOCH, &set);
        let Value::Array(after) = twin.run(&redis::cmd("TIME")) else { panic!("a time") };
        let micros = |time: &[Value]| {
            let part = |value: &Value| redis::from_redis_value::<u64>(value.clone()).unwrap();
            Time::from_micros(part(&time[0]) * 1_000_000 + part(&time[1]))
        };
        assert!((micros(&before)..=micros(&after)).contains(&answer.now));
    }
}

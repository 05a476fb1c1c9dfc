//! Tests of numbers beyond the precision of doubles, and of published invalidations.

use redis::{Cmd, Value};
use sluicegate_core::{
    ChargeId, Check, Cost, Limit, Operation, Quota, Receipt, Set, Slices, Span, Time,
};
use sluicegate_testkit::Server;

use super::steps::{ScriptServer, ScriptVariant, connect};
use sluicegate_testkit::Rng;

const START: u64 = 1_767_225_600_000_000;

/// Quotas whose products exceed 2^53 by far.
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
        // For these a quotient of doubles is one unit short of the 8 that fit, and of the 321.
        quota(420_567, 7_963, 8),
        quota(8_270_404_813, 52_515_244, 321),
    ]
}

fn random_operation(
    rng: &mut Rng,
    capacity: u64,
    quotas: &[Quota],
    receipts: &[Receipt],
) -> Operation {
    let units = |rng: &mut Rng| {
        let most = *rng.pick(&[2, capacity / 3 + 2, capacity + 2, Cost::MAX.units()]);
        Cost::new(rng.below(most)).unwrap()
    };
    match rng.below(14) {
        0..3 if !receipts.is_empty() => {
            Operation::Settle { receipt: *rng.pick(receipts), actual: units(rng) }
        }
        3 | 4 => Operation::Charge(units(rng)),
        5 => {
            let id = ChargeId::from_bits(1 << 100 | u128::from(rng.below(1 << 40)));
            Operation::Rescale { from: *rng.pick(quotas), id }
        }
        6 => Operation::wait(units(rng), Span::from_micros(rng.below(u64::MAX))),
        7 | 8 => Operation::up_to(units(rng), Cost::from(1)),
        9 | 10 => Operation::Refund(units(rng)),
        _ => Operation::acquire(units(rng)),
    }
}

#[test]
fn products_beyond_2_to_the_53_are_exact() {
    let redis = Server::redis();
    let mut server = ScriptServer::new(connect(&redis), "t:", 0);
    let quotas = extreme_quotas();
    let mut limits = Vec::new();
    for quota in &quotas {
        limits.extend(Limit::token_bucket("a", *quota));
        limits.extend(Limit::queue("a", *quota));
    }
    assert!(limits.len() >= 9, "most of them can be counted: {}", limits.len());
    let (mut rng, mut now, mut receipts) = (Rng::new(3), START, Vec::new());
    for step in 0..6_000_u128 {
        now += *rng.pick(&[0, 1, 1_000, 1_000_000, 1 << 40]) * rng.below(2);
        if now > 1 << 52 {
            now = START;
        }
        let limit = rng.pick(&limits);
        let operation = random_operation(&mut rng, limit.capacity(), &quotas, &receipts);
        let check = Check::new(limit, "x").with_operation(operation);
        let set = Set::one(&check, ChargeId::from_bits(step << 8));
        let mut answer = server.apply(Time::from_micros(now), &set);
        let (_, decisions) = ScriptServer::explained(&set, &mut answer);
        server.compare(&set, &answer.states);
        receipts.extend(decisions.iter().flatten().filter_map(|decision| decision.receipt()));
        let old = receipts.len().saturating_sub(6);
        receipts.drain(..old);
    }
}

#[test]
fn large_windows_are_counted_exactly() {
    let redis = Server::redis();
    let mut server = ScriptServer::new(connect(&redis), "t:", 0);
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
    let (mut rng, mut now) = (Rng::new(4), START);
    for step in 0..3_000_u128 {
        now += *rng.pick(&[0, 1, 999_999, hour / 7, hour]) * rng.below(2);
        let limit = rng.pick(&limits);
        let most = *rng.pick(&[3, limit.capacity()]);
        let units = Cost::new(rng.below(most)).unwrap();
        let operation = match rng.below(6) {
            0 | 1 => Operation::Charge(units),
            2 => Operation::Refund(units),
            _ => Operation::up_to(units, Cost::ZERO),
        };
        let check = Check::new(limit, "x").with_operation(operation);
        let set = Set::one(&check, ChargeId::from_bits(step << 8));
        let mut answer = server.apply(Time::from_micros(now), &set);
        ScriptServer::explained(&set, &mut answer);
        server.compare(&set, &answer.states);
    }
}

#[test]
fn changes_other_than_takes_are_published() {
    let redis = Server::redis();
    let mut server = ScriptServer::new(connect(&redis), "t:", 16);
    let mut listener = connect(&redis);
    let mut listening = listener.as_pubsub();
    listening.subscribe(server.key_space.channel()).unwrap();
    let limits = [
        Limit::token_bucket("a", "5/min".parse().unwrap()).unwrap(),
        Limit::concurrency("b c", 5, Span::from_secs(60)).unwrap(),
        Limit::sliding_log("d", "5/min".parse().unwrap()).unwrap(),
    ];
    let now = Time::from_micros(START);
    let mut published = Vec::new();
    for (limit, id) in limits.iter().zip(1..) {
        let check = Check::new(limit, "x");
        let mut apply = |operation: Operation| {
            let check = check.with_operation(operation);
            let set = Set::one(&check, ChargeId::from_bits(id));
            let mut answer = server.apply(now, &set);
            let (_, decisions) = ScriptServer::explained(&set, &mut answer);
            decisions[0].and_then(|decision| decision.receipt().copied())
        };
        let receipt = apply(Operation::acquire(Cost::from(2))).unwrap();
        apply(Operation::Charge(Cost::from(1)));
        apply(Operation::Settle { receipt, actual: Cost::ONE });
        apply(Operation::Refund(Cost::ONE));
        apply(Operation::Refund(Cost::ZERO));
        apply(Operation::Reset);
        apply(Operation::Refund(Cost::ONE));
        apply(Operation::acquire(Cost::ONE));
        apply(Operation::wait(Cost::ONE, Span::from_secs(60)));
        // The charge, the settlement, the refund, the reset, and the take that would have waited.
        // Slots are not refunded without their receipts, and neither is a full counter.
        let times = if limit.holds() { 4 } else { 5 };
        published.extend(std::iter::repeat_n(server.key_space.counter(&check), times));
    }
    // A refused set refunds nothing.
    for operation in [Operation::Reset, Operation::Refund(Cost::ONE)] {
        let x = Check::new(&limits[0], "x");
        server.apply(now, &Set::one(&x, ChargeId::from_bits(3)));
        let checks = [x.with_operation(operation), Check::new(&limits[0], "y").cost(9.into())];
        server.apply(now, &Set::all(&checks, ChargeId::from_bits(2)));
    }
    server.run(Cmd::new().arg("PUBLISH").arg(server.key_space.channel()).arg("end"));
    let mut received = Vec::new();
    loop {
        let message = listening.get_message().unwrap();
        let payload: Vec<u8> = message.get_payload().unwrap();
        if payload == b"end" {
            break;
        }
        received.push(server.key_space.counter_freed(&payload).unwrap());
    }
    assert_eq!(received, published);
}

#[test]
fn scripts_read_the_server_clock_by_default() {
    let redis = Server::redis();
    let mut server = ScriptServer::new(connect(&redis), "t:", 16);
    server.driven = false;
    let limit = Limit::token_bucket("a", "5/day".parse().unwrap()).unwrap();
    for through in ScriptVariant::ALL {
        server.through = through;
        let check = Check::new(&limit, "x");
        let set = Set::one(&check, ChargeId::from_bits(1));
        let Value::Array(before) = server.run(&redis::cmd("TIME")) else { panic!("a time") };
        let answer = server.apply(Time::EPOCH, &set);
        let Value::Array(after) = server.run(&redis::cmd("TIME")) else { panic!("a time") };
        let micros = |time: &[Value]| {
            let part = |value: &Value| redis::from_redis_value::<u64>(value.clone()).unwrap();
            Time::from_micros(part(&time[0]) * 1_000_000 + part(&time[1]))
        };
        assert!((micros(&before)..=micros(&after)).contains(&answer.now));
    }
}

//! Any text is a quota or a clear error; any quota is exact or rejected.

use proptest::prelude::*;
use sluicegate_core::{Cost, Limit, Operation, Quota, Slices, Span};

use super::counter::{Counter, START};

/// Texts that look like quotas, and texts that do not.
fn texts() -> impl Strategy<Value = String> {
    let number = prop_oneof![any::<u64>().prop_map(|n| n.to_string()), "[0-9_.,-]{0,24}"];
    let word = prop::sample::select(vec![
        "/",
        "per",
        " per ",
        "s",
        "ms",
        "us",
        "µs",
        "min",
        "hour",
        "days",
        "week",
        "months",
        "burst",
        " burst ",
        " ",
        "",
        "fortnight",
        "\u{0}",
        "é",
    ]);
    prop_oneof![
        4 => (number.clone(), word.clone(), number.clone(), word.clone(), word, number)
            .prop_map(|(a, b, c, d, e, f)| format!("{a}{b}{c}{d}{e}{f}")),
        1 => any::<String>(),
        1 => "[0-9]{1,3}/(s|min|hour)( burst [0-9]{1,3}(s|ms|))?",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_096, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_a_quota_or_a_clear_refusal(text in texts()) {
        match text.parse::<Quota>() {
            Ok(quota) => prop_assert_eq!(quota.to_string().parse::<Quota>(), Ok(quota)),
            Err(error) => {
                let message = error.to_string();
                prop_assert!(message.starts_with("cannot read the quota"), "{}", message);
                prop_assert!(message.len() < 600, "{}", message);
            }
        }
    }

    /// Over the full range of numbers a limit is exact or rejected, and its use never panics.
    #[test]
    fn any_numbers_are_exact_or_refused(
        amount in any::<u64>(), period in any::<u64>(), burst in any::<u64>(),
        shrink in 0..60_u32, slices in any::<u32>(),
        costs in prop::collection::vec((any::<u64>(), 0..50_u32, any::<u64>(), 12..60_u32), 1..8),
    ) {
        let (amount, period, burst) = (amount >> shrink, period >> (shrink / 2), burst >> shrink);
        let Ok(quota) = Quota::new(amount, Span::from_micros(period)) else { return Ok(()) };
        let burst = quota.with_burst(burst).unwrap_or(quota);
        let slices = slices % 61;
        let limits = [
            Limit::token_bucket("limit", burst),
            Limit::leaky_bucket("limit", quota),
            Limit::queue("limit", burst),
            Limit::sliding_window("limit", quota, Slices::Weighted(slices)),
            Limit::sliding_window("limit", quota, Slices::Strict(slices)),
            Limit::sliding_log("limit", quota),
            Limit::fixed_window("limit", quota),
        ];
        for limit in limits {
            let limit = match limit {
                Ok(limit) => limit,
                Err(error) => {
                    let message = error.to_string();
                    let is_helpful = message.contains("use") || message.contains("largest");
                    prop_assert!(is_helpful, "{}", message);
                    continue;
                }
            };
            let mut counter = Counter::new(limit);
            let mut now = START;
            for (cost, smaller, gap, shorter) in &costs {
                now = (now + (gap >> shorter)).min(4_000_000_000_000_000);
                let cost = Cost::new(cost >> smaller).unwrap_or(Cost::MAX);
                counter.ask(now, Operation::acquire(cost));
                counter.ask(now, Operation::Charge(cost));
                let everything = counter.ask(now, Operation::up_to(Cost::MAX, Cost::ZERO));
                prop_assert!(everything.granted() <= counter.limit.capacity());
                prop_assert_eq!(everything.remaining(), 0);
            }
        }
    }
}

//! Fields and words of other rate limiters, each with its equivalent in a rule file.

use sluicegate::Quota;
use sluicegate_yaml::{Hint, MapEntry, Node, Scalar, Value};

use super::matcher::MATCH;

/// Words for algorithms.
pub(super) const ALGORITHMS: &[(&str, &str)] = &[
    (
        "gcra",
        "GCRA is `token_bucket` here; write `token_bucket`, or leave it out: it is the default",
    ),
    ("bucket", "did you mean `token_bucket`?"),
    ("leaky", "did you mean `leaky_bucket`?"),
    ("leaky_bucket_queue", "did you mean `queue`?"),
    ("fixed", "did you mean `fixed_window`?"),
    ("calendar", "did you mean `fixed_window`?"),
    ("sliding", "did you mean `sliding_window`?"),
    ("sliding_window_counter", "did you mean `sliding_window`?"),
    ("sliding_window_log", "did you mean `sliding_log`?"),
    ("moving_window", "did you mean `sliding_log`?"),
    ("log", "did you mean `sliding_log`?"),
    ("concurrency", "limit requests in flight with `limit: { concurrent: 20 }`"),
    ("concurrent", "limit requests in flight with `limit: { concurrent: 20 }`"),
];

/// Words for the behaviour of a rule while the store is down.
pub(super) const ON_STORE_ERROR: &[(&str, &str)] = &[
    ("fail_open", "did you mean `allow`? it fails open"),
    ("open", "did you mean `allow`? it fails open"),
    ("fail_closed", "did you mean `deny`? it fails closed"),
    ("fail_close", "did you mean `deny`? it fails closed"),
    ("closed", "did you mean `deny`? it fails closed"),
    ("fallback", "did you mean `local`? each node then enforces its share of the limit"),
    ("memory", "did you mean `local`? each node then enforces its share of the limit"),
];

/// Words for modes.
pub(super) const MODES: &[(&str, &str)] = &[
    ("dry_run", "did you mean `shadow`?"),
    ("shadow_mode", "did you mean `shadow`?"),
    ("observe", "did you mean `shadow`?"),
    ("monitor", "did you mean `shadow`?"),
    ("log", "did you mean `shadow`?"),
    ("block", "did you mean `enforce`?"),
    ("deny", "did you mean `enforce`?"),
];

/// Words for scopes.
pub(super) const SCOPES: &[(&str, &str)] = &[
    ("global", "did you mean `cluster`?"),
    ("shared", "did you mean `cluster`?"),
    ("distributed", "did you mean `cluster`?"),
    ("local", "did you mean `node`?"),
    ("process", "did you mean `node`?"),
];

/// Words for the behaviour of a rule for callers without the identity.
pub(super) const IF_MISSING: &[(&str, &str)] = &[
    ("deny", "did you mean `401`?"),
    ("reject", "did you mean `401`?"),
    ("refuse", "did you mean `401`?"),
    ("block", "did you mean `401`?"),
    ("allow", "did you mean `skip`?"),
    ("ignore", "did you mean `skip`?"),
];

const LIMIT: &str = "limit";
const ALGORITHM: &str = "algorithm";

/// Answers an unknown field of a rule.
pub(crate) fn in_rule(entry: &MapEntry, rule: &Node) -> Option<Hint> {
    let name = snake_case(&entry.key.text);
    if let Some(field) = MATCH.field(&name) {
        let scalar = entry.value.scalar().filter(|it| !it.is_secret() && !it.is_broken());
        let takes_scalars =
            ["method", "host", "path", "domain", "tier", "ip"].contains(&field.name);
        let value = scalar.filter(|_| takes_scalars).map_or("…".to_owned(), Scalar::shown);
        let help = format!("write it into `match`, as in `match: {{ {name}: {value} }}`");
        return Some(Hint { help, field: None });
    }
    let is_set = entry.value.flag().unwrap_or(true);
    let (field, text) = match name.as_str() {
        "fail_open" | "fail_closed" | "failure_mode_deny" => {
            let fails_open = is_set == (name == "fail_open");
            let text = if fails_open { "on_store_error: allow" } else { "on_store_error: deny" };
            ("on_store_error", text)
        }
        "shadow" | "shadow_mode" | "dry_run" => {
            ("mode", if is_set { "mode: shadow" } else { "mode: enforce" })
        }
        "by" | "key_by" | "group_by" | "keyed_by" | "identifier" => {
            let scalar = entry.value.scalar();
            let shown = scalar.filter(|it| !it.is_secret() && !it.is_broken()).map(Scalar::shown);
            let help = format!("write `key: {}`", shown.as_deref().unwrap_or("…"));
            return Some(Hint { help, field: Some("key") });
        }
        _ => return slots(&name, entry).or_else(|| quota(&name, entry, rule, LIMIT)),
    };
    Some(Hint { help: format!("write `{text}`"), field: Some(field) })
}

/// Answers an unknown field of a map with the field `limit`.
///
/// An algorithm is chosen in the rule alone.
pub(crate) fn beside_limit(entry: &MapEntry, map: &Node) -> Option<Hint> {
    let hint = quota(&snake_case(&entry.key.text), entry, map, LIMIT)?;
    (hint.field != Some(ALGORITHM)).then_some(hint)
}

/// Answers an unknown field of a limit.
pub(crate) fn in_limit(entry: &MapEntry, limit: &Node) -> Option<Hint> {
    quota(&snake_case(&entry.key.text), entry, limit, "quota")
}

/// Returns the hint for a limit on requests in flight that has a field of its own.
fn slots(name: &str, entry: &MapEntry) -> Option<Hint> {
    const NAMES: [&str; 5] =
        ["concurrent", "concurrency", "in_flight", "max_concurrent", "max_concurrent_requests"];
    let slots = entry.value.scalar().filter(|scalar| !scalar.is_secret());
    let slots = slots.and_then(Scalar::whole).unwrap_or(20);
    let help = format!("write `limit: {{ concurrent: {slots} }}`");
    NAMES.contains(&name).then_some(Hint { help, field: Some(LIMIT) })
}

/// Returns the hint for a part of a quota that has a field of its own.
fn quota(name: &str, entry: &MapEntry, map: &Node, field: &'static str) -> Option<Hint> {
    if let QuotaPart::Period(unit) = QuotaPart::named(name)?
        && let Some(hint) = period(entry, unit, map, field)
    {
        return Some(hint);
    }
    let nested = matches!(entry.value.value, Value::Map(_));
    let entries = if nested { entry.value.entries() } else { map.entries() };
    // A list of quotas is written into `limit` only.
    let written = quota_text(entries).filter(|text| field == LIMIT || !text.starts_with('['));
    let help = written.map_or_else(
        || format!("write amount, time and burst as one text, as in `{field}: 100/s burst 200`"),
        |quota| format!("write `{field}: {quota}`"),
    );
    Some(Hint { help, field: Some(field) })
}

/// Returns the hint for a period that names an algorithm, or is beside a quota with a period.
fn period(entry: &MapEntry, unit: &str, map: &Node, field: &'static str) -> Option<Hint> {
    let readable = |scalar: &&Scalar| !scalar.is_secret() && !scalar.is_broken();
    let period = period_text(entry.value.scalar().filter(readable)?, unit);
    if let Some(algorithm) = window_algorithm(&period) {
        let help = format!("write `algorithm: {algorithm}`");
        return Some(Hint { help, field: Some(ALGORITHM) });
    }
    let beside = map.entries().iter().find(|other| other.key.text == field)?;
    let text = beside.value.scalar().filter(readable)?.text();
    let quota: Quota = text.parse().ok()?;
    let (amount, _) = text.split_once('/')?;
    let burst = text.find(" burst").map_or("", |at| &text[at..]);
    let other: Quota = format!("{amount}/{period}{burst}").parse().ok()?;
    let name = entry.key.shown();
    let help = if other == quota {
        format!("remove it: `{quota}` has this period already")
    } else {
        format!("`{quota}` has a period already; write `{field}: {other}`, or remove `{name}`")
    };
    Some(Hint { help, field: None })
}

/// Returns the algorithm that a word for windows means.
fn window_algorithm(word: &str) -> Option<&'static str> {
    Some(match snake_case(word).as_str() {
        "fixed" | "fixed_window" | "calendar" => "fixed_window",
        "sliding" | "sliding_window" | "sliding_window_counter" | "rolling" => "sliding_window",
        "sliding_log" | "sliding_window_log" | "moving" | "moving_window" | "log" => "sliding_log",
        _ => return None,
    })
}

/// A period as quotas spell it; a bare number has the unit of its field.
fn period_text(scalar: &Scalar, unit: &str) -> String {
    let text = scalar.text();
    if scalar.whole().is_some() { format!("{text}{unit}") } else { text.to_ascii_lowercase() }
}

/// A part of a quota.
enum QuotaPart {
    /// An amount for the period that another field has.
    Amount,
    /// An amount per second, unless another field has a period.
    Rate,
    /// An amount for the unit in the name of its field.
    AmountPer(&'static str),
    /// A period, with the unit of a bare number.
    Period(&'static str),
    Burst,
}

impl QuotaPart {
    fn named(name: &str) -> Option<Self> {
        const UNITS: [&str; 6] = ["second", "minute", "hour", "day", "week", "month"];
        let unit = name.strip_prefix("per_").or_else(|| Some(name.split_once("_per_")?.1));
        if let Some(unit) = unit.and_then(|unit| UNITS.into_iter().find(|known| *known == unit)) {
            return Some(Self::AmountPer(unit));
        }
        Some(match name {
            "rps" | "qps" => Self::AmountPer("second"),
            "rpm" => Self::AmountPer("minute"),
            "rate" | "rate_limit" | "ratelimit" | "average" | "replenish_rate" => Self::Rate,
            "limit"
            | "quota"
            | "requests"
            | "max_requests"
            | "requests_per_unit"
            | "requests_per_period"
            | "amount"
            | "count"
            | "points"
            | "max" => Self::Amount,
            "window" | "period" | "unit" | "per" | "interval" | "duration" | "window_size"
            | "window_seconds" | "period_seconds" => Self::Period("s"),
            "window_ms" => Self::Period("ms"),
            "burst" | "burst_size" | "burst_limit" | "burst_capacity" | "max_burst"
            | "bucket_size" | "capacity" => Self::Burst,
            _ => return None,
        })
    }
}

/// The quotas that the fields of a map describe, as the value of `limit`.
///
/// `None` where that is not clear, and where a value comes from the environment, which no message
/// may repeat.
fn quota_text(entries: &[MapEntry]) -> Option<String> {
    let mut amounts = Vec::new();
    let (mut period, mut burst) = (None, None);
    for MapEntry { key, value } in entries {
        let Some(part) = QuotaPart::named(&snake_case(&key.text)) else { continue };
        let scalar = value.scalar().filter(|scalar| !scalar.is_secret() && !scalar.is_broken())?;
        let text = scalar.text();
        match part {
            QuotaPart::Period(unit) => period = Some(period_text(scalar, unit)),
            QuotaPart::Burst => burst = Some(scalar.whole()?),
            amount => amounts.push((amount, text)),
        }
    }
    let mut quotas = Vec::new();
    for (part, amount) in amounts {
        let period = match part {
            QuotaPart::AmountPer(unit) => Some(unit),
            QuotaPart::Rate => Some(period.as_deref().unwrap_or("second")),
            _ => period.as_deref(),
        };
        let text = match period {
            Some(period) if !amount.contains('/') => format!("{amount}/{period}"),
            // nginx writes `10r/s`.
            _ => amount.replacen("r/", "/", 1),
        };
        quotas.push(text.parse::<Quota>().ok()?);
    }
    match (quotas.as_slice(), burst) {
        ([quota], None) => Some(quota.to_string()),
        ([quota], Some(burst)) => Some(quota.with_burst(burst).ok()?.to_string()),
        ([_, _, ..], None) => {
            let quotas: Vec<String> = quotas.iter().map(Quota::to_string).collect();
            Some(format!("[{}]", quotas.join(", ")))
        }
        _ => None,
    }
}

/// A name as rule files spell theirs: `requestsPerUnit` becomes `requests_per_unit`.
fn snake_case(name: &str) -> String {
    let mut snake = String::with_capacity(name.len());
    for letter in name.chars() {
        let lower = letter.to_ascii_lowercase();
        if letter.is_ascii_uppercase() && snake.ends_with(|last: char| last.is_ascii_lowercase()) {
            snake.push('_');
        }
        snake.push(if lower == '-' { '_' } else { lower });
    }
    snake
}

//! A rule file as YAML, every value in flow style.

use serde_json::{Map, Value, json};

use super::{
    Algorithm, Cooldown, Cost, HeaderNames, IfMissing, Limits, OnStoreError, Override, Quota, Rule,
    RuleFile, Soft, UPGRADE, Window,
};

/// Writes the file as JSON, which is YAML.
///
/// Proxies send identities as headers, other callers as attributes.
pub(super) fn write(file: &RuleFile) -> String {
    let mut identify = json!({
        "user": {"header": "x-user"},
        "tenant": {"header": "x-tenant"},
        "device": {"header": "x-device", "secret": true},
        "room": {"path": "/rooms/{room}/**"},
        "ip": {"trusted_proxies": ["loopback"]},
    });
    let mut root = Map::new();
    if let Some(tiers) = &file.tiers {
        identify["tier"] =
            json!({"lookup": "user", "table": tiers.table, "default": tiers.default});
        root.insert("tiers".into(), tier_entries(file, &tiers.names));
    }
    root.insert("identify".into(), identify);
    root.insert("secret".into(), json!("a secret of the harness, the same on all nodes"));
    root.insert("paths".into(), json!({}));
    let rules: Vec<Value> = file.rules.iter().map(rule).collect();
    root.insert("rules".into(), json!(rules));
    if !file.overrides.is_empty() {
        let overrides: Vec<Value> = file.overrides.iter().map(overriding).collect();
        root.insert("overrides".into(), json!(overrides));
    }
    for (name, block) in [("allow", false), ("block", true)] {
        let entries: Vec<Value> =
            file.lists.iter().filter(|one| one.block == block).map(list).collect();
        if !entries.is_empty() {
            root.insert(name.into(), json!(entries));
        }
    }
    root.insert("headers".into(), headers(file));
    if let Some(pages) = file.pages {
        // The URL on the command line replaces this one.
        let redis = json!({"url": "redis://127.0.0.1:6379", "pages": pages});
        root.insert("store".into(), json!({ "redis": redis }));
    }
    format!("{:#}\n", Value::Object(root))
}

fn tier_entries(file: &RuleFile, names: &[String]) -> Value {
    let mut tiers = Map::new();
    for name in names {
        let mut entries = Map::new();
        for rule in &file.rules {
            if let Limits::ByTier(by_tier) = &rule.limits {
                let limit = by_tier.get(name).map_or(json!("unlimited"), |windows| limits(windows));
                entries.insert(rule.name.clone(), limit);
            }
        }
        let entry = if entries.is_empty() { json!("unlimited") } else { Value::Object(entries) };
        tiers.insert(name.clone(), entry);
    }
    Value::Object(tiers)
}

fn rule(rule: &Rule) -> Value {
    let mut out = Map::new();
    out.insert("name".into(), json!(rule.name));
    let mut matches = Map::new();
    if let Some(method) = &rule.method {
        matches.insert("method".into(), json!(method));
    }
    if let Some(path) = &rule.path {
        matches.insert("path".into(), json!(path));
    }
    if rule.descriptor {
        let descriptor = json!({"user": "*", "tenant": {"not": ["t2"]}});
        matches.insert("descriptor".into(), descriptor);
    }
    if !matches.is_empty() {
        out.insert("match".into(), Value::Object(matches));
    }
    out.insert("key".into(), json!(rule.key));
    if let Some(if_missing) = rule.if_missing {
        let word = match if_missing {
            IfMissing::Share => "share",
            IfMissing::Skip => "skip",
            IfMissing::Refuse => "401",
        };
        out.insert("if_missing".into(), json!(word));
    }
    match &rule.limits {
        Limits::None => {}
        Limits::Same(windows) => _ = out.insert("limit".into(), limits(windows)),
        Limits::ByTier(_) => {
            out.insert("limit".into(), json!({"tier": rule.name}));
            if rule.fresh_tiers {
                out.insert("carry_over".into(), json!(false));
            }
        }
    }
    if let Some(soft_limit) = &rule.soft {
        out.insert("soft".into(), soft(soft_limit));
    }
    if let Some(block) = &rule.cooldown {
        out.insert("cooldown".into(), cooldown(block));
    }
    match rule.cost {
        Cost::Caller => {}
        Cost::Fixed(cost) => _ = out.insert("cost".into(), json!(cost)),
        Cost::CallerUpTo(max) => _ = out.insert("cost".into(), json!({"max": max})),
    }
    if rule.shadow {
        out.insert("mode".into(), json!("shadow"));
    }
    if rule.node_scope {
        out.insert("scope".into(), json!("node"));
    }
    match rule.on_store_error {
        OnStoreError::Local => {}
        OnStoreError::Allow => _ = out.insert("on_store_error".into(), json!("allow")),
        OnStoreError::Deny => _ = out.insert("on_store_error".into(), json!("deny")),
    }
    if rule.debt {
        out.insert("debt".into(), json!(true));
    }
    if rule.hidden {
        out.insert("headers".into(), json!(false));
    }
    if let Some(message) = &rule.message {
        out.insert("message".into(), json!(message));
    }
    Value::Object(out)
}

fn limits(windows: &[Window]) -> Value {
    json!(windows.iter().map(window).collect::<Vec<Value>>())
}

fn window(window: &Window) -> Value {
    match window {
        Window::Slots { slots, lease_us } => {
            json!({"concurrent": slots, "lease": length(*lease_us)})
        }
        Window::Quota { quota, algorithm } => {
            let mut out = json!({"quota": quota_text(quota), "algorithm": algorithm.name()});
            if let Algorithm::SlidingWindow { slices, strict } = algorithm {
                out["slices"] = json!(slices);
                out["strict"] = json!(strict);
            }
            out
        }
    }
}

fn soft(soft: &Soft) -> Value {
    let mut out = json!({"delay": length(soft.delay_us)});
    if let Some(extra) = soft.extra {
        out["extra"] = json!(extra);
    }
    if let Some(grace) = &soft.grace {
        out["grace"] = json!(quota_text(grace));
    }
    out
}

fn cooldown(cooldown: &Cooldown) -> Value {
    let mut out = json!({
        "after": cooldown.after,
        "within": length(cooldown.within_us),
        "block": length(cooldown.block_us),
    });
    if let Some((factor, longest)) = cooldown.escalation {
        out["factor"] = json!(factor);
        out["longest"] = json!(length(longest));
    }
    if let Some(pending) = cooldown.pending_us {
        out["pending"] = json!(length(pending));
    }
    if cooldown.reset_on_success {
        out["reset_on_success"] = json!(true);
    }
    out
}

fn overriding(one: &Override) -> Value {
    let mut out = json!({"rule": one.rule, "limit": limits(&one.limit)});
    if let Some(user) = &one.user {
        out["caller"] = json!({"user": user});
    }
    for (name, moment) in [("from", one.from_us), ("until", one.until_us)] {
        if let Some(moment) = moment {
            out[name] = json!(timestamp(moment));
        }
    }
    out
}

fn list(entry: &super::ListEntry) -> Value {
    let mut out = json!({"user": entry.user});
    if let Some(until) = entry.until_us {
        out["until"] = json!(timestamp(until));
    }
    out
}

fn headers(file: &RuleFile) -> Value {
    let names = match file.headers.names {
        HeaderNames::XRatelimit => "x-ratelimit",
        HeaderNames::XRateLimit => "x-rate-limit",
        HeaderNames::Legacy => "ratelimit-legacy",
        HeaderNames::Off => "off",
    };
    let reset = if file.headers.epoch { "epoch" } else { "delta" };
    let mut out = json!({"names": names, "reset": reset, "ietf": !file.headers.no_ietf});
    if file.headers.upgrade {
        out["upgrade_url"] = json!(UPGRADE.0);
        out["upgrade_message"] = json!(UPGRADE.1);
    }
    out
}

/// Returns a quota in the syntax of rule files and `/v1/throttle`.
pub(crate) fn quota_text(quota: &Quota) -> String {
    let burst = quota.burst.map(|burst| format!(" burst {burst}")).unwrap_or_default();
    format!("{}/{}{burst}", quota.amount, length(quota.period_us))
}

/// A length of time in its largest whole unit.
pub(crate) fn length(micros: u64) -> String {
    let units = [
        (86_400_000_000, "day"),
        (3_600_000_000, "hour"),
        (60_000_000, "min"),
        (1_000_000, "s"),
        (1_000, "ms"),
    ];
    let unit = units.iter().find(|(size, _)| micros > 0 && micros.is_multiple_of(*size));
    match unit {
        Some((size, name)) => format!("{}{name}", micros / size),
        None => format!("{micros}us"),
    }
}

/// Returns a time in UTC, to the microsecond.
fn timestamp(micros: u64) -> String {
    let (days, of_day) = (micros / 86_400_000_000, micros % 86_400_000_000);
    // Civil date from days: years begin in March, so that the leap day comes last.
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (seconds, fraction) = (of_day / 1_000_000, of_day % 1_000_000);
    let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{fraction:06}Z")
}

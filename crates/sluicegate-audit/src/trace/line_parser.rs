//! The parser of one line of a trace.

use std::collections::BTreeMap;

use serde::Deserialize;
use sluicegate_core::{Cost, Time};

use crate::decision_source::DecisionSource;
use crate::trace::entry::{TraceEntry, TraceEvent};
use crate::trace::header::{RuleSpec, TraceHeader};

const EXAMPLE: &str = "a line is as in \
                       `{\"at\":1700000000000000,\"key\":\"ann\",\"rule\":\"api\",\"allowed\":true}`";

/// One line of a trace.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum TraceLine {
    Header(Box<TraceHeader>),
    Entry(Box<TraceEntry>),
    /// Rules of the entries that follow.
    Rules(BTreeMap<String, RuleSpec>),
    /// Missing entries.
    Gap(GapLine),
    /// The last line of a trace that was finished.
    End {
        entries: Option<u64>,
        lost: u64,
    },
}

/// A number of missing entries, with times between these two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) struct GapLine {
    pub(crate) lost: u64,
    pub(crate) from_us: u64,
    pub(crate) until_us: u64,
}

#[derive(Deserialize)]
struct MoreRules {
    rules: BTreeMap<String, RuleSpec>,
}

/// Any line as it is written; unknown fields are ignored.
#[derive(Deserialize)]
struct RawLine {
    trace: Option<serde::de::IgnoredAny>,
    event: Option<String>,
    at: Option<u64>,
    wall: Option<u64>,
    node: Option<String>,
    key: Option<String>,
    rule: Option<String>,
    cost: Option<u64>,
    allowed: Option<bool>,
    remaining: Option<u64>,
    retry_after_us: Option<u64>,
    delay_us: Option<u64>,
    patience_us: Option<u64>,
    hold: Option<String>,
    source: Option<String>,
    waited_us: Option<u64>,
    entries: Option<u64>,
    lost: Option<u64>,
}

impl TraceLine {
    /// Parses a line; an error contains the problem and what was expected.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, String> {
        if !bytes.starts_with(b"{") {
            return Err(format!("it is no JSON object; {EXAMPLE}"));
        }
        let written: RawLine = serde_json::from_slice(bytes).map_err(|error| plain(&error))?;
        if written.trace.is_some() {
            let header: TraceHeader =
                serde_json::from_slice(bytes).map_err(|error| plain(&error))?;
            header.check().map_err(|error| error.to_string())?;
            return Ok(Self::Header(Box::new(header)));
        }
        match written.event.as_deref() {
            Some("end") => {
                let (entries, lost) = (written.entries, written.lost.unwrap_or(0));
                return Ok(Self::End { entries, lost });
            }
            Some("rules") => {
                let more: MoreRules =
                    serde_json::from_slice(bytes).map_err(|error| plain(&error))?;
                return Ok(Self::Rules(more.rules));
            }
            Some("gap") => {
                let gap: GapLine = serde_json::from_slice(bytes).map_err(|error| plain(&error))?;
                if gap.from_us > gap.until_us || gap.lost == 0 {
                    return Err(
                        "a gap has `lost` entries, at least 1, and `from_us` is not after \
                                `until_us`"
                            .to_owned(),
                    );
                }
                return Ok(Self::Gap(gap));
            }
            _ => {}
        }
        written.into_entry().map(|entry| Self::Entry(Box::new(entry)))
    }
}

impl RawLine {
    fn into_entry(self) -> Result<TraceEntry, String> {
        let event = match self.event.as_deref() {
            None => TraceEvent::Decision,
            Some(name) => TraceEvent::named(name).ok_or_else(|| {
                format!("`{}` is not an event; use {}", name.escape_debug(), TraceEvent::ALL)
            })?,
        };
        let source = match self.source.as_deref() {
            None => DecisionSource::Store,
            Some(name) => DecisionSource::named(name).ok_or_else(|| {
                format!("`{}` is not a source; use {}", name.escape_debug(), DecisionSource::ALL)
            })?,
        };
        let missing = |field: &str| format!("it has no `{field}`; every entry needs one");
        let allowed = match (self.allowed, event) {
            (Some(allowed), _) => allowed,
            (None, TraceEvent::Decision) => return Err(missing("allowed")),
            (None, _) => true,
        };
        let entry = TraceEntry {
            at: self.at.ok_or_else(|| missing("at"))?,
            wall: self.wall,
            node: self.node.unwrap_or_default(),
            event,
            key: self.key.ok_or_else(|| missing("key"))?,
            rule: self.rule.ok_or_else(|| missing("rule"))?,
            cost: self.cost.unwrap_or(1),
            allowed,
            remaining: self.remaining,
            retry_after_us: self.retry_after_us,
            delay_us: self.delay_us.unwrap_or(0),
            patience_us: self.patience_us,
            hold: self.hold,
            source,
            waited_us: self.waited_us,
        };
        check(&entry)?;
        Ok(entry)
    }
}

/// Rejects values that no store can have returned.
fn check(entry: &TraceEntry) -> Result<(), String> {
    let TraceEntry { at, cost, delay_us, .. } = *entry;
    if at > Time::MAX.as_micros() {
        return Err(format!("`at` is {at}; it is in microseconds since 1970, at most 2^52"));
    }
    if delay_us > Time::MAX.as_micros() {
        return Err(format!("`delay_us` is {delay_us}; it is in microseconds, at most 2^52"));
    }
    Cost::new(cost).map_err(|error| error.to_string())?;
    if matches!(entry.event, TraceEvent::Release | TraceEvent::Renew) && entry.hold.is_none() {
        return Err("it has no id of the slots; name it in `hold`, as the decision \
                    that took it does"
            .to_owned());
    }
    Ok(())
}

/// Returns the error in words that need no knowledge of this program.
fn plain(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let what = text.split(" at line ").next().unwrap_or(&text);
    let what = what.replace("u64", "a whole number").replace("u32", "a whole number");
    format!("column {}: {what}; {EXAMPLE}", error.column())
}

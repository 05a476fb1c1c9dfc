//! Writes the headers.
//!
//! `RateLimit` and `RateLimit-Policy` are structured fields as in
//! draft-ietf-httpapi-ratelimit-headers-10; the `X-RateLimit` family is what most clients
//! read today; `Retry-After` is HTTP's own.

use sluicegate::{Decision, Limit, Span, Time, Verdict};
use sluicegate_rules::{Outcome, Reset};

use super::header::Family;
use super::met::{Item, Met, is_cooldown};
use super::{Header, Kind, Told};

/// The largest integer of a structured field: fifteen digits.
const LARGEST: u64 = 999_999_999_999_999;

impl Told<'_> {
    /// Hands out every header with its value, each once. `line` is where values are written; kept from
    /// one request to the next, it spares allocating.
    pub(crate) fn each(&self, now: Time, line: &mut String, mut out: impl FnMut(Header, &str)) {
        let (refused, met) = (self.refused(), self.met());
        let retry = self.retry_after();
        if let Some(family) = Family::of(self.settings.names) {
            self.family(family, &met, now, line, &mut out);
            self.extras(family, refused, line, &mut out);
        }
        if self.settings.ietf && met.places().next().is_some() {
            self.list(&met, line, write_policy);
            out(Header::RateLimitPolicy, line);
            self.list(&met, line, |item, line| write_standing(item, retry, line));
            out(Header::RateLimit, line);
        }
        if let Some(seconds) = retry {
            out(Header::RetryAfter, number(line, seconds));
        }
        if refused.is_some() {
            out(Header::CacheControl, "no-store");
        }
        if let Outcome::Unidentified { identity, .. } = self.outcome {
            challenge(identity, line);
            out(Header::WwwAuthenticate, line);
        }
    }

    /// When to come back, in whole seconds; `None` where that is not known, or would not help.
    pub(super) fn retry_after(&self) -> Option<u64> {
        let (_, verdict) = self.asked.filter(|_| !self.allowed)?;
        verdict.retry_after().map(|span| span.as_secs_ceil().max(1))
    }

    /// The headers about the strictest limit.
    fn family(
        &self,
        family: Family,
        met: &Met,
        now: Time,
        line: &mut String,
        out: &mut impl FnMut(Header, &str),
    ) {
        let Some(item) = met.places().next().and_then(|place| self.item(place)) else { return };
        // Who is refused by something that is not told would read that it has plenty left.
        let strictest = self.asked.and_then(|(_, verdict)| Verdict::strictest(verdict));
        if !self.allowed && strictest.is_none_or(|strictest| strictest.check != item.place) {
            return;
        }
        let reset = item.decision.reset_after();
        let reset = match self.settings.reset {
            Reset::Delta => reset.as_secs_ceil(),
            Reset::Epoch => (now + reset).since(Time::EPOCH).as_secs_ceil(),
        };
        out(Header::Limit(family), number(line, item.decision.limit()));
        out(Header::Remaining(family), number(line, item.decision.remaining()));
        out(Header::Reset(family), number(line, reset));
    }

    /// What no draft ever had.
    fn extras(
        &self,
        family: Family,
        refused: Option<Kind>,
        line: &mut String,
        out: &mut impl FnMut(Header, &str),
    ) {
        let spelling = family.spelling();
        if self.asked.is_some() && self.cost != 1 {
            out(Header::Cost(spelling), number(line, self.cost));
        }
        if let Some(tier) = self.tier.filter(|tier| tier.bytes().all(is_plain)) {
            out(Header::Tier(spelling), tier);
        }
        // More units help those who have used theirs up, and nobody else.
        if let (Some(Kind::Quota), Some(url)) = (refused, &self.settings.upgrade_url) {
            out(Header::UpgradeUrl(spelling), url);
        }
    }

    /// Writes an item for each limit that was met.
    fn list(&self, met: &Met, line: &mut String, write: impl Fn(&Item<'_>, &mut String)) {
        line.clear();
        for item in met.places().filter_map(|place| self.item(place)) {
            if !line.is_empty() {
                line.push_str(", ");
            }
            line.push('"');
            let policy = self.policy(item.place, item.check);
            if policy.bytes().all(|letter| is_plain(letter) && letter != b'"' && letter != b'\\') {
                line.push_str(&policy);
            }
            line.push('"');
            write(&item, line);
        }
    }
}

/// The limit itself: how much, in what time, of what.
fn write_policy(item: &Item<'_>, line: &mut String) {
    let limit = item.check.limit();
    parameter(line, ";q=", limit.capacity());
    if let Some(span) = limit.recovery() {
        // A window is at least a second long: zero would mean none.
        parameter(line, ";w=", span.as_secs_ceil().max(1));
    }
    if limit.holds() {
        line.push_str(";qu=\"concurrent-requests\"");
    } else if is_cooldown(item.check) {
        line.push_str(";qu=\"sluicegate-failures\"");
    }
}

/// How the caller stands with it.
fn write_standing(item: &Item<'_>, retry: Option<u64>, line: &mut String) {
    parameter(line, ";r=", item.decision.remaining());
    let until = until_more(item.check.limit(), item.decision);
    // Whoever is told when to come back is told of nothing later.
    if let Some(seconds) = until.filter(|until| retry.is_none_or(|retry| *until <= retry)) {
        parameter(line, ";t=", seconds);
    }
}

/// In how many seconds there is more than now, at the latest; `None` where nobody knows, or there never
/// is.
fn until_more(limit: &Limit, decision: &Decision) -> Option<u64> {
    let reset = decision.reset_after();
    if limit.holds() || reset.is_zero() {
        return decision.retry_after().map(|span| span.as_secs_ceil().max(1));
    }
    let next = match limit.algorithm() {
        "token_bucket" | "leaky_bucket" => next_unit(limit, decision).unwrap_or(reset),
        _ => reset,
    };
    let next = decision.retry_after().map_or(next, |retry| retry.min(next));
    Some(next.as_secs_ceil().max(1))
}

/// When a bucket has its next whole unit: it fills evenly, and is full when it is reset.
fn next_unit(limit: &Limit, decision: &Decision) -> Option<Span> {
    let missing_then = decision.limit().checked_sub(decision.remaining())?.checked_sub(1)?;
    let full = limit.recovery()?.as_micros();
    let filling = u128::from(missing_then) * u128::from(full) / u128::from(decision.limit().max(1));
    let filling = u64::try_from(filling).ok()?;
    Some(Span::from_micros(decision.reset_after().as_micros().saturating_sub(filling)))
}

/// What a caller has to do that did not say who it is: tell this identity.
fn challenge(identity: &str, line: &mut String) {
    line.clear();
    line.push_str("Sluicegate");
    // An identity may be called anything; a header's value may not.
    let plain = |letter: u8| letter.is_ascii_alphanumeric() || b"_.-".contains(&letter);
    if identity.bytes().all(plain) {
        line.push_str(" identity=\"");
        line.push_str(identity);
        line.push('"');
    }
}

fn is_plain(letter: u8) -> bool {
    matches!(letter, b' '..=b'~')
}

#[inline]
fn parameter(line: &mut String, name: &str, value: u64) {
    line.push_str(name);
    line.push_str(itoa::Buffer::new().format(value.min(LARGEST)));
}

fn number(line: &mut String, value: u64) -> &str {
    line.clear();
    line.push_str(itoa::Buffer::new().format(value));
    line
}

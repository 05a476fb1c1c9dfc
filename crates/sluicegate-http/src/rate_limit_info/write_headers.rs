//! Writes the rate-limit headers.
//!
//! `RateLimit` and `RateLimit-Policy` are structured fields as in
//! draft-ietf-httpapi-ratelimit-headers-10; the `X-RateLimit` family is what most clients
//! read today; `Retry-After` is HTTP's own.

use http::header::{CACHE_CONTROL, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderName, HeaderValue};
use sluicegate::{Algorithm, Decision, Limit, Span, Time, Verdict};
use sluicegate_rules::{PlanOutcome, Reset};

use super::applied_limits::AppliedLimits;
use super::{LimitOutcome, RateLimitInfo, RefusalKind};
use crate::header_names::{HeaderFamily, RATE_LIMIT, RATE_LIMIT_POLICY};

/// More headers than a response usually has, so that the map is allocated once.
const USUAL_HEADERS: usize = 12;
/// Longer than the longest value usually is.
const USUAL_LENGTH: usize = 192;
/// The largest integer of a structured field, which has fifteen digits.
const LARGEST: u64 = 999_999_999_999_999;

impl RateLimitInfo<'_> {
    /// Inserts the headers; `now` is called only if a setting needs the time.
    pub fn insert_headers(&self, headers: &mut HeaderMap, now: impl FnOnce() -> Time) {
        headers.reserve(USUAL_HEADERS);
        let mut line = String::with_capacity(USUAL_LENGTH);
        self.for_each_header(self.time(now), &mut line, |name, value| {
            // Always a valid value: it consists of digits and validated names.
            if let Ok(value) = HeaderValue::from_str(value) {
                headers.insert(name, value);
            }
        });
    }

    /// Calls `out` once for every header, with its value.
    ///
    /// Values are written into `line`; reusing it for the next request saves an allocation.
    pub fn for_each_header(
        &self,
        now: Time,
        line: &mut String,
        mut out: impl FnMut(&'static HeaderName, &str),
    ) {
        let (refused, applied) = (self.refused(), self.applied());
        let retry = self.retry_after_seconds();
        if let Some(family) = HeaderFamily::of(self.settings.names) {
            self.strictest_headers(family, &applied, now, line, &mut out);
            self.nonstandard_headers(family, refused, line, &mut out);
        }
        if self.settings.ietf && applied.indices().next().is_some() {
            self.write_list(&applied, line, write_policy);
            out(&RATE_LIMIT_POLICY, line);
            self.write_list(&applied, line, |item, line| write_remaining(item, retry, line));
            out(&RATE_LIMIT, line);
        }
        if let Some(seconds) = retry {
            out(&RETRY_AFTER, number(line, seconds));
        }
        if refused.is_some() {
            out(&CACHE_CONTROL, "no-store");
        }
        if let PlanOutcome::Unidentified { identity, .. } = self.outcome {
            write_challenge(identity, line);
            out(&WWW_AUTHENTICATE, line);
        }
    }

    /// Returns the time to wait, in whole seconds.
    ///
    /// `None` if it is unknown or if waiting does not help.
    fn retry_after_seconds(&self) -> Option<u64> {
        self.retry_after().map(|span| span.as_secs_ceil().max(1))
    }

    /// Emits the headers about the strictest limit.
    fn strictest_headers(
        &self,
        family: &'static HeaderFamily,
        applied: &AppliedLimits,
        now: Time,
        line: &mut String,
        out: &mut impl FnMut(&'static HeaderName, &str),
    ) {
        let Some(item) = applied.indices().next().and_then(|index| self.limit(index.into())) else {
            return;
        };
        // If the limit that refused is hidden, the headers of another one are not sent: they would
        // suggest that there is budget left.
        let strictest = self.verdict().and_then(Verdict::strictest);
        if !self.allowed && strictest.is_none_or(|strictest| strictest.check != item.index) {
            return;
        }
        let reset = item.decision.reset_after();
        let reset = match self.settings.reset {
            Reset::Delta => reset.as_secs_ceil(),
            Reset::Epoch => (now + reset).since(Time::EPOCH).as_secs_ceil(),
        };
        out(&family.limit, number(line, item.decision.limit()));
        out(&family.remaining, number(line, item.decision.remaining()));
        out(&family.reset, number(line, reset));
    }

    /// Emits the headers that no draft defines.
    fn nonstandard_headers(
        &self,
        family: &'static HeaderFamily,
        refused: Option<RefusalKind>,
        line: &mut String,
        out: &mut impl FnMut(&'static HeaderName, &str),
    ) {
        if self.decided.is_some() && self.cost != 1 {
            out(&family.cost, number(line, self.cost));
        }
        if let Some(tier) = self.tier.filter(|tier| tier.bytes().all(is_plain)) {
            out(&family.tier, tier);
        }
        // Higher limits help only a caller that has used its units up.
        if let (Some(RefusalKind::Quota), Some(url)) = (refused, &self.settings.upgrade_url) {
            out(&family.upgrade_url, url);
        }
    }

    /// Writes a list with an item for each applied limit.
    fn write_list(
        &self,
        applied: &AppliedLimits,
        line: &mut String,
        write: impl Fn(&LimitOutcome<'_>, &mut String),
    ) {
        line.clear();
        for item in applied.indices().filter_map(|index| self.limit(index.into())) {
            if !line.is_empty() {
                line.push_str(", ");
            }
            line.push('"');
            let policy = self.policy_name(&item);
            if policy.bytes().all(|letter| is_plain(letter) && letter != b'"' && letter != b'\\') {
                line.push_str(&policy);
            }
            line.push('"');
            write(&item, line);
        }
    }
}

/// Writes the parameters of a policy: the quota, the window and the unit.
fn write_policy(item: &LimitOutcome<'_>, line: &mut String) {
    let limit = item.check.limit();
    parameter(line, ";q=", limit.capacity());
    if let Some(span) = limit.recovery() {
        // A window is at least a second long: zero would mean none.
        parameter(line, ";w=", span.as_secs_ceil().max(1));
    }
    if limit.holds() {
        line.push_str(";qu=\"concurrent-requests\"");
    } else if limit.counts_failures() {
        line.push_str(";qu=\"sluicegate-failures\"");
    }
}

/// Writes the remaining units of a limit, and when there are more.
fn write_remaining(item: &LimitOutcome<'_>, retry: Option<u64>, line: &mut String) {
    parameter(line, ";r=", item.decision.remaining());
    let until = until_more(item.check.limit(), item.decision);
    // A response with `Retry-After` has no later time in it.
    if let Some(seconds) = until.filter(|until| retry.is_none_or(|retry| *until <= retry)) {
        parameter(line, ";t=", seconds);
    }
}

/// Returns the seconds after which there are certainly more units than now.
///
/// `None` if that is unknown or never happens.
fn until_more(limit: &Limit, decision: &Decision) -> Option<u64> {
    let reset = decision.reset_after();
    if limit.holds() || reset.is_zero() {
        return decision.retry_after().map(|span| span.as_secs_ceil().max(1));
    }
    let next = match limit.spec().algorithm() {
        Some(Algorithm::TokenBucket | Algorithm::LeakyBucket) => {
            next_unit(limit, decision).unwrap_or(reset)
        }
        _ => reset,
    };
    let next = decision.retry_after().map_or(next, |retry| retry.min(next));
    Some(next.as_secs_ceil().max(1))
}

/// Returns the time until a bucket has its next whole unit.
///
/// A bucket fills evenly, and is full after `reset_after`.
fn next_unit(limit: &Limit, decision: &Decision) -> Option<Span> {
    let missing_then = decision.limit().checked_sub(decision.remaining())?.checked_sub(1)?;
    let full = limit.recovery()?.as_micros();
    let filling = u128::from(missing_then) * u128::from(full) / u128::from(decision.limit().max(1));
    let filling = u64::try_from(filling).ok()?;
    Some(Span::from_micros(decision.reset_after().as_micros().saturating_sub(filling)))
}

/// Writes the challenge that names the missing identity.
fn write_challenge(identity: &str, line: &mut String) {
    line.clear();
    line.push_str("Sluicegate");
    // The name of an identity may have characters that a header may not.
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

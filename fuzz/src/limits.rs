//! Limits of every algorithm, over all the numbers their constructors accept.

use sluicegate_core::{Cooldown, Escalation, Limit, LimitError, Quota, Slices, Span};

use crate::bytes::Bytes;

/// A limit, with the index of its name.
#[derive(Debug)]
pub(crate) struct NamedLimit {
    pub(crate) limit: Limit,
    pub(crate) name: usize,
}

/// Returns a limit of this name; `None` where the numbers are invalid.
pub(crate) fn limit(bytes: &mut Bytes<'_>, name: &'static str) -> Option<Limit> {
    let kind = bytes.byte();
    let limit = match kind % 8 {
        0 => Limit::token_bucket(name, burst_quota(bytes)?),
        1 => Limit::leaky_bucket(name, burst_quota(bytes)?),
        2 => Limit::queue(name, burst_quota(bytes)?),
        3 => fixed_window(bytes, name)?,
        4 => sliding_window(bytes, name)?,
        5 => Limit::sliding_log(name, Quota::new(bytes.number(Limit::MAX_LOG), span(bytes)).ok()?),
        6 => {
            let slots = u32::try_from(bytes.number(u64::from(u32::MAX))).ok()?;
            Limit::concurrency(name, slots, span(bytes))
        }
        _ => Limit::cooldown(name, cooldown(bytes)),
    };
    let indebted = kind < 128;
    limit.ok().map(|limit| if indebted { limit } else { limit.without_debt() })
}

fn span(bytes: &mut Bytes<'_>) -> Span {
    Span::from_micros(bytes.number(Span::MAX.as_micros()))
}

fn burst_quota(bytes: &mut Bytes<'_>) -> Option<Quota> {
    let quota = Quota::new(bytes.number(Quota::MAX_AMOUNT), span(bytes)).ok()?;
    quota.with_burst(bytes.number(Quota::MAX_AMOUNT)).ok()
}

/// Returns a quota that a caller may have had, or that no bucket can have.
pub(crate) fn tier(bytes: &mut Bytes<'_>) -> Option<Quota> {
    match bytes.byte() {
        0..240 => burst_quota(bytes),
        _ => Quota::per_months(bytes.number(Quota::MAX_AMOUNT), 1).ok(),
    }
}

fn fixed_window(bytes: &mut Bytes<'_>, name: &'static str) -> Option<Result<Limit, LimitError>> {
    let amount = bytes.number(Quota::MAX_AMOUNT);
    let quota = match bytes.number(12) {
        0 => Quota::new(amount, span(bytes) + Limit::SHORTEST_CALENDAR),
        months => Quota::per_months(amount, u32::try_from(months).ok()?),
    };
    Some(Limit::fixed_window(name, quota.ok()?))
}

fn sliding_window(bytes: &mut Bytes<'_>, name: &'static str) -> Option<Result<Limit, LimitError>> {
    let amount = bytes.number(Quota::MAX_AMOUNT);
    let count = u32::try_from(bytes.number(u64::from(Limit::MAX_SLICES))).ok()?;
    let block = bytes.number(Span::MAX.as_micros() / u64::from(count.max(1)));
    let strict = bytes.byte() % 2 == 1;
    let slices = if strict { Slices::Strict(count) } else { Slices::Weighted(count) };
    // Computed from its blocks, so that the slices always divide it.
    let window = Span::from_micros(block * u64::from(count));
    Some(Limit::sliding_window(name, Quota::new(amount, window).ok()?, slices))
}

fn cooldown(bytes: &mut Bytes<'_>) -> Cooldown {
    let (after, within, block) = (bytes.number(Limit::MAX_LOG), span(bytes), span(bytes));
    let factor = u32::try_from(bytes.number(u64::from(u32::MAX))).unwrap_or(u32::MAX);
    let escalation = (factor > 1).then(|| Escalation { factor, max: block.max(span(bytes)) });
    let options = bytes.number(3);
    let pending = (options & 1 != 0).then(|| span(bytes));
    let reset_on_success = options & 2 != 0;
    Cooldown { after, within, block, escalation, pending, reset_on_success }
}

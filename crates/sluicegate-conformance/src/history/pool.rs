//! The counters that the threads of one round fight over.

use sluicegate::{Ask, Check, Cooldown, Escalation, Id, Limit, Period, Quota, Slices, Span, Time};

use super::dice::Dice;

/// Limits of every algorithm, so small that a few asks exhaust them and so quick that a step
/// of the clock brings something back.
pub(super) fn limits() -> Vec<Limit> {
    let quota = |text: &str| text.parse().expect("a quota");
    let escalation = Some(Escalation { factor: 2, max: Span::from_secs(1) });
    let cooldown = Cooldown {
        after: 2,
        within: Span::from_secs(1),
        block: Span::from_millis(300),
        escalation,
        pending: None,
        reset_on_success: false,
    };
    let pending = Some(Span::from_millis(400));
    let trying = Cooldown { pending, reset_on_success: true, ..cooldown };
    vec![
        Limit::token_bucket("whole", quota("4/s burst 3")),
        Limit::token_bucket("fractional", quota("7/3s burst 2")),
        Limit::leaky_bucket("leaky", quota("3/s burst 3")).map(Limit::without_debt),
        Limit::queue("queue", quota("5/s burst 2")),
        Limit::fixed_window("fixed", quota("3/day")),
        Limit::sliding_window("weighted", quota("3/s"), Slices::Weighted(4)),
        Limit::sliding_window("strict", quota("3/s"), Slices::Strict(2)),
        Limit::sliding_log("log", quota("3/s")),
        Limit::concurrency("slots", 2, Span::from_millis(400)),
        Limit::cooldown("cooldown", cooldown),
        Limit::cooldown("attempts", trying),
    ]
    .into_iter()
    .collect::<Result<_, _>>()
    .expect("limits")
}

/// The limits and keys of one round.
#[derive(Debug)]
pub(super) struct Pool<'a> {
    limits: Vec<&'a Limit>,
    keys: &'a [String],
    /// Contains whatever time it can become during the round.
    period: Period,
    round: usize,
}

impl<'a> Pool<'a> {
    /// Keys that no other round has, so that a store may serve many rounds.
    pub(super) fn keys(round: usize, dice: &mut Dice) -> Vec<String> {
        (0..dice.between(2, 4)).map(|key| format!("{round}.{key}")).collect()
    }

    pub(super) fn new(
        limits: &'a [Limit],
        keys: &'a [String],
        round: usize,
        start: Time,
        dice: &mut Dice,
    ) -> Self {
        let limits = (0..dice.between(1, 3)).map(|_| dice.pick(limits)).collect();
        let period = Period::new(start, start + Span::from_secs(86_400));
        Self { limits, keys, period: period.expect("a day is not empty"), round }
    }

    /// A change of tier of this counter, one of a few that others tell as well, and that no other
    /// round and no other counter does.
    pub(super) fn rescale(&self, check: &Check<'_>, dice: &mut Dice) -> Ask {
        let which = dice.below(2);
        let quota = |text: &str| text.parse::<Quota>().expect("a quota");
        let from = [quota("2/s burst 6"), quota("9/s burst 1")][which];
        let key = self.keys.iter().position(|key| key.as_bytes() == check.key());
        let limit = self.limits.iter().position(|limit| limit.name() == check.limit().name());
        let counter = limit.unwrap_or(0) * self.keys.len() + key.unwrap_or(0);
        let change = (counter * 2 + which) as u128;
        let id = Id::from_bits(1 << 127 | (self.round as u128) << 8 | change);
        Ask::Rescale { from, id }
    }

    /// A check of one of the counters, most often of those that others check as well.
    pub(super) fn check(&self, dice: &mut Dice) -> Check<'a> {
        let key = if dice.one_in(2) { &self.keys[0] } else { dice.pick(self.keys) };
        let limit: &Limit = self.limits[dice.below(self.limits.len())];
        Check::new(limit, key).within(self.period)
    }
}

//! The counters shared by the threads of one round.

use sluicegate::{
    ChargeId, Check, Cooldown, Escalation, Limit, Operation, Period, Quota, Slices, Span, Time,
};

use sluicegate_testkit::Rng;

/// Limits of every algorithm, so small that a few takes exhaust them and so fast that a step of
/// the clock recovers something.
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
    /// Contains every time of the round.
    period: Period,
    round: usize,
}

impl<'a> Pool<'a> {
    /// Returns keys that no other round has, so that a store may serve many rounds.
    pub(super) fn keys(round: usize, rng: &mut Rng) -> Vec<String> {
        (0..(2 + rng.index(3))).map(|key| format!("{round}.{key}")).collect()
    }

    pub(super) fn new(
        limits: &'a [Limit],
        keys: &'a [String],
        round: usize,
        start: Time,
        rng: &mut Rng,
    ) -> Self {
        let limits = (0..=rng.index(3)).map(|_| rng.pick(limits)).collect();
        let period = Period::new(start, start + Span::from_secs(86_400));
        Self { limits, keys, period: period.expect("a day is not empty"), round }
    }

    /// Returns a change of tier of this counter.
    ///
    /// One of a few that other threads use as well, and that no other round and no other counter
    /// has.
    pub(super) fn rescale(&self, check: &Check<'_>, rng: &mut Rng) -> Operation {
        let which = rng.index(2);
        let quota = |text: &str| text.parse::<Quota>().expect("a quota");
        let from = [quota("2/s burst 6"), quota("9/s burst 1")][which];
        let key = self.keys.iter().position(|key| key.as_bytes() == check.key());
        let limit = self.limits.iter().position(|limit| limit.name() == check.limit().name());
        let counter = limit.unwrap_or(0) * self.keys.len() + key.unwrap_or(0);
        let change = (counter * 2 + which) as u128;
        let id = ChargeId::from_bits(1 << 127 | (self.round as u128) << 8 | change);
        Operation::Rescale { from, id }
    }

    /// Returns a check of one of the counters, mostly of one that is contended.
    pub(super) fn check(&self, rng: &mut Rng) -> Check<'a> {
        let key = if rng.one_in(2) { &self.keys[0] } else { rng.pick(self.keys) };
        let limit: &Limit = self.limits[rng.index(self.limits.len())];
        Check::new(limit, key).within(self.period)
    }
}

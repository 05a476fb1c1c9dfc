//! Decisions of the model on a request, and the strictest of them.

use sluicegate_oracle::trace::{AskSpec, ExpectedDecision, Reason};

use super::limit::Limit;

/// One check of a plan.
#[derive(Debug, Clone)]
pub(crate) struct Planned {
    /// The index of its rule in the file; a throttle has none.
    pub(crate) rule: Option<usize>,
    pub(crate) limit: Limit,
    pub(crate) key: String,
    pub(crate) ask: AskSpec,
    pub(crate) shadow: bool,
    /// Whether it is an alternative to the check before it.
    pub(crate) alternative: bool,
    /// The delay of a soft limit that admits.
    pub(crate) delay_us: u64,
    /// Whether the rule has a price of its own.
    pub(crate) priced: bool,
    /// Whether it counts on one node alone.
    pub(crate) node: Option<usize>,
    /// The answer of the rule's fallback, where the store was unavailable.
    pub(crate) unasked: Option<bool>,
}

impl Planned {
    /// A check of a quota that no rule has.
    pub(crate) fn without_rule(limit: Limit, key: String, ask: AskSpec) -> Self {
        Self {
            rule: None,
            limit,
            key,
            ask,
            shadow: false,
            alternative: false,
            delay_us: 0,
            priced: true,
            node: None,
            unasked: None,
        }
    }

    pub(crate) fn is_unasked(&self) -> bool {
        self.unasked.is_some()
    }

    pub(crate) fn is_rescale(&self) -> bool {
        matches!(self.ask, AskSpec::Rescale { .. })
    }
}

/// The outcome of planning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    Asked,
    /// The caller is on the allow-list.
    Free,
    /// The caller is on the block-list.
    Blocked,
    Unidentified {
        identity: String,
        rule: String,
    },
}

/// The combination of all decisions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) allowed: bool,
    pub(crate) decisions: Vec<Option<ExpectedDecision>>,
    /// Whether the set of each check was admitted: a shadow rule is a set of its own.
    pub(crate) admitted: Vec<bool>,
    /// The step of the oracle, and the place in it, that decided each check.
    pub(crate) steps: Vec<(usize, usize)>,
    /// The index of the strictest decision.
    pub(crate) strictest: Option<usize>,
    pub(crate) retry_after_us: Option<u64>,
    pub(crate) delay_us: u64,
}

/// All data that an answer to a request may contain.
#[derive(Debug, Clone)]
pub(crate) struct Evaluation {
    pub(crate) outcome: Outcome,
    pub(crate) checks: Vec<Planned>,
    /// Absent where nothing was evaluated.
    pub(crate) verdict: Option<Verdict>,
    pub(crate) cost: u64,
    pub(crate) tier: Option<String>,
    pub(crate) unlimited: bool,
    pub(crate) now: u64,
    /// What decided instead of the store.
    pub(crate) by: Option<&'static str>,
}

impl Evaluation {
    pub(crate) fn is_allowed(&self) -> bool {
        match self.outcome {
            Outcome::Asked => self.verdict.as_ref().is_none_or(|verdict| verdict.allowed),
            Outcome::Free => true,
            Outcome::Blocked | Outcome::Unidentified { .. } => false,
        }
    }

    /// Returns the strictest decision, of those that may refuse.
    pub(crate) fn strictest(&self) -> Option<(usize, &Planned, &ExpectedDecision)> {
        let verdict = self.verdict.as_ref()?;
        let place = verdict.strictest?;
        let check = self.checks.get(place)?;
        let decision = verdict.decisions.get(place)?.as_ref()?;
        (!check.shadow).then_some((place, check, decision))
    }

    /// Whether one of several sets was refused, which a deny cache may refuse without the others.
    pub(crate) fn has_refused_set_beside_another(&self) -> bool {
        let is_several = self.checks.iter().any(|check| {
            (check.shadow, check.rule) != (self.checks[0].shadow, self.checks[0].rule)
                && (check.shadow || self.checks[0].shadow)
        });
        let admitted = self.verdict.as_ref().map(|verdict| verdict.admitted.as_slice());
        is_several && admitted.is_some_and(|admitted| admitted.contains(&false))
    }

    pub(crate) fn has_slot(&self) -> bool {
        self.receipts().any(|(_, check)| check.limit.holds())
    }

    /// Returns the checks that charged something.
    pub(crate) fn receipts(&self) -> impl Iterator<Item = (usize, &Planned)> {
        let verdict = self.verdict.as_ref().filter(|verdict| verdict.allowed);
        let decisions = verdict.map(|verdict| verdict.decisions.as_slice()).unwrap_or_default();
        self.checks.iter().zip(decisions).enumerate().filter_map(|(place, (check, made))| {
            made.filter(|made| made.receipt).map(|_| (place, check))
        })
    }
}

impl Verdict {
    pub(crate) fn new(
        checks: &[Planned],
        decisions: Vec<Option<ExpectedDecision>>,
        allowed: bool,
    ) -> Self {
        let mut verdict = Self {
            allowed,
            admitted: vec![allowed; decisions.len()],
            steps: vec![(0, 0); decisions.len()],
            decisions,
            strictest: None,
            retry_after_us: None,
            delay_us: 0,
        };
        if allowed {
            verdict.strictest = verdict.tightest(checks);
            verdict.delay_us = verdict.longest_delay(checks);
        } else {
            verdict.strictest = verdict.blocker(checks);
            verdict.retry_after_us = verdict
                .strictest
                .and_then(|place| verdict.decisions[place])
                .and_then(|made| made.retry_after_us);
        }
        verdict
    }

    /// The allowed decision of a rule that may refuse, with the smallest share left.
    fn tightest(&self, checks: &[Planned]) -> Option<usize> {
        let mut best: Option<(usize, ExpectedDecision)> = None;
        for (place, (check, made)) in checks.iter().zip(&self.decisions).enumerate() {
            let Some(made) = made.filter(|made| made.allowed) else { continue };
            if check.shadow || check.is_rescale() {
                continue;
            }
            if best.is_none_or(|(_, other)| smaller_share(&made, &other)) {
                best = Some((place, made));
            }
        }
        let any =
            || (0..checks.len()).find(|at| !checks[*at].shadow && self.decisions[*at].is_some());
        best.map(|(place, _)| place).or_else(any)
    }

    fn longest_delay(&self, checks: &[Planned]) -> u64 {
        let mut longest = 0;
        for (check, made) in checks.iter().zip(&self.decisions) {
            if let Some(made) = made.filter(|made| made.allowed && !check.shadow) {
                longest = longest.max(made.delay_us + check.delay_us);
            }
        }
        longest
    }

    /// Returns the term that refuses and blocks the longest; of its alternatives the one that
    /// opens first; the first of equals.
    pub(crate) fn blocker(&self, checks: &[Planned]) -> Option<usize> {
        let mut worst: Option<(usize, (u8, u64))> = None;
        let mut place = 0;
        while place < checks.len() {
            let mut end = place + 1;
            while end < checks.len() && checks[end].alternative {
                end += 1;
            }
            if let Some((one, wait)) = self.term_blocker(checks, place..end)
                && worst.is_none_or(|(_, other)| wait > other)
            {
                worst = Some((one, wait));
            }
            place = end;
        }
        worst.map(|(place, _)| place)
    }

    fn term_blocker(
        &self,
        checks: &[Planned],
        term: std::ops::Range<usize>,
    ) -> Option<(usize, (u8, u64))> {
        let mut first: Option<(usize, (u8, u64))> = None;
        for place in term {
            let Some(made) = self.decisions[place].filter(|_| !checks[place].shadow) else {
                continue;
            };
            let reason = made.reason?;
            let wait = obstinacy(reason, made.retry_after_us);
            if first.is_none_or(|(_, other)| wait < other) {
                first = Some((place, wait));
            }
        }
        first
    }
}

impl Evaluation {
    /// Returns the reason of a decision as one word.
    pub(crate) fn reason(check: &Planned, made: &ExpectedDecision) -> Option<&'static str> {
        match check.unasked {
            Some(allowed) => (!allowed).then_some("unreachable"),
            None => made.reason.map(reason_word),
        }
    }
}

/// Orders refusals: a known wait, an unknown one, for ever.
fn obstinacy(reason: Reason, retry_after_us: Option<u64>) -> (u8, u64) {
    match reason {
        Reason::Exhausted | Reason::Blocked => (0, retry_after_us.unwrap_or(0)),
        Reason::Busy => (1, 0),
        Reason::CostAboveLimit | Reason::Spent | Reason::Lost => (2, 0),
    }
}

pub(crate) fn smaller_share(one: &ExpectedDecision, other: &ExpectedDecision) -> bool {
    u128::from(one.remaining) * u128::from(other.limit)
        < u128::from(other.remaining) * u128::from(one.limit)
}

pub(crate) fn reason_word(reason: Reason) -> &'static str {
    match reason {
        Reason::Exhausted => "exhausted",
        Reason::CostAboveLimit => "cost_above_limit",
        Reason::Busy => "busy",
        Reason::Blocked => "blocked",
        Reason::Spent => "spent",
        Reason::Lost => "lost",
    }
}

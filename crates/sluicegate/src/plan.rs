//! The checks a request owes.

mod checks;
mod manner;

use sluicegate_core::{Check, Span};

use self::checks::Checks;
pub(crate) use self::manner::Manner;

/// The checks a request owes, to be decided in one step.
///
/// ```
/// use sluicegate::{Check, Limit, Plan};
///
/// let burst = Limit::token_bucket("burst", "10/s".parse()?)?;
/// let daily = Limit::fixed_window("daily", "1000/day".parse()?)?;
/// let grace = Limit::fixed_window("grace", "50/day".parse()?)?;
/// let tighter = Limit::token_bucket("tighter", "5/s".parse()?)?;
/// let spare = Limit::fixed_window("spare", "50/day".parse()?)?;
///
/// let mut plan = Plan::new();
/// plan.require(Check::new(&burst, "user:42"));
/// // The daily quota, or else a little grace.
/// plan.require(Check::new(&daily, "user:42")).or(Check::new(&grace, "user:42"));
/// // What would a tighter limit do, with a grace of its own? Counted, told, never in the way.
/// plan.observe(Check::new(&tighter, "user:42")).or(Check::new(&spare, "user:42").observed());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Plan<'a> {
    checks: Checks<'a>,
    manner: Manner,
}

impl<'a> Plan<'a> {
    /// Nothing owed yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// A check that has to admit.
    #[inline]
    pub fn require(&mut self, check: Check<'a>) -> &mut Self {
        self.checks.push(check);
        self
    }

    /// Another way for the requirement before it to be met: asked only if that one refuses.
    ///
    /// So with shadows: behind [`observe`](Self::observe), a check that is [observed](Check::observed)
    /// too is asked and charged only if the shadows before it refuse. One that is not has to admit by
    /// itself: what is observed meets no requirement.
    pub fn or(&mut self, check: Check<'a>) -> &mut Self {
        let check = if self.checks().is_empty() { check } else { check.or_else() };
        self.require(check)
    }

    /// A check that is counted and reported, and never blocks: charged as it would be if it were
    /// [required](Self::require), but only with what is.
    pub fn observe(&mut self, check: Check<'a>) -> &mut Self {
        self.require(check.observed())
    }

    /// Charges each requirement alone, whatever the others say.
    pub fn independently(&mut self) -> &mut Self {
        self.manner.independent = true;
        self
    }

    /// Says after how long nobody waits for the answer any more. A store that cannot answer until
    /// then gives up, and each check says itself what becomes of it; who never waits ignores it.
    pub fn answered_within(&mut self, within: Option<Span>) -> &mut Self {
        self.manner.within = within;
        self
    }

    /// The checks, in the order they are asked.
    pub fn checks(&self) -> &[Check<'a>] {
        self.checks.as_slice()
    }

    /// Whether each requirement is charged alone.
    pub fn is_independent(&self) -> bool {
        self.manner.independent
    }

    /// After how long nobody waits for the answer any more, where that was said.
    pub fn within(&self) -> Option<Span> {
        self.manner.within
    }

    /// How the checks are put to a store.
    pub(crate) fn manner(&self) -> Manner {
        self.manner
    }
}

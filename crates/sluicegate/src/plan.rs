//! A plan: the checks of one request.

mod check_list;

use sluicegate_core::{Check, Set, Span};

use self::check_list::CheckList;
use crate::set_id::next_set_id;

/// The checks of one request, decided in one step.
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
/// // A tighter limit on trial, with a grace of its own: counted and reported, never blocking.
/// plan.observe(Check::new(&tighter, "user:42")).or(Check::new(&spare, "user:42").observed());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Plan<'a> {
    checks: CheckList<'a>,
    options: PlanOptions,
}

/// The options of a plan; a single check has the defaults.
#[derive(Debug, Clone, Copy, Default)]
struct PlanOptions {
    /// Whether each requirement is charged independently.
    independent: bool,
    /// The time after which the caller gives up.
    within: Option<Span>,
}

impl<'a> Plan<'a> {
    /// Creates an empty plan.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a check that has to admit.
    #[inline]
    pub fn require(&mut self, check: Check<'a>) -> &mut Self {
        self.checks.push(check);
        self
    }

    /// Adds an alternative to the requirement before it, used only if that one refuses.
    ///
    /// The same applies to shadows: after [`observe`](Self::observe), a check that is also a
    /// [shadow](Check::observed) is evaluated and charged only if the shadows before it refuse.
    /// One that is not a shadow has to admit by itself: shadows satisfy no requirement.
    pub fn or(&mut self, check: Check<'a>) -> &mut Self {
        let check = if self.checks().is_empty() { check } else { check.or_else() };
        self.require(check)
    }

    /// Adds a check that counts and reports but never blocks.
    ///
    /// It is charged as if it were [required](Self::require), but only together with the
    /// requirements.
    pub fn observe(&mut self, check: Check<'a>) -> &mut Self {
        self.require(check.observed())
    }

    /// Charges each requirement independently of the others.
    pub fn independently(&mut self) -> &mut Self {
        self.options.independent = true;
        self
    }

    /// Sets the time after which the caller gives up.
    ///
    /// A store that cannot answer in time gives up, and the fallback of each check applies; a
    /// store that never waits ignores it.
    pub fn answered_within(&mut self, within: Option<Span>) -> &mut Self {
        self.options.within = within;
        self
    }

    /// Returns the checks in evaluation order.
    pub fn checks(&self) -> &[Check<'a>] {
        self.checks.as_slice()
    }

    /// Returns whether each requirement is charged independently.
    pub fn is_independent(&self) -> bool {
        self.options.independent
    }

    /// Returns the time after which the caller gives up, if one was given.
    pub fn within(&self) -> Option<Span> {
        self.options.within
    }

    /// Returns a view of the plan.
    pub(crate) fn view(&self) -> PlanView<'_> {
        PlanView { checks: self.checks(), options: self.options }
    }
}

/// The checks of a plan, or a single check, with the options that apply to all of them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PlanView<'p> {
    pub(crate) checks: &'p [Check<'p>],
    options: PlanOptions,
}

impl<'p> PlanView<'p> {
    /// Views a check as a plan.
    pub(crate) fn of_check(check: &'p Check<'p>) -> Self {
        Self { checks: std::slice::from_ref(check), options: PlanOptions::default() }
    }

    /// Returns the view with other checks.
    pub(crate) fn with_checks<'c>(&self, checks: &'c [Check<'c>]) -> PlanView<'c> {
        PlanView { checks, options: self.options }
    }

    /// Returns the set of these checks, all or nothing or independent.
    #[inline]
    pub(crate) fn set(&self) -> Set<'p> {
        let (checks, id) = (self.checks, next_set_id());
        let PlanOptions { independent, within } = self.options;
        let set = if independent { Set::independent(checks, id) } else { Set::all(checks, id) };
        set.answered_within(within)
    }
}

//! A plan: the checks of one request.

mod check_list;

use std::ops::Range;

use sluicegate_core::{Check, Set, Span};
use smallvec::SmallVec;

use self::check_list::CheckList;
use crate::set_id::next_set_id;

/// The checks of one request, decided in one step.
///
/// A plan has requirements, which are charged together or not at all, and shadows: sets of their
/// own, charged as if each alone were enforced, whose verdicts are only reported.
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
/// plan.observe([Check::new(&tighter, "user:42"), Check::new(&spare, "user:42").or_else()]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Plan<'a> {
    /// The requirements, then the shadows.
    checks: CheckList<'a>,
    /// The index of the first check of each shadow.
    shadows: SmallVec<[u16; 4]>,
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
        if self.shadows.is_empty() {
            self.checks.push(check);
        } else {
            self.require_before_shadows(check);
        }
        self
    }

    #[cold]
    fn require_before_shadows(&mut self, check: Check<'a>) {
        let end = self.required().len();
        self.checks.insert(end, check);
        self.shadows.iter_mut().for_each(|first| *first += 1);
    }

    /// Adds an alternative to the last requirement, used only if that one refuses.
    pub fn or(&mut self, check: Check<'a>) -> &mut Self {
        let check = if self.required().is_empty() { check } else { check.or_else() };
        self.require(check)
    }

    /// Adds a shadow: checks that are decided as a set of their own and never block.
    ///
    /// They are charged as if they alone were enforced: all of them, if each of them or an
    /// [alternative](Check::or_else) to it admits, even if a requirement refuses.
    pub fn observe(&mut self, checks: impl IntoIterator<Item = Check<'a>>) -> &mut Self {
        let first = self.checks().len();
        checks.into_iter().for_each(|check| self.checks.push(check));
        if self.checks().len() > first {
            self.shadows.push(u16::try_from(first).unwrap_or(u16::MAX));
        }
        self
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

    /// Returns all checks: the requirements, then the shadows.
    pub fn checks(&self) -> &[Check<'a>] {
        self.checks.as_slice()
    }

    /// Returns the requirements.
    pub fn required(&self) -> &[Check<'a>] {
        let checks = self.checks();
        self.shadows.first().map_or(checks, |first| &checks[..usize::from(*first)])
    }

    /// Returns the checks of each shadow.
    pub fn shadows(&self) -> impl Iterator<Item = &[Check<'a>]> {
        self.view().shadow_ranges().map(|range| &self.checks()[range])
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
        PlanView { checks: self.checks(), shadows: &self.shadows, options: self.options }
    }
}

/// The checks of a plan, or a single check, with the options that apply to all of them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PlanView<'p> {
    pub(crate) checks: &'p [Check<'p>],
    shadows: &'p [u16],
    options: PlanOptions,
}

impl<'p> PlanView<'p> {
    /// Returns the view with other checks.
    pub(crate) fn with_checks<'c>(&self, checks: &'c [Check<'c>]) -> PlanView<'c>
    where
        'p: 'c,
    {
        PlanView { checks, ..*self }
    }

    /// Returns whether the caller gives up after some time.
    pub(crate) fn has_deadline(&self) -> bool {
        self.options.within.is_some()
    }

    /// Returns whether there are shadows.
    #[inline]
    pub(crate) fn has_shadows(&self) -> bool {
        !self.shadows.is_empty()
    }

    /// Returns the number of requirements.
    #[inline]
    pub(crate) fn required(&self) -> usize {
        self.shadows.first().map_or(self.checks.len(), |first| usize::from(*first))
    }

    /// Returns the checks of all shadows.
    #[inline]
    pub(crate) fn shadow_checks(&self) -> &'p [Check<'p>] {
        &self.checks[self.required()..]
    }

    /// Returns the places of each shadow.
    pub(crate) fn shadow_ranges(&self) -> impl Iterator<Item = Range<usize>> + use<'p> {
        let ends = self.shadows.iter().skip(1).map(|first| usize::from(*first));
        let starts = self.shadows.iter().map(|first| usize::from(*first));
        starts.zip(ends.chain([self.checks.len()])).map(|(start, end)| start..end)
    }

    /// Returns the places of each set: the requirements, unless there are none, then the shadows.
    #[inline]
    pub(crate) fn set_ranges(&self) -> impl Iterator<Item = Range<usize>> + use<'p> {
        let required = (self.required() > 0).then_some(0..self.required());
        required.into_iter().chain(self.shadow_ranges())
    }

    /// Returns the sets to decide.
    #[inline]
    pub(crate) fn sets(&self) -> impl Iterator<Item = Set<'p>> + use<'p> {
        let view = *self;
        self.set_ranges().map(move |range| view.set(range))
    }

    /// Returns the set of these checks, all or nothing or independent.
    #[inline]
    pub(crate) fn set(&self, range: Range<usize>) -> Set<'p> {
        let is_required = range.start < self.required();
        let (checks, id) = (&self.checks[range], next_set_id());
        let PlanOptions { independent, within } = self.options;
        let set = if independent && is_required {
            Set::independent(checks, id)
        } else {
            Set::all(checks, id)
        };
        set.answered_within(within)
    }
}

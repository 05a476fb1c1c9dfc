//! The distinct cells that the checks of a set use.

use sluicegate_core::{CellRef, ChargeId, Check, Set};
use smallvec::SmallVec;

/// More cells than nearly all sets have; beyond it, memory is allocated.
const USUAL: usize = 8;

/// The distinct cells that the checks of a set use, under names of a store.
///
/// ```
/// use sluicegate::{CellMap, Check, ChargeId, Limit, Set};
///
/// let limit = Limit::token_bucket("api", "10/s".parse()?)?;
/// let checks = ["ann", "bob", "ann"].map(|key| Check::new(&limit, key));
/// let set = Set::all(&checks, ChargeId::from_bits(0));
/// let cells = CellMap::of(&set, |check| check.key(), |_, check| check.key());
/// assert_eq!(cells.names(), [b"ann", b"bob"]);
/// assert_eq!(cells.places().iter().map(|place| place.index()).collect::<Vec<_>>(), [0, 1, 0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct CellMap<N> {
    names: SmallVec<[N; USUAL]>,
    places: SmallVec<[CellRef; USUAL]>,
}

impl<N: PartialEq> CellMap<N> {
    /// Names the counter of each check, and the settlement marker of those that have one.
    pub fn of<'a>(
        set: &Set<'a>,
        counter: impl Fn(&'a Check<'a>) -> N,
        settlement: impl Fn(ChargeId, &'a Check<'a>) -> N,
    ) -> Self {
        let mut cells = Self { names: SmallVec::new(), places: SmallVec::new() };
        for check in set.checks() {
            let mut place = CellRef::cell(cells.index(counter(check)));
            if let Some(id) = check.settles() {
                place = place.remembered_in(cells.index(settlement(id, check)));
            }
            cells.places.push(place);
        }
        cells
    }

    fn index(&mut self, name: N) -> usize {
        self.names.iter().position(|known| *known == name).unwrap_or_else(|| {
            self.names.push(name);
            self.names.len() - 1
        })
    }
}

impl<N> CellMap<N> {
    /// Returns the names of the cells, each once, in the order in which the checks use them.
    pub fn names(&self) -> &[N] {
        &self.names
    }

    /// Returns the cells of each check.
    pub fn places(&self) -> &[CellRef] {
        &self.places
    }
}

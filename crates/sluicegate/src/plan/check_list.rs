//! A list of checks that is stored inline while it is short.
//!
//! Not a `SmallVec`, which is invariant in its item's lifetime, so that a plan could not be passed
//! together with data derived from it.

use std::fmt;
use std::mem::ManuallyDrop;

use arrayvec::ArrayVec;
use sluicegate_core::Check;

/// The number of checks in nearly all requests.
const FEW: usize = 8;

/// The checks in evaluation order.
#[derive(Clone)]
#[allow(clippy::large_enum_variant, reason = "on the heap is where it must not be")]
pub(super) enum CheckList<'a> {
    /// Checks have nothing to drop: a plan may outlive the limits and keys that it borrows.
    Few(ManuallyDrop<ArrayVec<Check<'a>, FEW>>),
    Many(Vec<Check<'a>>),
}

impl Default for CheckList<'_> {
    #[inline]
    fn default() -> Self {
        Self::Few(ManuallyDrop::new(ArrayVec::new()))
    }
}

impl<'a> CheckList<'a> {
    #[inline]
    pub(super) fn push(&mut self, check: Check<'a>) {
        match self {
            Self::Few(checks) => {
                if let Err(full) = checks.try_push(check) {
                    let mut many = checks.to_vec();
                    many.push(full.element());
                    *self = Self::Many(many);
                }
            }
            Self::Many(checks) => checks.push(check),
        }
    }

    pub(super) fn insert(&mut self, index: usize, check: Check<'a>) {
        self.push(check);
        let checks = match self {
            Self::Few(checks) => checks.as_mut_slice(),
            Self::Many(checks) => checks,
        };
        checks[index..].rotate_right(1);
    }

    #[inline]
    pub(super) fn as_slice(&self) -> &[Check<'a>] {
        match self {
            Self::Few(checks) => checks,
            Self::Many(checks) => checks,
        }
    }
}

impl fmt::Debug for CheckList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_slice().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use sluicegate_core::Limit;

    use super::*;

    #[test]
    fn checks_keep_their_order_however_many_there_are() {
        let limit = Limit::token_bucket("limit", "5/day".parse().unwrap()).unwrap();
        let keys: Vec<String> = (0..FEW * 3).map(|key| key.to_string()).collect();
        let mut checks = CheckList::default();
        for count in 0..keys.len() {
            let found: Vec<&[u8]> = checks.as_slice().iter().map(Check::key).collect();
            let pushed: Vec<&[u8]> = keys[..count].iter().map(String::as_bytes).collect();
            assert_eq!(found, pushed);
            checks.push(Check::new(&limit, &keys[count]));
        }
    }
}

//! Exact fractions.

use std::cmp::Ordering;
use std::ops::{Add, Mul, Sub};

/// A fraction in lowest terms with a positive denominator; an overflow stops the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ratio {
    num: i128,
    den: i128,
}

impl Ratio {
    /// Nothing.
    pub(crate) const ZERO: Ratio = Ratio { num: 0, den: 1 };

    /// `num / den`.
    pub(crate) fn new(num: i128, den: i128) -> Ratio {
        assert!(den > 0, "a denominator must be positive, not {den}");
        let common = gcd(num.unsigned_abs(), den.unsigned_abs()).cast_signed();
        Ratio { num: num / common, den: den / common }
    }

    /// A whole number.
    pub(crate) fn whole(value: impl Into<i128>) -> Ratio {
        Ratio { num: value.into(), den: 1 }
    }

    /// The largest whole number that is not above.
    pub(crate) fn floor(self) -> i128 {
        self.num.div_euclid(self.den)
    }

    /// The smallest whole number that is not below.
    pub(crate) fn ceil(self) -> i128 {
        -(-self.num).div_euclid(self.den)
    }

    /// Rounded up to a whole number; 0 when below zero.
    pub(crate) fn ceil_u64(self) -> u64 {
        u64::try_from(self.ceil().max(0)).expect("fits 64 bits")
    }

    /// Rounded down to a whole number; 0 when below zero.
    pub(crate) fn floor_u64(self) -> u64 {
        u64::try_from(self.floor().max(0)).expect("fits 64 bits")
    }

    /// Rounded up to a multiple of `1 / parts`.
    pub(crate) fn round_up_to_parts(self, parts: i128) -> Ratio {
        // The whole part is kept apart so that the products stay small.
        let whole = Ratio::whole(self.floor());
        let fraction = self - whole;
        whole + Ratio::new((fraction * Ratio::whole(parts)).ceil(), parts)
    }

    /// Whether it is above zero.
    pub(crate) fn is_positive(self) -> bool {
        self.num > 0
    }
}

impl Add for Ratio {
    type Output = Ratio;

    fn add(self, other: Ratio) -> Ratio {
        let common = gcd(self.den.unsigned_abs(), other.den.unsigned_abs()).cast_signed();
        let left = self.num.checked_mul(other.den / common);
        let right = other.num.checked_mul(self.den / common);
        let num = left.zip(right).and_then(|(left, right)| left.checked_add(right));
        let den = self.den.checked_mul(other.den / common);
        Ratio::new(num.expect("sum fits 128 bits"), den.expect("sum fits 128 bits"))
    }
}

impl Sub for Ratio {
    type Output = Ratio;

    fn sub(self, other: Ratio) -> Ratio {
        self + Ratio { num: -other.num, den: other.den }
    }
}

impl Mul for Ratio {
    type Output = Ratio;

    fn mul(self, other: Ratio) -> Ratio {
        // Reducing crosswise first keeps the products small, and lowest.
        let left = Ratio::new(self.num, other.den);
        let right = Ratio::new(other.num, self.den);
        let num = left.num.checked_mul(right.num);
        let den = left.den.checked_mul(right.den);
        Ratio { num: num.expect("product fits 128 bits"), den: den.expect("product fits 128 bits") }
    }
}

impl PartialOrd for Ratio {
    fn partial_cmp(&self, other: &Ratio) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ratio {
    fn cmp(&self, other: &Ratio) -> Ordering {
        (*self - *other).num.cmp(&0)
    }
}

/// The greatest common divisor; at least 1.
pub(crate) fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        // Narrow numbers divide much faster.
        if let (Ok(mut small), Ok(mut other)) = (u64::try_from(a), u64::try_from(b)) {
            while other != 0 {
                (small, other) = (other, small % other);
            }
            return u128::from(small);
        }
        (a, b) = (b, a % b);
    }
    a.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_towards_the_right_side_on_both_sides_of_zero() {
        assert_eq!((Ratio::new(7, 2).floor(), Ratio::new(7, 2).ceil()), (3, 4));
        assert_eq!((Ratio::new(-7, 2).floor(), Ratio::new(-7, 2).ceil()), (-4, -3));
        assert_eq!(Ratio::new(6, 2).ceil(), 3);
    }

    #[test]
    fn rounds_up_to_parts() {
        // 1/3 in tenths is 4/10.
        assert_eq!(Ratio::new(1, 3).round_up_to_parts(10), Ratio::new(2, 5));
        assert_eq!(Ratio::new(5, 2).round_up_to_parts(4), Ratio::new(5, 2));
    }

    #[test]
    fn computes_exactly() {
        assert_eq!(Ratio::new(1, 3) + Ratio::new(1, 6), Ratio::new(1, 2));
        assert_eq!(Ratio::new(2, 3) * Ratio::new(9, 4), Ratio::new(3, 2));
        assert!(Ratio::new(1, 3) < Ratio::new(334, 1000));
    }
}

//! Numbers that can be added, multiplied and put in order: floats and 64-bit integers.

/// A number as reductions, scans and sorts see it. Integers wrap; among floats, NaN is greater than everything and less than
/// everything, so that it is the result of every comparison that it takes part in.
pub(crate) trait Number: Copy + PartialOrd + Default + Send + Sync + 'static {
    /// The sum of nothing.
    const ZERO: Self;
    /// The product of nothing.
    const ONE: Self;
    /// No number is less.
    const LOWEST: Self;
    /// No number is greater.
    const HIGHEST: Self;

    /// The sum.
    fn plus(self, other: Self) -> Self;
    /// The product.
    fn times(self, other: Self) -> Self;
    /// Whether this is no number.
    fn is_nan(self) -> bool;

    /// The greater of two, or NaN.
    #[inline(always)]
    fn maximum(self, other: Self) -> Self {
        if other > self || other.is_nan() { other } else { self }
    }

    /// The less of two, or NaN.
    #[inline(always)]
    fn minimum(self, other: Self) -> Self {
        if other < self || other.is_nan() { other } else { self }
    }
}

macro_rules! float {
    ($($number:ty),*) => {$(
        impl Number for $number {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const LOWEST: Self = <$number>::NEG_INFINITY;
            const HIGHEST: Self = <$number>::INFINITY;

            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self + other
            }

            #[inline(always)]
            fn times(self, other: Self) -> Self {
                self * other
            }

            #[inline(always)]
            fn is_nan(self) -> bool {
                self.is_nan()
            }
        }
    )*};
}

float!(f32, f64);

impl Number for i64 {
    const ZERO: Self = 0;
    const ONE: Self = 1;
    const LOWEST: Self = i64::MIN;
    const HIGHEST: Self = i64::MAX;

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }

    #[inline(always)]
    fn times(self, other: Self) -> Self {
        self.wrapping_mul(other)
    }

    #[inline(always)]
    fn is_nan(self) -> bool {
        false
    }
}

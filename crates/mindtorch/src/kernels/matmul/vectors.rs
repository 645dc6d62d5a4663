//! Vectors of numbers, for kernels that say which registers hold what.

#![expect(unsafe_code, reason = "vectors are read and written through pointers")]

use crate::kernels::real::Real;
use pulp::{Arch, MemMask, Simd};
use std::sync::LazyLock;

/// The instruction set of this machine, found once.
pub(crate) static ARCH: LazyLock<Arch> = LazyLock::new(Arch::new);

/// A number of which vectors can be made.
pub(crate) trait Vectors: Real {
    /// As many numbers as a register of the instruction set `S` holds.
    type Vector<S: Simd>: Copy;
    /// Which numbers of a vector are meant.
    type Mask<S: Simd>: Copy;

    /// How many numbers a vector holds.
    #[inline(always)]
    fn lanes<S: Simd>() -> usize {
        size_of::<Self::Vector<S>>() / size_of::<Self>()
    }

    /// The vector that holds `number` in every lane.
    fn splat<S: Simd>(simd: S, number: Self) -> Self::Vector<S>;

    /// `a * b + c`, lane by lane.
    fn multiply_add<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>, c: Self::Vector<S>) -> Self::Vector<S>;

    /// The sum of the lanes.
    fn sum_lanes<S: Simd>(simd: S, vector: Self::Vector<S>) -> Self;

    /// The vector at `from`.
    ///
    /// # Safety
    /// A vector's worth of numbers can be read there.
    #[inline(always)]
    unsafe fn load<S: Simd>(_simd: S, from: *const Self) -> Self::Vector<S> {
        // SAFETY: a vector is nothing but its numbers; the caller promises that they are there.
        unsafe { from.cast::<Self::Vector<S>>().read_unaligned() }
    }

    /// Writes `vector` to `to`.
    ///
    /// # Safety
    /// A vector's worth of numbers can be written there.
    #[inline(always)]
    unsafe fn store<S: Simd>(_simd: S, to: *mut Self, vector: Self::Vector<S>) {
        // SAFETY: a vector is nothing but its numbers; the caller promises that there is room for them.
        unsafe { to.cast::<Self::Vector<S>>().write_unaligned(vector) };
    }

    /// The first `len` numbers of a vector.
    fn first<S: Simd>(simd: S, len: usize) -> Self::Mask<S>;

    /// The numbers at `from` that `mask` means, and zeros.
    ///
    /// # Safety
    /// The numbers that `mask` means can be read.
    unsafe fn load_masked<S: Simd>(simd: S, from: *const Self, mask: Self::Mask<S>) -> Self::Vector<S>;

    /// Writes those numbers of `vector` to `to` that `mask` means.
    ///
    /// # Safety
    /// The numbers that `mask` means can be written.
    unsafe fn store_masked<S: Simd>(simd: S, to: *mut Self, vector: Self::Vector<S>, mask: Self::Mask<S>);
}

macro_rules! vectors {
    ($number:ty, $vector:ident, $mask:ident, $index:ty, $splat:ident, $fma:ident, $sum:ident, $first:ident, $load:ident, $store:ident) => {
        impl Vectors for $number {
            type Vector<S: Simd> = S::$vector;
            type Mask<S: Simd> = MemMask<S::$mask>;

            #[inline(always)]
            fn splat<S: Simd>(simd: S, number: Self) -> S::$vector {
                simd.$splat(number)
            }

            #[inline(always)]
            fn multiply_add<S: Simd>(simd: S, a: S::$vector, b: S::$vector, c: S::$vector) -> S::$vector {
                simd.$fma(a, b, c)
            }

            #[inline(always)]
            fn sum_lanes<S: Simd>(simd: S, vector: S::$vector) -> Self {
                simd.$sum(vector)
            }

            #[inline(always)]
            fn first<S: Simd>(simd: S, len: usize) -> Self::Mask<S> {
                // A mask made of its bits alone is an operand of the load or store; pulp's own would be a call.
                MemMask::new(simd.$first(0, len as $index).mask())
            }

            #[inline(always)]
            unsafe fn load_masked<S: Simd>(simd: S, from: *const Self, mask: Self::Mask<S>) -> S::$vector {
                // SAFETY: the caller's promise.
                unsafe { simd.$load(mask, from) }
            }

            #[inline(always)]
            unsafe fn store_masked<S: Simd>(simd: S, to: *mut Self, vector: S::$vector, mask: Self::Mask<S>) {
                // SAFETY: the caller's promise.
                unsafe { simd.$store(mask, to, vector) };
            }
        }
    };
}

vectors!(
    f32,
    f32s,
    m32s,
    u32,
    splat_f32s,
    mul_add_e_f32s,
    reduce_sum_f32s,
    mask_between_m32s,
    mask_load_ptr_f32s,
    mask_store_ptr_f32s
);
vectors!(
    f64,
    f64s,
    m64s,
    u64,
    splat_f64s,
    mul_add_e_f64s,
    reduce_sum_f64s,
    mask_between_m64s,
    mask_load_ptr_f64s,
    mask_store_ptr_f64s
);

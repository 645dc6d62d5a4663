//! A tensor's numbers as plain bits, for kernels that move them without looking.

#![expect(unsafe_code, reason = "the bytes of a storage become numbers of another type of their size here")]

use crate::Tensor;
use crate::tensor::access::start;

/// Where a tensor's first number is. Others are at places counted from there.
pub(crate) struct Memory<T>(*mut T);

// SAFETY: the address is of a tensor that the kernel was given; see `tensor::access` for who may write.
unsafe impl<T: Send> Send for Memory<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Memory<T> {}

impl<T: Copy> Memory<T> {
    pub(crate) fn of(tensor: &Tensor) -> Self {
        Self(first(tensor))
    }

    /// The address of a place.
    ///
    /// # Safety
    /// The tensor must have it.
    #[inline(always)]
    pub(crate) unsafe fn at(&self, place: usize) -> *mut T {
        // SAFETY: as the caller says.
        unsafe { self.0.add(place) }
    }

    /// Makes the number at a place what `update` makes of it and `value`.
    ///
    /// # Safety
    /// The tensor must have that place, and no other thread may use it.
    #[inline(always)]
    pub(crate) unsafe fn update(&self, place: usize, value: T, update: impl Fn(T, T) -> T) {
        // SAFETY: as the caller says.
        unsafe {
            let to = self.at(place);
            to.write(update(to.read(), value));
        }
    }
}

fn first<T>(tensor: &Tensor) -> *mut T {
    assert_eq!(size_of::<T>(), tensor.dtype().size(), "a kernel got numbers of another size");
    start(tensor).cast()
}

/// A contiguous tensor's numbers. `T` is a type that all bits are valid for.
pub(crate) fn numbers<T: Copy>(tensor: &Tensor) -> &[T] {
    assert!(tensor.is_contiguous(), "a kernel needs a contiguous input");
    // SAFETY: a tensor's window is within its storage, which lives as long as the tensor, and is aligned for its dtype.
    unsafe { std::slice::from_raw_parts(first(tensor), tensor.numel()) }
}

/// A contiguous tensor's numbers, to be changed.
#[expect(clippy::mut_from_ref, reason = "`tensor::access` says who may write")]
pub(crate) fn numbers_mut<T: Copy>(tensor: &Tensor) -> &mut [T] {
    assert!(tensor.is_contiguous(), "a kernel needs a contiguous output");
    // SAFETY: as for `numbers`, and the rule of `tensor::access`.
    unsafe { std::slice::from_raw_parts_mut(first(tensor), tensor.numel()) }
}

//! The numbers of a tensor, for kernels.
//!
//! These functions are for code that a device runs: on the host in an operation, on the NPU in queued work. A tensor that is
//! written to is an output, which the operation just made or may change; it is given to the kernel once, and never also as
//! an input (the callers see to that by copying). What a program does to a tensor on another thread meanwhile is its own
//! race, as in torch, and can only garble numbers: no type in a tensor has invalid bit patterns but `bool`, which kernels
//! read as bytes.

#![expect(unsafe_code, reason = "the bytes of a storage become numbers here")]

use super::Tensor;
use crate::dtype::{DType, Element};

/// A contiguous tensor's numbers.
pub(crate) fn read<T: Element>(tensor: &Tensor) -> &[T] {
    let data = first::<T>(tensor);
    assert!(tensor.is_contiguous(), "a kernel needs a contiguous input");
    // SAFETY: a tensor's window is within its storage, which lives as long as the tensor, and is aligned for its dtype.
    unsafe { std::slice::from_raw_parts(data, tensor.numel()) }
}

/// A contiguous tensor's numbers, to be changed.
#[expect(clippy::mut_from_ref, reason = "the module says who may write")]
pub(crate) fn write<T: Element>(tensor: &Tensor) -> &mut [T] {
    let data = first::<T>(tensor);
    assert!(tensor.is_contiguous(), "a kernel needs a contiguous output");
    // SAFETY: as for `read`, and the module's rule.
    unsafe { std::slice::from_raw_parts_mut(data, tensor.numel()) }
}

/// Where a tensor's first number is. What lies between its numbers may be someone else's.
#[inline]
pub(crate) fn first<T: Element>(tensor: &Tensor) -> *mut T {
    // Truths are read and written as bytes.
    let fits = T::DTYPE == tensor.dtype() || (T::DTYPE == DType::UInt8 && tensor.dtype() == DType::Bool);
    assert!(fits, "a kernel for {} got a tensor of {}", T::DTYPE, tensor.dtype());
    start(tensor).cast()
}

/// Where a tensor's first byte is.
#[inline]
pub(crate) fn start(tensor: &Tensor) -> *mut u8 {
    if tensor.numel() == 0 {
        // There may be no such place in the storage.
        return tensor.storage().data().as_ptr();
    }
    // SAFETY: the window begins inside the storage.
    unsafe { tensor.storage().data().as_ptr().add(tensor.offset() * tensor.dtype().size()) }
}

/// The numbers from a tensor's first to its last, with what lies between.
pub(crate) fn read_window<T: Element>(tensor: &Tensor) -> &[T] {
    let data = first::<T>(tensor);
    // SAFETY: as for `read`: first and last are within the storage.
    unsafe { std::slice::from_raw_parts(data, extent(tensor)) }
}

fn extent(tensor: &Tensor) -> usize {
    if tensor.numel() == 0 {
        return 0;
    }
    1 + tensor.shape().iter().zip(tensor.strides()).map(|(size, stride)| (size - 1) * stride).sum::<usize>()
}

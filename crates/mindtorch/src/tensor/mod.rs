//! Tensors: a window on a storage, and what autograd knows of it.

pub(crate) mod access;

use crate::autograd::Meta;
use crate::dtype::{DType, Element};
use crate::error::{Result, ensure};
use crate::execution_trace::Serial;
use crate::shape::{Dims, contiguous_strides, is_contiguous, numel};
use crate::storage::Storage;
use mindtorch_profiler::Device;
use std::fmt;
use std::sync::atomic::{AtomicPtr, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Numbers in some shape. Cheap to clone: both are the same tensor.
#[derive(Clone)]
pub struct Tensor(Arc<Inner>);

struct Inner {
    storage: Storage,
    dtype: DType,
    is_contiguous: bool,
    /// Of [`Flags`], where one load finds them.
    flags: AtomicU8,
    /// In numbers, from the storage's beginning.
    offset: usize,
    numel: usize,
    shape: Dims,
    strides: Dims,
    /// What most tensors do not have.
    meta: Mutex<Option<Box<Meta>>>,
    /// The object that a binding made for this tensor, while it lives. The runtime only keeps it.
    binding: AtomicPtr<()>,
    serial: Serial,
}

pub(crate) struct Flags;

impl Flags {
    /// It needs a gradient, as a leaf or as the result of something that does.
    pub(crate) const REQUIRES_GRAD: u8 = 1;
    /// It was made in inference mode, and can never be part of a graph.
    pub(crate) const INFERENCE: u8 = 2;
}

impl Tensor {
    /// A contiguous tensor with whatever is in its memory.
    ///
    /// # Errors
    /// If there is not so much memory.
    pub(crate) fn allocate(shape: &[usize], dtype: DType, device: Device) -> Result<Self> {
        let bytes = shape.iter().try_fold(dtype.size(), |bytes, &size| bytes.checked_mul(size));
        let bytes = bytes.filter(|&bytes| isize::try_from(bytes).is_ok());
        ensure!(
            bytes.is_some(),
            Runtime,
            "Storage size calculation overflowed with sizes={}",
            crate::shape::list(shape)
        );
        let storage = Storage::allocate(bytes.unwrap_or(0), device)?;
        Ok(Self::of_storage(storage, dtype, shape.into(), contiguous_strides(shape), 0))
    }

    /// A tensor that shows a part of a storage, which must be large enough.
    pub(crate) fn of_storage(storage: Storage, dtype: DType, shape: Dims, strides: Dims, offset: usize) -> Self {
        debug_assert!(
            numel(&shape) == 0
                || (offset + shape.iter().zip(&strides).map(|(size, stride)| (size - 1) * stride).sum::<usize>() + 1)
                    * dtype.size()
                    <= storage.bytes()
        );
        Self(Arc::new(Inner {
            dtype,
            is_contiguous: is_contiguous(&shape, &strides),
            flags: AtomicU8::new(if crate::autograd::mode::is_inference() { Flags::INFERENCE } else { 0 }),
            offset,
            numel: numel(&shape),
            shape,
            strides,
            storage,
            meta: Mutex::new(None),
            binding: AtomicPtr::new(std::ptr::null_mut()),
            serial: Serial::default(),
        }))
    }

    /// A tensor that shows a part of a storage: its first number is `offset` numbers from the beginning.
    ///
    /// # Errors
    /// If the storage is too small for it, or is not aligned for numbers of this type.
    pub fn from_storage(
        storage: Storage,
        dtype: DType,
        shape: &[usize],
        strides: &[usize],
        offset: usize,
    ) -> Result<Self> {
        ensure!(shape.len() == strides.len(), Runtime, "expected as many strides as sizes");
        let address = storage.data().addr().get();
        ensure!(address.is_multiple_of(dtype.size()), Runtime, "the storage is not aligned for numbers of {dtype}");
        let count = shape.iter().try_fold(1usize, |count, &size| count.checked_mul(size));
        let mut steps = shape.iter().zip(strides).map(|(size, stride)| size.saturating_sub(1).checked_mul(*stride));
        let last = steps.try_fold(offset, |last, step| last.checked_add(step?));
        let end = last.and_then(|last| last.checked_add(1)?.checked_mul(dtype.size()));
        ensure!(
            count == Some(0) || (count.is_some() && end.is_some_and(|end| end <= storage.bytes())),
            Runtime,
            "a storage of {} bytes is too small for sizes {} with strides {} from {offset} on",
            storage.bytes(),
            crate::shape::list(shape),
            crate::shape::list(strides)
        );
        Ok(Self::of_storage(storage, dtype, shape.into(), strides.into(), offset))
    }

    /// Another window on the same storage, without history.
    pub(crate) fn window(&self, shape: Dims, strides: Dims, offset: usize) -> Self {
        Self::of_storage(self.0.storage.clone(), self.0.dtype, shape, strides, offset)
    }

    /// The same window on the same storage, without history.
    pub(crate) fn alias(&self) -> Self {
        self.window(self.0.shape.clone(), self.0.strides.clone(), self.0.offset)
    }

    /// The same window, for work that is queued on the tensor's device.
    pub(crate) fn alias_for_device(&self) -> Self {
        let inner = &*self.0;
        let storage = inner.storage.borrow_for_device();
        Self::of_storage(storage, inner.dtype, inner.shape.clone(), inner.strides.clone(), inner.offset)
    }

    /// A tensor on the host with these numbers.
    ///
    /// # Errors
    /// If `shape` has another number of them, or if there is no memory.
    pub fn from_slice<T: Element>(numbers: &[T], shape: &[usize]) -> Result<Self> {
        ensure!(
            numel(shape) == numbers.len(),
            Runtime,
            "shape '{}' is invalid for input of size {}",
            crate::shape::list(shape),
            numbers.len()
        );
        let tensor = Self::allocate(shape, T::DTYPE, Device::Cpu)?;
        access::write(&tensor).copy_from_slice(numbers);
        Ok(tensor)
    }

    /// The type of its numbers.
    #[inline]
    pub fn dtype(&self) -> DType {
        self.0.dtype
    }

    /// Where it is.
    #[inline]
    pub fn device(&self) -> Device {
        self.0.storage.device()
    }

    /// Its sizes.
    #[inline]
    pub fn shape(&self) -> &[usize] {
        &self.0.shape
    }

    /// How far apart, in numbers, neighbours in each dimension are.
    #[inline]
    pub fn strides(&self) -> &[usize] {
        &self.0.strides
    }

    /// Where in its storage it begins, in numbers.
    #[inline]
    pub fn offset(&self) -> usize {
        self.0.offset
    }

    /// How many dimensions it has.
    #[inline]
    pub fn ndim(&self) -> usize {
        self.0.shape.len()
    }

    /// How many numbers it has.
    #[inline]
    pub fn numel(&self) -> usize {
        self.0.numel
    }

    /// Whether its numbers lie one after another.
    #[inline]
    pub fn is_contiguous(&self) -> bool {
        self.0.is_contiguous
    }

    /// Its memory.
    #[inline]
    pub fn storage(&self) -> &Storage {
        &self.0.storage
    }

    /// Whether both are one tensor.
    #[inline]
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Whether nobody else has this tensor or its memory.
    pub(crate) fn is_unshared(&self) -> bool {
        Arc::strong_count(&self.0) == 1 && self.0.storage.is_unshared()
    }

    /// Whether nobody else has this tensor, nor its memory but the tensor of which it is a view, which nobody else has.
    pub(crate) fn is_sole(&self) -> bool {
        Arc::strong_count(&self.0) == 1
            && match self.0.storage.use_count() {
                1 => true,
                // The view has one reference, and here is one.
                2 => self.base().is_some_and(|base| Arc::strong_count(&base.0) == 2),
                _ => false,
            }
    }

    /// Whether its numbers fill a stretch of memory, each place once.
    pub(crate) fn is_dense(&self) -> bool {
        self.0.is_contiguous || crate::shape::is_dense(&self.0.shape, &self.0.strides)
    }

    /// Distinguishes tensors that live at the same time.
    pub fn id(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }

    /// Distinguishes tensors for ever.
    pub(crate) fn serial(&self) -> u64 {
        self.0.serial.get()
    }

    /// The place for the object that a binding made for this tensor. Null is none.
    pub fn binding(&self) -> &AtomicPtr<()> {
        &self.0.binding
    }

    #[inline]
    pub(crate) fn has_flag(&self, flag: u8) -> bool {
        self.0.flags.load(Ordering::Relaxed) & flag != 0
    }

    pub(crate) fn set_flag(&self, flag: u8, on: bool) {
        if on {
            self.0.flags.fetch_or(flag, Ordering::Relaxed);
        } else {
            self.0.flags.fetch_and(!flag, Ordering::Relaxed);
        }
    }

    pub(crate) fn meta(&self) -> MutexGuard<'_, Option<Box<Meta>>> {
        self.0.meta.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// As error messages name it: `torch.FloatTensor`.
    pub fn type_name(&self) -> String {
        let device = if self.device() == Device::Cpu { "" } else { "npu." };
        format!("torch.{device}{}Tensor", self.dtype().scalar_type())
    }
}

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tensor({:?}, {}, {:?})", self.shape(), self.dtype(), self.device())
    }
}

impl Tensor {
    /// A copy of its numbers, in the order of the dimensions. Waits for the device.
    ///
    /// # Errors
    /// If they are of another type.
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        ensure!(
            T::DTYPE == self.dtype() && T::DTYPE != DType::Bool,
            Runtime,
            "expected a tensor of {}, but got one of {}",
            T::DTYPE,
            self.dtype()
        );
        let _below = crate::autograd::mode::BelowAutograd::enter();
        Ok(access::read(&crate::ops::contiguous(&crate::ops::on_host(self)?)?).to_vec())
    }
}

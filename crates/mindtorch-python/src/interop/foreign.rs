//! Tensors in memory of the host that belongs to someone else.

use crate::error::raise;
use mindtorch::{DType, Device, Storage, Tensor};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::any::Any;
use std::ptr::NonNull;

/// Where the numbers of an array are.
pub(super) struct Layout {
    pub(super) dtype: DType,
    pub(super) shape: Vec<usize>,
    /// How far apart neighbours are, in numbers.
    pub(super) strides: Vec<usize>,
}

impl Layout {
    /// The layout of numbers that lie one after another.
    pub(super) fn contiguous(dtype: DType, shape: Vec<usize>) -> PyResult<Self> {
        let mut strides = vec![1usize; shape.len()];
        for dim in (1..shape.len()).rev() {
            strides[dim - 1] = strides[dim].checked_mul(shape[dim].max(1)).ok_or_else(too_large)?;
        }
        Ok(Self { dtype, shape, strides })
    }

    /// The bytes from the first number to the end of the last.
    pub(super) fn bytes(&self) -> PyResult<usize> {
        if self.shape.contains(&0) {
            return Ok(0);
        }
        let steps = self.shape.iter().zip(&self.strides).map(|(size, stride)| (size - 1).checked_mul(*stride));
        let last = steps.into_iter().try_fold(0usize, |last, step| last.checked_add(step?));
        let bytes = last.and_then(|last| last.checked_add(1)?.checked_mul(self.dtype.size()));
        bytes.filter(|&bytes| isize::try_from(bytes).is_ok()).ok_or_else(too_large)
    }
}

fn too_large() -> PyErr {
    PyValueError::new_err("the array is larger than the address space")
}

/// A tensor of the numbers at `data`. They are there, and may be written to, for as long as `owner` lives.
pub(super) fn share(data: *mut u8, layout: &Layout, owner: Box<dyn Any + Send + Sync>) -> PyResult<Tensor> {
    let Layout { dtype, shape, strides } = layout;
    let storage = match (NonNull::new(data), layout.bytes()?) {
        // Arrays without numbers may be nowhere.
        (_, 0) => Storage::allocate(0, Device::Cpu).map_err(raise)?,
        (None, _) => return Err(PyValueError::new_err("the array has numbers, but no memory")),
        (Some(data), bytes) => {
            if data.addr().get() % dtype.size() != 0 {
                return Err(PyValueError::new_err(format!(
                    "the memory of the array is not aligned to the size of its numbers ({} bytes). Copy the array to \
                     reallocate the memory.",
                    dtype.size()
                )));
            }
            Storage::foreign(data, bytes, owner)
        }
    };
    Tensor::from_storage(storage, *dtype, shape, strides, 0).map_err(raise)
}

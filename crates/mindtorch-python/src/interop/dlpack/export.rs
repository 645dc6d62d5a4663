//! Tensors, handed out.

use super::abi::{Array, IS_COPIED, Managed, Place, READ_ONLY, Type, Unversioned, Versioned};
use crate::error::raise;
use crate::profiler::without_lock;
use crate::tensor::{PyTensor, unwrap};
use mindtorch::{Device, Tensor, ops};
use pyo3::exceptions::{PyAssertionError, PyBufferError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::ffi::c_void;
use std::ptr::NonNull;

/// A tensor that is lent, with what the structure points to. Whoever has it calls the structure's deleter in the end.
struct Lent<M> {
    managed: M,
    _tensor: Tensor,
    /// The sizes and then the strides.
    _dims: Vec<i64>,
}

/// Makes a capsule of a tensor on the host.
fn capsule<M: Managed>(py: Python<'_>, tensor: Tensor, flags: u64) -> PyResult<Bound<'_, PyCapsule>> {
    let ndim = tensor.ndim();
    let mut dims: Vec<i64> = tensor.shape().iter().chain(tensor.strides()).map(|&dim| dim as i64).collect();
    let offset = if tensor.numel() == 0 { 0 } else { tensor.offset() * tensor.dtype().size() };
    let array = Array {
        data: tensor.storage().data().as_ptr().wrapping_add(offset).cast(),
        place: Place::CPU,
        ndim: ndim as i32,
        dtype: Type::of(tensor.dtype()),
        shape: dims.as_mut_ptr(),
        strides: dims.as_mut_ptr().wrapping_add(ndim),
        byte_offset: 0,
    };
    let lent = Box::into_raw(Box::<Lent<M>>::new_uninit()).cast::<Lent<M>>();
    let managed = M::new(array, lent.cast(), give_back::<M>, flags);
    // SAFETY: the box is new, and is filled here. What is in it stays valid until the deleter is called: by the destructor,
    // by whoever takes the array, or here if there is no capsule.
    unsafe {
        lent.write(Lent { managed, _tensor: tensor, _dims: dims });
        let managed = NonNull::new_unchecked(&raw mut (*lent).managed);
        PyCapsule::new_with_pointer_and_destructor(py, managed.cast::<c_void>(), M::NAME, Some(destroy::<M>))
            .inspect_err(|_| give_back(managed.as_ptr()))
    }
}

/// The deleter. It waits for no lock: an object of Python's that owns the memory may go a little later.
unsafe extern "C" fn give_back<M: Managed>(managed: *mut M) {
    // SAFETY: called once with what `capsule` made, whose context is the box that it is in.
    drop(unsafe { Box::from_raw((*managed).context().cast::<Lent<M>>()) });
}

/// What Python calls when a capsule goes: if nobody took the array, it is given back here.
unsafe extern "C" fn destroy<M: Managed>(capsule: *mut ffi::PyObject) {
    // SAFETY: Python calls this with the interpreter lock held and a capsule that is still whole.
    let managed = unsafe {
        if ffi::PyCapsule_IsValid(capsule, M::NAME.as_ptr()) == 0 {
            return;
        }
        ffi::PyCapsule_GetPointer(capsule, M::NAME.as_ptr()).cast::<M>()
    };
    // SAFETY: a capsule with its first name was not used, so that nobody else calls the deleter.
    let give_back = || unsafe { give_back(managed) };
    // An owner that is Python's goes at once if it is known that the lock is held, unless Python is ending.
    if Python::try_attach(|_| give_back()).is_none() {
        give_back();
    }
}

/// How a tensor is to be handed out.
#[derive(Clone, Copy, Default)]
struct Request {
    is_versioned: bool,
    place: Option<(i32, i32)>,
    copy: Option<bool>,
    is_read_only: bool,
}

fn export<'py>(py: Python<'py>, tensor: &Tensor, request: Request) -> PyResult<Bound<'py, PyCapsule>> {
    if tensor.requires_grad() {
        return Err(PyBufferError::new_err("Can't export tensors that require gradient, use tensor.detach()"));
    }
    let own = Place::of(tensor.device());
    let wanted = request.place.map_or(own, |(kind, index)| Place { kind, index });
    let device = ops::device_name(tensor.device());
    if wanted != Place::CPU {
        return Err(PyBufferError::new_err(if wanted == own {
            format!(
                "Can't export a tensor on {device}: other libraries cannot read its memory. Use Tensor.cpu() to copy the \
                 tensor to host memory first."
            )
        } else {
            format!("Unsupported device_type: {}", wanted.kind)
        }));
    }
    let must_copy = own != wanted;
    if must_copy && request.copy == Some(false) {
        return Err(PyValueError::new_err(format!(
            "cannot move (i.e. copy=False) tensor from {device} to cpu without copying."
        )));
    }
    if request.is_read_only && !request.is_versioned {
        return Err(PyBufferError::new_err(
            "read_only export requires the versioned DLPack protocol; pass max_version=(1, 0) or higher",
        ));
    }
    let copy = must_copy || request.copy == Some(true);
    let shared = if copy {
        without_lock(py, || ops::to(tensor, None, Some(Device::Cpu), true)).map_err(raise)?
    } else {
        tensor.clone()
    };
    let flags = if request.is_read_only { READ_ONLY } else { 0 } | if copy { IS_COPIED } else { 0 };
    if request.is_versioned {
        capsule::<Versioned>(py, shared, flags)
    } else {
        capsule::<Unversioned>(py, shared, flags)
    }
}

/// A capsule with the tensor, as libraries took it before `DLPack` had versions.
#[pyfunction]
#[pyo3(signature = (tensor, *, dl_device=None, copy=None))]
pub(super) fn to_dlpack<'py>(
    tensor: &Bound<'py, PyTensor>,
    dl_device: Option<(i32, i32)>,
    copy: Option<bool>,
) -> PyResult<Bound<'py, PyCapsule>> {
    export(tensor.py(), &unwrap(tensor), Request { place: dl_device, copy, ..Request::default() })
}

#[pymethods]
impl PyTensor {
    /// A capsule with the tensor, for the library that asks for it.
    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None, read_only=false))]
    fn __dlpack__<'py>(
        slf: &Bound<'py, Self>,
        stream: Option<&Bound<'py, PyAny>>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
        read_only: bool,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        if let Some(stream) = stream {
            let number =
                stream.extract::<i64>().map_err(|_| PyTypeError::new_err("stream must be ``int`` or ``none``"))?;
            if number != -1 {
                return Err(PyAssertionError::new_err("stream should be None on cpu."));
            }
        }
        let is_versioned = max_version.is_some_and(|(major, _)| major >= 1);
        export(slf.py(), &unwrap(slf), Request { is_versioned, place: dl_device, copy, is_read_only: read_only })
    }

    /// Where the tensor is, in `DLPack`'s numbers: `(1, 0)` is the host.
    fn __dlpack_device__(slf: &Bound<'_, Self>) -> (i32, i32) {
        let place = Place::of(unwrap(slf).device());
        (place.kind, place.index)
    }
}

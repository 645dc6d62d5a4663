//! Copies of tensors by `copy` and `pickle`.

use super::bytes::{bytes_of, tensor_of};
use crate::error::raise;
use crate::profiler::without_lock;
use crate::tensor::{PyTensor, device_of, dtype_object, make_subclass, unwrap, wrap};
use mindtorch::{DType, Tensor, ops};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyType};

/// Where, in the memo of a deep copy, the copies of storages are.
const STORAGES: &str = "mindtorch_v2";

/// An object of `class` for a new tensor.
fn object<'py>(class: &Bound<'py, PyType>, tensor: Tensor, requires_grad: bool) -> PyResult<Bound<'py, PyAny>> {
    if !class.is(class.py().get_type::<PyTensor>()) {
        return make_subclass(class, &tensor, requires_grad);
    }
    tensor.set_requires_grad(requires_grad).map_err(raise)?;
    wrap(class.py(), tensor)
}

/// The attributes that a program gave an object. None if it gave none.
fn attributes<'py>(object: &Bound<'py, PyTensor>) -> PyResult<Option<Bound<'py, PyDict>>> {
    let attributes = object.getattr("__dict__")?.cast_into::<PyDict>()?;
    Ok(if attributes.is_empty() { None } else { Some(attributes) })
}

/// A tensor with the same place in a copy of the storage. Tensors that share a storage have copies that share one.
fn copy_in_storage<'py>(tensor: &Bound<'py, PyTensor>, memo: &Bound<'py, PyDict>) -> PyResult<Tensor> {
    let py = tensor.py();
    let source = unwrap(tensor);
    let storages = match memo.get_item(STORAGES)? {
        Some(storages) => storages.cast_into::<PyDict>()?,
        None => {
            let storages = PyDict::new(py);
            memo.set_item(STORAGES, &storages)?;
            storages
        }
    };
    let storage = source.storage();
    let key = storage.data().addr().get();
    let copied = match storages.get_item(key)? {
        // The original is beside it, so that no other storage gets its address meanwhile.
        Some(pair) => unwrap(pair.get_item(1)?.cast::<PyTensor>()?),
        None => {
            let whole =
                Tensor::from_storage(storage.clone(), DType::UInt8, &[storage.bytes()], &[1], 0).map_err(raise)?;
            let copied = without_lock(py, || ops::clone(&whole)).map_err(raise)?;
            storages.set_item(key, (wrap(py, whole)?, wrap(py, copied.clone())?))?;
            copied
        }
    };
    let storage = copied.storage().clone();
    Tensor::from_storage(storage, source.dtype(), source.shape(), source.strides(), source.offset()).map_err(raise)
}

#[pymethods]
impl PyTensor {
    /// A new object that shares the memory.
    fn __copy__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let tensor = unwrap(slf);
        let copied = object(&slf.get_type(), ops::detach(&tensor).map_err(raise)?, tensor.requires_grad())?;
        if let Some(attributes) = attributes(slf)? {
            copied.getattr("__dict__")?.cast::<PyDict>()?.update(attributes.as_mapping())?;
        }
        Ok(copied)
    }

    /// A copy of a leaf, its gradient and its attributes.
    fn __deepcopy__<'py>(slf: &Bound<'py, Self>, memo: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let id = slf.as_ptr().addr();
        if let Some(copied) = memo.get_item(id)? {
            return Ok(copied);
        }
        let tensor = unwrap(slf);
        if !tensor.is_leaf() {
            return Err(PyRuntimeError::new_err(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.  \
                 If you were attempting to deepcopy a module, this may be because of a torch.nn.utils.weight_norm usage, \
                 see https://github.com/pytorch/pytorch/pull/103001",
            ));
        }
        let copied = object(&slf.get_type(), copy_in_storage(slf, memo)?, tensor.requires_grad())?;
        memo.set_item(id, &copied)?;
        let deepcopy = py.import("copy")?.getattr("deepcopy")?;
        if let Some(grad) = tensor.grad() {
            copied.setattr("grad", deepcopy.call1((wrap(py, grad)?, memo))?)?;
        }
        if let Some(attributes) = attributes(slf)? {
            copied.getattr("__dict__")?.cast::<PyDict>()?.update(deepcopy.call1((attributes, memo))?.cast()?)?;
        }
        Ok(copied)
    }

    /// What a pickle keeps: numbers, type, shape, device and attributes. A tensor with history comes back as a leaf.
    fn __reduce_ex__<'py>(slf: &Bound<'py, Self>, protocol: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyTuple>> {
        let _ = protocol;
        let py = slf.py();
        let tensor = unwrap(slf);
        let arguments = (
            slf.get_type(),
            bytes_of(py, &tensor)?,
            dtype_object(py, tensor.dtype())?,
            PyTuple::new(py, tensor.shape())?,
            tensor.requires_grad(),
            ops::device_name(tensor.device()),
        );
        let rebuild = py.import("mindtorch_v2._core")?.getattr("_rebuild_tensor")?;
        (rebuild, arguments, attributes(slf)?).into_pyobject(py)
    }
}

/// The tensor that was pickled.
#[pyfunction]
fn _rebuild_tensor<'py>(
    cls: &Bound<'py, PyType>,
    data: &Bound<'py, PyAny>,
    dtype: &Bound<'py, PyAny>,
    shape: &Bound<'py, PyAny>,
    requires_grad: bool,
    device: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = cls.py();
    let host = tensor_of(data, dtype, shape)?;
    let device = device_of(device)?;
    object(cls, without_lock(py, || ops::to(&host, None, Some(device), false)).map_err(raise)?, requires_grad)
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(_rebuild_tensor, module)?)
}

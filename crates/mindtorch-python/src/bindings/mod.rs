//! The operations, as Python's functions and methods: tables of signatures and what runs them.

pub(crate) mod args;
pub(crate) mod call;
mod cast;
mod creation;
mod index;
mod linalg;
mod network;
mod optimizer;
mod pointwise;
mod random;
mod reduce;
mod shape;
mod signature;
mod unary;

use pyo3::prelude::*;
use pyo3::types::PyList;

const TABLES: &[&[call::Entry]] = &[
    cast::ENTRIES,
    creation::ENTRIES,
    index::ENTRIES,
    linalg::ENTRIES,
    network::ENTRIES,
    optimizer::ENTRIES,
    pointwise::ENTRIES,
    random::ENTRIES,
    reduce::ENTRIES,
    shape::ENTRIES,
    unary::ENTRIES,
];

/// What the package gives its users besides the operations.
const PUBLIC: [&str; 25] = [
    "Generator",
    "OutOfMemoryError",
    "Tensor",
    "as_tensor",
    "default_generator",
    "device",
    "double",
    "dtype",
    "float",
    "from_dlpack",
    "from_numpy",
    "frombuffer",
    "get_default_dtype",
    "get_num_threads",
    "half",
    "int",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "long",
    "promote_types",
    "result_type",
    "set_default_dtype",
    "set_num_threads",
    "short",
    "tensor",
];

/// Adds every function to the module and every method to the class of tensors.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    let class = py.get_type::<crate::tensor::PyTensor>().into_any();
    let mut functions = Vec::new();
    for entry in TABLES.iter().copied().flatten() {
        let target = (entry.target)();
        if target.places.has_function() {
            module.add(target.signature.name, call::object(py, entry, None)?)?;
            functions.push(target.signature.name);
        }
        if target.places.has_method() {
            class.setattr(target.signature.name, call::object(py, entry, Some(&class))?)?;
        }
    }
    module.add_function(wrap_pyfunction!(_stubs, module)?)?;
    // What `from mindtorch_v2._core import *` gives: the operations, the types and their names.
    functions.retain(|name| !name.starts_with('_'));
    functions.extend(PUBLIC);
    functions.extend(mindtorch::DType::ALL.map(mindtorch::DType::name));
    module.add("__all__", PyList::new(py, functions)?)
}

/// The stubs of all operations: those of functions, and those of methods.
#[pyfunction]
fn _stubs() -> (Vec<String>, Vec<String>) {
    let (mut functions, mut methods) = (Vec::new(), Vec::new());
    for entry in TABLES.iter().copied().flatten() {
        let target = (entry.target)();
        let (name, returns) = (target.signature.name, target.signature.returns);
        if target.places.has_function() {
            functions.push(format!("def {name}({}) -> {returns}: ...", target.signature.python(true, "")));
        }
        if target.places.has_method() {
            methods.push(format!("def {name}({}) -> {returns}: ...", target.signature.python(true, "self")));
        }
    }
    (functions, methods)
}

/// Sizes, none of which may be negative.
fn unsigned(sizes: &[i64]) -> mindtorch::Result<Vec<usize>> {
    let size = |&size: &i64| {
        usize::try_from(size).map_err(|_| {
            let message = format!("Trying to create tensor with negative dimension {size}: {sizes:?}");
            mindtorch::Error::new(mindtorch::ErrorKind::Runtime, message)
        })
    };
    sizes.iter().map(size).collect()
}

/// A new tensor, which may be asked for its gradient.
fn finish(tensor: mindtorch::Result<mindtorch::Tensor>, requires_grad: bool) -> mindtorch::Result<mindtorch::Tensor> {
    let tensor = tensor?;
    if requires_grad && !tensor.dtype().is_float() {
        let message = "Only Tensors of floating point and complex dtype can require gradients";
        return Err(mindtorch::Error::new(mindtorch::ErrorKind::Runtime, message));
    }
    tensor.set_requires_grad(requires_grad)?;
    Ok(tensor)
}

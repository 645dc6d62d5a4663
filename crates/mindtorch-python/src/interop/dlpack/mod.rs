//! `DLPack`: tensors handed to other libraries and taken from them, without a copy.

#![expect(unsafe_code, reason = "the protocol is C structures behind pointers")]

mod abi;
mod export;
mod import;

use pyo3::prelude::*;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(export::to_dlpack, module)?)?;
    module.add_function(wrap_pyfunction!(import::from_dlpack, module)?)
}

//! Memory that is shared with others, objects that are copied and stored, and the accelerator as Python sees it.

mod array;
mod bytes;
mod dlpack;
mod foreign;
mod npu;
mod pickle;
mod stream;

pub(crate) use array::from_array;

use pyo3::prelude::*;

/// Adds the classes and functions.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    array::register(module)?;
    bytes::register(module)?;
    dlpack::register(module)?;
    npu::register(module)?;
    pickle::register(module)?;
    stream::register(module)
}

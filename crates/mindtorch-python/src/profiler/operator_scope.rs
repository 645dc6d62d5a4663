//! Operators that are written in Python: `autograd.Function`.

use crate::tensor::{PyTensor, unwrap};
use mindtorch_profiler::Span;
use pyo3::prelude::*;
use std::sync::{Mutex, PoisonError};

/// While it is entered, a span as an operator of the runtime has it.
#[pyclass(frozen, name = "_OperatorScope", module = "mindtorch_v2._core")]
pub(crate) struct OperatorScope(Mutex<Span>);

#[pymethods]
impl OperatorScope {
    /// Begins the span of an operator with these inputs, if anyone records.
    #[new]
    #[expect(clippy::needless_pass_by_value, reason = "arguments that are converted arrive as values")]
    fn new(name: &str, inputs: Vec<Bound<'_, PyTensor>>) -> Self {
        let inputs: Vec<mindtorch::Tensor> = inputs.iter().map(unwrap).collect();
        Self(Mutex::new(mindtorch::operator_span(name, &inputs)))
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __exit__(&self, _exc_type: &Bound<'_, PyAny>, _exc_value: &Bound<'_, PyAny>, _traceback: &Bound<'_, PyAny>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Span::none();
    }
}

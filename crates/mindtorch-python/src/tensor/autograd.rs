//! Gradients, as Python asks for them.

use super::{PyTensor, unwrap, wrap};
use crate::bindings::args::tensors;
use crate::error::{carry, raise};
use crate::graph::{Handle, PyNode, python_hook};
use crate::profiler::without_lock;
use mindtorch::autograd::{self, Request};
use mindtorch::{Tensor, ops};
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use std::sync::Arc;

#[pymethods]
impl PyTensor {
    #[getter]
    fn requires_grad(slf: &Bound<'_, Self>) -> bool {
        unwrap(slf).requires_grad()
    }

    #[setter]
    fn set_requires_grad(slf: &Bound<'_, Self>, on: bool) -> PyResult<()> {
        unwrap(slf).set_requires_grad(on).map_err(raise)
    }

    #[pyo3(signature = (requires_grad=true))]
    fn requires_grad_<'py>(slf: &Bound<'py, Self>, requires_grad: bool) -> PyResult<Bound<'py, Self>> {
        unwrap(slf).set_requires_grad(requires_grad).map_err(raise)?;
        Ok(slf.clone())
    }

    #[getter]
    fn is_leaf(slf: &Bound<'_, Self>) -> bool {
        unwrap(slf).is_leaf()
    }

    fn is_inference(slf: &Bound<'_, Self>) -> bool {
        unwrap(slf).is_inference()
    }

    #[getter]
    fn grad<'py>(slf: &Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyAny>>> {
        unwrap(slf).grad().map(|grad| wrap(slf.py(), grad)).transpose()
    }

    #[setter]
    fn set_grad(slf: &Bound<'_, Self>, grad: Option<&Bound<'_, Self>>) -> PyResult<()> {
        unwrap(slf).set_grad(grad.map(unwrap)).map_err(raise)
    }

    #[deleter]
    fn delete_grad(slf: &Bound<'_, Self>) -> PyResult<()> {
        unwrap(slf).set_grad(None).map_err(raise)
    }

    #[getter]
    fn grad_fn(slf: &Bound<'_, Self>) -> Option<PyNode> {
        unwrap(slf).grad_fn().map(|edge| PyNode(edge.node))
    }

    #[getter]
    fn output_nr(slf: &Bound<'_, Self>) -> usize {
        unwrap(slf).grad_fn().map_or(0, |edge| edge.output)
    }

    #[getter]
    fn retains_grad(slf: &Bound<'_, Self>) -> bool {
        unwrap(slf).retains_grad()
    }

    fn retain_grad(slf: &Bound<'_, Self>) -> PyResult<()> {
        unwrap(slf).retain_grad().map_err(raise)
    }

    /// How often it was changed in place.
    #[getter]
    fn _version(slf: &Bound<'_, Self>) -> u32 {
        unwrap(slf).storage().version()
    }

    /// The tensor of which it is a view.
    #[getter]
    fn _base<'py>(slf: &Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyAny>>> {
        unwrap(slf).base().map(|base| wrap(slf.py(), base)).transpose()
    }

    fn _is_view(slf: &Bound<'_, Self>) -> bool {
        unwrap(slf).base().is_some()
    }

    /// The same numbers without history.
    #[getter]
    fn data<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        wrap(slf.py(), ops::detach(&unwrap(slf)).map_err(raise)?)
    }

    /// Gives the object other numbers, and keeps what autograd knows of it.
    #[setter]
    fn set_data(slf: &Bound<'_, Self>, data: &Bound<'_, Self>) -> PyResult<()> {
        let (old, new) = (unwrap(slf), ops::detach(&unwrap(data)).map_err(raise)?);
        if old.requires_grad() && !new.dtype().is_float() {
            return Err(PyRuntimeError::new_err(
                "data set to a tensor that requires gradients must be floating point or complex dtype",
            ));
        }
        old.move_autograd_to(&new);
        slf.get().replace(slf.py(), new);
        super::adopt(slf);
        Ok(())
    }

    /// Makes the object stand for another tensor, with its history: what a change of shape in place is.
    fn _become<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, Self>) -> PyResult<Bound<'py, Self>> {
        let old = unwrap(slf);
        if old.requires_grad() && old.is_leaf() && autograd::mode::is_grad_enabled() {
            let message = "a leaf Variable that requires grad is being used in an in-place operation.";
            return Err(PyRuntimeError::new_err(message));
        }
        slf.get().replace(slf.py(), unwrap(other));
        super::adopt(slf);
        Ok(slf.clone())
    }

    fn detach_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, Self>> {
        unwrap(slf).detach_().map_err(raise)?;
        Ok(slf.clone())
    }

    /// Calls `hook(grad)` with every gradient of it; what it returns replaces the gradient.
    fn register_hook<'py>(slf: &Bound<'py, Self>, hook: Py<PyAny>) -> PyResult<Handle> {
        let tensor = unwrap(slf);
        let id = tensor.register_hook(python_hook(hook)).map_err(raise)?;
        Ok(Handle::of_tensor(tensor, id))
    }

    /// Calls `hook(tensor)` whenever its gradient was added to.
    fn register_post_accumulate_grad_hook<'py>(slf: &Bound<'py, Self>, hook: Py<PyAny>) -> PyResult<Handle> {
        let tensor = unwrap(slf);
        let call = move |leaf: &Tensor| {
            Python::attach(|py| hook.call1(py, (wrap(py, leaf.clone())?,)).map(drop)).map(|()| None).map_err(carry)
        };
        let id = tensor.register_post_accumulate_grad_hook(Arc::new(call)).map_err(raise)?;
        Ok(Handle::of_tensor(tensor, id))
    }

    /// Computes the gradients of this tensor and adds them to the leaves.
    #[pyo3(signature = (gradient=None, retain_graph=None, create_graph=false, inputs=None))]
    fn backward(
        slf: &Bound<'_, Self>,
        gradient: Option<&Bound<'_, Self>>,
        retain_graph: Option<bool>,
        create_graph: bool,
        inputs: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let inputs = match inputs {
            None => Vec::new(),
            Some(one) if one.is_instance_of::<Self>() => vec![unwrap(one.cast::<Self>()?)],
            Some(many) => tensors(many).ok_or_else(|| {
                PyTypeError::new_err("'inputs' argument to backward() must be a Tensor or a sequence of them")
            })?,
        };
        let (roots, weights) = ([unwrap(slf)], [gradient.map(unwrap)]);
        let request = Request { retain_graph: retain_graph.unwrap_or(create_graph), create_graph };
        without_lock(slf.py(), || autograd::backward(&roots, &weights, &inputs, request)).map_err(raise)
    }
}

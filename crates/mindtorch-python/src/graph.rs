//! The graph behind tensors: nodes, hooks, functions of the program's own, and the switches of autograd.

use crate::bindings::args::tensors;
use crate::error::{carry, raise};
use crate::profiler::without_lock;
use crate::tensor::{PyTensor, unwrap, wrap};
use mindtorch::autograd::{self, Context, Grads, Node, Request, Rule, TensorHook, mode};
use mindtorch::{Result, Tensor};
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use std::sync::Arc;

/// A node of the graph.
#[pyclass(name = "Node", module = "mindtorch_v2.autograd.graph", frozen)]
pub(crate) struct PyNode(pub(crate) Arc<Node>);

#[pymethods]
impl PyNode {
    /// Its name, such as `MulBackward0`.
    fn name(&self) -> &str {
        self.0.name()
    }

    /// The nodes that gradients go to from here, each with the number of its output.
    #[getter]
    fn next_functions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let edges = self.0.edges().iter().map(|edge| match edge {
            Some(edge) => (Some(Self(Arc::clone(&edge.node))), edge.output),
            None => (None, 0),
        });
        PyTuple::new(py, edges.collect::<Vec<_>>())
    }

    /// The leaf whose gradient the node adds to.
    #[getter]
    fn variable<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.0.leaf().map(|leaf| wrap(py, leaf)).transpose()
    }

    /// Calls `hook(grad_inputs, grad_outputs)` whenever the node has run; what it returns replaces `grad_inputs`.
    fn register_hook(&self, hook: Py<PyAny>) -> Handle {
        let call = move |results: &Grads, given: &Grads| {
            Python::attach(|py| -> PyResult<Option<Grads>> {
                let replaced = hook.call1(py, (to_tuple(py, results)?, to_tuple(py, given)?))?;
                let replaced = replaced.bind(py);
                if replaced.is_none() { Ok(None) } else { of_sequence(replaced).map(Some) }
            })
            .map_err(carry)
        };
        let id = self.0.register_hook(Arc::new(call));
        Handle { place: Place::Node(Arc::clone(&self.0)), id }
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| Arc::ptr_eq(&self.0, &other.get().0))
    }

    fn __hash__(&self) -> usize {
        Arc::as_ptr(&self.0).addr() >> 4
    }

    fn __repr__(&self) -> String {
        let name = self.0.name().rsplit("::").next().unwrap_or_default();
        format!("<{name} object at {:#x}>", Arc::as_ptr(&self.0).addr())
    }
}

/// What a hook was registered with: removes it.
#[pyclass(name = "RemovableHandle", module = "mindtorch_v2.utils.hooks", frozen)]
pub(crate) struct Handle {
    place: Place,
    id: u64,
}

enum Place {
    Tensor(Tensor),
    Node(Arc<Node>),
}

impl Handle {
    pub(crate) fn of_tensor(tensor: Tensor, id: u64) -> Self {
        Self { place: Place::Tensor(tensor), id }
    }
}

#[pymethods]
impl Handle {
    /// Removes the hook.
    fn remove(&self) {
        match &self.place {
            Place::Tensor(tensor) => tensor.remove_hook(self.id),
            Place::Node(node) => node.remove_hook(self.id),
        }
    }

    fn __enter__<'py>(slf: Bound<'py, Self>) -> Bound<'py, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, _exception: &Bound<'_, PyTuple>) {
        self.remove();
    }
}

/// A hook that the runtime calls, of one that Python wrote.
pub(crate) fn python_hook(hook: Py<PyAny>) -> TensorHook {
    Arc::new(move |grad: &Tensor| {
        Python::attach(|py| -> PyResult<Option<Tensor>> {
            let replaced = hook.call1(py, (wrap(py, grad.clone())?,))?;
            let replaced = replaced.bind(py);
            if replaced.is_none() {
                return Ok(None);
            }
            let tensor = replaced.cast::<PyTensor>().map_err(|_| {
                PyTypeError::new_err(format!("expected Variable, but hook returned '{}'", replaced.get_type()))
            })?;
            Ok(Some(unwrap(tensor)))
        })
        .map_err(carry)
    })
}

fn to_tuple<'py>(py: Python<'py>, grads: &Grads) -> PyResult<Bound<'py, PyTuple>> {
    let grads = grads.iter().map(|grad| grad.clone().map(|grad| wrap(py, grad)).transpose());
    PyTuple::new(py, grads.collect::<PyResult<Vec<_>>>()?)
}

fn of_sequence(value: &Bound<'_, PyAny>) -> PyResult<Grads> {
    if value.is_instance_of::<PyTensor>() {
        return Ok(Grads::from_iter([Some(unwrap(value.cast::<PyTensor>()?))]));
    }
    if !value.is_instance_of::<PyTuple>() && !value.is_instance_of::<PyList>() {
        if value.is_none() {
            return Ok(Grads::from_iter([None]));
        }
        return Err(PyTypeError::new_err(format!(
            "expected a Tensor or tuple of Tensors, but got {}",
            value.get_type()
        )));
    }
    value
        .try_iter()?
        .map(|item| {
            let item = item?;
            if item.is_none() {
                return Ok(None);
            }
            let tensor = item
                .cast::<PyTensor>()
                .map_err(|_| PyTypeError::new_err(format!("expected Tensor or None, but got {}", item.get_type())))?;
            Ok(Some(unwrap(tensor)))
        })
        .collect()
}

/// The rule of a function that Python wrote: a callable from gradients to gradients.
struct PythonRule {
    backward: Py<PyAny>,
    inputs: usize,
}

impl Rule for PythonRule {
    fn apply(&self, _: &Context<'_>, grads: Grads) -> Result<Grads> {
        Python::attach(|py| {
            let results = of_sequence(self.backward.bind(py).call1((to_tuple(py, &grads)?,))?.as_any())?;
            if results.len() < self.inputs {
                return Err(PyRuntimeError::new_err(format!(
                    "a custom backward returned an incorrect number of gradients (expected {}, got {})",
                    self.inputs,
                    results.len()
                )));
            }
            Ok(results)
        })
        .map_err(carry)
    }
}

/// Makes `outputs` the results of a function of `inputs` whose gradients `backward(grads)` computes. Gives its node.
#[pyfunction]
fn _track_function(
    name: String,
    inputs: &Bound<'_, PyAny>,
    outputs: &Bound<'_, PyAny>,
    backward: Py<PyAny>,
) -> PyResult<Option<PyNode>> {
    let inputs = of_sequence(inputs)?;
    let outputs = tensors(outputs).ok_or_else(|| PyTypeError::new_err("outputs must be tensors"))?;
    let rule = Arc::new(PythonRule { backward, inputs: inputs.len() });
    let inputs: Vec<Option<&Tensor>> = inputs.iter().map(Option::as_ref).collect();
    let outputs: Vec<&Tensor> = outputs.iter().collect();
    let node = autograd::track_function(name, &inputs, &outputs, rule).map_err(raise)?;
    Ok(node.map(PyNode))
}

fn request(retain_graph: Option<bool>, create_graph: bool) -> Request {
    Request { retain_graph: retain_graph.unwrap_or(create_graph), create_graph }
}

fn weights(given: &Bound<'_, PyAny>, count: usize) -> PyResult<Vec<Option<Tensor>>> {
    if given.is_none() {
        return Ok(vec![None; count]);
    }
    Ok(of_sequence(given)?.into_vec())
}

/// Adds the gradients of `roots` to the leaves; only to `inputs`, if there are any.
#[pyfunction]
#[pyo3(signature = (roots, grad_tensors, inputs, retain_graph=None, create_graph=false))]
fn _backward(
    py: Python<'_>,
    roots: &Bound<'_, PyAny>,
    grad_tensors: &Bound<'_, PyAny>,
    inputs: &Bound<'_, PyAny>,
    retain_graph: Option<bool>,
    create_graph: bool,
) -> PyResult<()> {
    let expected = || PyTypeError::new_err("expected a sequence of tensors");
    let (roots, inputs) = (tensors(roots).ok_or_else(expected)?, tensors(inputs).ok_or_else(expected)?);
    let weights = weights(grad_tensors, roots.len())?;
    without_lock(py, || autograd::backward(&roots, &weights, &inputs, request(retain_graph, create_graph)))
        .map_err(raise)
}

/// The gradients of `roots` with respect to `inputs`; None for those that they do not depend on.
#[pyfunction]
#[pyo3(signature = (roots, grad_tensors, inputs, retain_graph=None, create_graph=false))]
fn _grad<'py>(
    py: Python<'py>,
    roots: &Bound<'py, PyAny>,
    grad_tensors: &Bound<'py, PyAny>,
    inputs: &Bound<'py, PyAny>,
    retain_graph: Option<bool>,
    create_graph: bool,
) -> PyResult<Bound<'py, PyTuple>> {
    let expected = || PyTypeError::new_err("expected a sequence of tensors");
    let (roots, inputs) = (tensors(roots).ok_or_else(expected)?, tensors(inputs).ok_or_else(expected)?);
    let weights = weights(grad_tensors, roots.len())?;
    let request = request(retain_graph, create_graph);
    let grads = without_lock(py, || autograd::grad(&roots, &weights, &inputs, request)).map_err(raise)?;
    to_tuple(py, &Grads::from_vec(grads))
}

/// Whether operations become part of a graph.
#[pyfunction]
fn is_grad_enabled() -> bool {
    mode::is_grad_enabled()
}

/// Whether tensors are made that can never be part of a graph.
#[pyfunction]
fn is_inference_mode_enabled() -> bool {
    mode::is_inference()
}

/// Switches recording for this thread, and gives what it was.
#[pyfunction]
fn _set_grad_enabled(on: bool) -> bool {
    mode::set_grad_enabled(on)
}

/// Switches inference mode for this thread, and gives what it was.
#[pyfunction]
fn _set_inference(on: bool) -> bool {
    mode::set_inference(on)
}

/// How many threads large operations use.
#[pyfunction]
fn get_num_threads(py: Python<'_>) -> usize {
    py.detach(mindtorch::num_threads)
}

/// Makes large operations use so many threads.
#[pyfunction]
fn set_num_threads(py: Python<'_>, threads: i64) -> PyResult<()> {
    let threads = usize::try_from(threads).ok().filter(|&threads| threads > 0);
    let threads = threads.ok_or_else(|| PyRuntimeError::new_err("set_num_threads expects a positive integer"))?;
    py.detach(|| mindtorch::set_num_threads(threads));
    Ok(())
}

/// Adds the classes and functions.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyNode>()?;
    module.add_class::<Handle>()?;
    module.add_function(wrap_pyfunction!(_track_function, module)?)?;
    module.add_function(wrap_pyfunction!(_backward, module)?)?;
    module.add_function(wrap_pyfunction!(_grad, module)?)?;
    module.add_function(wrap_pyfunction!(is_grad_enabled, module)?)?;
    module.add_function(wrap_pyfunction!(is_inference_mode_enabled, module)?)?;
    module.add_function(wrap_pyfunction!(_set_grad_enabled, module)?)?;
    module.add_function(wrap_pyfunction!(_set_inference, module)?)?;
    module.add_function(wrap_pyfunction!(get_num_threads, module)?)?;
    module.add_function(wrap_pyfunction!(set_num_threads, module)?)
}

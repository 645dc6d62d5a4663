//! The inputs of operators, as Python values.

use mindtorch_profiler::{Input, Inputs};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};
use std::sync::Arc;

type Numbers = for<'a> fn(&'a [i64], &'a [i64]) -> &'a [i64];

pub(super) const DIMS: Numbers = |dims, _| dims;
pub(super) const STRIDES: Numbers = |_, strides| strides;

/// The sizes or strides of every input; nothing for what is no tensor, and for lists of tensors unless they are nested.
pub(super) fn numbers<'py>(
    py: Python<'py>,
    inputs: &[Input],
    pick: Numbers,
    nested: bool,
) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for input in inputs {
        list.append(of_input(py, input, pick, nested)?)?;
    }
    Ok(list)
}

fn of_input<'py>(py: Python<'py>, input: &Input, pick: Numbers, nested: bool) -> PyResult<Bound<'py, PyList>> {
    match input {
        Input::Tensor { dims, strides, .. } => PyList::new(py, pick(dims, strides)),
        Input::TensorList(tensors) if nested => numbers(py, tensors, pick, true),
        Input::TensorList(_) | Input::Value { .. } => Ok(PyList::empty(py)),
    }
}

/// The shapes of the tensors among the inputs, with those of lists.
pub(super) fn tensor_shapes<'py>(py: Python<'py>, inputs: &[Input]) -> PyResult<Bound<'py, PyList>> {
    let tensors: Vec<Input> = inputs.iter().filter(|input| !matches!(input, Input::Value { .. })).cloned().collect();
    numbers(py, &tensors, DIMS, true)
}

pub(super) fn types(inputs: &[Input]) -> Vec<String> {
    let name = |input: &Input| match input {
        Input::Tensor { dtype, .. } | Input::Value { dtype, .. } => dtype.to_string(),
        Input::TensorList(_) => "TensorList".to_owned(),
    };
    inputs.iter().map(name).collect()
}

/// The values of inputs that are numbers or lists of them; None for the others.
pub(super) fn values<'py>(py: Python<'py>, inputs: &[Input]) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for input in inputs {
        list.append(match input {
            Input::Value { text, .. } => value(py, text)?,
            Input::Tensor { .. } | Input::TensorList(_) => py.None().into_bound(py),
        })?;
    }
    Ok(list)
}

/// The values of inputs that have keywords.
pub(super) fn keywords<'py>(py: Python<'py>, inputs: &[(Arc<str>, Input)]) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (keyword, input) in inputs {
        dict.set_item(&**keyword, keyword_value(py, input)?)?;
    }
    Ok(dict)
}

fn keyword_value<'py>(py: Python<'py>, input: &Input) -> PyResult<Bound<'py, PyAny>> {
    match input {
        Input::Value { dtype, text } if &**dtype == "String" => Ok(PyString::new(py, text).into_any()),
        Input::Value { text, .. } => value(py, text),
        Input::TensorList(items) => {
            let list = PyList::empty(py);
            for item in items {
                list.append(keyword_value(py, item)?)?;
            }
            Ok(list.into_any())
        }
        Input::Tensor { .. } => Ok(py.None().into_bound(py)),
    }
}

fn value<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    nested_value(py, text, 0)
}

/// Lists that are nested deeper than inputs can be are None. The text may come from a file.
fn nested_value<'py>(py: Python<'py>, text: &str, depth: usize) -> PyResult<Bound<'py, PyAny>> {
    if depth < Inputs::MAX_DEPTH
        && let Some(items) = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'))
    {
        let list = PyList::empty(py);
        for item in items.split(", ").filter(|item| !item.is_empty()) {
            list.append(nested_value(py, item, depth + 1)?)?;
        }
        return Ok(list.into_any());
    }
    match text {
        "True" => true.into_bound_py_any(py),
        "False" => false.into_bound_py_any(py),
        _ => match (text.parse::<i64>(), text.parse::<f64>()) {
            (Ok(int), _) => int.into_bound_py_any(py),
            (_, Ok(float)) => float.into_bound_py_any(py),
            _ => Ok(py.None().into_bound(py)),
        },
    }
}

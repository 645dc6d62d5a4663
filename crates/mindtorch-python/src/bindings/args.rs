//! The arguments of a call, checked against a signature.

use super::signature::{Default, Kind, Parameter, Signature};
use crate::tensor::{self, PyTensor};
use mindtorch::ops::Operand;
use mindtorch::{DType, Device, Generator, Scalar, Tensor};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyList, PyString, PyTuple};
use smallvec::SmallVec;
use std::sync::Arc;

/// An argument.
#[derive(Clone, Debug)]
pub(crate) enum Arg {
    None,
    Tensor(Tensor),
    Tensors(Vec<Tensor>),
    Scalar(Scalar),
    Int(i64),
    Ints(SmallVec<[i64; 5]>),
    Float(f64),
    Bool(bool),
    Text(String),
    DType(DType),
    Device(Device),
    Generator(Arc<Generator>),
}

/// The arguments of a call, one for each parameter.
pub(crate) struct Args(SmallVec<[Arg; 8]>);

/// The argument of another kind than the signature says: a mistake in a binding.
macro_rules! wrong {
    ($self:ident, $index:ident) => {
        unreachable!("argument {} is {:?}", $index, $self.0[$index])
    };
}

impl Args {
    pub(crate) fn tensor(&self, index: usize) -> &Tensor {
        self.opt_tensor(index).unwrap_or_else(|| wrong!(self, index))
    }

    pub(crate) fn opt_tensor(&self, index: usize) -> Option<&Tensor> {
        match &self.0[index] {
            Arg::Tensor(tensor) => Some(tensor),
            Arg::None => None,
            _ => wrong!(self, index),
        }
    }

    pub(crate) fn tensors(&self, index: usize) -> &[Tensor] {
        match &self.0[index] {
            Arg::Tensors(tensors) => tensors,
            Arg::None => &[],
            _ => wrong!(self, index),
        }
    }

    pub(crate) fn operand(&self, index: usize) -> Operand<'_> {
        self.opt_operand(index).unwrap_or_else(|| wrong!(self, index))
    }

    pub(crate) fn opt_operand(&self, index: usize) -> Option<Operand<'_>> {
        match &self.0[index] {
            Arg::Tensor(tensor) => Some(Operand::Tensor(tensor)),
            Arg::Scalar(scalar) => Some(Operand::Scalar(*scalar)),
            Arg::Int(value) => Some(Operand::Scalar(Scalar::Int(*value))),
            Arg::None => None,
            _ => wrong!(self, index),
        }
    }

    pub(crate) fn scalar(&self, index: usize) -> Scalar {
        self.opt_scalar(index).unwrap_or_else(|| wrong!(self, index))
    }

    pub(crate) fn opt_scalar(&self, index: usize) -> Option<Scalar> {
        match self.0[index] {
            Arg::Scalar(scalar) => Some(scalar),
            Arg::Int(value) => Some(Scalar::Int(value)),
            Arg::Float(value) => Some(Scalar::Float(value)),
            Arg::None => None,
            _ => wrong!(self, index),
        }
    }

    pub(crate) fn int(&self, index: usize) -> i64 {
        self.opt_int(index).unwrap_or_else(|| wrong!(self, index))
    }

    pub(crate) fn opt_int(&self, index: usize) -> Option<i64> {
        match self.0[index] {
            Arg::Int(value) => Some(value),
            Arg::None => None,
            _ => wrong!(self, index),
        }
    }

    /// The ints, none if none are given.
    pub(crate) fn ints(&self, index: usize) -> &[i64] {
        self.opt_ints(index).unwrap_or_default()
    }

    pub(crate) fn opt_ints(&self, index: usize) -> Option<&[i64]> {
        match &self.0[index] {
            Arg::Ints(values) => Some(values),
            // A truth where dimensions may be is about something else.
            Arg::None | Arg::Bool(_) => None,
            _ => wrong!(self, index),
        }
    }

    pub(crate) fn float(&self, index: usize) -> f64 {
        self.opt_float(index).unwrap_or_else(|| wrong!(self, index))
    }

    pub(crate) fn opt_float(&self, index: usize) -> Option<f64> {
        match self.0[index] {
            Arg::Float(value) => Some(value),
            Arg::Int(value) => Some(value as f64),
            Arg::None => None,
            _ => wrong!(self, index),
        }
    }

    pub(crate) fn bool(&self, index: usize) -> bool {
        match self.0[index] {
            Arg::Bool(value) => value,
            _ => wrong!(self, index),
        }
    }

    /// The truth that was given where other things may be.
    pub(crate) fn opt_bool(&self, index: usize) -> Option<bool> {
        match self.0[index] {
            Arg::Bool(value) => Some(value),
            _ => None,
        }
    }

    pub(crate) fn text(&self, index: usize) -> &str {
        self.opt_text(index).unwrap_or_default()
    }

    pub(crate) fn opt_text(&self, index: usize) -> Option<&str> {
        match &self.0[index] {
            Arg::Text(text) => Some(text),
            Arg::None => None,
            _ => wrong!(self, index),
        }
    }

    /// The text that is given where it is not what else may be given.
    pub(crate) fn text_instead(&self, index: usize) -> Option<&str> {
        match &self.0[index] {
            Arg::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn dtype(&self, index: usize) -> Option<DType> {
        match self.0[index] {
            Arg::DType(dtype) => Some(dtype),
            Arg::None => None,
            _ => wrong!(self, index),
        }
    }

    pub(crate) fn device(&self, index: usize) -> Option<Device> {
        match self.0[index] {
            Arg::Device(device) => Some(device),
            Arg::None => None,
            _ => wrong!(self, index),
        }
    }

    pub(crate) fn generator(&self, index: usize) -> Option<&Generator> {
        match &self.0[index] {
            Arg::Generator(generator) => Some(generator),
            Arg::None => None,
            _ => wrong!(self, index),
        }
    }

    pub(crate) fn is_none(&self, index: usize) -> bool {
        matches!(self.0[index], Arg::None)
    }

    /// How many numbers the arguments have: whether other threads may run meanwhile.
    pub(crate) fn numel(&self) -> usize {
        let of = |arg: &Arg| match arg {
            Arg::Tensor(tensor) => tensor.numel(),
            Arg::Tensors(tensors) => tensors.iter().map(Tensor::numel).sum(),
            Arg::Ints(sizes) => sizes.iter().map(|&size| size.unsigned_abs() as usize).fold(1, usize::saturating_mul),
            _ => 0,
        };
        self.0.iter().map(of).max().unwrap_or(0)
    }
}

/// Names by which numpy calls what torch calls otherwise.
fn torch_name(name: &str) -> &str {
    match name {
        "axis" => "dim",
        "keepdims" => "keepdim",
        "self" => "input",
        name => name,
    }
}

impl Signature {
    /// Checks the arguments of a call. `positional` holds `self` first if it is a method; `out` is not among the keywords.
    pub(crate) fn bind<'py>(
        &self,
        positional: &[Bound<'py, PyAny>],
        keywords: &[(Bound<'py, PyString>, Bound<'py, PyAny>)],
    ) -> PyResult<Args> {
        let mut args: SmallVec<[Arg; 8]> = SmallVec::new();
        let mut used = 0;
        let mut next = 0;
        for (index, parameter) in self.parameters.iter().enumerate() {
            if !parameter.keyword_only && next < positional.len() {
                if parameter.variadic && is_int(&positional[next]) {
                    let values = positional[next..].iter().map(|value| value.extract::<i64>()).collect::<PyResult<_>>();
                    args.push(Arg::Ints(values.map_err(|_| self.mismatch(parameter, next, &positional[next]))?));
                    next = positional.len();
                    continue;
                }
                args.push(self.convert(parameter, index, &positional[next])?);
                next += 1;
                continue;
            }
            if used < keywords.len()
                && let Some(value) = find(keywords, parameter.name)?
            {
                used += 1;
                args.push(self.convert(parameter, index, value)?);
                continue;
            }
            args.push(match &parameter.default {
                Default::Required if parameter.variadic && next > 0 => Arg::Ints(SmallVec::new()),
                Default::Required => return Err(self.missing(parameter)),
                Default::None => Arg::None,
                Default::Int(value) if matches!(parameter.kind, Kind::Ints | Kind::IntsOrText) => {
                    Arg::Ints(SmallVec::from_slice(&[*value]))
                }
                Default::Int(value) => Arg::Int(*value),
                Default::Float(value) if parameter.kind == Kind::Scalar => Arg::Scalar(Scalar::Float(*value)),
                Default::Float(value) => Arg::Float(*value),
                Default::Bool(value) => Arg::Bool(*value),
                Default::Text(value) => Arg::Text((*value).to_owned()),
                Default::Empty => Arg::Ints(SmallVec::new()),
            });
        }
        if next < positional.len() {
            return Err(PyTypeError::new_err(format!(
                "{}() takes {} positional argument{} but {} were given",
                self.name,
                self.positional,
                if self.positional == 1 { "" } else { "s" },
                positional.len()
            )));
        }
        if used < keywords.len() {
            return Err(self.unexpected(keywords, positional.len()));
        }
        Ok(Args(args))
    }

    #[cold]
    fn unexpected(&self, keywords: &[(Bound<'_, PyString>, Bound<'_, PyAny>)], positional: usize) -> PyErr {
        for (name, _) in keywords {
            let name = name.to_string_lossy();
            match self.parameters.iter().position(|parameter| parameter.name == torch_name(&name)) {
                None => {
                    return PyTypeError::new_err(format!(
                        "{}() got an unexpected keyword argument '{name}'",
                        self.name
                    ));
                }
                Some(index) if index < positional => {
                    return PyTypeError::new_err(format!("{}() got multiple values for argument '{name}'", self.name));
                }
                Some(_) => {}
            }
        }
        PyTypeError::new_err(format!("{}() got too many keyword arguments", self.name))
    }

    #[cold]
    fn missing(&self, parameter: &Parameter) -> PyErr {
        PyTypeError::new_err(format!("{}() missing 1 required positional arguments: \"{}\"", self.name, parameter.name))
    }

    #[cold]
    fn mismatch(&self, parameter: &Parameter, index: usize, value: &Bound<'_, PyAny>) -> PyErr {
        let type_name = value.get_type().name().map_or_else(|_| "?".to_owned(), |name| name.to_string());
        let place = if parameter.keyword_only { String::new() } else { format!(" (position {})", index + 1) };
        PyTypeError::new_err(format!(
            "{}(): argument '{}'{place} must be {}, not {type_name}",
            self.name,
            parameter.name,
            parameter.kind.name()
        ))
    }

    fn convert(&self, parameter: &Parameter, index: usize, value: &Bound<'_, PyAny>) -> PyResult<Arg> {
        if let Ok(tensor) = value.cast::<PyTensor>()
            && matches!(parameter.kind, Kind::Tensor | Kind::Operand)
        {
            return Ok(Arg::Tensor(tensor.get().get(value.py())));
        }
        if parameter.optional && value.is_none() {
            return Ok(Arg::None);
        }
        let mismatch = || self.mismatch(parameter, index, value);
        match parameter.kind {
            Kind::Tensor => Err(mismatch()),
            Kind::Tensors => tensors(value).map(Arg::Tensors).ok_or_else(mismatch),
            Kind::Operand => scalar(value)?.map(Arg::Scalar).ok_or_else(mismatch),
            Kind::Scalar => scalar_or_item(value)?.map(Arg::Scalar).ok_or_else(mismatch),
            Kind::Int => match scalar_or_item(value)? {
                Some(scalar @ (Scalar::Int(_) | Scalar::Bool(_))) => Ok(Arg::Int(scalar.to_i64())),
                _ => value
                    .call_method0("__index__")
                    .and_then(|value| value.extract())
                    .map(Arg::Int)
                    .map_err(|_| mismatch()),
            },
            Kind::Ints if parameter.optional && value.is_instance_of::<PyBool>() => Ok(Arg::Bool(value.is_truthy()?)),
            Kind::IntsOrText if value.is_instance_of::<PyString>() => Ok(Arg::Text(value.extract()?)),
            Kind::Ints | Kind::IntsOrText => ints(value).map(Arg::Ints).ok_or_else(mismatch),
            Kind::Float => scalar_or_item(value)?.map(|scalar| Arg::Float(scalar.to_f64())).ok_or_else(mismatch),
            Kind::Bool => value.cast::<PyBool>().map(|value| Arg::Bool(value.is_true())).map_err(|_| mismatch()),
            Kind::Text => value.extract().map(Arg::Text).map_err(|_| mismatch()),
            Kind::DType => tensor::dtype_of(value).map(Arg::DType).ok_or_else(mismatch),
            Kind::Device => Ok(Arg::Device(tensor::device_of(value)?)),
            Kind::Generator => tensor::generator_of(value).map(Arg::Generator).ok_or_else(mismatch),
        }
    }
}

fn find<'a, 'py>(
    keywords: &'a [(Bound<'py, PyString>, Bound<'py, PyAny>)],
    wanted: &str,
) -> PyResult<Option<&'a Bound<'py, PyAny>>> {
    for (name, value) in keywords {
        let name = name.to_cow()?;
        if name == wanted || torch_name(&name) == wanted {
            return Ok(Some(value));
        }
    }
    Ok(None)
}

fn is_int(value: &Bound<'_, PyAny>) -> bool {
    value.is_instance_of::<PyInt>() || (value.is_instance_of::<PyTensor>() && value.extract::<i64>().is_ok())
}

/// A number of Python's. None if it is something else.
pub(crate) fn scalar(value: &Bound<'_, PyAny>) -> PyResult<Option<Scalar>> {
    if let Ok(value) = value.cast::<PyFloat>() {
        return Ok(Some(Scalar::Float(value.value())));
    }
    if let Ok(value) = value.cast::<PyBool>() {
        return Ok(Some(Scalar::Bool(value.is_true())));
    }
    if let Ok(value) = value.cast::<PyInt>() {
        return Ok(Some(Scalar::Int(value.extract()?)));
    }
    // Numbers of numpy's and others'.
    if !value.hasattr("__array_interface__")? && !value.hasattr("dtype")? {
        return Ok(None);
    }
    if value.hasattr("shape")? && value.getattr("shape")?.len().unwrap_or(1) > 0 {
        return Ok(None);
    }
    match value.call_method0("item") {
        Ok(item) if !item.is(value) && !item.hasattr("dtype")? => scalar(&item),
        _ => Ok(None),
    }
}

/// A number of Python's, or that of a tensor which has only one.
fn scalar_or_item(value: &Bound<'_, PyAny>) -> PyResult<Option<Scalar>> {
    if let Ok(tensor) = value.cast::<PyTensor>() {
        let tensor = tensor.get().get(value.py());
        if tensor.numel() != 1 || tensor.ndim() > 0 {
            return Ok(None);
        }
        return mindtorch::ops::item(&tensor).map(Some).map_err(crate::error::raise);
    }
    scalar(value)
}

/// A list of tensors.
pub(crate) fn tensors(value: &Bound<'_, PyAny>) -> Option<Vec<Tensor>> {
    if !value.is_instance_of::<PyTuple>() && !value.is_instance_of::<PyList>() {
        return None;
    }
    let items = value.try_iter().ok()?;
    items.map(|item| Some(item.ok()?.cast::<PyTensor>().ok()?.get().get(value.py()))).collect()
}

/// A list of ints, or one int.
pub(crate) fn ints(value: &Bound<'_, PyAny>) -> Option<SmallVec<[i64; 5]>> {
    if let Ok(int) = value.extract::<i64>() {
        return Some(SmallVec::from_slice(&[int]));
    }
    if value.is_instance_of::<PyTensor>() || value.is_instance_of::<PyString>() {
        return None;
    }
    value
        .try_iter()
        .ok()?
        .map(|item| {
            let item = item.ok()?;
            item.extract().ok().or_else(|| item.call_method0("__index__").ok()?.extract().ok())
        })
        .collect()
}

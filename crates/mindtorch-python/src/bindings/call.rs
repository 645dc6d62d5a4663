//! Calls from Python: one function in C's calling convention for each operation, all with the same body.
//!
//! An operation costs less than a microsecond, and most of that would be Python's calling conventions if they were not the
//! quickest there are.

#![expect(unsafe_code, reason = "functions that Python calls directly take pointers")]

use super::args::Args;
use super::signature::Signature;
use crate::error::raise;
use crate::profiler::without_lock;
use crate::tensor::{PyTensor, wrap};
use mindtorch::{Result, Scalar, Tensor};
use mindtorch_profiler::{Capture, capture};
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyString, PyTuple};
use smallvec::SmallVec;
use std::ffi::CString;
use std::panic::AssertUnwindSafe;

/// What an operation gives.
pub(crate) enum Output {
    Tensor(Tensor),
    Tensors(Vec<Tensor>),
    /// Several tensors with names: a type of `return_types`, and its fields.
    Named(&'static str, Vec<Tensor>),
    Scalar(Scalar),
    Nothing,
}

impl From<Tensor> for Output {
    fn from(tensor: Tensor) -> Self {
        Self::Tensor(tensor)
    }
}

impl From<Vec<Tensor>> for Output {
    fn from(tensors: Vec<Tensor>) -> Self {
        Self::Tensors(tensors)
    }
}

impl From<()> for Output {
    fn from((): ()) -> Self {
        Self::Nothing
    }
}

impl From<bool> for Output {
    fn from(value: bool) -> Self {
        Self::Scalar(Scalar::Bool(value))
    }
}

impl From<Scalar> for Output {
    fn from(value: Scalar) -> Self {
        Self::Scalar(value)
    }
}

/// Where an operation is found.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Places {
    Function,
    Method,
    Both,
}

impl Places {
    pub(crate) fn has_function(self) -> bool {
        self != Self::Method
    }

    pub(crate) fn has_method(self) -> bool {
        self != Self::Function
    }
}

/// A binding with its signature read.
pub(crate) struct Target {
    pub(crate) places: Places,
    pub(crate) run: fn(&Args) -> Result<Output>,
    pub(crate) signature: Signature,
}

/// A type that stands for a binding: each has its own function in C's calling convention.
pub(crate) trait Operation {
    fn target() -> &'static Target;
}

/// What a module or a class gets for a binding.
pub(crate) struct Entry {
    pub(crate) target: fn() -> &'static Target,
    pub(crate) function: ffi::PyCFunctionFastWithKeywords,
    pub(crate) method: ffi::PyCFunctionFastWithKeywords,
}

impl Entry {
    pub(crate) const fn new<T: Operation>() -> Self {
        Self { target: T::target, function: function::<T>, method: method::<T> }
    }
}

/// A table of bindings: `name: "signature", Places => |args| result;`.
macro_rules! bindings {
    ($($name:ident: $signature:literal, $places:ident => $run:expr;)*) => {
        pub(crate) static ENTRIES: &[$crate::bindings::call::Entry] = &[$($crate::bindings::call::Entry::new::<$name>()),*];
        $(
            #[expect(non_camel_case_types, reason = "it is named for the operation that it stands for")]
            enum $name {}

            impl $crate::bindings::call::Operation for $name {
                fn target() -> &'static $crate::bindings::call::Target {
                    static TARGET: ::std::sync::LazyLock<$crate::bindings::call::Target> = ::std::sync::LazyLock::new(|| {
                        $crate::bindings::call::Target {
                            places: $crate::bindings::call::Places::$places,
                            run: |args| {
                                let run: fn(&$crate::bindings::args::Args) -> mindtorch::Result<_> = $run;
                                run(args).map($crate::bindings::call::Output::from)
                            },
                            signature: $crate::bindings::signature::Signature::parse($signature),
                        }
                    });
                    &TARGET
                }
            }
        )*
    };
}

pub(crate) use bindings;

/// Numbers from which on other threads of Python's may run meanwhile: letting them costs some 50 ns.
const LARGE: usize = 4096;

/// The method of type `T`'s operation.
unsafe extern "C" fn method<T: Operation>(
    this: *mut ffi::PyObject,
    args: *const *mut ffi::PyObject,
    count: ffi::Py_ssize_t,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: Python calls this with the interpreter lock held, an object, and arguments as its convention says.
    unsafe { enter(T::target(), this, args, count, names) }
}

/// The function of type `T`'s operation.
unsafe extern "C" fn function<T: Operation>(
    _module: *mut ffi::PyObject,
    args: *const *mut ffi::PyObject,
    count: ffi::Py_ssize_t,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: as for `method`.
    unsafe { enter(T::target(), std::ptr::null_mut(), args, count, names) }
}

/// # Safety
/// The interpreter lock is held; `this` is null or an object; the rest is as the convention says.
unsafe fn enter(
    target: &'static Target,
    this: *mut ffi::PyObject,
    args: *const *mut ffi::PyObject,
    count: ffi::Py_ssize_t,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    let result = std::panic::catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: the lock is held, as the caller says.
        let py = unsafe { Python::assume_attached() };
        // SAFETY: as the caller says.
        let (positional, keywords) = unsafe { collect(py, this, args, count, names)? };
        call(py, target, &positional, keywords)
    }));
    // SAFETY: the lock is held.
    let py = unsafe { Python::assume_attached() };
    let error = match result {
        Ok(Ok(object)) => return object.into_ptr(),
        Ok(Err(error)) => error,
        Err(panic) => {
            let message = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
            let message = message.unwrap_or("no message");
            PyRuntimeError::new_err(format!(
                "{}() failed inside: {message}. Please report this.",
                target.signature.name
            ))
        }
    };
    error.restore(py);
    std::ptr::null_mut()
}

type Positional<'py> = SmallVec<[Bound<'py, PyAny>; 6]>;
type Keywords<'py> = SmallVec<[(Bound<'py, PyString>, Bound<'py, PyAny>); 4]>;

/// # Safety
/// As for [`enter`].
unsafe fn collect<'py>(
    py: Python<'py>,
    this: *mut ffi::PyObject,
    args: *const *mut ffi::PyObject,
    count: ffi::Py_ssize_t,
    names: *mut ffi::PyObject,
) -> PyResult<(Positional<'py>, Keywords<'py>)> {
    let count = usize::try_from(count).unwrap_or(0);
    let mut positional = Positional::new();
    // SAFETY: borrowed references to live objects: `this`, `count` positional arguments, one more for each name.
    unsafe {
        if !this.is_null() {
            positional.push(Bound::from_borrowed_ptr(py, this));
        }
        for index in 0..count {
            positional.push(Bound::from_borrowed_ptr(py, *args.add(index)));
        }
        let mut keywords = Keywords::new();
        if !names.is_null() {
            let names = Bound::from_borrowed_ptr(py, names).cast_into::<PyTuple>().map_err(PyErr::from)?;
            for (index, name) in names.iter().enumerate() {
                let value = Bound::from_borrowed_ptr(py, *args.add(count + index));
                keywords.push((name.cast_into().map_err(PyErr::from)?, value));
            }
        }
        Ok((positional, keywords))
    }
}

fn call<'py>(
    py: Python<'py>,
    target: &'static Target,
    positional: &[Bound<'py, PyAny>],
    mut keywords: Keywords<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let out = take_out(&mut keywords)?;
    let args = target.signature.bind(positional, &keywords)?;
    if out.is_some() && capture().contains(Capture::CPU) {
        mindtorch::next_has_target();
    }
    let output = if args.numel() >= LARGE { without_lock(py, || (target.run)(&args)) } else { (target.run)(&args) };
    drop(args);
    let output = output.map_err(raise)?;
    match out {
        Some(out) => store(py, target, &out, output),
        None => to_python(py, output),
    }
}

/// The argument `out`, which every operation has that gives a tensor.
fn take_out<'py>(keywords: &mut Keywords<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
    if keywords.is_empty() {
        return Ok(None);
    }
    let mut place = None;
    for (index, (name, _)) in keywords.iter().enumerate() {
        if name.to_cow()? == "out" {
            place = Some(index);
        }
    }
    Ok(place.map(|index| keywords.remove(index).1).filter(|out| !out.is_none()))
}

fn store<'py>(
    py: Python<'py>,
    target: &'static Target,
    out: &Bound<'py, PyAny>,
    output: Output,
) -> PyResult<Bound<'py, PyAny>> {
    let wrong = || {
        PyTypeError::new_err(format!(
            "{}(): argument 'out' must be Tensor, or one for each result",
            target.signature.name
        ))
    };
    let into = |out: &Bound<'py, PyAny>, result: &Tensor| -> PyResult<()> {
        let place = out.cast::<PyTensor>().map_err(|_| wrong())?;
        let tensor = place.get().get(py);
        if tensor.requires_grad() || result.requires_grad() {
            return Err(PyRuntimeError::new_err(format!(
                "{}(): functions with out=... arguments don't support automatic differentiation, but one of the arguments \
                 requires grad.",
                target.signature.name
            )));
        }
        if tensor.shape() != result.shape() {
            // As in torch, a result of another size takes the place of what was there.
            let fresh = mindtorch::ops::to(result, Some(tensor.dtype()), Some(tensor.device()), true).map_err(raise)?;
            place.get().replace(py, fresh);
            return Ok(());
        }
        mindtorch::ops::store(&tensor, result).map_err(raise)
    };
    match output {
        Output::Tensor(result) => into(out, &result)?,
        Output::Tensors(results) | Output::Named(_, results) => {
            let outs: Vec<Bound<'py, PyAny>> = out.try_iter()?.collect::<PyResult<_>>()?;
            if outs.len() != results.len() {
                return Err(wrong());
            }
            for (out, result) in outs.iter().zip(&results) {
                into(out, result)?;
            }
        }
        _ => return Err(wrong()),
    }
    Ok(out.clone())
}

fn to_python(py: Python<'_>, output: Output) -> PyResult<Bound<'_, PyAny>> {
    let wrapped =
        |tensors: Vec<Tensor>| tensors.into_iter().map(|tensor| wrap(py, tensor)).collect::<PyResult<Vec<_>>>();
    match output {
        Output::Tensor(tensor) => wrap(py, tensor),
        Output::Tensors(tensors) => Ok(PyTuple::new(py, wrapped(tensors)?)?.into_any()),
        Output::Named(name, tensors) => {
            let fields = PyTuple::new(py, wrapped(tensors)?)?;
            py.import("mindtorch_v2.return_types")?.getattr(name)?.call1((fields,))
        }
        Output::Scalar(Scalar::Bool(value)) => Ok(PyBool::new(py, value).to_owned().into_any()),
        Output::Scalar(Scalar::Int(value)) => Ok(value.into_pyobject(py)?.into_any()),
        Output::Scalar(Scalar::Float(value)) => Ok(value.into_pyobject(py)?.into_any()),
        Output::Nothing => Ok(py.None().into_bound(py)),
    }
}

/// Makes an object of a binding: a function, or a method of `class`.
pub(crate) fn object<'py>(
    py: Python<'py>,
    entry: &'static Entry,
    class: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let target = (entry.target)();
    let first = if class.is_some() { "$self" } else { "" };
    let signature = target.signature.python(false, first);
    let doc = format!("{name}({signature})\n--\n\ntorch's `{name}`.", name = target.signature.name);
    let text = |text: &str| CString::new(text).map_err(|_| PyRuntimeError::new_err("a name has a zero byte"));
    // Python keeps pointers to these for as long as it runs.
    let (name, doc) = (text(target.signature.name)?.into_raw(), text(&doc)?.into_raw());
    let function = if class.is_some() { entry.method } else { entry.function };
    let definition = Box::leak(Box::new(ffi::PyMethodDef {
        ml_name: name,
        ml_meth: ffi::PyMethodDefPointer { PyCFunctionFastWithKeywords: function },
        ml_flags: ffi::METH_FASTCALL | ffi::METH_KEYWORDS,
        ml_doc: doc,
    }));
    // SAFETY: the definition lives for ever, and its flags are those of the function's type; the class is a type.
    unsafe {
        let object = match class {
            Some(class) => ffi::PyDescr_NewMethod(class.as_ptr().cast(), definition),
            None => ffi::PyCFunction_NewEx(definition, std::ptr::null_mut(), std::ptr::null_mut()),
        };
        Bound::from_owned_ptr_or_err(py, object)
    }
}

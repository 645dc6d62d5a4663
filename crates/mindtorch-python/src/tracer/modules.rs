//! The names of modules: `nn.Module: Linear_0`, numbered for each class in the order of their first call.

use super::interpreter::{Frame, GilCell};
use super::names::Addresses;
use mindtorch_profiler::Name;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyWeakrefMethods, PyWeakrefReference};
use std::collections::HashMap;

/// A module that was called.
#[derive(Clone, Copy)]
pub(super) struct Module {
    pub(super) name: Name,
    pub(super) number: u32,
}

#[derive(Default)]
struct Modules {
    /// By the address of the module. The reference tells whether it is still the same one: not a strong one, which would
    /// keep the parameters of every module alive.
    known: HashMap<usize, (Py<PyWeakrefReference>, Module), Addresses>,
    /// How many there were of the classes with each name. Two classes may have the same name; their modules still have
    /// different ones.
    counts: HashMap<String, u32>,
}

static MODULES: GilCell<Option<Modules>> = GilCell::new(None);

/// Forgets all modules: numbers begin at 0 again. What is returned is to be dropped.
pub(super) fn reset(py: Python<'_>) -> impl Sized {
    MODULES.with(py, Option::take)
}

/// The module whose call a frame is.
pub(super) fn module(frame: &Frame<'_>) -> Option<Module> {
    let object = frame.variable(c"self")?;
    let key = object.as_ptr().addr();
    let py = object.py();
    let known = MODULES.with(py, |modules| {
        let (reference, module) = modules.as_ref()?.known.get(&key)?;
        Some((reference.clone_ref(py), *module))
    });
    match known.flatten() {
        Some((reference, module)) if reference.bind(py).upgrade().is_some_and(|known| known.is(&object)) => {
            Some(module)
        }
        _ => new_module(&object),
    }
}

#[cold]
fn new_module(object: &Bound<'_, PyAny>) -> Option<Module> {
    let class = object.get_type().getattr("__name__").ok()?;
    let class = class.cast::<PyString>().ok()?.to_string_lossy().into_owned();
    let reference = PyWeakrefReference::new(object).ok()?.unbind();
    let (module, old) = MODULES.with(object.py(), |modules| {
        let modules = modules.get_or_insert_default();
        let count = modules.counts.entry(class.clone()).or_default();
        let number = *count;
        *count += 1;
        let module = Module { name: Name::new(&format!("nn.Module: {class}_{number}")), number };
        (module, modules.known.insert(object.as_ptr().addr(), (reference, module)))
    })?;
    drop(old);
    Some(module)
}

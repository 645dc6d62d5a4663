//! The objects whose addresses names are found by: alive for as long as the tracer runs, so that nothing else takes their
//! places, and known again the next time, if they still are.

use pyo3::prelude::*;
use pyo3::types::{PyWeakrefMethods, PyWeakrefReference};
use std::collections::HashSet;

#[derive(Default)]
pub(super) struct Held(Vec<Object>);

/// An object that is to be held.
pub(super) struct Object {
    address: usize,
    /// None while the tracer is off.
    alive: Option<Py<PyAny>>,
    /// None of what Python cannot refer to without keeping it alive.
    reference: Option<Py<PyWeakrefReference>>,
}

impl Object {
    pub(super) fn new(object: &Bound<'_, PyAny>) -> Self {
        Self {
            address: object.as_ptr().addr(),
            alive: Some(object.clone().unbind()),
            reference: PyWeakrefReference::new(object).ok().map(Bound::unbind),
        }
    }
}

impl Held {
    pub(super) fn hold(&mut self, object: Object) {
        self.0.push(object);
    }

    /// Keeps none alive any longer. Dropping what is returned may run any code.
    pub(super) fn let_go(&mut self) -> Vec<Py<PyAny>> {
        self.0.iter_mut().filter_map(|object| object.alive.take()).collect()
    }

    /// Keeps those alive that still are. The addresses of the others.
    pub(super) fn take_hold(&mut self, py: Python<'_>) -> HashSet<usize> {
        let mut gone = HashSet::new();
        self.0.retain_mut(|object| {
            object.alive = object.reference.as_ref().and_then(|known| known.bind(py).upgrade()).map(Bound::unbind);
            if object.alive.is_none() {
                gone.insert(object.address);
            }
            object.alive.is_some()
        });
        gone
    }
}

//! `record_function`: a named part of a program, as a context manager and a decorator.

use super::tasks::scope_in_task;
use super::unrecorded;
use mindtorch::execution_trace::OpenNode;
use mindtorch_profiler::{
    Calibration, Capture, ContextInUse, EventCost, Inputs, Name, Span, SpanArgs, SpanKind, capture,
};
use pyo3::exceptions::{PyAssertionError, PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCFunction, PyDict, PyString, PyTuple};
use smallvec::SmallVec;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// Names a part of the program. While a profiler is running it is recorded, with all that happens in it; otherwise it
/// costs next to nothing. Use it as a context manager or as a decorator; one object may be entered any number of times.
///
/// ```text
/// >>> from mindtorch_v2.profiler import profile, record_function
/// >>> with profile() as prof:
/// ...     with record_function("load", "batch=32"):
/// ...         pass
/// >>> [(event.name, event.args) for event in prof.events()]
/// [('load', 'batch=32')]
///
/// ```
#[pyclass(frozen, subclass, weakref, name = "record_function", module = "mindtorch_v2.profiler")]
pub(crate) struct RecordFunction {
    /// What the span is called.
    #[pyo3(get)]
    name: Py<PyAny>,
    /// A text that is shown with the span, or None.
    #[pyo3(get)]
    args: Option<Py<PyString>>,
    /// What to record, known from the first time that it is recorded.
    span: OnceLock<SpanArgs>,
    was_entered: AtomicBool,
    run_callbacks_on_exit: AtomicBool,
    /// Times it was entered while nobody recorded, and not yet left.
    unrecorded: AtomicUsize,
    /// How many there are in `open`, to be read without the lock.
    open_count: AtomicUsize,
    open: Mutex<OpenScopes>,
}

/// Mostly there is one.
type OpenScopes = SmallVec<[OpenScope; 1]>;

struct OpenScope {
    thread: usize,
    span: Span,
    node: OpenNode,
    _in_task: Option<ContextInUse>,
}

#[pymethods]
impl RecordFunction {
    #[new]
    #[pyo3(signature = (name, args = None))]
    fn new(name: Bound<'_, PyAny>, args: Option<Bound<'_, PyAny>>) -> PyResult<Self> {
        if !name.is_instance_of::<PyString>() && !name.is_instance_of::<PyBytes>() {
            return Err(wrong_type("name must be str or bytes", &name));
        }
        let args = args.map(|args| args.cast_into::<PyString>().map_err(|error| error.into_inner()));
        let args = args.transpose().map_err(|args| wrong_type("args must be str or None", &args))?;
        Ok(Self {
            name: name.unbind(),
            args: args.map(Bound::unbind),
            span: OnceLock::new(),
            was_entered: AtomicBool::new(false),
            run_callbacks_on_exit: AtomicBool::new(true),
            unrecorded: AtomicUsize::new(0),
            open_count: AtomicUsize::new(0),
            open: Mutex::new(SmallVec::new()),
        })
    }

    /// Does nothing: it is here for subclasses, whose `__init__` passes its arguments on.
    #[pyo3(signature = (*_args, **_kwargs))]
    fn __init__(&self, _args: &Bound<'_, PyTuple>, _kwargs: Option<&Bound<'_, PyDict>>) {}

    /// The open span, or None if it was never entered.
    #[getter]
    fn record<'py>(slf: &Bound<'py, Self>) -> Option<Bound<'py, Self>> {
        slf.get().was_entered.load(Ordering::Relaxed).then(|| slf.clone())
    }

    /// Whether leaving it ends the span; not if a future does.
    #[getter]
    fn run_callbacks_on_exit(&self) -> bool {
        self.run_callbacks_on_exit.load(Ordering::Relaxed)
    }

    /// Ends the span when `fut` is done, rather than when it is left.
    fn _call_end_callbacks_on_future<'py>(
        slf: &Bound<'py, Self>,
        fut: Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if !slf.get().run_callbacks_on_exit.swap(false, Ordering::Relaxed) {
            return Err(PyRuntimeError::new_err("_call_end_callbacks_on_future can only be called once."));
        }
        let scope = slf.clone().unbind();
        let end = move |args: &Bound<'_, PyTuple>, _: Option<&Bound<'_, PyDict>>| Self::leave(scope.bind(args.py()));
        fut.call_method1("add_done_callback", (PyCFunction::new_closure(slf.py(), None, None, end)?,))?;
        Ok(fut)
    }

    /// Wraps `function` so that each call is recorded.
    fn __call__<'py>(slf: &Bound<'py, Self>, function: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let decorate = slf.py().import("mindtorch_v2.profiler._decorate")?.getattr("decorate")?;
        decorate.call1((slf, function))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let name = self.name.bind(py).repr()?;
        Ok(match &self.args {
            Some(args) => format!("record_function({name}, {})", args.bind(py).repr()?),
            None => format!("record_function({name})"),
        })
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let this = slf.get();
        let args = (this.name.clone_ref(slf.py()), this.args.as_ref().map(|args| args.clone_ref(slf.py())));
        Ok((slf.get_type().into_any(), args.into_pyobject(slf.py())?))
    }
}

impl RecordFunction {
    #[inline]
    pub(super) fn enter(slf: &Bound<'_, Self>) {
        let this = slf.get();
        this.was_entered.store(true, Ordering::Relaxed);
        let is_recorded = capture().intersects(Capture::CPU | Capture::TENSORS);
        if is_recorded || this.open_count.load(Ordering::Relaxed) > 0 {
            this.open(slf.py(), is_recorded);
        } else {
            this.open_unrecorded(slf);
        }
    }

    #[inline]
    pub(super) fn exit(slf: &Bound<'_, Self>) -> PyResult<()> {
        if slf.get().run_callbacks_on_exit.load(Ordering::Relaxed) { Self::leave(slf) } else { Ok(()) }
    }

    fn leave(slf: &Bound<'_, Self>) -> PyResult<()> {
        let this = slf.get();
        if this.open_count.load(Ordering::Relaxed) == 0 {
            if Self::leave_unrecorded(slf) || this.was_entered.load(Ordering::Relaxed) {
                return Ok(());
            }
            return Err(PyAssertionError::new_err("Expected record to be set"));
        }
        Self::close(slf);
        Ok(())
    }

    /// A span while the object is already open is kept even if nobody records it, so that leaving finds its own.
    fn open(&self, py: Python<'_>, is_recorded: bool) {
        let description = is_recorded.then(|| self.description(py));
        let in_task = description.and_then(|_| scope_in_task(py));
        let node = self.node(py);
        let span = description.map_or_else(Span::none, |description| Span::begin(&node.linked(*description)));
        let mut open = self.lock();
        open.push(OpenScope { thread: this_thread(), span, node, _in_task: in_task });
        self.open_count.store(open.len(), Ordering::Relaxed);
    }

    /// Ends the span that this thread began last. If it began none, the call belongs to an enter that nobody recorded,
    /// or ends what another thread began.
    fn close(slf: &Bound<'_, Self>) {
        let this = slf.get();
        let mut open = this.lock();
        let thread = this_thread();
        let own = open.iter().rposition(|scope| scope.thread == thread);
        let Some(at) = own.or_else(|| if Self::leave_unrecorded(slf) { None } else { open.len().checked_sub(1) })
        else {
            return;
        };
        let scope = open.remove(at);
        this.open_count.store(open.len(), Ordering::Relaxed);
        drop(open);
        drop(scope.span);
        drop(scope.node);
    }

    /// What recording a scope costs, beyond what one costs that nobody records.
    pub(super) fn cost(py: Python<'_>, calibration: &Calibration) -> PyResult<EventCost> {
        let scope = Bound::new(py, Self::new(PyString::new(py, "measured").into_any(), None)?)?;
        let this = scope.get();
        let recorded = calibration.sample(|| {
            this.open(py, true);
            Self::close(&scope);
        });
        let unrecorded = calibration.sample(|| {
            this.open_unrecorded(&scope);
            Self::leave_unrecorded(&scope);
        });
        Ok(recorded.cost_beyond(unrecorded))
    }

    /// Its node in the execution trace that is being made, if one is.
    fn node(&self, py: Python<'_>) -> OpenNode {
        if !capture().contains(Capture::TENSORS) {
            return OpenNode::none();
        }
        let args = self.args.as_ref().map(|args| interned(args.bind(py)));
        OpenNode::scope(interned(self.name.bind(py)), args)
    }

    #[inline]
    fn open_unrecorded(&self, slf: &Bound<'_, Self>) {
        // The interpreter lock makes this one step.
        self.unrecorded.store(self.unrecorded.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        unrecorded::open(slf);
    }

    /// Takes one enter off those that nobody recorded, if there is one.
    fn leave_unrecorded(slf: &Bound<'_, Self>) -> bool {
        let this = slf.get();
        let Some(less) = this.unrecorded.load(Ordering::Relaxed).checked_sub(1) else { return false };
        this.unrecorded.store(less, Ordering::Relaxed);
        unrecorded::close(slf);
        true
    }

    pub(super) fn description(&self, py: Python<'_>) -> &SpanArgs {
        match self.span.get() {
            Some(span) => span,
            None => {
                // Not in the initialiser: this may run Python code, which may let another thread run, and that thread
                // would wait for the initialiser while it holds the interpreter lock.
                let span = self.describe(py);
                self.span.get_or_init(|| span)
            }
        }
    }

    fn describe(&self, py: Python<'_>) -> SpanArgs {
        let span = SpanArgs::new(SpanKind::Annotation, interned(self.name.bind(py)));
        match &self.args {
            // Torch shows the text as an input of which nothing is known.
            Some(args) => span.note(interned(args.bind(py))).inputs(Inputs::encode().value("", "").finish()),
            None => span,
        }
    }

    fn lock(&self) -> MutexGuard<'_, OpenScopes> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The text of a `str` or `bytes`. What is not valid text is shown as U+FFFD.
fn interned(text: &Bound<'_, PyAny>) -> Name {
    if let Ok(bytes) = text.cast::<PyBytes>() {
        return Name::from_bytes(bytes.as_bytes());
    }
    match text.cast::<PyString>().map(|text| text.to_str().map(Name::new)) {
        Ok(Ok(name)) => name,
        _ => Name::new(&without_surrogates(text).unwrap_or_else(|_| char::REPLACEMENT_CHARACTER.into())),
    }
}

fn without_surrogates(text: &Bound<'_, PyAny>) -> PyResult<String> {
    let encoded = text.call_method1("encode", ("utf-16-le", "surrogatepass"))?;
    let units = encoded.cast::<PyBytes>()?.as_bytes().chunks_exact(2);
    let units = units.map(|unit| u16::from_le_bytes([unit[0], unit[1]]));
    Ok(char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)).collect())
}

fn wrong_type(expected: &str, value: &Bound<'_, PyAny>) -> PyErr {
    let found = value.get_type().name().map_or_else(|_| "another type".to_owned(), |name| name.to_string());
    PyTypeError::new_err(format!("record_function() {expected}, not {found}"))
}

/// Tells threads apart, of those that are alive.
fn this_thread() -> usize {
    thread_local! { static HERE: u8 = const { 0 } }
    HERE.with(|here| std::ptr::from_ref(here).addr())
}

//! Operators and scopes, from their beginning to their end.

#![expect(unsafe_code, reason = "the shim passes pointers")]

use crate::abi::{Op, Text, WANTS_INPUTS, WANTS_OVERLOADS};
use crate::{flops, inputs, threads};
use mindtorch_profiler::{Capture, Input, Inputs, Name, Span, SpanArgs, SpanKind, capture};
use std::cell::RefCell;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

/// PyTorch's numbers of scopes.
const BACKWARD_FUNCTION: u64 = 1;
const TORCHSCRIPT_FUNCTION: u64 = 2;
const USER_SCOPE: u64 = 7;

thread_local! {
    /// The operators of this thread that have not ended, with what the shim knows them by. They end here, the last first.
    static OPEN: RefCell<Vec<(usize, Span)>> = const { RefCell::new(Vec::new()) };
    static SEEN: RefCell<Option<Vec<SeenOp>>> = const { RefCell::new(None) };
}

static KEEPS_OVERLOADS: AtomicBool = AtomicBool::new(false);
static IS_CANARY_OUT: AtomicBool = AtomicBool::new(false);

/// An operator as the shim described it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenOp {
    /// Its name.
    pub name: String,
    /// Its inputs.
    pub inputs: Vec<Input>,
}

/// What the shim says of the operators that `run` calls on this thread. Whatever is recorded meanwhile, these are not.
pub fn canary<T>(run: impl FnOnce() -> T) -> (T, Vec<SeenOp>) {
    SEEN.set(Some(Vec::new()));
    IS_CANARY_OUT.store(true, Ordering::Relaxed);
    let result = run();
    IS_CANARY_OUT.store(false, Ordering::Relaxed);
    (result, SEEN.take().unwrap_or_default())
}

/// Whether overloads are asked for, from now on.
pub(crate) fn keep_overloads(keep: bool) {
    KEEPS_OVERLOADS.store(keep, Ordering::Relaxed);
}

/// Whether someone wants to know of operators' inputs.
pub(crate) fn wants_inputs(capture: Capture) -> bool {
    capture.contains(Capture::CPU) && capture.intersects(Capture::SHAPES | Capture::FLOPS)
}

pub(crate) extern "C" fn wanted() -> u32 {
    let inputs = wants_inputs(capture()) || IS_CANARY_OUT.load(Ordering::Relaxed);
    let overloads = KEEPS_OVERLOADS.load(Ordering::Relaxed);
    (if inputs { WANTS_INPUTS } else { 0 }) | (if overloads { WANTS_OVERLOADS } else { 0 })
}

/// # Safety
/// The operation is good for this call, and with it all that it points to.
pub(crate) unsafe extern "C" fn begin(key: *const c_void, op: *const Op) {
    // A panic here would be one into PyTorch: the operator goes on, and is not recorded.
    let _ = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: by the caller.
        let span = unsafe { begin_span(&*op) };
        if span.is_recorded() {
            // A thread that is being torn down has no list any more. The span ends at once, as it would have no end else.
            let _ = OPEN.try_with(|open| open.borrow_mut().push((key.addr(), span)));
        }
    }));
}

pub(crate) extern "C" fn end(key: *const c_void) {
    let _ = catch_unwind(|| {
        let _ = OPEN.try_with(|open| {
            let mut open = open.borrow_mut();
            // None: it began before anyone recorded.
            let at = open.iter().rposition(|(known, _)| *known == key.addr())?;
            // Nothing that began after it is open any more. If it looks so, it has ended elsewhere.
            let mut ended = open.drain(at..);
            ended.next()
        });
    });
}

/// # Safety
/// As for [`begin`].
pub(crate) unsafe extern "C" fn begin_anywhere(op: *const Op) -> *mut c_void {
    let span = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: by the caller.
        unsafe { begin_span(&*op) }
    }));
    match span {
        Ok(span) if span.is_recorded() => Box::into_raw(Box::new(span)).cast(),
        _ => std::ptr::null_mut(),
    }
}

/// # Safety
/// The span is one that [`begin_anywhere`] gave, and no longer used.
pub(crate) unsafe extern "C" fn end_anywhere(span: *mut c_void) {
    if !span.is_null() {
        // SAFETY: by the caller.
        let span = unsafe { Box::from_raw(span.cast::<Span>()) };
        let _ = catch_unwind(AssertUnwindSafe(|| drop(span)));
    }
}

/// # Safety
/// What the operation points to is good for this call.
unsafe fn begin_span(op: &Op) -> Span {
    // SAFETY: by the caller.
    let (name, words) = unsafe { (text(&op.name), words(op)) };
    if IS_CANARY_OUT.load(Ordering::Relaxed) && note_seen(&name, words) {
        return Span::none();
    }
    let kind = match op.scope {
        BACKWARD_FUNCTION => SpanKind::Backward,
        USER_SCOPE => SpanKind::Annotation,
        _ => SpanKind::Op,
    };
    let mut args = SpanArgs::new(kind, Name::new(&name));
    if !words.is_empty() {
        args = args.inputs(inputs::encode(words));
        if capture().contains(Capture::FLOPS) {
            let count = flops::count(&name, words);
            args = if count > 0 { args.flops(count) } else { args };
        }
    }
    threads::note(op.thread);
    if let Ok(sequence) = u64::try_from(op.sequence) {
        args = args.sequence(sequence);
        // A node that has no number has no operator.
        if op.forward_thread != 0 {
            args = args.forward_thread(threads::number_of(op.forward_thread));
        }
    }
    if op.overload.length > 0 {
        // SAFETY: by the caller.
        args = args.overload(Name::new(&unsafe { text(&op.overload) }));
    }
    Span::begin(&args.script(op.scope == TORCHSCRIPT_FUNCTION))
}

/// Shows an operation to the canary, if that is out on this thread.
#[cold]
fn note_seen(name: &str, words: &[u64]) -> bool {
    SEEN.with_borrow_mut(|seen| {
        let Some(seen) = seen else { return false };
        let inputs: Inputs = inputs::encode(words);
        seen.push(SeenOp { name: name.to_owned(), inputs: inputs.decode() });
        true
    })
}

/// # Safety
/// The bytes are good for as long as the text is used.
unsafe fn text<'a>(text: &Text) -> std::borrow::Cow<'a, str> {
    // SAFETY: by the caller.
    String::from_utf8_lossy(unsafe { std::slice::from_raw_parts(text.data, text.length) })
}

/// # Safety
/// The words are good for as long as they are used.
unsafe fn words<'a>(op: &Op) -> &'a [u64] {
    if op.input_words == 0 {
        return &[];
    }
    // SAFETY: by the caller; there is at least one, so that there is an address.
    unsafe { std::slice::from_raw_parts(op.inputs, op.input_words) }
}

//! Operators and scopes, from their beginning to their end.

#![expect(unsafe_code, reason = "the shim passes pointers")]

use crate::abi::Op;
use crate::canary;
use crate::thread::Thread;
use mindtorch_profiler::{Capture, Span, SpanArgs, SpanKind, capture};
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// PyTorch's numbers of scopes.
const BACKWARD_FUNCTION: u64 = 1;
const TORCHSCRIPT_FUNCTION: u64 = 2;
const USER_SCOPE: u64 = 7;

/// Whether someone wants to know of operators' inputs.
pub(crate) fn wants_inputs(capture: Capture) -> bool {
    capture.contains(Capture::CPU) && capture.intersects(Capture::SHAPES | Capture::FLOPS)
}

/// # Safety
/// The operation is good for this call, and with it all that it points to.
pub(crate) unsafe extern "C" fn begin(key: *const c_void, op: *const Op) {
    // A panic here would be one into PyTorch: the operator goes on, and is not recorded.
    let _ = catch_unwind(AssertUnwindSafe(|| {
        // A thread that is being torn down records no more.
        Thread::with(|thread| {
            // SAFETY: by the caller.
            let span = unsafe { begin_span(thread, &*op) };
            if span.is_recorded() {
                thread.open.push((key.addr(), span));
            }
        });
    }));
}

pub(crate) extern "C" fn end(key: *const c_void) {
    let _ = catch_unwind(|| {
        Thread::with(|thread| {
            // It is the last that began, unless one has ended elsewhere.
            match thread.open.pop_if(|&mut (last, _)| last == key.addr()) {
                Some((_, span)) => span.end_where_it_began(),
                None => end_earlier(thread, key.addr()),
            }
        });
    });
}

/// Ends an operator and those that began in it. If it is not there, it began before anyone recorded.
#[cold]
fn end_earlier(thread: &mut Thread, key: usize) {
    if let Some(at) = thread.open.iter().rposition(|&(known, _)| known == key) {
        thread.open.truncate(at);
    }
}

/// # Safety
/// As for [`begin`].
pub(crate) unsafe extern "C" fn begin_anywhere(op: *const Op) -> *mut c_void {
    let span = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: by the caller.
        Thread::with(|thread| unsafe { begin_span(thread, &*op) })
    }));
    match span {
        Ok(Some(span)) if span.is_recorded() => Box::into_raw(Box::new(span)).cast(),
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

/// What few operations need is apart, so that the others need not go around it.
///
/// # Safety
/// What the operation points to is good for this call.
#[inline(always)]
unsafe fn begin_span(thread: &mut Thread, op: &Op) -> Span {
    // SAFETY: by the caller.
    let (name, words) = unsafe { (thread.names.of(op.name), words(op)) };
    if canary::is_out() && canary::note(name, words) {
        return Span::none();
    }
    let kind = match op.scope {
        BACKWARD_FUNCTION => SpanKind::Backward,
        USER_SCOPE => SpanKind::Annotation,
        _ => SpanKind::Op,
    };
    let mut args = SpanArgs::new(kind, name);
    if !words.is_empty() {
        let known = thread.inputs.of(words);
        args = args.inputs(known.inputs);
        if capture().contains(Capture::FLOPS) {
            let flops = known.flops(name, words);
            if flops > 0 {
                args = args.flops(flops);
            }
        }
    }
    thread.is_torchs(op.thread);
    if let Ok(sequence) = u64::try_from(op.sequence) {
        args = args.sequence(sequence);
        // A node that has no number has no operator.
        if op.forward_thread != 0 {
            args = args.forward_thread(thread.number_of(op.forward_thread));
        }
    }
    if !op.overload.is_null() {
        // SAFETY: by the caller.
        args = args.overload(unsafe { thread.names.of(op.overload) });
    }
    if op.scope == TORCHSCRIPT_FUNCTION {
        args = args.script(true);
    }
    Span::begin(&args)
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

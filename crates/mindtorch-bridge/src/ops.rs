//! Operators and scopes, from their beginning to their end.

#![expect(unsafe_code, reason = "the shim passes pointers")]

use crate::abi::Op;
use crate::canary;
use crate::known::{KnownOp, OpKey};
use crate::thread::Thread;
use mindtorch_profiler::{Capture, Inputs, Name, Span, SpanArgs, SpanKind, capture};
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

/// Begins an operator of this thread that has this hash. False if it has to be told in full, to [`begin`].
///
/// What most operations are comes by here and [`begin_known_node`], in registers, and does as little as can be done: in a program
/// of any size, each line of the processor's cache that is used on the way was used for something else in between.
pub(crate) extern "C" fn begin_known(key: *const c_void, sequence: i64, one: u64, other: u64) -> bool {
    briefly(|thread| {
        let (Some(here), Some(sequence_plus_one)) = (thread.here, plus_one(sequence)) else { return false };
        let Some(known) = thread.known.get(OpKey::new(here.capture(), one, other)) else { return false };
        let span = if known.flops == 0 {
            here.begin(SpanKind::Op, known.name, known.inputs, sequence_plus_one)
        } else {
            begin_counted(known.name, known.inputs, sequence_plus_one, known.flops)
        };
        thread.open(key, span);
        true
    })
}

/// The same, for a node of the backward pass.
pub(crate) extern "C" fn begin_known_node(
    key: *const c_void,
    sequence: i64,
    one: u64,
    other: u64,
    forward_thread: u64,
) -> bool {
    briefly(|thread| {
        let (Some(here), Some(sequence_plus_one)) = (thread.here, plus_one(sequence)) else { return false };
        let known = thread.known.get(OpKey::new(here.capture(), one, other));
        // Nodes do not compute themselves; one that has the name of an operator that does is told in full.
        let Some(known) = known.filter(|known| known.flops == 0) else { return false };
        // A node that has no number has no operator.
        let span = if sequence_plus_one == 0 || forward_thread == 0 {
            here.begin(SpanKind::Backward, known.name, known.inputs, sequence_plus_one)
        } else {
            here.begin_node(known.name, known.inputs, sequence_plus_one, thread.number_of(forward_thread))
        };
        thread.open(key, span);
        true
    })
}

/// One more, so that 0 is none, which PyTorch has as -1.
#[inline(always)]
fn plus_one(sequence: i64) -> Option<u32> {
    u32::try_from(sequence.wrapping_add(1)).ok()
}

/// False on a thread that is not found at once.
#[inline(always)]
fn briefly(begin: impl FnOnce(&mut Thread) -> bool) -> bool {
    catch_unwind(AssertUnwindSafe(|| Thread::with_found(begin).unwrap_or(false))).unwrap_or(true)
}

/// A thread that is being torn down records no more, and so has nothing more to be told; nor has one on which this panics, which
/// would be a panic into PyTorch.
#[inline(always)]
fn told_enough(begin: impl FnOnce(&mut Thread) -> bool) -> bool {
    catch_unwind(AssertUnwindSafe(|| Thread::with(begin).unwrap_or(true))).unwrap_or(true)
}

#[inline(never)]
fn begin_counted(name: Name, inputs: Inputs, sequence_plus_one: u32, flops: u64) -> Span {
    let args = SpanArgs::new(SpanKind::Op, name).inputs(inputs).flops(flops);
    Span::begin(&sequence_plus_one.checked_sub(1).map_or(args, |sequence| args.sequence(sequence.into())))
}

/// Begins any operation of this thread. False if the words of its inputs are needed, which were not told.
///
/// # Safety
/// The operation is good for this call, and with it all that it points to.
pub(crate) unsafe extern "C" fn begin(key: *const c_void, op: *const Op) -> bool {
    told_enough(|thread| {
        // SAFETY: by the caller.
        let Some(span) = (unsafe { begin_span(thread, key, &*op) }) else { return false };
        thread.open(key, span);
        true
    })
}

pub(crate) extern "C" fn end(key: *const c_void) {
    let _ = catch_unwind(|| {
        // It is the last that began, unless one has ended elsewhere.
        let last = Thread::with_found(|thread| {
            let (_, span) = thread.open_spans.pop_if(|&mut (last, _)| last == key.addr())?;
            end_here(thread, span);
            Some(())
        });
        if last.flatten().is_none() {
            end_earlier(key.addr());
        }
    });
}

/// PyTorch may not have said which thread this is.
#[inline(always)]
fn end_here(thread: &Thread, span: Span) {
    match thread.here {
        Some(here) => here.end(span),
        None => span.end_where_it_began(),
    }
}

/// Ends an operator and those that began in it. If it is not there, it began before anyone recorded.
#[cold]
#[inline(never)]
fn end_earlier(key: usize) {
    if canary::is_out() && canary::note_end(key) {
        return;
    }
    Thread::with(|thread| {
        if let Some(at) = thread.open_spans.iter().rposition(|&(known, _)| known == key) {
            thread.open_spans.truncate(at);
        }
    });
}

/// # Safety
/// As for [`begin`].
pub(crate) unsafe extern "C" fn begin_anywhere(op: *const Op) -> *mut c_void {
    let span = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: by the caller.
        Thread::with(|thread| unsafe { begin_span(thread, std::ptr::null(), &*op) }).flatten()
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

/// None if the words of the inputs are needed.
///
/// # Safety
/// What the operation points to is good for this call.
unsafe fn begin_span(thread: &mut Thread, key: *const c_void, op: &Op) -> Option<Span> {
    // SAFETY: by the caller.
    let (name, words) = unsafe { (op.name.bytes(), op.words()) };
    if canary::is_out() {
        if op.lacks_inputs {
            return None;
        }
        if canary::note_begin(key, op, name, words) {
            return Some(Span::none());
        }
    }
    let known = known_op(thread, op, name, words)?;
    let kind = match op.scope {
        BACKWARD_FUNCTION => SpanKind::Backward,
        USER_SCOPE => SpanKind::Annotation,
        _ => SpanKind::Op,
    };
    let mut args = SpanArgs::new(kind, known.name).inputs(known.inputs);
    if known.flops > 0 {
        args = args.flops(known.flops);
    }
    thread.is_torchs(op.thread);
    if let Ok(sequence) = u64::try_from(op.sequence) {
        args = args.sequence(sequence);
        // A node that has no number has no operator.
        if op.forward_thread != 0 {
            args = args.forward_thread(thread.number_of(op.forward_thread));
        }
    }
    if op.overload.length != 0 && capture().contains(Capture::OVERLOADS) {
        // SAFETY: by the caller.
        args = args.overload(Name::from_bytes(unsafe { op.overload.bytes() }));
    }
    if op.scope == TORCHSCRIPT_FUNCTION {
        args = args.script(true);
    }
    Some(Span::begin(&args))
}

/// What an operation is, from what is known of it or from what was told.
fn known_op(thread: &mut Thread, op: &Op, name: &[u8], words: &[u64]) -> Option<KnownOp> {
    let capture = capture();
    let [one, other] = op.hash;
    if op.hash == [0; 2] {
        return Some(KnownOp::new(capture, name, words));
    }
    let key = OpKey::new(capture, one, other);
    let known = thread.known.get(key);
    if known.is_some() || op.lacks_inputs {
        return known;
    }
    let new = KnownOp::new(capture, name, words);
    thread.known.add(key, new);
    Some(new)
}

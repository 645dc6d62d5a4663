//! Operators and scopes, from their beginning to their end.

#![expect(unsafe_code, reason = "the shim passes pointers")]

use crate::abi::Op;
use crate::canary;
use crate::input_cache::{InputKey, KnownInputs};
use crate::thread::Thread;
use mindtorch_profiler::{Capture, Inputs, Name, Span, SpanArgs, SpanKind, capture};
use std::ffi::{c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// PyTorch's numbers of scopes.
const BACKWARD_FUNCTION: u64 = 1;
const TORCHSCRIPT_FUNCTION: u64 = 2;
const USER_SCOPE: u64 = 7;

/// Whether someone wants to know of operators' inputs.
pub(crate) fn wants_inputs(capture: Capture) -> bool {
    capture.contains(Capture::CPU) && capture.intersects(Capture::SHAPES | Capture::FLOPS)
}

/// Begins an operator of this thread that has no inputs to be told. False if it has to be told in full, to [`begin`].
///
/// What most operations are comes by here and [`begin_given`], in registers, and does as little as can be done: in a program of
/// any size, each line of the processor's cache that is used on the way was used for something else in between.
///
/// # Safety
/// The name is a string that is good for this call.
pub(crate) unsafe extern "C" fn begin_bare(
    key: *const c_void,
    name: *const c_char,
    sequence: i64,
    torch_thread: u64,
) -> bool {
    // SAFETY: by the caller.
    told_enough(|thread| unsafe { begin_in(thread, key, name, sequence, torch_thread, |_, _| Some(KnownInputs::NONE)) })
}

/// The same, for an operator with inputs that have this hash.
///
/// # Safety
/// As for [`begin_bare`].
pub(crate) unsafe extern "C" fn begin_given(
    key: *const c_void,
    name: *const c_char,
    sequence: i64,
    torch_thread: u64,
    one: u64,
    other: u64,
) -> bool {
    let inputs = |thread: &mut Thread, name| thread.inputs.get(InputKey::new([one, other], counted_for(name)));
    // SAFETY: by the caller.
    told_enough(|thread| unsafe { begin_in(thread, key, name, sequence, torch_thread, inputs) })
}

/// A thread that is being torn down records no more, and so has nothing more to be told; nor has one on which this panics, which
/// would be a panic into PyTorch.
#[inline(always)]
fn told_enough(begin: impl FnOnce(&mut Thread) -> bool) -> bool {
    catch_unwind(AssertUnwindSafe(|| Thread::with(begin).unwrap_or(true))).unwrap_or(true)
}

/// # Safety
/// As for [`begin_bare`].
#[inline(always)]
unsafe fn begin_in(
    thread: &mut Thread,
    key: *const c_void,
    name: *const c_char,
    sequence: i64,
    torch_thread: u64,
    inputs: impl FnOnce(&mut Thread, Name) -> Option<KnownInputs>,
) -> bool {
    let Some(here) = thread.here_as(torch_thread) else { return false };
    // -1 is none.
    let Ok(sequence_plus_one) = u32::try_from(sequence.wrapping_add(1)) else { return false };
    // SAFETY: by the caller.
    let name = unsafe { thread.names.of(name) };
    let Some(KnownInputs { inputs, flops, .. }) = inputs(thread, name) else { return false };
    let span = if flops == 0 {
        here.begin(SpanKind::Op, name, inputs, sequence_plus_one)
    } else {
        begin_counted(name, inputs, sequence_plus_one, flops)
    };
    if span.is_recorded() {
        thread.open.push((key.addr(), span));
    }
    true
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
        let Some(span) = (unsafe { begin_span(thread, &*op) }) else { return false };
        if span.is_recorded() {
            thread.open.push((key.addr(), span));
        }
        true
    })
}

pub(crate) extern "C" fn end(key: *const c_void) {
    let _ = catch_unwind(|| {
        Thread::with(|thread| {
            // It is the last that began, unless one has ended elsewhere.
            match thread.open.pop_if(|&mut (last, _)| last == key.addr()) {
                Some((_, span)) => end_here(thread, span),
                None => end_earlier(thread, key.addr()),
            }
        });
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
        Thread::with(|thread| unsafe { begin_span(thread, &*op) }).flatten()
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
unsafe fn begin_span(thread: &mut Thread, op: &Op) -> Option<Span> {
    // SAFETY: by the caller.
    let (name, words) = unsafe { (thread.names.of(op.name), words(op)) };
    let has_inputs = op.inputs_hash != [0; 2];
    if canary::is_out() {
        if has_inputs && words.is_empty() {
            return None;
        }
        if canary::note(name, words) {
            return Some(Span::none());
        }
    }
    let kind = match op.scope {
        BACKWARD_FUNCTION => SpanKind::Backward,
        USER_SCOPE => SpanKind::Annotation,
        _ => SpanKind::Op,
    };
    let mut args = SpanArgs::new(kind, name);
    if has_inputs {
        let counted_for = counted_for(name);
        let key = InputKey::new(op.inputs_hash, counted_for);
        let known = match thread.inputs.get(key) {
            Some(known) => known,
            None if words.is_empty() => return None,
            None => thread.inputs.add(key, words, counted_for),
        };
        args = args.inputs(known.inputs);
        if known.flops > 0 {
            args = args.flops(known.flops);
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
    if !op.overload.is_null() && capture().contains(Capture::OVERLOADS) {
        // SAFETY: by the caller.
        args = args.overload(unsafe { thread.names.of(op.overload) });
    }
    if op.scope == TORCHSCRIPT_FUNCTION {
        args = args.script(true);
    }
    Some(Span::begin(&args))
}

/// The operator, if it is to be counted what it does.
#[inline]
fn counted_for(name: Name) -> Option<Name> {
    capture().contains(Capture::FLOPS).then_some(name)
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

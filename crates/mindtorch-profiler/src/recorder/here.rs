//! The thread that we are on, once it was found.

#![expect(unsafe_code, reason = "what is a thread's own can be lent only for the length of a call")]

use super::event::{Memory, SpanArgs, SpanKind};
use super::global::Span;
use super::local::{LOCAL, Local};
use super::record::{Head, pair};
use crate::capture::Capture;
use crate::inputs::Inputs;
use crate::names::Name;
use std::ptr::NonNull;

/// This thread, for who has a place of its own for each thread: to find what is a thread's own takes about as long as to write
/// a record.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Here(NonNull<Local>);

impl Here {
    /// The thread that calls.
    pub fn find() -> Self {
        LOCAL.with(|local| Self(NonNull::from(local)))
    }

    /// Begins a span, if anyone collects its kind. Its sequence number is one higher; 0 is none. What else there is to tell,
    /// [`Span::begin`] takes.
    #[inline(always)]
    pub fn begin(self, kind: SpanKind, name: Name, inputs: Inputs, sequence_plus_one: u32) -> Span {
        let local = self.local();
        if !local.flags.capture().contains(kind.needs()) {
            return Span::none();
        }
        if local.flags.are_contexts_used() {
            return begin_in_context(kind, name, inputs, sequence_plus_one);
        }
        let flags = if sequence_plus_one == 0 { 0 } else { Head::NUMBERED };
        let head = Head { kind: kind.record_kind(), flags, track: 0, name: name.0 };
        Span(local.with(|writer| writer.begin_plain(head.pack(), pair(inputs.0, sequence_plus_one))))
    }

    /// Ends a span that this thread began; see [`Span::end_where_it_began`].
    #[inline(always)]
    pub fn end(self, span: Span) {
        span.close_by_owner(self.local().flags);
    }

    /// Records an allocation or a free, if anyone collects memory.
    #[inline(always)]
    pub fn memory(self, memory: &Memory) {
        let local = self.local();
        if local.flags.capture().contains(Capture::MEMORY) {
            local.with(|writer| writer.memory_always(memory));
        }
    }

    #[inline(always)]
    fn local(&self) -> &Local {
        // SAFETY: a pointer is neither `Send` nor `Sync`, so that this is the thread whose `LOCAL` it is, and that runs. It has
        // no destructor: it is there until its thread is gone.
        unsafe { self.0.as_ref() }
    }
}

#[cold]
fn begin_in_context(kind: SpanKind, name: Name, inputs: Inputs, sequence_plus_one: u32) -> Span {
    let mut args = SpanArgs::new(kind, name).inputs(inputs);
    args.sequence_plus_one = sequence_plus_one.into();
    Span::begin(&args)
}

//! The thread that we are on, once it was found.

#![expect(unsafe_code, reason = "what is a thread's own can be lent only for the length of a call")]

use super::event::{Memory, SpanArgs, SpanKind};
use super::global::Span;
use super::local::{LOCAL, Local};
use super::packing::node_in_two_slots;
use super::record::{Head, pair};
use super::writer::ThreadWriter;
use crate::capture::Capture;
use crate::inputs::Inputs;
use crate::names::Name;
use std::mem::ManuallyDrop;
use std::ops::DerefMut;
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
        if !self.capture().contains(kind.needs()) {
            return Span::none();
        }
        let Some(mut writer) = self.ready() else { return begin_otherwise(kind, name, inputs, sequence_plus_one, 0) };
        let flags = if sequence_plus_one == 0 { 0 } else { Head::NUMBERED };
        let head = Head { kind: kind.record_kind(), flags, track: 0, name: name.0 };
        Span(Some(writer.begin_plain(head.pack(), pair(inputs.0, sequence_plus_one))))
    }

    /// Begins a node of the backward pass, with the thread that ran its operator, if anyone collects it.
    #[inline(always)]
    pub fn begin_node(self, name: Name, inputs: Inputs, sequence_plus_one: u32, forward_thread: u32) -> Span {
        const KIND: SpanKind = SpanKind::Backward;
        if !self.capture().contains(KIND.needs()) {
            return Span::none();
        }
        let Some(mut writer) = self.ready() else {
            return begin_otherwise(KIND, name, inputs, sequence_plus_one, forward_thread);
        };
        let (head, last, second) = node_in_two_slots(name, inputs, sequence_plus_one, forward_thread);
        Span(Some(writer.begin_in_two(head.pack(), last, second)))
    }

    /// Ends a span that this thread began; see [`Span::end_where_it_began`].
    #[inline(always)]
    pub fn end(self, span: Span) {
        span.close_by_owner(self.local().flags);
    }

    /// Records that the host's memory was allocated or freed, if anyone collects memory.
    #[inline(always)]
    pub fn memory(self, address: u64, bytes: i64, allocated: i64) {
        if self.capture().contains(Capture::MEMORY) {
            match self.local().ready() {
                Some(mut writer) => writer.host_memory(address, bytes, allocated),
                None => memory_otherwise(address, bytes, allocated),
            }
        }
    }

    /// What is being collected; see [`capture`](crate::capture).
    #[inline(always)]
    pub fn capture(self) -> Capture {
        self.local().flags.capture()
    }

    /// The writer, if a span can be begun with it as it is.
    #[inline(always)]
    fn ready(&self) -> Option<impl DerefMut<Target = ManuallyDrop<ThreadWriter>>> {
        let local = self.local();
        if local.flags.are_contexts_used() { None } else { local.ready() }
    }

    #[inline(always)]
    fn local(&self) -> &Local {
        // SAFETY: a pointer is neither `Send` nor `Sync`, so that this is the thread whose `LOCAL` it is, and that runs. It has
        // no destructor: it is there until its thread is gone.
        unsafe { self.0.as_ref() }
    }
}

/// On a thread that has no writer yet, or is in the middle of something; or in a context.
#[cold]
#[inline(never)]
fn begin_otherwise(kind: SpanKind, name: Name, inputs: Inputs, sequence_plus_one: u32, forward_thread: u32) -> Span {
    let mut args = SpanArgs::new(kind, name).inputs(inputs);
    args.sequence_plus_one = sequence_plus_one.into();
    Span::begin(&if forward_thread == 0 { args } else { args.forward_thread(forward_thread) })
}

#[cold]
#[inline(never)]
fn memory_otherwise(address: u64, bytes: i64, allocated: i64) {
    super::memory(&Memory::of_host(address, bytes, allocated));
}

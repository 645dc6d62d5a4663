//! The dispatcher: every operation passes here, and here the profiler is told of it.

mod arg;
mod flops;
mod launch;

pub(crate) use arg::Arg;
pub(crate) use launch::{launch, launch_list};

use crate::autograd::mode;
use crate::error::Result;
use mindtorch_profiler::{Capture, Inputs, Name, Span, SpanArgs, SpanKind, capture};
use std::sync::OnceLock;

/// An operation: torch's name and overload for it. Its rules are in the function that has it.
pub(crate) struct Op {
    name: &'static str,
    overload: &'static str,
    interned: OnceLock<(Name, Name)>,
}

impl Op {
    pub(crate) const fn new(name: &'static str, overload: &'static str) -> Self {
        Self { name, overload, interned: OnceLock::new() }
    }

    /// Runs an operation that has a backward rule of its own: what its body calls is not part of the graph.
    #[inline]
    pub(crate) fn run<R>(&'static self, args: &[Arg<'_>], body: impl FnOnce() -> Result<R>) -> Result<R> {
        let _span = self.span(args);
        let _below = mode::BelowAutograd::enter();
        body()
    }

    /// Runs an operation that is made of others, which are part of the graph.
    #[inline]
    pub(crate) fn compose<R>(&'static self, args: &[Arg<'_>], body: impl FnOnce() -> Result<R>) -> Result<R> {
        let _span = self.span(args);
        body()
    }

    #[inline]
    fn span(&'static self, args: &[Arg<'_>]) -> Span {
        let capture = capture();
        if !capture.contains(Capture::CPU) {
            return Span::none();
        }
        self.recorded_span(args, capture)
    }

    #[cold]
    #[inline(never)]
    fn recorded_span(&'static self, args: &[Arg<'_>], capture: Capture) -> Span {
        let (name, overload) = *self.interned.get_or_init(|| (Name::new(self.name), Name::new(self.overload)));
        let mut span = SpanArgs::new(SpanKind::Op, name);
        if !self.overload.is_empty() {
            span = span.overload(overload);
        }
        if capture.contains(Capture::SHAPES) {
            span = span.inputs(arg::encode(args));
        }
        if capture.contains(Capture::FLOPS) {
            // One without stays a record of one slot.
            span = match flops::flops(self.name, args) {
                0 => span,
                flops => span.flops(flops),
            };
        }
        if let Some(sequence) = mode::sequence_to_record() {
            span = span.sequence(sequence);
        }
        Span::begin(&span)
    }
}

/// The shapes of a node's gradients, as the profiler keeps them.
pub(crate) fn encode_tensors<'a>(tensors: impl Iterator<Item = Option<&'a crate::Tensor>>) -> Inputs {
    let args: smallvec::SmallVec<[Arg<'_>; 4]> = tensors.map(Arg::from).collect();
    arg::encode(&args)
}

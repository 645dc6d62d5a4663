//! The dispatcher: every operation passes here, and here the profiler is told of it.

mod arg;
mod flops;
mod launch;
mod roles;

pub(crate) use arg::Arg;
pub(crate) use launch::{launch, launch_list};

use crate::autograd::mode;
use crate::error::Result;
use crate::execution_trace::{OpenNode, Outputs};
use crate::storage::role::RoleScope;
use crate::thread_state::here;
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
    pub(crate) fn run<R: Outputs>(&'static self, args: &[Arg<'_>], body: impl FnOnce() -> Result<R>) -> Result<R> {
        let mut open = self.begin(args);
        let _below = mode::BelowAutograd::enter();
        let result = body();
        if let Some(open) = &mut open
            && open.node.is_some()
        {
            open.give(&result);
        }
        result
    }

    /// Runs an operation that is made of others, which are part of the graph.
    #[inline]
    pub(crate) fn compose<R: Outputs>(&'static self, args: &[Arg<'_>], body: impl FnOnce() -> Result<R>) -> Result<R> {
        let mut open = self.begin(args);
        let result = body();
        if let Some(open) = &mut open
            && open.node.is_some()
        {
            open.give(&result);
        }
        result
    }

    #[inline]
    fn begin(&'static self, args: &[Arg<'_>]) -> Option<Open> {
        let capture = capture();
        capture
            .intersects(Capture::CPU | Capture::TENSORS | Capture::MEMORY)
            .then(|| self.begin_recorded(args, capture))
    }

    #[cold]
    #[inline(never)]
    fn begin_recorded(&'static self, args: &[Arg<'_>], capture: Capture) -> Open {
        let node = if capture.contains(Capture::TENSORS) {
            OpenNode::op(self.name, self.overload, args)
        } else {
            OpenNode::none()
        };
        let span = if capture.contains(Capture::CPU) { self.span(args, capture, &node) } else { Span::none() };
        // Within the span, which is what it allocates in.
        let role = capture.contains(Capture::MEMORY).then(|| roles::enter(self.name, args)).flatten();
        Open { node, _role: role, _span: span }
    }

    #[inline]
    fn span(&'static self, args: &[Arg<'_>], capture: Capture, node: &OpenNode) -> Span {
        let (name, overload) = *self.interned.get_or_init(|| (Name::new(self.name), Name::new(self.overload)));
        let mut span = SpanArgs::new(SpanKind::Op, name);
        if here(|thread| thread.has_target.replace(false)) {
            span = span.overload(Name::new(&out_overload(self.overload)));
        } else if !self.overload.is_empty() {
            span = span.overload(overload);
        }
        if capture.contains(Capture::SHAPES) {
            span = span.inputs(arg::encode(args));
        }
        if capture.contains(Capture::FLOPS) {
            // One without stays a record of one slot.
            let flops = flops::flops(self.name, args);
            if flops != 0 {
                span = span.flops(flops);
            }
        }
        if let Some(sequence) = mode::sequence_to_record() {
            span = span.sequence(sequence);
        }
        if node.is_some() {
            span = node.linked(span);
        }
        Span::begin(&span)
    }
}

/// An operation that is recorded; what is still open of it ends when this is dropped.
struct Open {
    node: OpenNode,
    _role: Option<RoleScope>,
    _span: Span,
}

impl Open {
    #[cold]
    #[inline(never)]
    fn give<R: Outputs>(&mut self, result: &Result<R>) {
        std::mem::replace(&mut self.node, OpenNode::none()).end(result);
    }
}

/// Says that the next operation of this thread puts its result into a tensor that the caller gave: the profiler shows the
/// overload that torch has for it.
pub fn next_has_target() {
    here(|thread| thread.has_target.set(true));
}

fn out_overload(overload: &str) -> String {
    match overload {
        "" | "Tensor" => "out".to_owned(),
        other => format!("{other}_out"),
    }
}

/// Begins the span of an operation that is not the runtime's own, such as one that a user defines, with these inputs.
pub fn operator_span(name: &str, inputs: &[crate::Tensor]) -> Span {
    let capture = capture();
    if !capture.contains(Capture::CPU) {
        return Span::none();
    }
    let mut span = SpanArgs::new(SpanKind::Op, Name::new(name));
    if capture.contains(Capture::SHAPES) {
        span = span.inputs(encode_tensors(inputs.iter().map(Some)));
    }
    if let Some(sequence) = mode::sequence_to_record() {
        span = span.sequence(sequence);
    }
    Span::begin(&span)
}

/// The shapes of a node's gradients, as the profiler keeps them.
pub(crate) fn encode_tensors<'a>(tensors: impl Iterator<Item = Option<&'a crate::Tensor>>) -> Inputs {
    let args: smallvec::SmallVec<[Arg<'_>; 4]> = tensors.map(Arg::from).collect();
    arg::encode(&args)
}

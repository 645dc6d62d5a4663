//! Nodes that are under way.

use super::node::{Node, Scope};
use super::values::{OutputList, Outputs, Values};
use super::{Log, lock, schemas, with_log};
use crate::Tensor;
use crate::autograd::mode;
use crate::dispatch::Arg;
use crate::error::Result;
use mindtorch_profiler::{Name, SpanArgs, thread_number};
use std::sync::atomic::{AtomicU32, Ordering};

/// A node of an execution trace that ends when it is dropped, on whichever thread that is. Without a trace it is nothing.
#[derive(Debug)]
#[must_use = "a node ends when it is dropped; bind it to a variable"]
pub struct OpenNode(Option<Box<Opened>>);

#[derive(Debug)]
struct Opened {
    generation: u64,
    thread: u32,
    id: u64,
    record_function: u32,
    /// What the operation gives if its body gives nothing: the tensor that it changes.
    target: Values,
}

impl OpenNode {
    /// No node.
    #[inline]
    pub const fn none() -> Self {
        Self(None)
    }

    /// Whether there is one.
    #[inline]
    pub(crate) fn is_some(&self) -> bool {
        self.0.is_some()
    }

    /// A part of the program that its author named, with a text that he gave.
    pub fn scope(name: Name, args: Option<Name>) -> Self {
        Self::begin(&name.text(), Scope::User, |node, _| {
            node.inputs = args.map(|args| Values::of_text(&args.text())).unwrap_or_default();
        })
    }

    pub(crate) fn op(name: &str, overload: &str, args: &[Arg<'_>]) -> Self {
        let schema = schemas::schema(name, overload);
        let mut target = Values::default();
        let mut opened = Self::begin(name, Scope::Function, |node, log| {
            node.inputs = Values::of_args(args, &mut log.ids);
            node.sequence = mode::sequence_to_record();
            node.schema = schema;
            if schema.ends_with("-> Tensor(a!)") {
                target = Values::of_args(&args[..1.min(args.len())], &mut log.ids);
            }
        });
        if let Some(opened) = &mut opened.0 {
            opened.target = target;
        }
        opened
    }

    /// The engine's work on a backward node: the node itself, and what becomes of its gradients.
    pub(crate) fn evaluation(name: &str) -> Self {
        Self::begin(name, Scope::Function, |_, _| ())
    }

    pub(crate) fn backward<'a>(
        name: &str,
        grads: impl Iterator<Item = Option<&'a Tensor>>,
        sequence: Option<u64>,
        forward_thread: u32,
    ) -> Self {
        Self::begin(name, Scope::Backward, |node, log| {
            node.inputs = Values::of_tensors(grads, &mut log.ids);
            node.sequence = sequence;
            node.forward_thread = forward_thread;
            node.forward_parent = log.innermost(forward_thread);
        })
    }

    fn begin(name: &str, scope: Scope, fill: impl FnOnce(&mut Node, &mut Log)) -> Self {
        /// Counted over all traces, as in torch, where it is not the trace that counts.
        static RECORD_FUNCTIONS: AtomicU32 = AtomicU32::new(0);
        // Before the lock, because a thread that has no number gets one, under another lock.
        let thread = thread_number();
        let mut log = lock();
        let Some(log) = log.as_mut() else { return Self::none() };
        let record_function = RECORD_FUNCTIONS.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        let id = log.begin(thread, name, scope, |node, log| {
            node.record_function = record_function;
            fill(node, log);
        });
        let (generation, target) = (log.generation, Values::default());
        Self(Some(Box::new(Opened { generation, thread, id, record_function, target })))
    }

    /// A span that refers to this node.
    #[inline]
    pub fn linked(&self, span: SpanArgs) -> SpanArgs {
        match &self.0 {
            Some(node) => span.record_function(node.record_function),
            None => span,
        }
    }

    /// Ends it with what an operation gave.
    #[inline]
    pub(crate) fn end<R: Outputs>(mut self, result: &Result<R>) {
        if let Some(node) = self.0.take() {
            node.end(result);
        }
    }
}

impl Drop for OpenNode {
    #[inline]
    fn drop(&mut self) {
        if let Some(node) = self.0.take() {
            node.end(&Ok(()));
        }
    }
}

impl Opened {
    #[cold]
    #[inline(never)]
    fn end<R: Outputs>(self, result: &Result<R>) {
        with_log(self.generation, |log| {
            let outputs = match result {
                Ok(outputs) => OutputList::collect(outputs, &mut log.ids).or(self.target),
                Err(_) => Values::default(),
            };
            log.end(self.thread, self.id, outputs);
        });
    }
}

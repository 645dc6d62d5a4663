//! Autograd: a graph of nodes behind the tensors, and the engine that runs it backwards.

mod accumulate;
mod engine;
pub mod mode;
mod node;
mod saved;
mod track;
mod view;

pub(crate) use engine::cost_of_a_node;
pub use engine::{Request, backward, grad};
pub use node::{Context, Edge, Grads, Node, NodeHook, Rule, TensorHook};
pub(crate) use saved::Saved;
pub use track::track_function;
pub(crate) use track::{check_in_place, mark_changed, track, track_in_place, track_list};
pub(crate) use view::track_view;

use crate::Tensor;
use crate::error::{Result, bail, ensure};
use crate::tensor::Flags;
use mindtorch_profiler::MemoryRole;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// What autograd knows of a tensor.
#[derive(Default)]
pub(crate) struct Meta {
    grad: Option<Tensor>,
    pub(crate) grad_fn: Option<Edge>,
    /// The node that adds to this leaf's gradient, while a graph has it.
    accumulator: Weak<Node>,
    /// Called with the gradient of a leaf.
    hooks: Vec<(u64, TensorHook)>,
    /// Called with the leaf when its gradient was added to.
    after_accumulation: Vec<(u64, TensorHook)>,
    /// Where the gradient of a tensor that is no leaf is kept, if it is.
    retained: Option<Arc<Mutex<Option<Tensor>>>>,
    view: Option<view::View>,
}

static NEXT_HOOK: AtomicU64 = AtomicU64::new(1);

impl Tensor {
    /// Whether a gradient is computed for it.
    #[inline]
    pub fn requires_grad(&self) -> bool {
        self.has_flag(Flags::REQUIRES_GRAD)
    }

    /// Whether no operation made it, or none that is part of a graph.
    pub fn is_leaf(&self) -> bool {
        !self.requires_grad() || self.grad_fn().is_none()
    }

    /// Whether it was made in inference mode.
    pub fn is_inference(&self) -> bool {
        self.has_flag(Flags::INFERENCE)
    }

    /// Asks for its gradient, or no longer.
    ///
    /// # Errors
    /// If it cannot have one, or if it is not a leaf.
    pub fn set_requires_grad(&self, on: bool) -> Result<()> {
        ensure!(!on || self.dtype().is_float(), Runtime, "only Tensors of floating point dtype can require gradients");
        ensure!(
            !on || !self.is_inference() || mode::is_inference(),
            Runtime,
            "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed."
        );
        if !self.is_leaf() {
            ensure!(
                on,
                Runtime,
                "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a \
                 subgraph that doesn't require differentiation use var_no_grad = var.detach()."
            );
            return Ok(());
        }
        self.set_flag(Flags::REQUIRES_GRAD, on);
        Ok(())
    }

    /// The node that made it, as part of the graph.
    pub fn grad_fn(&self) -> Option<Edge> {
        if !self.requires_grad() {
            return None;
        }
        view::refresh(self);
        self.meta().as_ref()?.grad_fn.clone()
    }

    /// Its gradient, as far as it was computed.
    pub fn grad(&self) -> Option<Tensor> {
        let meta = self.meta();
        let meta = meta.as_ref()?;
        match &meta.retained {
            Some(retained) => retained.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            None => meta.grad.clone(),
        }
    }

    /// Replaces its gradient.
    ///
    /// # Errors
    /// If the gradient has another shape, type or device.
    pub fn set_grad(&self, grad: Option<Tensor>) -> Result<()> {
        if let Some(grad) = &grad {
            ensure!(
                grad.shape() == self.shape(),
                Runtime,
                "attempting to assign a gradient of size '{}' to a tensor of size '{}'. Please ensure that the gradient and the \
                 tensor are the same size",
                crate::shape::list(grad.shape()),
                crate::shape::list(self.shape())
            );
            ensure!(grad.dtype() == self.dtype(), Runtime, "assigned grad has data of a different type");
            ensure!(grad.device() == self.device(), Runtime, "assigned grad has data located on a different device");
            ensure!(!grad.is_same(self), Runtime, "can't assign Variable as its own grad");
            grad.storage().keep_as(MemoryRole::Gradient);
        }
        let mut meta = self.meta();
        if grad.is_none() && meta.is_none() {
            return Ok(());
        }
        let meta = meta.get_or_insert_with(Box::default);
        let before = match &meta.retained {
            Some(retained) => std::mem::replace(&mut *retained.lock().unwrap_or_else(PoisonError::into_inner), grad),
            None => std::mem::replace(&mut meta.grad, grad),
        };
        // Its memory is freed after the lock: that may run code of the program's.
        drop(before);
        Ok(())
    }

    /// Keeps its gradient although it is no leaf.
    ///
    /// # Errors
    /// If it has none.
    pub fn retain_grad(&self) -> Result<()> {
        ensure!(self.requires_grad(), Runtime, "can't retain_grad on Tensor that has requires_grad=False");
        let Some(edge) = self.grad_fn() else { return Ok(()) };
        let mut meta = self.meta();
        let meta = meta.get_or_insert_with(Box::default);
        let retained = meta.retained.get_or_insert_with(Arc::default);
        edge.node.hooks().retaining.push((edge.output, Arc::downgrade(retained)));
        Ok(())
    }

    /// Whether it keeps its gradient although it is no leaf.
    pub fn retains_grad(&self) -> bool {
        self.meta().as_ref().is_some_and(|meta| meta.retained.is_some())
    }

    /// Calls `hook` with every gradient computed for it; the hook may replace it. Gives a number for [`Self::remove_hook`].
    ///
    /// # Errors
    /// If it has no gradient.
    pub fn register_hook(&self, hook: TensorHook) -> Result<u64> {
        ensure!(self.requires_grad(), Runtime, "cannot register a hook on a tensor that doesn't require gradient");
        let id = NEXT_HOOK.fetch_add(1, Ordering::Relaxed);
        match self.grad_fn() {
            Some(edge) => edge.node.hooks().before.push((id, edge.output, hook)),
            None => self.meta().get_or_insert_with(Box::default).hooks.push((id, hook)),
        }
        Ok(id)
    }

    /// Calls `hook` with this leaf whenever its gradient was added to.
    ///
    /// # Errors
    /// If it is no leaf that requires a gradient.
    pub fn register_post_accumulate_grad_hook(&self, hook: TensorHook) -> Result<u64> {
        ensure!(self.requires_grad(), Runtime, "cannot register a hook on a tensor that doesn't require gradient");
        ensure!(self.is_leaf(), Runtime, "post accumulate grad hooks cannot be registered on non-leaf tensors");
        let id = NEXT_HOOK.fetch_add(1, Ordering::Relaxed);
        self.meta().get_or_insert_with(Box::default).after_accumulation.push((id, hook));
        Ok(id)
    }

    /// Removes a hook, wherever it is.
    pub fn remove_hook(&self, id: u64) {
        let edge = self.grad_fn();
        if let Some(meta) = self.meta().as_mut() {
            meta.hooks.retain(|(hook, _)| *hook != id);
            meta.after_accumulation.retain(|(hook, _)| *hook != id);
        }
        if let Some(edge) = edge {
            edge.node.hooks().before.retain(|(hook, ..)| *hook != id);
        }
    }

    /// Where its gradient goes: to the node that made it, or into itself.
    pub(crate) fn gradient_edge(&self) -> Option<Edge> {
        if !self.requires_grad() {
            return None;
        }
        if let Some(edge) = self.grad_fn() {
            return Some(edge);
        }
        let mut meta = self.meta();
        let meta = meta.get_or_insert_with(Box::default);
        let node = meta.accumulator.upgrade().unwrap_or_else(|| {
            let node = accumulate::node(self);
            meta.accumulator = Arc::downgrade(&node);
            node
        });
        Some(Edge { node, output: 0 })
    }

    /// Cuts it off from its history, in place.
    ///
    /// # Errors
    /// If it is a view, whose base would still have the history.
    pub fn detach_(&self) -> Result<()> {
        if view::base(self).is_some() {
            bail!(Runtime, "Can't detach views in-place. Use detach() instead.");
        }
        if let Some(meta) = self.meta().as_mut() {
            meta.grad_fn = None;
        }
        self.set_flag(Flags::REQUIRES_GRAD, false);
        Ok(())
    }

    /// The tensor of which it is a view, if it is one.
    pub fn base(&self) -> Option<Tensor> {
        view::base(self)
    }

    /// Gives everything that autograd knows of this tensor to another, which takes its place in the program.
    pub fn move_autograd_to(&self, other: &Tensor) {
        let mut meta = self.meta().take();
        if let Some(meta) = &mut meta {
            meta.accumulator = Weak::new();
            meta.view = None;
        }
        let requires_grad = self.requires_grad();
        self.set_flag(Flags::REQUIRES_GRAD, false);
        *other.meta() = meta;
        other.set_flag(Flags::REQUIRES_GRAD, requires_grad);
        if self.storage().role().is_lasting() {
            other.storage().keep_as(self.storage().role());
        }
    }
}

impl Node {
    /// Calls `hook` whenever the node has run.
    pub fn register_hook(&self, hook: NodeHook) -> u64 {
        let id = NEXT_HOOK.fetch_add(1, Ordering::Relaxed);
        self.hooks().after.push((id, hook));
        id
    }

    /// Removes a hook.
    pub fn remove_hook(&self, id: u64) {
        self.hooks().after.retain(|(hook, _)| *hook != id);
    }
}

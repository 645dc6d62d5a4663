//! Where gradients end: in the leaves.

use super::node::{Context, Grads, Node, OutputInfo, Rule};
use super::{Meta, mode};
use crate::Tensor;
use crate::error::Result;
use crate::ops;
use std::sync::Arc;

/// Adds to the gradient of a leaf.
struct Accumulate(Tensor);

pub(super) fn node(leaf: &Tensor) -> Arc<Node> {
    Node::accumulator(OutputInfo::of(leaf), Arc::new(Accumulate(leaf.clone())))
}

impl Rule for Accumulate {
    fn apply(&self, _: &Context<'_>, mut grads: Grads) -> Result<Grads> {
        let Some(grad) = grads[0].take() else { return Ok(Grads::new()) };
        let leaf = &self.0;
        let grad = apply_hooks(leaf, grad)?;
        let sum = match leaf.grad() {
            // A gradient that nobody else has becomes the leaf's as it is.
            None if !mode::is_grad_enabled() && is_laid_out_for(leaf, &grad) && grad.is_sole() => ops::detach(&grad)?,
            None => ops::clone_as(&grad, leaf)?,
            Some(sum) if mode::is_grad_enabled() => ops::add(&sum, &grad, 1.into())?,
            Some(sum) => ops::add_(&sum, &grad, 1.into())?,
        };
        leaf.set_grad(Some(sum))?;
        let hooks: Vec<_> = match leaf.meta().as_deref() {
            Some(Meta { after_accumulation, .. }) => {
                after_accumulation.iter().map(|(_, hook)| Arc::clone(hook)).collect()
            }
            None => Vec::new(),
        };
        for hook in hooks {
            hook(leaf)?;
        }
        Ok(Grads::new())
    }

    fn leaf(&self) -> Option<Tensor> {
        Some(self.0.clone())
    }
}

/// Whether a gradient lies in memory as one that is made for the leaf would.
fn is_laid_out_for(leaf: &Tensor, grad: &Tensor) -> bool {
    grad.is_contiguous() || (grad.strides() == leaf.strides() && leaf.is_dense())
}

/// What the hooks of a leaf make of its gradient.
pub(super) fn apply_hooks(leaf: &Tensor, mut grad: Tensor) -> Result<Tensor> {
    let hooks: Vec<_> = match leaf.meta().as_deref() {
        Some(Meta { hooks, .. }) => hooks.iter().map(|(_, hook)| Arc::clone(hook)).collect(),
        None => return Ok(grad),
    };
    for hook in hooks {
        if let Some(replaced) = hook(&grad)? {
            grad = replaced;
        }
    }
    Ok(grad)
}

//! How operations become part of the graph.

use super::node::{Context, Grads, Node, OutputInfo, Rule};
use super::{Edge, mode, view};
use crate::Tensor;
use crate::error::{Result, bail, ensure};
use crate::tensor::Flags;
use smallvec::SmallVec;
use std::borrow::Cow;
use std::sync::Arc;

/// The rule of an operation with one output and `N` inputs, as a closure over what it saved.
struct OneOutput<F, const N: usize>(F);

impl<F, const N: usize> Rule for OneOutput<F, N>
where
    F: Fn(&Context<'_>, &Tensor) -> Result<[Option<Tensor>; N]> + Send + Sync,
{
    fn apply(&self, context: &Context<'_>, grads: Grads) -> Result<Grads> {
        match &grads[0] {
            Some(grad) => Ok(Grads::from_iter((self.0)(context, grad)?)),
            None => Ok(Grads::from_iter([const { None }; N])),
        }
    }
}

/// The rule of any operation, as a closure over what it saved.
struct AnyOutputs<F>(F);

impl<F> Rule for AnyOutputs<F>
where
    F: Fn(&Context<'_>, &Grads) -> Result<Grads> + Send + Sync,
{
    fn apply(&self, context: &Context<'_>, grads: Grads) -> Result<Grads> {
        (self.0)(context, &grads)
    }
}

#[inline]
fn is_wanted<'a>(mut inputs: impl Iterator<Item = &'a Tensor>) -> bool {
    mode::is_recording() && inputs.any(Tensor::requires_grad)
}

/// Makes `out` the result of `inputs`, if anyone may want their gradients. `rule` saves what the backward pass needs, and is
/// called only then.
#[inline]
pub(crate) fn track<'a, const N: usize, F>(
    name: &'static str,
    inputs: [impl Into<Option<&'a Tensor>>; N],
    out: &Tensor,
    rule: impl FnOnce() -> F,
) -> Result<()>
where
    F: Fn(&Context<'_>, &Tensor) -> Result<[Option<Tensor>; N]> + Send + Sync + 'static,
{
    let inputs = inputs.map(Into::into);
    if !is_wanted(inputs.into_iter().flatten()) || !out.dtype().is_float() {
        return Ok(());
    }
    check_inference(inputs.into_iter().flatten())?;
    let edges = inputs.iter().map(|input| input.and_then(Tensor::gradient_edge)).collect();
    attach(name.into(), edges, &[out], Arc::new(OneOutput(rule())));
    Ok(())
}

/// [`track`] for any number of inputs and outputs. Outputs that are not floats take no part.
pub(crate) fn track_list<F>(
    name: &'static str,
    inputs: &[Option<&Tensor>],
    outs: &[&Tensor],
    rule: impl FnOnce() -> F,
) -> Result<()>
where
    F: Fn(&Context<'_>, &Grads) -> Result<Grads> + Send + Sync + 'static,
{
    if !is_wanted(inputs.iter().copied().flatten()) {
        return Ok(());
    }
    check_inference(inputs.iter().copied().flatten())?;
    let edges = inputs.iter().map(|input| input.and_then(Tensor::gradient_edge)).collect();
    attach(name.into(), edges, outs, Arc::new(AnyOutputs(rule())));
    Ok(())
}

/// Makes `outs` the results of a rule that the program wrote. Gives the node, if there is one.
///
/// # Errors
/// If an input can be part of no graph.
pub fn track_function(
    name: String,
    inputs: &[Option<&Tensor>],
    outs: &[&Tensor],
    rule: Arc<dyn Rule>,
) -> Result<Option<Arc<Node>>> {
    if !is_wanted(inputs.iter().copied().flatten()) {
        return Ok(None);
    }
    check_inference(inputs.iter().copied().flatten())?;
    let edges = inputs.iter().map(|input| input.and_then(Tensor::gradient_edge)).collect();
    Ok(Some(attach(name.into(), edges, outs, rule)))
}

fn attach(
    name: Cow<'static, str>,
    edges: SmallVec<[Option<Edge>; 3]>,
    outs: &[&Tensor],
    rule: Arc<dyn Rule>,
) -> Arc<Node> {
    let infos = outs.iter().map(|out| OutputInfo::of(out)).collect();
    let node = Node::new(name, edges, infos, rule);
    for (output, out) in outs.iter().enumerate() {
        if out.dtype().is_float() {
            set_history(out, Edge { node: Arc::clone(&node), output });
        }
    }
    node
}

fn set_history(out: &Tensor, edge: Edge) {
    out.set_flag(Flags::REQUIRES_GRAD, true);
    out.meta().get_or_insert_with(Box::default).grad_fn = Some(edge);
}

/// Whether `target` may be changed in place here.
pub(crate) fn check_in_place(target: &Tensor) -> Result<()> {
    if !mode::is_recording() {
        return Ok(());
    }
    ensure!(
        !target.is_inference() || mode::is_inference(),
        Runtime,
        "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone to get a normal tensor \
         before doing inplace update.See https://github.com/pytorch/rfcs/pull/17 for more details."
    );
    if target.requires_grad() && target.is_leaf() {
        bail!(Runtime, "a leaf Variable that requires grad is being used in an in-place operation.");
    }
    if let Some(base) = view::base(target)
        && base.requires_grad()
        && base.is_leaf()
    {
        bail!(Runtime, "a view of a leaf Variable that requires grad is being used in an in-place operation.");
    }
    Ok(())
}

/// Says that `target` was changed in place by an operation on `inputs`, of which it is usually the first. Must come after
/// [`check_in_place`]; `rule` as for [`track`].
pub(crate) fn track_in_place<'a, const N: usize, F>(
    name: &'static str,
    inputs: [impl Into<Option<&'a Tensor>>; N],
    target: &Tensor,
    rule: impl FnOnce() -> F,
) -> Result<()>
where
    F: Fn(&Context<'_>, &Tensor) -> Result<[Option<Tensor>; N]> + Send + Sync + 'static,
{
    let inputs = inputs.map(Into::into);
    // What happens inside an operation is part of it: the operation says itself what it changed.
    if mode::is_below() {
        return Ok(());
    }
    let wanted = is_wanted(inputs.into_iter().flatten()) && target.dtype().is_float();
    if !wanted {
        target.storage().bump_version();
        return Ok(());
    }
    check_inference(inputs.into_iter().flatten())?;
    let edges: SmallVec<[Option<Edge>; 3]> = inputs.iter().map(|input| input.and_then(Tensor::gradient_edge)).collect();
    target.storage().bump_version();
    let rule: Arc<dyn Rule> = Arc::new(OneOutput(rule()));
    match view::base(target) {
        Some(base) => {
            let infos = SmallVec::from_iter([OutputInfo::of(target)]);
            let inner = Node::new(name, edges, infos, rule);
            view::rebase(target, &base, inner);
        }
        None => {
            attach(name.into(), edges, &[target], rule);
        }
    }
    Ok(())
}

/// Says that a tensor which is part of no graph was changed in place.
pub(crate) fn mark_changed(target: &Tensor) {
    if !mode::is_below() {
        target.storage().bump_version();
    }
}

fn check_inference<'a>(mut inputs: impl Iterator<Item = &'a Tensor>) -> Result<()> {
    ensure!(
        !inputs.any(Tensor::is_inference),
        Runtime,
        "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in computation \
         tracked by autograd. To work around this, you can make a clone to get a normal tensor and use it in autograd, or use \
         `torch.no_grad()` instead of `torch.inference_mode()`."
    );
    Ok(())
}

pub(super) fn rewrite_history(tensor: &Tensor, edge: Edge) {
    set_history(tensor, edge);
}

//! Views in the graph: a change through a view is a change of its base, and of all other views of it.

use super::node::{Context, Edge, Grads, Node, OutputInfo, Rule};
use super::track::rewrite_history;
use super::{Meta, mode};
use crate::Tensor;
use crate::error::{Result, bail};
use crate::ops;
use crate::shape::Dims;
use smallvec::SmallVec;
use std::sync::Arc;

/// What a view knows of what it is a view of.
pub(crate) struct View {
    base: Tensor,
    /// The base's version for which the view's history is right.
    version: u32,
}

/// Where a view lies in its base.
#[derive(Clone)]
struct Window {
    shape: Dims,
    strides: Dims,
    offset: usize,
}

impl Window {
    fn of(tensor: &Tensor) -> Self {
        Self { shape: tensor.shape().into(), strides: tensor.strides().into(), offset: tensor.offset() }
    }

    /// The same part of a tensor laid out like the base, but from its beginning.
    fn cut(&self, whole: &Tensor, base_offset: usize) -> Tensor {
        whole.window(self.shape.clone(), self.strides.clone(), self.offset - base_offset)
    }
}

pub(super) fn base(tensor: &Tensor) -> Option<Tensor> {
    Some(tensor.meta().as_ref()?.view.as_ref()?.base.clone())
}

/// Says that `view` shows a part of `of`. Not inside other operations, where nobody will change it.
#[inline]
pub(crate) fn track_view(view: &Tensor, of: &Tensor) {
    if mode::is_below() || mode::is_inference() {
        return;
    }
    let base = base(of).unwrap_or_else(|| of.clone());
    let version = view.storage().version();
    view.meta().get_or_insert_with(Box::default).view = Some(View { base, version });
}

/// Makes the history of a view right, if its base was changed since.
pub(super) fn refresh(tensor: &Tensor) {
    let version = tensor.storage().version();
    let base = {
        let meta = tensor.meta();
        match meta.as_ref().and_then(|meta| meta.view.as_ref()) {
            Some(view) if view.version != version => view.base.clone(),
            _ => return,
        }
    };
    let Some(edge) = base.gradient_edge() else { return };
    let rule = Arc::new(OfWindow { window: Window::of(tensor), base: Layout::of(&base) });
    let edges = SmallVec::from_iter([Some(edge)]);
    let node = Node::new("AsStridedBackward0", edges, SmallVec::from_iter([OutputInfo::of(tensor)]), rule);
    let mut meta = tensor.meta();
    let meta: &mut Meta = meta.get_or_insert_with(Box::default);
    meta.grad_fn = Some(Edge { node, output: 0 });
    if let Some(view) = &mut meta.view {
        view.version = version;
    }
}

/// Gives `base` the history of a change through `view` by the operation of `inner`, whose first input was the view.
pub(super) fn rebase(view: &Tensor, base: &Tensor, inner: Arc<Node>) {
    let base_edge = base.gradient_edge();
    let mut edges: SmallVec<[Option<Edge>; 3]> = SmallVec::from_iter([base_edge]);
    edges.extend(inner.edges().iter().skip(1).cloned());
    let layout = Layout::of(base);
    let outputs = SmallVec::from_iter([OutputInfo::of(base)]);
    let rule = Arc::new(CopySlices { inner, window: Window::of(view), base: layout });
    let node = Node::new("torch::autograd::CopySlices", edges, outputs, rule);
    rewrite_history(base, Edge { node, output: 0 });
    // The flag first: refreshing looks at nothing that has no gradient.
    view.set_flag(crate::tensor::Flags::REQUIRES_GRAD, true);
    if let Some(own) = view.meta().as_mut().and_then(|meta| meta.view.as_mut()) {
        own.version = own.version.wrapping_sub(1);
    }
    refresh(view);
}

/// What a gradient of the base must look like, so that windows can be cut from it.
struct Layout {
    shape: Dims,
    strides: Dims,
    offset: usize,
}

impl Layout {
    fn of(base: &Tensor) -> Self {
        Self { shape: base.shape().into(), strides: base.strides().into(), offset: base.offset() }
    }

    /// A gradient of zeros with the base's strides.
    fn zeros(&self, like: &Tensor) -> Result<Tensor> {
        let span = if self.shape.contains(&0) {
            0
        } else {
            1 + self.shape.iter().zip(&self.strides).map(|(size, stride)| (size - 1) * stride).sum::<usize>()
        };
        let memory = ops::zeros(&[span], like.dtype(), like.device())?;
        Ok(memory.window(self.shape.clone(), self.strides.clone(), 0))
    }
}

/// The gradient of a view, as one of its base.
struct OfWindow {
    window: Window,
    base: Layout,
}

impl Rule for OfWindow {
    fn apply(&self, _: &Context<'_>, grads: Grads) -> Result<Grads> {
        let Some(grad) = &grads[0] else { return Ok(Grads::from_iter([None])) };
        if mode::is_grad_enabled() && grad.requires_grad() {
            bail!(Runtime, "a second derivative through a view that was changed in place is not supported");
        }
        let whole = self.base.zeros(grad)?;
        // What the view repeats is one number of the base, which gets the sum.
        let mut window = self.window.clone();
        let repeated: Vec<i64> =
            (0..window.shape.len()).filter(|&dim| window.strides[dim] == 0).map(|dim| dim as i64).collect();
        let grad = if repeated.is_empty() { grad.clone() } else { ops::sum(grad, &repeated, true, None)? };
        window.shape = grad.shape().into();
        ops::copy_(&window.cut(&whole, self.base.offset), &grad)?;
        Ok(Grads::from_iter([Some(whole)]))
    }
}

/// The gradient of a base that was changed through a view: outside of the view nothing happened to it.
struct CopySlices {
    inner: Arc<Node>,
    window: Window,
    base: Layout,
}

impl Rule for CopySlices {
    fn apply(&self, context: &Context<'_>, grads: Grads) -> Result<Grads> {
        let inputs = self.inner.edges().len();
        let Some(grad) = &grads[0] else { return Ok(Grads::from_elem(None, inputs)) };
        if mode::is_grad_enabled() && grad.requires_grad() {
            bail!(Runtime, "a second derivative through a view that was changed in place is not supported");
        }
        let whole = self.base.zeros(grad)?;
        ops::copy_(&whole, grad)?;
        let window = self.window.cut(&whole, self.base.offset);
        let Some(rule) = self.inner.rule() else { bail!(Runtime, "the rule of an in-place operation is gone") };
        let needed: SmallVec<[bool; 4]> = (0..inputs).map(|input| input == 0 || context.needs(input)).collect();
        let inner = Context::new(&self.inner, &needed);
        let mut grads = rule.apply(&inner, Grads::from_iter([Some(ops::clone(&window)?)]))?;
        match grads[0].take() {
            Some(grad) => ops::copy_(&window, &grad)?,
            None => ops::fill_(&window, 0.0.into())?,
        };
        grads[0] = Some(whole);
        Ok(grads)
    }
}

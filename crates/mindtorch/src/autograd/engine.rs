//! The engine: runs the graph backwards, each node when all its gradients are there, the latest first.

use super::accumulate;
use super::mode::Restore;
use super::node::{Context, Edge, Grads, Node, OutputInfo};
use crate::Tensor;
use crate::dispatch::encode_tensors;
use crate::error::{Result, bail, ensure};
use crate::execution_trace::OpenNode;
use crate::ops;
use crate::shape::list;
use crate::storage::role::RoleScope;
use mindtorch_profiler::{Calibration, Capture, EventCost, MemoryRole, Name, Span, SpanArgs, SpanKind, capture};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::{Arc, PoisonError};

/// How to run the graph.
#[derive(Clone, Copy, Debug, Default)]
pub struct Request {
    /// Keep what the nodes saved, so that the graph can be run again.
    pub retain_graph: bool,
    /// Make the gradients part of a graph too.
    pub create_graph: bool,
}

/// Computes the gradients of `roots`, weighted by `weights`, and adds them to the leaves; only to `inputs`, if any are given.
///
/// # Errors
/// If a root has no gradient, if the graph was used up, or what goes wrong in an operation.
pub fn backward(roots: &[Tensor], weights: &[Option<Tensor>], inputs: &[Tensor], request: Request) -> Result<()> {
    let mut run = Run::new(request);
    if !inputs.is_empty() {
        run.only(inputs, true)?;
    }
    run.execute(roots, weights)
}

/// Computes the gradients of `roots`, weighted by `weights`, with respect to `inputs`, and adds them to nothing. None is the
/// gradient of an input that the roots do not depend on.
///
/// # Errors
/// As for [`backward`].
pub fn grad(
    roots: &[Tensor],
    weights: &[Option<Tensor>],
    inputs: &[Tensor],
    request: Request,
) -> Result<Vec<Option<Tensor>>> {
    let mut run = Run::new(request);
    run.only(inputs, false)?;
    run.execute(roots, weights)?;
    Ok(run.captured)
}

/// Which node to run next: the one with the highest number.
struct Ready(Arc<Node>);

impl Ord for Ready {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.sequence.cmp(&other.0.sequence)
    }
}

impl PartialOrd for Ready {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ready {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Ready {}

type NodeId = *const Node;

struct Run {
    request: Request,
    ready: BinaryHeap<Ready>,
    /// How many gradients each node still waits for.
    missing: FxHashMap<NodeId, usize>,
    /// The gradients that have arrived.
    arrived: FxHashMap<NodeId, Grads>,
    /// The gradients to keep, by the output they are of; for several inputs if they are one.
    captures: FxHashMap<NodeId, Vec<(usize, usize)>>,
    captured: Vec<Option<Tensor>>,
    /// The nodes to run, if not all.
    wanted: Option<FxHashSet<NodeId>>,
}

impl Run {
    fn new(request: Request) -> Self {
        Self {
            request,
            ready: BinaryHeap::new(),
            missing: FxHashMap::default(),
            arrived: FxHashMap::default(),
            captures: FxHashMap::default(),
            captured: Vec::new(),
            wanted: None,
        }
    }

    /// Computes for `inputs` alone: adds to them, or captures what would be added.
    fn only(&mut self, inputs: &[Tensor], accumulate: bool) -> Result<()> {
        let mut wanted = FxHashSet::default();
        for (index, input) in inputs.iter().enumerate() {
            let Some(edge) = input.gradient_edge() else {
                bail!(Runtime, "One of the differentiated Tensors does not require grad")
            };
            let id = Arc::as_ptr(&edge.node);
            if accumulate && edge.node.leaf().is_some() {
                wanted.insert(id);
            } else {
                self.captures.entry(id).or_default().push((edge.output, index));
            }
        }
        self.captured = vec![None; inputs.len()];
        self.wanted = Some(wanted);
        Ok(())
    }

    fn execute(&mut self, roots: &[Tensor], weights: &[Option<Tensor>]) -> Result<()> {
        let _role = RoleScope::enter(MemoryRole::AutogradDetail);
        let mut edges = Vec::with_capacity(roots.len());
        for (index, (root, weight)) in roots.iter().zip(weights).enumerate() {
            let Some(edge) = root.gradient_edge() else {
                bail!(Runtime, "element {index} of tensors does not require grad and does not have a grad_fn")
            };
            let weight = match weight {
                Some(weight) => weight.clone(),
                None => {
                    ensure!(root.numel() == 1, Runtime, "grad can be implicitly created only for scalar outputs");
                    let _quiet = Restore::grad(false);
                    ops::ones_like(root)?
                }
            };
            ensure!(
                weight.shape() == root.shape(),
                Runtime,
                "Mismatch in shape: grad_output[{index}] has a shape of torch.Size({}) and output[{index}] has a shape of \
                 torch.Size({}).",
                list(weight.shape()),
                list(root.shape())
            );
            edges.push((edge, weight));
        }
        self.count(edges.iter().map(|(edge, _)| &edge.node));
        let _mode = Restore::grad(self.request.create_graph);
        // Kept to the end, as a caller's are: the memory of a default weight is freed by this call, not by the first node.
        for (edge, weight) in &edges {
            self.deliver(edge, weight.clone())?;
            self.mark_ready(&edge.node);
        }
        while let Some(Ready(node)) = self.ready.pop() {
            self.evaluate(&node)?;
        }
        Ok(())
    }

    /// Finds out how many gradients each node will get, and which nodes must run: those that lead to one that must.
    fn count<'a>(&mut self, roots: impl Iterator<Item = &'a Arc<Node>>) {
        let mut seen: FxHashSet<NodeId> = FxHashSet::default();
        // Nodes on the way, each with the number of its edges that were followed: a node comes after all that it leads to.
        let mut way: Vec<(Arc<Node>, usize)> = Vec::new();
        for root in roots {
            if seen.insert(Arc::as_ptr(root)) {
                way.push((Arc::clone(root), 0));
            }
            while let Some((node, followed)) = way.last_mut() {
                if let Some(edge) = node.edges().get(*followed).cloned() {
                    *followed += 1;
                    let Some(Edge { node, .. }) = edge else { continue };
                    *self.missing.entry(Arc::as_ptr(&node)).or_default() += 1;
                    if seen.insert(Arc::as_ptr(&node)) {
                        way.push((node, 0));
                    }
                    continue;
                }
                let leads = |edge: &Edge| self.is_needed(Some(edge));
                let is_wanted = self.wanted.is_some() && node.edges().iter().flatten().any(leads);
                let id = Arc::as_ptr(node);
                if let Some(wanted) = &mut self.wanted
                    && is_wanted
                {
                    wanted.insert(id);
                }
                way.pop();
            }
        }
    }

    fn mark_ready(&mut self, node: &Arc<Node>) {
        let id = Arc::as_ptr(node);
        if self.missing.get(&id).is_none_or(|&missing| missing == 0)
            && !self.ready.iter().any(|ready| Arc::as_ptr(&ready.0) == id)
        {
            self.ready.push(Ready(Arc::clone(node)));
        }
    }

    /// Adds a gradient to those that a node waits for.
    fn deliver(&mut self, edge: &Edge, grad: Tensor) -> Result<()> {
        let outputs = edge.node.outputs().len();
        let grads = self.arrived.entry(Arc::as_ptr(&edge.node)).or_insert_with(|| Grads::from_elem(None, outputs));
        let sum = match grads[edge.output].take() {
            None => grad,
            Some(sum) if !self.request.create_graph && sum.is_unshared() && sum.is_dense() => {
                ops::add_(&sum, &grad, 1.into())?
            }
            Some(sum) => ops::add(&sum, &grad, 1.into())?,
        };
        grads[edge.output] = Some(sum);
        Ok(())
    }

    fn evaluate(&mut self, node: &Arc<Node>) -> Result<()> {
        let names = Names::of(node);
        let _open = names.as_ref().map(|names| begin(names.evaluate, node, None));
        let id = Arc::as_ptr(node);
        let mut grads = self.arrived.remove(&id).unwrap_or_default();
        grads.resize(node.outputs().len(), None);
        self.before(node, &mut grads)?;
        if self.wanted.as_ref().is_none_or(|wanted| wanted.contains(&id)) {
            let mut results = self.apply(node, grads, names)?;
            for (index, edge) in node.edges().iter().enumerate() {
                let Some(edge) = edge else { continue };
                // Taken: what only the receiver has, it may change.
                if let Some(grad) = results.get_mut(index).and_then(Option::take) {
                    let grad = fit(grad, &edge.node.outputs()[edge.output], node, index)?;
                    self.deliver(edge, grad)?;
                }
            }
        }
        for edge in node.edges().iter().flatten() {
            if let Some(missing) = self.missing.get_mut(&Arc::as_ptr(&edge.node)) {
                *missing -= 1;
                if *missing == 0 {
                    self.ready.push(Ready(Arc::clone(&edge.node)));
                }
            }
        }
        Ok(())
    }

    /// What happens to the gradients of a node's outputs before it runs: hooks, tensors that keep them, captures.
    fn before(&mut self, node: &Arc<Node>, grads: &mut Grads) -> Result<()> {
        let hooks: SmallVec<[_; 2]> = {
            let hooks = node.hooks();
            hooks.before.iter().map(|(_, output, hook)| (*output, Arc::clone(hook))).collect()
        };
        for (output, hook) in hooks {
            if let Some(grad) = &grads[output]
                && let Some(replaced) = hook(grad)?
            {
                grads[output] = Some(replaced);
            }
        }
        let retaining: SmallVec<[_; 1]> = node.hooks().retaining.iter().cloned().collect();
        for (output, retained) in retaining {
            if let (Some(retained), Some(grad)) = (retained.upgrade(), &grads[output]) {
                let mut retained = retained.lock().unwrap_or_else(PoisonError::into_inner);
                let sum = match retained.take() {
                    Some(sum) => ops::add(&sum, grad, 1.into())?,
                    None => grad.clone(),
                };
                sum.storage().keep_as(MemoryRole::Gradient);
                *retained = Some(sum);
            }
        }
        for &(output, input) in self.captures.get(&Arc::as_ptr(node)).map_or(&[][..], Vec::as_slice) {
            if let Some(grad) = &grads[output] {
                let grad = match node.leaf() {
                    Some(leaf) => accumulate::apply_hooks(&leaf, grad.clone())?,
                    None => grad.clone(),
                };
                grad.storage().keep_as(MemoryRole::Gradient);
                self.captured[input] = Some(grad);
            }
        }
        Ok(())
    }

    fn apply(&self, node: &Arc<Node>, grads: Grads, names: Option<Names>) -> Result<Grads> {
        let Some(rule) = node.rule() else {
            bail!(
                Runtime,
                "Trying to backward through the graph a second time (or directly access saved tensors after they have already \
                 been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). \
                 Specify retain_graph=True if you need to backward through the graph a second time or if you need to access \
                 saved tensors after calling backward."
            )
        };
        let needed: SmallVec<[bool; 4]> = node.edges().iter().map(|edge| self.is_needed(edge.as_ref())).collect();
        let hooks: SmallVec<[_; 1]> = node.hooks().after.iter().map(|(_, hook)| Arc::clone(hook)).collect();
        let given = (!hooks.is_empty()).then(|| grads.clone());
        let mut results = {
            let _open = names.map(|names| begin(names.node, node, Some(&grads)));
            rule.apply(&Context::new(node, &needed), grads)?
        };
        if !self.request.retain_graph && node.leaf().is_none() {
            node.release();
        }
        for hook in hooks {
            if let Some(given) = &given
                && let Some(replaced) = hook(&results, given)?
            {
                results = replaced;
            }
        }
        Ok(results)
    }

    fn is_needed(&self, edge: Option<&Edge>) -> bool {
        let Some(edge) = edge else { return false };
        let id = Arc::as_ptr(&edge.node);
        self.wanted.as_ref().is_none_or(|wanted| wanted.contains(&id)) || self.captures.contains_key(&id)
    }
}

/// Makes a gradient what the input it is for looks like: what was broadcast is summed.
fn fit(grad: Tensor, info: &OutputInfo, node: &Node, index: usize) -> Result<Tensor> {
    let mut grad = grad;
    if grad.shape() != &info.shape[..] {
        ensure!(
            ops::is_expandable_to(&info.shape, grad.shape()),
            Runtime,
            "Function {} returned an invalid gradient at index {index} - got {} but expected shape compatible with {}",
            node.name(),
            list(grad.shape()),
            list(&info.shape)
        );
        grad = ops::sum_to(&grad, &info.shape)?;
    }
    ensure!(
        grad.device() == info.device,
        Runtime,
        "Function {} returned an invalid gradient at index {index} - expected device {} but got {}",
        node.name(),
        ops::device_name(info.device),
        ops::device_name(grad.device())
    );
    if grad.dtype() != info.dtype {
        grad = ops::to_dtype(&grad, info.dtype)?;
    }
    Ok(grad)
}

/// What the profiler calls a node.
#[derive(Clone, Copy)]
struct Names {
    evaluate: Name,
    node: Name,
}

impl Names {
    #[inline]
    fn of(node: &Node) -> Option<Self> {
        capture().intersects(Capture::CPU | Capture::TENSORS).then(|| Self {
            evaluate: Name::new(&format!("autograd::engine::evaluate_function: {}", node.name())),
            node: Name::new(node.name()),
        })
    }
}

fn begin(name: Name, node: &Node, grads: Option<&Grads>) -> (Span, OpenNode) {
    let kind = if grads.is_some() { SpanKind::Backward } else { SpanKind::Op };
    let mut args = SpanArgs::new(kind, name);
    if node.sequence != u64::MAX {
        args = args.sequence(node.sequence).forward_thread(node.thread);
    }
    if let Some(grads) = grads
        && capture().contains(Capture::SHAPES)
    {
        args = args.inputs(encode_tensors(grads.iter().map(Option::as_ref)));
    }
    let observed =
        if capture().contains(Capture::TENSORS) { observe(&name.text(), node, grads) } else { OpenNode::none() };
    (Span::begin(&observed.linked(args)), observed)
}

/// What recording a node costs, with the name of its evaluation, which is a span as those of operations are.
pub(crate) fn cost_of_a_node(calibration: &Calibration) -> Result<EventCost> {
    if !calibration.collects(Capture::CPU) {
        return Ok(EventCost::default());
    }
    let matrix = Tensor::from_slice(&[0f32; 4], &[2, 2])?;
    matrix.set_requires_grad(true)?;
    let Some(edge) = ops::mul(&matrix, &matrix)?.grad_fn() else { return Ok(EventCost::default()) };
    let grads = Grads::from_elem(Some(matrix), 1);
    let record = || drop(Names::of(&edge.node).map(|names| begin(names.node, &edge.node, Some(&grads))));
    Ok(calibration.cost(record))
}

#[cold]
fn observe(name: &str, node: &Node, grads: Option<&Grads>) -> OpenNode {
    let Some(grads) = grads else { return OpenNode::evaluation(name) };
    let sequence = (node.sequence != u64::MAX).then_some(node.sequence);
    OpenNode::backward(name, grads.iter().map(Option::as_ref), sequence, node.thread)
}

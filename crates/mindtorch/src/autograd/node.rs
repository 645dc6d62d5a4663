//! The nodes of the graph: one for each operation that someone may want the gradient of.

use super::mode;
use crate::Tensor;
use crate::dtype::DType;
use crate::error::Result;
use crate::shape::Dims;
use mindtorch_profiler::Device;
use smallvec::SmallVec;
use std::borrow::Cow;
use std::cell::RefCell;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The gradients of an operation's inputs, or of its outputs; none is zero.
pub type Grads = SmallVec<[Option<Tensor>; 3]>;

/// How the gradients of an operation's outputs become those of its inputs.
pub trait Rule: Send + Sync {
    /// Computes them, for the inputs that need one; what it gives for others is ignored.
    ///
    /// # Errors
    /// What goes wrong in the operations it calls.
    fn apply(&self, context: &Context<'_>, grads: Grads) -> Result<Grads>;

    /// The leaf whose gradient it adds to, if that is what it does.
    fn leaf(&self) -> Option<Tensor> {
        None
    }
}

/// What a rule knows when it is applied.
pub struct Context<'a> {
    /// The node it belongs to.
    pub node: &'a Arc<Node>,
    needed: &'a [bool],
}

impl<'a> Context<'a> {
    pub(crate) fn new(node: &'a Arc<Node>, needed: &'a [bool]) -> Self {
        Self { node, needed }
    }

    /// Whether anyone needs the gradient of this input.
    pub fn needs(&self, input: usize) -> bool {
        self.needed.get(input).copied().unwrap_or(false)
    }
}

/// A place where a gradient goes: an output of a node.
#[derive(Clone)]
pub struct Edge {
    /// The node.
    pub node: Arc<Node>,
    /// Which of its outputs.
    pub output: usize,
}

/// What is known of an output whose gradient is zero or must be checked.
pub(crate) struct OutputInfo {
    pub(crate) shape: Dims,
    pub(crate) dtype: DType,
    pub(crate) device: Device,
}

impl OutputInfo {
    pub(crate) fn of(tensor: &Tensor) -> Self {
        Self { shape: tensor.shape().into(), dtype: tensor.dtype(), device: tensor.device() }
    }
}

/// A function that is called with the gradient of a tensor and may replace it.
pub type TensorHook = Arc<dyn Fn(&Tensor) -> Result<Option<Tensor>> + Send + Sync>;
/// A function that is called with the gradients that a node gave and those that it got.
pub type NodeHook = Arc<dyn Fn(&Grads, &Grads) -> Result<Option<Grads>> + Send + Sync>;

#[derive(Default)]
pub(crate) struct Hooks {
    /// For the gradient of an output, before the node runs.
    pub(crate) before: Vec<(u64, usize, TensorHook)>,
    pub(crate) after: Vec<(u64, NodeHook)>,
    /// Non-leaf tensors that keep their gradient, with the output that they are.
    pub(crate) retaining: Vec<(usize, std::sync::Weak<Mutex<Option<Tensor>>>)>,
}

/// A node of the graph.
pub struct Node {
    name: Cow<'static, str>,
    pub(crate) sequence: u64,
    /// The profiler's number of the thread that made the node, or 0.
    pub(crate) thread: u32,
    edges: SmallVec<[Option<Edge>; 3]>,
    outputs: Mutex<SmallVec<[OutputInfo; 1]>>,
    /// None once the graph was used up.
    rule: Mutex<Option<Arc<dyn Rule>>>,
    hooks: Mutex<Hooks>,
}

impl Node {
    pub(crate) fn new(
        name: impl Into<Cow<'static, str>>,
        edges: SmallVec<[Option<Edge>; 3]>,
        outputs: SmallVec<[OutputInfo; 1]>,
        rule: Arc<dyn Rule>,
    ) -> Arc<Self> {
        // Known even if nobody profiles now: a profiler may begin before the backward pass does.
        let thread = mindtorch_profiler::thread_number();
        let rule = Mutex::new(Some(rule));
        let (outputs, hooks) = (Mutex::new(outputs), Mutex::default());
        Arc::new(Self { name: name.into(), sequence: mode::next_sequence(), thread, edges, outputs, rule, hooks })
    }

    /// A node that has no number: it runs as soon as it can.
    pub(crate) fn accumulator(output: OutputInfo, rule: Arc<dyn Rule>) -> Arc<Self> {
        Arc::new(Self {
            name: "torch::autograd::AccumulateGrad".into(),
            sequence: u64::MAX,
            thread: 0,
            edges: SmallVec::new(),
            outputs: Mutex::new(SmallVec::from_iter([output])),
            rule: Mutex::new(Some(rule)),
            hooks: Mutex::default(),
        })
    }

    /// Its name, such as `MulBackward0`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where the gradients of the inputs go.
    pub fn edges(&self) -> &[Option<Edge>] {
        &self.edges
    }

    pub(crate) fn outputs(&self) -> MutexGuard<'_, SmallVec<[OutputInfo; 1]>> {
        self.outputs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn hooks(&self) -> MutexGuard<'_, Hooks> {
        self.hooks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Its rule, unless the graph was used up.
    pub fn rule(&self) -> Option<Arc<dyn Rule>> {
        self.rule.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn release(&self) {
        let rule = self.rule.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(rule);
    }

    /// The leaf whose gradient it adds to, if that is what it does.
    pub fn leaf(&self) -> Option<Tensor> {
        self.rule()?.leaf()
    }
}

type Remains = (SmallVec<[Option<Edge>; 3]>, Option<Arc<dyn Rule>>);

thread_local! {
    /// What dropped nodes held, while one is being dropped on this thread.
    static DROPPING: RefCell<Option<Vec<Remains>>> = const { RefCell::new(None) };
}

impl Drop for Node {
    /// One after another, not each inside the one before it: a graph may be longer than the stack is deep.
    fn drop(&mut self) {
        let rule = self.rule.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        let remains = (std::mem::take(&mut self.edges), rule);
        let queued = DROPPING.try_with(|dropping| match &mut *dropping.borrow_mut() {
            Some(queue) => {
                queue.push(remains);
                true
            }
            empty => {
                *empty = Some(vec![remains]);
                false
            }
        });
        if queued != Ok(false) {
            return;
        }
        while let Some(remains) = DROPPING.with_borrow_mut(|queue| queue.as_mut().and_then(Vec::pop)) {
            drop(remains);
        }
        DROPPING.set(None);
    }
}

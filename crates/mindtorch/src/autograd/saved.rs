//! What a rule keeps for the backward pass.

use super::node::Context;
use super::{Edge, Meta};
use crate::Tensor;
use crate::error::{Result, bail};
use crate::shape::list;
use crate::tensor::Flags;

/// A tensor, as it was when it was saved.
pub(crate) struct Saved {
    tensor: Tensor,
    version: u32,
    /// It is this output of the node that saves it. It is kept without its history then: a node that keeps itself alive
    /// would never be freed.
    output: Option<usize>,
}

impl Saved {
    /// Saves an input.
    pub(crate) fn new(tensor: &Tensor) -> Self {
        Self { tensor: tensor.clone(), version: tensor.storage().version(), output: None }
    }

    /// Saves the operation's only output.
    pub(crate) fn output(tensor: &Tensor) -> Self {
        Self { tensor: tensor.alias(), version: tensor.storage().version(), output: Some(0) }
    }

    /// The tensor, if it is still what it was.
    pub(crate) fn get(&self, context: &Context<'_>) -> Result<Tensor> {
        let version = self.tensor.storage().version();
        if version != self.version {
            self.damaged(context, version)?;
        }
        let Some(output) = self.output else { return Ok(self.tensor.clone()) };
        let tensor = self.tensor.alias();
        tensor.set_flag(Flags::REQUIRES_GRAD, true);
        let edge = Edge { node: context.node.clone(), output };
        tensor.meta().get_or_insert_with(Box::<Meta>::default).grad_fn = Some(edge);
        Ok(tensor)
    }

    #[cold]
    fn damaged(&self, context: &Context<'_>, version: u32) -> Result<()> {
        let origin = match (self.output, self.tensor.grad_fn()) {
            (Some(output), _) => format!(", which is output {output} of {},", context.node.name()),
            (None, Some(edge)) => format!(", which is output {} of {},", edge.output, edge.node.name()),
            (None, None) => String::new(),
        };
        bail!(
            Runtime,
            "one of the variables needed for gradient computation has been modified by an inplace operation: [{} {}]{origin} is \
             at version {version}; expected version {} instead. Hint: enable anomaly detection to find the operation that \
             failed to compute its gradient, with torch.autograd.set_detect_anomaly(True).",
            self.tensor.type_name(),
            list(self.tensor.shape()),
            self.version
        )
    }
}

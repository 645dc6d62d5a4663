//! The words of a timeline.

use crate::recorder::MemoryRole;

/// What memory is for: torch's categories, in the order in which its files have them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum MemoryCategory {
    /// A part of a model: what is trained, and what else its modules keep.
    Parameter = 0,
    /// What an optimiser remembers of the parameters.
    OptimizerState = 1,
    /// What is fed to a model.
    Input = 2,
    /// What is allocated and freed within one operator, or within one step of an optimiser.
    Temporary = 3,
    /// What a model computes.
    Activation = 4,
    /// Gradients of what someone wants the gradient of.
    Gradient = 5,
    /// What else the backward pass computes.
    AutogradDetail = 6,
    /// All other memory.
    #[default]
    Unknown = 7,
}

impl MemoryCategory {
    /// All, in order.
    pub const ALL: [Self; 8] = [
        Self::Parameter,
        Self::OptimizerState,
        Self::Input,
        Self::Temporary,
        Self::Activation,
        Self::Gradient,
        Self::AutogradDetail,
        Self::Unknown,
    ];

    /// As a reader calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Parameter => "Parameter",
            Self::OptimizerState => "Optimizer state",
            Self::Input => "Input",
            Self::Temporary => "Temporary",
            Self::Activation => "Activation",
            Self::Gradient => "Gradient",
            Self::AutogradDetail => "Autograd detail",
            Self::Unknown => "Unknown",
        }
    }
}

impl From<MemoryRole> for MemoryCategory {
    fn from(role: MemoryRole) -> Self {
        match role {
            MemoryRole::Unknown | MemoryRole::Derived => Self::Unknown,
            MemoryRole::Input | MemoryRole::Leaf => Self::Input,
            MemoryRole::Activation => Self::Activation,
            MemoryRole::AutogradDetail => Self::AutogradDetail,
            MemoryRole::Gradient => Self::Gradient,
            MemoryRole::Parameter => Self::Parameter,
            MemoryRole::OptimizerState => Self::OptimizerState,
        }
    }
}

/// What happens to a block of memory. The numbers are torch's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum MemoryAction {
    /// It is there when memory begins to be recorded.
    Preexisting = 1,
    /// It is allocated.
    Create = 2,
    /// Its contents change, or what it is for.
    IncrementVersion = 3,
    /// It is freed.
    Destroy = 4,
}

impl MemoryAction {
    /// Whether the block is there afterwards.
    pub(crate) fn adds(self) -> bool {
        self != Self::Destroy
    }

    /// Whether the block was there before.
    pub(crate) fn takes_away(self) -> bool {
        matches!(self, Self::IncrementVersion | Self::Destroy)
    }
}

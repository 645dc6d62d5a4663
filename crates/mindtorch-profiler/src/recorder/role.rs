//! What memory is for.

/// What a block of memory is for, as far as the program that has it knows.
///
/// A program says so when it allocates ([`Memory::role`](super::Memory::role)) or later ([`memory_use`](super::memory_use)).
/// Roles of an order of their own are [lasting](MemoryRole::is_lasting): they hold from the block's birth to its death.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum MemoryRole {
    /// Not known, or not yet.
    #[default]
    Unknown = 0,
    /// It is fed to a model.
    Input = 1,
    /// It is fed to a model, and a gradient is wanted for it: a parameter, if someone changes it by that gradient.
    Leaf = 2,
    /// A model computed it.
    Activation = 3,
    /// The backward pass computed it, on the way to a gradient.
    AutogradDetail = 4,
    /// It was computed from gradients, or from parameters alone, and is part of no graph: not an input of a model.
    Derived = 5,
    /// The gradient of something.
    Gradient = 6,
    /// It is part of a model.
    Parameter = 7,
    /// An optimiser remembers it.
    OptimizerState = 8,
}

impl MemoryRole {
    const ALL: [Self; 9] = [
        Self::Unknown,
        Self::Input,
        Self::Leaf,
        Self::Activation,
        Self::AutogradDetail,
        Self::Derived,
        Self::Gradient,
        Self::Parameter,
        Self::OptimizerState,
    ];

    /// Whether a block that has the role had it from the beginning, whatever it was taken for then.
    #[inline]
    pub fn is_lasting(self) -> bool {
        self >= Self::Gradient
    }

    /// The role with this number; [`MemoryRole::Unknown`] if there is none.
    #[inline]
    pub fn from_number(number: u8) -> Self {
        Self::ALL.get(usize::from(number)).copied().unwrap_or_default()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn roles_survive_as_numbers() {
        for role in MemoryRole::ALL {
            assert_eq!(MemoryRole::from_number(role as u8), role);
        }
        assert_eq!(MemoryRole::from_number(200), MemoryRole::Unknown);
    }
}

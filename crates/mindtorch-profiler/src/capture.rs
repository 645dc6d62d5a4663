//! What is being collected: a set of flags that one relaxed load answers.

use std::ops::{BitAnd, BitOr, BitOrAssign, Not};

/// A set of things to collect.
///
/// A session asks for a set, the recorder collects the union of all sessions' sets, and a trace shows what its own
/// session asked for.
///
/// ```
/// use mindtorch_profiler::Capture;
/// let wanted = Capture::CPU | Capture::MEMORY;
/// assert!(wanted.contains(Capture::CPU));
/// assert!(!wanted.contains(Capture::SHAPES));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Capture(u32);

impl Capture {
    /// Nothing.
    pub const NONE: Self = Self(0);
    /// Host work: operators, backward nodes, annotations, counters and marks.
    pub const CPU: Self = Self(1);
    /// Accelerator work: kernels, copies and the runtime calls that launch them.
    pub const DEVICE: Self = Self(1 << 1);
    /// The shapes of an operator's inputs.
    pub const SHAPES: Self = Self(1 << 2);
    /// The source stack of a span.
    pub const STACK: Self = Self(1 << 3);
    /// Allocations and frees.
    pub const MEMORY: Self = Self(1 << 4);
    /// Floating-point operations of an operator.
    pub const FLOPS: Self = Self(1 << 5);
    /// The names of operators' overloads.
    pub const OVERLOADS: Self = Self(1 << 6);
    /// Which tensors an operator takes and gives. No session asks for it: it is there for those who keep such a log
    /// themselves ([`Recorder::watch`](crate::Recorder::watch)) and shall cost nothing while they do not.
    pub const TENSORS: Self = Self(1 << 7);

    /// All that a session can ask for.
    pub(crate) const ALL: Self = Self(Self::TENSORS.0 - 1);

    /// Calls of functions: they are host work, collected for the sake of stacks.
    pub const FUNCTIONS: Self = Self(Self::CPU.0 | Self::STACK.0);

    /// The activities, which can be paused and resumed; the other flags say how much detail they have.
    pub const ACTIVITIES: Self = Self(Self::CPU.0 | Self::DEVICE.0);

    /// What must be collected so that all of this can be told: operations are counted from shapes, and shown with them.
    pub(crate) fn with_implied(self) -> Self {
        if self.contains(Self::FLOPS) { self | Self::SHAPES } else { self }
    }

    /// Whether every flag of `other` is set.
    #[inline]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether any flag of `other` is set.
    #[inline]
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether no flag is set.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(crate) const fn bits(self) -> u32 {
        self.0
    }

    pub(crate) const fn from_bits(bits: u32) -> Self {
        Self(bits)
    }
}

impl BitOr for Capture {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Capture {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl BitAnd for Capture {
    type Output = Self;
    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl Not for Capture {
    type Output = Self;
    fn not(self) -> Self {
        Self(!self.0)
    }
}

//! What blocks are for, from what was said of them.
//!
//! A program learns by and by what a block is for: that numbers are a model's input shows when a model gets them, and that a
//! gradient is one when the backward pass is done with it. So what is first known of a block holds from its birth, and a
//! lasting role holds from its birth whatever was known before. What else is said later is a change.

use super::category::MemoryCategory;
use super::lives::{Life, Lives, Step, Turn};
use crate::recorder::{MemoryRole, SpanKind};
use crate::trace::Trace;

/// What a block is for in the beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct First {
    pub(super) category: MemoryCategory,
    /// Only what lasts can change it.
    pub(super) is_lasting: bool,
    /// Nothing can.
    pub(super) is_temporary: bool,
}

/// What each block is for in the beginning.
pub(super) fn find(trace: &Trace, lives: &Lives) -> Vec<First> {
    let mut roles = first_roles(lives);
    follow_inputs(lives, &mut roles);
    let spans = Spans { trace };
    let first = |(life, role): (&Life, MemoryRole)| {
        let is_lasting = role.is_lasting();
        let is_temporary = !is_lasting && spans.is_temporary(life, role);
        let category = if is_temporary { MemoryCategory::Temporary } else { role.into() };
        First { category, is_lasting, is_temporary }
    };
    lives.blocks.iter().zip(roles).map(first).collect()
}

/// The first role that lasts, or else the first that is known.
fn first_roles(lives: &Lives) -> Vec<MemoryRole> {
    let mut roles: Vec<MemoryRole> = lives.blocks.iter().map(|life| life.role).collect();
    for Step { block, turn, .. } in &lives.steps {
        let (Turn::Said(said) | Turn::Written(said)) = *turn else { continue };
        let role = &mut roles[*block as usize];
        if *role == MemoryRole::Unknown || (said.is_lasting() && !role.is_lasting()) {
            *role = said;
        }
    }
    roles
}

/// What inputs were computed from are inputs too: the raw data behind those that were normalised. What else was computed
/// from inputs is an activation.
fn follow_inputs(lives: &Lives, roles: &mut [MemoryRole]) {
    let is_input = |role: MemoryRole| matches!(role, MemoryRole::Input | MemoryRole::Leaf);
    // Latest first: what is computed from a block comes after it.
    for &(block, source) in lives.flows.iter().rev() {
        if is_input(roles[block as usize]) && roles[source as usize] == MemoryRole::Unknown {
            roles[source as usize] = MemoryRole::Input;
        }
    }
    for &(block, source) in &lives.flows {
        let source = roles[source as usize];
        if roles[block as usize] == MemoryRole::Unknown && (is_input(source) || source == MemoryRole::Activation) {
            roles[block as usize] = MemoryRole::Activation;
        }
    }
}

/// The spans around allocations and frees.
struct Spans<'a> {
    trace: &'a Trace,
}

impl Spans<'_> {
    fn is_temporary(&self, life: &Life, role: MemoryRole) -> bool {
        let born_in = life.row.and_then(|row| self.trace.memory[row as usize].span);
        let (Some(born_in), Some(freed_in)) = (born_in, life.freed_in) else { return false };
        let is_in_one = |kind: fn(&Self, usize) -> bool| {
            let outermost = self.outermost(born_in, kind);
            outermost.is_some() && outermost == self.outermost(freed_in, kind)
        };
        // What a step of an optimiser computes on the way is nothing else, though it takes several operators.
        let is_computed = matches!(role, MemoryRole::Unknown | MemoryRole::Derived);
        is_in_one(Self::is_operator) || (is_computed && is_in_one(Self::is_optimizer_step))
    }

    /// The outermost of a span and those around it that is of a kind.
    fn outermost(&self, row: u32, kind: fn(&Self, usize) -> bool) -> Option<usize> {
        let spans = &self.trace.spans;
        let parent = |row: &usize| Some(spans.parent[*row] as usize).filter(|&parent| parent < spans.len());
        std::iter::successors(Some(row as usize), parent).filter(|&row| kind(self, row)).last()
    }

    /// An operator, or a node of the backward pass, but not what the engine does around nodes, nor a function that is made of
    /// operators and has a name that is none.
    fn is_operator(&self, row: usize) -> bool {
        let name = self.trace.name(self.trace.spans.name[row]);
        match self.trace.spans.kind[row] {
            SpanKind::Backward => true,
            SpanKind::Op => name.contains("::") && !name.starts_with("autograd::engine::"),
            SpanKind::Annotation | SpanKind::Runtime | SpanKind::Function => false,
        }
    }

    fn is_optimizer_step(&self, row: usize) -> bool {
        self.trace.spans.kind[row] == SpanKind::Annotation
            && self.trace.name(self.trace.spans.name[row]).starts_with("Optimizer.step#")
    }
}

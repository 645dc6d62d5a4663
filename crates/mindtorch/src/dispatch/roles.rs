//! What the results of operations are for, while someone collects memory.
//!
//! An operation knows what it is given. What a model computes from its input and its parameters is an activation, and that
//! numbers are a model's input shows in this, that an operation is given them together with what the model has or computed.
//! Numbers of which nothing is known yet, and what is computed from such, may become an input later: the profiler is told
//! which came from which.

use super::Arg;
use crate::Tensor;
use crate::autograd::mode;
use crate::storage::role::{self, RoleScope};
use mindtorch_profiler::{Device, MemoryRole, memory_sources};
use smallvec::SmallVec;

/// What an operation is given.
#[derive(Clone, Copy, Default)]
struct Given {
    /// A gradient may be wanted, so that the result is part of a graph.
    is_tracked: bool,
    /// Numbers that are no model's, as far as is known.
    data: bool,
    activation: bool,
    parameter: bool,
    /// Gradients, the state of an optimiser, and what was computed from such.
    derived: bool,
}

impl Given {
    fn add(&mut self, tensor: &Tensor) {
        self.is_tracked |= tensor.requires_grad();
        match tensor.storage().role() {
            MemoryRole::Unknown | MemoryRole::Input | MemoryRole::Leaf => self.data = true,
            MemoryRole::Activation => self.activation = true,
            MemoryRole::Parameter => self.parameter = true,
            MemoryRole::AutogradDetail | MemoryRole::Derived | MemoryRole::Gradient | MemoryRole::OptimizerState => {
                self.derived = true
            }
        }
    }

    /// What an operation computes from it.
    fn result(self) -> MemoryRole {
        let is_tracked = self.is_tracked && mode::is_recording();
        if role::current() == MemoryRole::AutogradDetail {
            // A backward pass that becomes part of a graph is still one; else a graph is made in it to compute activations
            // anew.
            let is_activation = is_tracked && !mode::is_backward_tracked();
            return if is_activation { MemoryRole::Activation } else { MemoryRole::AutogradDetail };
        }
        if is_tracked {
            MemoryRole::Activation
        } else if self.derived {
            MemoryRole::Derived
        } else if self.activation || (self.parameter && self.data) {
            MemoryRole::Activation
        } else if self.parameter {
            MemoryRole::Derived
        } else {
            MemoryRole::Unknown
        }
    }
}

/// Tells the profiler what the operation uses, and gives what it allocates its role. `None` for a part of an operation: that
/// is the whole one's affair.
pub(super) fn enter(name: &str, args: &[Arg<'_>]) -> Option<RoleScope> {
    if mode::is_below() {
        return None;
    }
    let is_in_place = name.ends_with('_');
    let mut given = Given::default();
    each(args, is_in_place, |tensor, is_target| {
        // What is about to be overwritten says nothing, if nothing is known of it.
        if !(is_target && tensor.storage().role() == MemoryRole::Unknown) {
            given.add(tensor);
        }
    });
    let result = given.result();
    each(args, is_in_place, |tensor, is_target| {
        if is_target { write(tensor, result) } else { tensor.storage().use_as(role_of_given(tensor, result)) }
    });
    if result == MemoryRole::Unknown && given.data {
        tell_sources(args);
    }
    Some(RoleScope::enter(result))
}

/// Calls `found` with each tensor, and whether the operation changes it: the first one of an operation in place. Of lists,
/// which optimisers have, all but the second, which is the gradients.
fn each<'a>(args: &[Arg<'a>], is_in_place: bool, mut found: impl FnMut(&'a Tensor, bool)) {
    for (at, arg) in args.iter().enumerate() {
        match *arg {
            Arg::Tensor(tensor) => found(tensor, is_in_place && at == 0),
            Arg::Tensors(tensors) => tensors.iter().for_each(|tensor| found(tensor, is_in_place && at != 1)),
            _ => (),
        }
    }
}

/// What a tensor is for that is given to an operation with such a result.
fn role_of_given(tensor: &Tensor, result: MemoryRole) -> MemoryRole {
    let role = tensor.storage().role();
    if role != MemoryRole::Unknown {
        return role;
    }
    let wants_gradient = tensor.requires_grad();
    match result {
        MemoryRole::Activation | MemoryRole::AutogradDetail if wants_gradient && !tensor.is_leaf() => {
            // Computed before anyone looked.
            MemoryRole::Activation
        }
        MemoryRole::Activation if wants_gradient => MemoryRole::Leaf,
        MemoryRole::Activation => MemoryRole::Input,
        _ => MemoryRole::Unknown,
    }
}

fn write(target: &Tensor, result: MemoryRole) {
    let storage = target.storage();
    let role = storage.role();
    // It is changed by its gradient.
    if role == MemoryRole::Leaf && result == MemoryRole::Derived {
        storage.keep_as(MemoryRole::Parameter);
    }
    let keeps = storage.role().is_lasting() || result == MemoryRole::Unknown;
    storage.write_as(if keeps { storage.role() } else { result });
}

fn tell_sources(args: &[Arg<'_>]) {
    let mut places: SmallVec<[(Device, u64); 4]> = SmallVec::new();
    each(args, false, |tensor, _| {
        places.extend(tensor.storage().reported_address().map(|address| (tensor.device(), address)));
    });
    for of_device in places.chunk_by(|one, other| one.0 == other.0) {
        for some in of_device.chunks(3) {
            let address = |at: usize| some.get(at).map_or(0, |place| place.1);
            memory_sources(some[0].0, [address(0), address(1), address(2)]);
        }
    }
}

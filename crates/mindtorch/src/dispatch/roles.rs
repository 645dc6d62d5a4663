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

/// What an operation is given, as flags.
#[derive(Clone, Copy, Default)]
struct Given(u32);

impl Given {
    /// There is something of which this recording does not know, or that will change.
    const NEWS: u32 = 1;
    /// There is something of which nothing is known.
    const UNKNOWN: u32 = 2;
    /// A gradient may be wanted, so that the result is part of a graph.
    const TRACKED: u32 = 4;
    /// Numbers that are no model's, as far as is known.
    const DATA: u32 = 8;
    const ACTIVATION: u32 = 16;
    const PARAMETER: u32 = 32;
    /// Gradients, the state of an optimiser, and what was computed from such.
    const DERIVED: u32 = 64;

    #[inline]
    fn add(&mut self, tensor: &Tensor, is_target: bool) {
        let storage = tensor.storage();
        let flags = Self::of_role(storage.role());
        let flag = |is_so: bool, flag| if is_so { flag } else { 0 };
        self.0 |= flag(is_target || !storage.is_known(), Self::NEWS);
        if is_target && flags & Self::UNKNOWN != 0 {
            // What is about to be overwritten says nothing, if nothing is known of it.
            self.0 |= Self::UNKNOWN;
        } else {
            self.0 |= flags | flag(tensor.requires_grad(), Self::TRACKED);
        }
    }

    #[inline]
    fn of_role(role: MemoryRole) -> u32 {
        match role {
            MemoryRole::Unknown => Self::UNKNOWN | Self::DATA,
            MemoryRole::Input | MemoryRole::Leaf => Self::DATA,
            MemoryRole::Activation => Self::ACTIVATION,
            MemoryRole::Parameter => Self::PARAMETER,
            MemoryRole::AutogradDetail | MemoryRole::Derived | MemoryRole::Gradient | MemoryRole::OptimizerState => {
                Self::DERIVED
            }
        }
    }

    #[inline]
    fn has(self, flags: u32) -> bool {
        self.0 & flags == flags
    }

    /// What an operation computes from it.
    #[inline]
    fn result(self) -> MemoryRole {
        if role::current() == MemoryRole::AutogradDetail {
            MemoryRole::AutogradDetail
        } else if self.has(Self::TRACKED) && mode::is_recording() {
            MemoryRole::Activation
        } else if self.has(Self::DERIVED) {
            MemoryRole::Derived
        } else if self.has(Self::ACTIVATION) || self.has(Self::PARAMETER | Self::DATA) {
            MemoryRole::Activation
        } else if self.has(Self::PARAMETER) {
            MemoryRole::Derived
        } else {
            MemoryRole::Unknown
        }
    }
}

/// Tells the profiler what the operation uses, and gives what it allocates its role. `None` if that is what it is anyway, as
/// for a part of an operation: roles are the whole one's affair.
pub(super) fn enter(name: &str, args: &[Arg<'_>]) -> Option<RoleScope> {
    if mode::is_below() {
        return None;
    }
    let is_in_place = name.ends_with('_');
    let mut given = Given::default();
    each(args, is_in_place, |tensor, is_target| given.add(tensor, is_target));
    let result = given.result();
    if given.has(Given::NEWS) || (given.has(Given::UNKNOWN) && result != MemoryRole::Unknown) {
        tell_uses(args, is_in_place, result);
    }
    if given.has(Given::DATA) && result == MemoryRole::Unknown {
        tell_sources(args);
    }
    (result != role::current()).then(|| RoleScope::enter(result))
}

#[inline(never)]
fn tell_uses(args: &[Arg<'_>], is_in_place: bool, result: MemoryRole) {
    each(args, is_in_place, |tensor, is_target| {
        if is_target { write(tensor, result) } else { tensor.storage().use_as(role_of_given(tensor, result)) }
    });
}

/// Calls `found` with each tensor, and whether the operation changes it: the first one of an operation in place. Of lists,
/// which optimisers have, all but the second, which is the gradients.
#[inline]
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

/// Tells from what the operation computes its result. Most have no more than three tensors, on one device.
fn tell_sources(args: &[Arg<'_>]) {
    let (mut on, mut addresses, mut count) = (Device::Cpu, [0; 3], 0);
    each(args, false, |tensor, _| {
        let Some(address) = tensor.storage().reported_address() else { return };
        if count == addresses.len() || (count > 0 && tensor.device() != on) {
            memory_sources(on, addresses);
            (addresses, count) = ([0; 3], 0);
        }
        (on, addresses[count]) = (tensor.device(), address);
        count += 1;
    });
    if count > 0 {
        memory_sources(on, addresses);
    }
}

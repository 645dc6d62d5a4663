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
#[derive(Clone, Copy)]
struct Given(u32);

impl Given {
    /// There is something of which this recording does not know, or that will change.
    const NEWS: u32 = 1;
    /// There is something of which nothing is known.
    const UNKNOWN: u32 = 2;
    /// The flags so far say nothing of the result; the five others do.
    const IRRELEVANT: u32 = 2;
    /// A gradient may be wanted, so that the result is part of a graph.
    const TRACKED: u32 = 4;
    /// Numbers that are no model's, as far as is known.
    const DATA: u32 = 8;
    const ACTIVATION: u32 = 16;
    const PARAMETER: u32 = 32;
    /// Gradients, the state of an optimiser, and what was computed from such.
    const DERIVED: u32 = 64;

    #[inline(always)]
    fn of(args: &[Arg<'_>], is_in_place: bool) -> Self {
        let mut given = 0;
        each(args, is_in_place, |tensor, is_target| {
            let (role, is_known) = tensor.storage().role_and_whether_known();
            let mut flags = BY_ROLE[role as usize & 15];
            flags |= Self::TRACKED * u32::from(tensor.requires_grad());
            if is_target {
                // What is about to be overwritten says nothing, if nothing is known of it.
                flags = Self::NEWS | if flags & Self::UNKNOWN != 0 { Self::UNKNOWN } else { flags };
            }
            given |= flags;
            given |= Self::NEWS * u32::from(!is_known);
        });
        Self(given)
    }

    #[inline(never)]
    fn of_in_place(args: &[Arg<'_>]) -> Self {
        Self::of(args, true)
    }

    #[inline]
    const fn has(self, flags: u32) -> bool {
        self.0 & flags == flags
    }

    /// What an operation computes from it, as part of a graph or not.
    const fn result(self, is_recording: bool) -> MemoryRole {
        if self.has(Self::TRACKED) && is_recording {
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

/// What a tensor of each role is.
const BY_ROLE: [u32; 16] = {
    let mut flags = [Given::DERIVED; 16];
    flags[MemoryRole::Unknown as usize] = Given::UNKNOWN | Given::DATA;
    flags[MemoryRole::Input as usize] = Given::DATA;
    flags[MemoryRole::Leaf as usize] = Given::DATA;
    flags[MemoryRole::Activation as usize] = Given::ACTIVATION;
    flags[MemoryRole::Parameter as usize] = Given::PARAMETER;
    flags
};

/// [`Given::result`] of all that there may be, in a graph or not: a look here is a fraction of the questions there.
const RESULTS: [[MemoryRole; 32]; 2] = {
    let mut results = [[MemoryRole::Unknown; 32]; 2];
    let mut given = 0;
    while given < 32 {
        let flags = Given((given as u32) << Given::IRRELEVANT);
        results[0][given] = flags.result(false);
        results[1][given] = flags.result(true);
        given += 1;
    }
    results
};

/// Tells the profiler what the operation uses, and gives what it allocates its role. `None` if that is what it is anyway, as
/// for a part of an operation: roles are the whole one's affair.
pub(super) fn enter(name: &str, args: &[Arg<'_>]) -> Option<RoleScope> {
    if mode::is_below() {
        return None;
    }
    let is_in_place = name.ends_with('_');
    let given = if is_in_place { Given::of_in_place(args) } else { Given::of(args, false) };
    let result = if role::current() == MemoryRole::AutogradDetail {
        MemoryRole::AutogradDetail
    } else {
        RESULTS[usize::from(mode::is_recording())][(given.0 >> Given::IRRELEVANT) as usize & 31]
    };
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
#[inline(always)]
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
    // One by one rather than in an array, which would be written by words and at once read as a whole: that waits.
    let (mut on, mut last, mut second_last, mut third_last) = (Device::Cpu, 0, 0, 0);
    each(args, false, |tensor, _| {
        let Some(address) = tensor.storage().reported_address() else { return };
        if third_last != 0 || (last != 0 && tensor.device() != on) {
            memory_sources(on, [last, second_last, third_last]);
            (last, second_last) = (0, 0);
        }
        on = tensor.device();
        (last, second_last, third_last) = (address, last, second_last);
    });
    if last != 0 {
        memory_sources(on, [last, second_last, third_last]);
    }
}

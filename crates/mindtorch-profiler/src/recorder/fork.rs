//! `fork`: the parent goes on as if nothing happened, the child starts clean.
//!
//! Only the forking thread exists in the child, so a lock that another thread held at that moment would never be
//! released there. The handlers therefore take every lock before the fork and release it after, in both processes. The
//! exception is the lock of the thread that makes room, which may be writing to a disk: the child gets a new one. In
//! the child they also close all windows, since the child's events belong to no session of the parent's, and make the
//! thread register again, since it has a new number.

use super::global::reset_after_fork;
use super::local::{LOCAL, Local};
use super::spool::Claimed;
use super::{Locked, Recorder};
use crate::inputs::INPUTS;
use crate::intern::Table;
use crate::names::{NAMES, STACKS};
use crate::spooling;
use std::cell::RefCell;
use std::mem::ManuallyDrop;
use std::sync::MutexGuard;

struct Held {
    registry: Locked<'static>,
    _names: MutexGuard<'static, Table<str>>,
    _stacks: MutexGuard<'static, Table<[u32]>>,
    _inputs: MutexGuard<'static, Table<[u64]>>,
    claimed: MutexGuard<'static, Claimed>,
    spools: spooling::Held,
}

thread_local! {
    /// Without a destructor, so that it is there even in a thread that forks while it is torn down.
    static HELD: RefCell<Option<ManuallyDrop<Held>>> = const { RefCell::new(None) };
}

#[expect(unsafe_code, reason = "the standard library has no fork handlers")]
pub(super) fn register() {
    // SAFETY: the handlers are functions that live as long as the process and do not unwind. A failure (no memory)
    // leaves forks as they were, which is all that can be done about it.
    unsafe { libc::pthread_atfork(Some(prepare), Some(parent), Some(child)) };
}

extern "C" fn prepare() {
    let held = Held {
        registry: Recorder::global().lock(),
        _names: NAMES.lock(),
        _stacks: STACKS.lock(),
        _inputs: INPUTS.lock(),
        claimed: Recorder::global().0.spares.spool.lock(),
        spools: spooling::Held::new(),
    };
    HELD.set(Some(ManuallyDrop::new(held)));
}

extern "C" fn parent() {
    drop(HELD.take().map(ManuallyDrop::into_inner));
}

extern "C" fn child() {
    if let Some(mut held) = HELD.take().map(ManuallyDrop::into_inner) {
        reset_after_fork(&mut held.registry);
        Recorder::global().0.spares.spool.forget(held.claimed);
        held.spools.leave_to_parent();
    }
    LOCAL.with(Local::forget);
}

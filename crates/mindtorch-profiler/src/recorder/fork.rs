//! `fork`: the parent goes on as if nothing happened, the child starts clean.
//!
//! Only the forking thread exists in the child, so a lock that another thread held at that moment would never be
//! released there. The handlers therefore take every lock before the fork and release it after, in both processes. In
//! the child they also close all windows, since the child's events belong to no session of the parent's, and make the
//! thread register again, since it has a new number.

use super::global::{forget_writer, reset_after_fork};
use super::{Locked, Recorder};
use crate::intern::Table;
use crate::names::{INPUTS, NAMES, STACKS};
use std::cell::RefCell;
use std::sync::MutexGuard;

struct Held {
    registry: Locked<'static>,
    _names: MutexGuard<'static, Table<str>>,
    _stacks: MutexGuard<'static, Table<[u32]>>,
    _inputs: MutexGuard<'static, Table<[i64]>>,
}

thread_local! { static HELD: RefCell<Option<Held>> = const { RefCell::new(None) } }

#[cfg(unix)]
#[expect(unsafe_code, reason = "the standard library has no fork handlers")]
pub(super) fn register() {
    // SAFETY: the handlers are functions that live as long as the process and do not unwind. A failure (no memory)
    // leaves forks as they were, which is all that can be done about it.
    unsafe { libc::pthread_atfork(Some(prepare), Some(parent), Some(child)) };
}

#[cfg(not(unix))]
pub(super) fn register() {}

extern "C" fn prepare() {
    let held = Held {
        registry: Recorder::global().lock(),
        _names: NAMES.lock(),
        _stacks: STACKS.lock(),
        _inputs: INPUTS.lock(),
    };
    let _ = HELD.try_with(|slot| slot.replace(Some(held)));
}

extern "C" fn parent() {
    let _ = HELD.try_with(RefCell::take);
}

extern "C" fn child() {
    let held = HELD.try_with(RefCell::take).ok().flatten();
    if let Some(mut held) = held {
        reset_after_fork(&mut held.registry);
    }
    forget_writer();
}

//! What records refer to, told to those who record to files: whoever reads them has no table but theirs.

use crate::inputs::{INPUTS, elide_deep_lists};
use crate::names::{NAMES, STACKS};
use crate::quiet::Quiet;
use crate::spool::{Entry, HeldSpool, Spool};
use std::borrow::Cow;
// Not loom's: tables are the process's, and so is this.
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

static ACTIVE: Mutex<Vec<Arc<Spool>>> = Mutex::new(Vec::new());
/// Whether there are any, where one load finds it.
static IS_ANY: AtomicBool = AtomicBool::new(false);

/// A value of a table.
pub(crate) trait Spooled {
    fn entry(&self, id: u32) -> Entry<'_>;

    /// What stands for all that a full table has no room for. An empty one has the id 0.
    fn instead_of_more() -> &'static Self;

    /// The value to intern instead, if this one must not be in a table. The table is locked.
    fn replacement(&self) -> Option<Box<Self>> {
        None
    }
}

impl Spooled for str {
    fn entry(&self, id: u32) -> Entry<'_> {
        Entry::Name { id, text: Cow::Borrowed(self) }
    }

    fn instead_of_more() -> &'static Self {
        "(one of too many names)"
    }
}

impl Spooled for [u32] {
    fn entry(&self, id: u32) -> Entry<'_> {
        Entry::Stack { id, frames: Cow::Borrowed(self) }
    }

    fn instead_of_more() -> &'static Self {
        &[]
    }
}

impl Spooled for [u64] {
    fn entry(&self, id: u32) -> Entry<'_> {
        Entry::Inputs { id, words: Cow::Borrowed(self) }
    }

    /// Inputs whose lists are nested too deep.
    fn replacement(&self) -> Option<Box<Self>> {
        elide_deep_lists(self).map(Vec::into_boxed_slice)
    }

    fn instead_of_more() -> &'static Self {
        &[]
    }
}

fn active() -> MutexGuard<'static, Vec<Arc<Spool>>> {
    ACTIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Tells of a new value. Under the lock of its table.
pub(crate) fn tell<'a>(entry: impl Fn() -> Entry<'a>) {
    if IS_ANY.load(Ordering::Relaxed) {
        active().iter().for_each(|spool| spool.log(entry()));
    }
}

/// Tells a spool all that is in the tables, and from now on all that comes.
pub(crate) fn begin(spool: &Arc<Spool>) {
    let _quiet = Quiet::new();
    // All at once, so that nothing comes between.
    let (names, stacks, inputs) = (NAMES.lock(), STACKS.lock(), INPUTS.lock());
    spool.log_all(names.all().map(|(id, text)| text.entry(id)));
    spool.log_all(stacks.all().map(|(id, frames)| frames.entry(id)));
    spool.log_all(inputs.all().map(|(id, words)| words.entry(id)));
    active().push(Arc::clone(spool));
    IS_ANY.store(true, Ordering::Relaxed);
}

/// Tells it no more.
pub(crate) fn end(spool: &Arc<Spool>) {
    let _quiet = Quiet::new();
    let mut active = active();
    active.retain(|known| !Arc::ptr_eq(known, spool));
    IS_ANY.store(!active.is_empty(), Ordering::Relaxed);
}

/// The locks of all spools, held across a `fork`.
pub(crate) struct Held {
    spools: Vec<HeldSpool<'static>>,
    active: MutexGuard<'static, Vec<Arc<Spool>>>,
}

impl Held {
    /// The tables' locks are taken before these.
    #[expect(unsafe_code, reason = "the guards are kept beside what they guard")]
    pub(crate) fn new() -> Self {
        let active = active();
        // SAFETY: the spools are kept by the list, which does not change while it is locked. The guards are dropped before the
        // list's lock is, as fields are in their order.
        let hold = |spool: &Arc<Spool>| unsafe { &*Arc::as_ptr(spool) }.hold();
        Self { spools: active.iter().map(hold).collect(), active }
    }

    /// In the child: the files are the parent's.
    pub(crate) fn leave_to_parent(mut self) {
        for spool in &mut self.spools {
            // If the system refuses, what this thread's open spans store in the parent's files are their own ends.
            let _ = spool.leave_to_parent();
        }
        self.spools.clear();
        // Leaked, not dropped, as chunks of it may still be in use.
        std::mem::take(&mut *self.active).into_iter().for_each(std::mem::forget);
        IS_ANY.store(false, Ordering::Relaxed);
    }
}

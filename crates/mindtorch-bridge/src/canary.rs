//! A look at operators that are known, before anything that the shim says is believed.

use crate::inputs;
use mindtorch_profiler::Input;
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};

thread_local! { static SEEN: RefCell<Option<Vec<SeenOp>>> = const { RefCell::new(None) } }

static IS_OUT: AtomicBool = AtomicBool::new(false);

/// An operator as the shim described it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenOp {
    /// Its name.
    pub name: String,
    /// Its inputs.
    pub inputs: Vec<Input>,
}

/// What the shim says of the operators that `run` calls on this thread. These are not recorded.
pub fn canary<T>(run: impl FnOnce() -> T) -> (T, Vec<SeenOp>) {
    SEEN.set(Some(Vec::new()));
    IS_OUT.store(true, Ordering::Relaxed);
    let result = run();
    IS_OUT.store(false, Ordering::Relaxed);
    (result, SEEN.take().unwrap_or_default())
}

#[inline]
pub(crate) fn is_out() -> bool {
    IS_OUT.load(Ordering::Relaxed)
}

/// Shows an operation to the canary, if that is out on this thread.
#[cold]
pub(crate) fn note(name: &[u8], words: &[u64]) -> bool {
    SEEN.with_borrow_mut(|seen| {
        let Some(seen) = seen else { return false };
        seen.push(SeenOp { name: String::from_utf8_lossy(name).into_owned(), inputs: inputs::encode(words).decode() });
        true
    })
}

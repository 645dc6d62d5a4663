//! The self-test: what PyTorch's observers deliver for known operators, before anything is recorded with them.

use crate::abi::Op;
use crate::inputs;
use mindtorch_profiler::Input;
use std::cell::RefCell;
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};

thread_local! { static SEEN: RefCell<Option<Seen>> = const { RefCell::new(None) } }

static IS_OUT: AtomicBool = AtomicBool::new(false);

/// The operators that were delivered on one thread.
struct Seen {
    ops: Vec<SeenOp>,
    /// The keys of the operators, in the same order.
    keys: Vec<usize>,
    /// The number of begins and ends so far.
    position: usize,
}

/// An operator as it was delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenOp {
    /// Its name.
    pub name: String,
    /// Its inputs.
    pub inputs: Vec<Input>,
    /// PyTorch's number of the scope, which is the kind of the operation.
    pub scope: u64,
    /// The position of its begin among all begins and ends, from 0.
    pub begin: usize,
    /// The position of its end; `None` if no end was delivered.
    pub end: Option<usize>,
}

/// Runs `run`, and returns what is delivered on this thread for the operators that it calls. These are not recorded.
///
/// An operator that is delivered on another thread is missing.
pub fn canary<T>(run: impl FnOnce() -> T) -> (T, Vec<SeenOp>) {
    SEEN.set(Some(Seen { ops: Vec::new(), keys: Vec::new(), position: 0 }));
    IS_OUT.store(true, Ordering::Relaxed);
    let result = run();
    IS_OUT.store(false, Ordering::Relaxed);
    (result, SEEN.take().map_or_else(Vec::new, |seen| seen.ops))
}

#[inline]
pub(crate) fn is_out() -> bool {
    IS_OUT.load(Ordering::Relaxed)
}

/// Notes the begin of an operation. False if no self-test is running on this thread.
#[cold]
pub(crate) fn note_begin(key: *const c_void, op: &Op, name: &[u8], words: &[u64]) -> bool {
    note(|seen, position| {
        let (name, inputs) = (String::from_utf8_lossy(name).into_owned(), inputs::encode(words).decode());
        seen.ops.push(SeenOp { name, inputs, scope: op.scope, begin: position, end: None });
        seen.keys.push(key.addr());
    })
}

/// Notes the end of an operation. False if no self-test is running on this thread.
#[cold]
pub(crate) fn note_end(key: usize) -> bool {
    note(|seen, position| {
        // An address is used again: the end is of the last operator with this key that is open.
        let open = seen.ops.iter().zip(&seen.keys).rposition(|(op, &other)| other == key && op.end.is_none());
        if let Some(open) = open {
            seen.ops[open].end = Some(position);
        }
    })
}

fn note(note: impl FnOnce(&mut Seen, usize)) -> bool {
    SEEN.with_borrow_mut(|seen| {
        let Some(seen) = seen else { return false };
        let position = seen.position;
        seen.position += 1;
        note(seen, position);
        true
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PlayedOp;

    #[test]
    fn operators_are_delivered_with_their_kinds_begins_and_ends() {
        let run = || {
            PlayedOp::new("first").run();
            PlayedOp::new("node").backward(3).run();
            std::thread::scope(|scope| _ = scope.spawn(|| PlayedOp::new("on another thread").run()));
        };
        let op = |name: &str, scope, begin| SeenOp {
            name: name.to_owned(),
            inputs: Vec::new(),
            scope,
            begin,
            end: Some(begin + 1),
        };
        // In a new thread, because one that has recorded before may skip what the self-test observes.
        let ((), seen) = std::thread::spawn(move || canary(run)).join().expect("it does not panic");
        assert_eq!(seen, [op("first", 0, 0), op("node", 1, 2)]);
    }

    #[test]
    fn an_end_belongs_to_the_last_operator_with_its_key_that_is_open() {
        let op = Op {
            name: crate::abi::Text::EMPTY,
            overload: crate::abi::Text::EMPTY,
            inputs: std::ptr::null(),
            input_words: 0,
            lacks_inputs: false,
            hash: [0; 2],
            sequence: -1,
            thread: 0,
            forward_thread: 0,
            scope: 7,
        };
        let key = |address: usize| std::ptr::without_provenance(address);
        SEEN.set(Some(Seen { ops: Vec::new(), keys: Vec::new(), position: 0 }));
        for address in [8, 16] {
            assert!(note_begin(key(address), &op, b"op", &[]));
            assert!(note_end(address));
        }
        for address in [8, 16] {
            assert!(note_begin(key(address), &op, b"op", &[]));
        }
        assert!(note_end(8));
        let seen = SEEN.take().expect("it was set");
        let positions: Vec<_> = seen.ops.iter().map(|op| (op.begin, op.end)).collect();
        assert_eq!(positions, [(0, Some(1)), (2, Some(3)), (4, Some(6)), (5, None)]);
        assert!(!note_end(16), "no self-test is running");
    }
}

//! What a shim says, said by a program: what the way from a shim to the recorder takes can be counted without PyTorch.

#![expect(unsafe_code, reason = "the recorder's functions take what a shim has")]

use crate::abi::{Op, Recorder};
use crate::inputs::{INT, TENSOR, first_word};
use crate::shim::RECORDER;
use std::ffi::{CString, c_void};
use std::hint::black_box;
use std::ptr;

/// An operator of PyTorch's that a program plays.
#[derive(Debug)]
pub struct PlayedOp {
    name: CString,
    inputs: Vec<u64>,
    /// Any, for these inputs.
    inputs_hash: [u64; 2],
    sequence: i64,
    forward_thread: u64,
    scope: u64,
}

/// Any number but 0: PyTorch numbers its threads itself.
const THREAD: u64 = 1;
const BACKWARD: u64 = 1;

impl PlayedOp {
    /// An operator of which no more is told than its name. Names that are no strings of C's are cut off.
    pub fn new(name: &str) -> Self {
        let name = name.split('\0').next().unwrap_or_default();
        let name = CString::new(name).expect("it ends before its first zero");
        Self { name, inputs: Vec::new(), inputs_hash: [0; 2], sequence: -1, forward_thread: 0, scope: 0 }
    }

    /// It is given two matrices of so many rows and columns, and a number.
    pub fn given_two_matrices(mut self, rows: u64, columns: u64) -> Self {
        const FLOAT: u64 = 6;
        for _ in 0..2 {
            self.inputs.extend([first_word(TENSOR, FLOAT, 2), rows, columns, columns, 1]);
        }
        self.inputs.extend([first_word(INT, 0, 0), 1]);
        self.inputs_hash = [rows, columns << 1];
        self
    }

    /// It is the node of an operator of this thread.
    pub fn backward(mut self, sequence: u32) -> Self {
        (self.sequence, self.forward_thread, self.scope) = (sequence.into(), THREAD, BACKWARD);
        self
    }

    /// Begins and ends it.
    pub fn run(&self) {
        let key = ptr::from_ref(self).cast();
        if !self.begin_briefly(key) {
            self.begin_in_full(key);
        }
        (recorder().end)(key);
    }

    fn begin_briefly(&self, key: *const c_void) -> bool {
        let (name, [one, other]) = (self.name.as_ptr(), self.inputs_hash);
        // SAFETY: the name is good for as long as this is.
        unsafe {
            match (self.scope, self.inputs.is_empty()) {
                (BACKWARD, _) => false,
                (_, true) => (recorder().begin_bare)(key, name, self.sequence, THREAD),
                (_, false) => (recorder().begin_given)(key, name, self.sequence, THREAD, one, other),
            }
        }
    }

    fn begin_in_full(&self, key: *const c_void) {
        let op = Op {
            name: self.name.as_ptr(),
            overload: ptr::null(),
            inputs: self.inputs.as_ptr(),
            input_words: self.inputs.len(),
            inputs_hash: self.inputs_hash,
            sequence: self.sequence,
            thread: THREAD,
            forward_thread: self.forward_thread,
            scope: self.scope,
        };
        // SAFETY: what the operation points to is good for longer than this call.
        unsafe { (recorder().begin)(key, &raw const op) };
    }
}

/// An allocation on the host that a program plays, or, if `bytes` is negative, a free.
pub fn play_memory(address: u64, bytes: i64, allocated: u64) {
    (recorder().memory)(address, bytes, allocated, 0, 0, -1);
}

/// As a shim has it, which the compiler does not know.
fn recorder() -> &'static Recorder {
    black_box(&RECORDER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_told_once() {
        // Each thread has its own.
        let run = || {
            let op = PlayedOp::new("aten::add").given_two_matrices(4, 4);
            let key = ptr::from_ref(&op).cast();
            assert!(!op.begin_briefly(key), "the thread is not known");
            op.begin_in_full(key);
            assert!(op.begin_briefly(key));
            assert!(!PlayedOp::new("aten::add").given_two_matrices(4, 5).begin_briefly(key));
            assert!(PlayedOp::new("aten::mul").given_two_matrices(4, 4).begin_briefly(key));
            assert!(PlayedOp::new("aten::rand").begin_briefly(key));
        };
        std::thread::scope(|scope| (0..2).for_each(|_| _ = scope.spawn(run)));
    }
}

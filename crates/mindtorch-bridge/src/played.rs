//! What a shim says, said by a program: what the way from a shim to the recorder takes can be counted without PyTorch.

#![expect(unsafe_code, reason = "the recorder's functions take what a shim has")]

use crate::abi::{Op, Recorder, Text};
use crate::inputs::{INT, TENSOR, first_word};
use crate::shim::RECORDER;
use rustc_hash::FxBuildHasher;
use std::ffi::c_void;
use std::hash::BuildHasher;
use std::hint::black_box;
use std::ptr;

/// An operator of PyTorch's that a program plays.
#[derive(Debug)]
pub struct PlayedOp {
    name: String,
    inputs: Vec<u64>,
    /// Any, for this name and these inputs.
    hash: [u64; 2],
    sequence: i64,
    forward_thread: u64,
    scope: u64,
}

/// Any number but 0: PyTorch numbers its threads itself.
const THREAD: u64 = 1;
const BACKWARD: u64 = 1;

impl PlayedOp {
    /// An operator of which no more is told than its name.
    pub fn new(name: &str) -> Self {
        let hash = [FxBuildHasher.hash_one(name), 1];
        Self { name: name.into(), inputs: Vec::new(), hash, sequence: -1, forward_thread: 0, scope: 0 }
    }

    /// It is given two matrices of so many rows and columns, and a number.
    pub fn given_two_matrices(mut self, rows: u64, columns: u64) -> Self {
        const FLOAT: u64 = 6;
        for _ in 0..2 {
            self.inputs.extend([first_word(TENSOR, FLOAT, 2), rows, columns, columns, 1]);
        }
        self.inputs.extend([first_word(INT, 0, 0), 1]);
        self.hash[1] = FxBuildHasher.hash_one([rows, columns]);
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
        let (sequence, [one, other]) = (self.sequence, self.hash);
        match self.scope {
            BACKWARD => (recorder().begin_known_node)(key, sequence, one, other, self.forward_thread),
            _ => (recorder().begin_known)(key, sequence, one, other),
        }
    }

    fn begin_in_full(&self, key: *const c_void) {
        let op = Op {
            name: Text::of(self.name.as_bytes()),
            overload: Text::EMPTY,
            inputs: self.inputs.as_ptr(),
            input_words: self.inputs.len(),
            lacks_inputs: false,
            hash: self.hash,
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
    fn operations_are_told_once() {
        // Each thread has its own.
        let run = || {
            let op = PlayedOp::new("aten::add").given_two_matrices(4, 4);
            let key = ptr::from_ref(&op).cast();
            assert!(!op.begin_briefly(key), "the thread is not known");
            op.begin_in_full(key);
            assert!(op.begin_briefly(key));
            assert!(!PlayedOp::new("aten::add").given_two_matrices(4, 5).begin_briefly(key));
            assert!(!PlayedOp::new("aten::mul").given_two_matrices(4, 4).begin_briefly(key));
        };
        std::thread::scope(|scope| (0..2).for_each(|_| _ = scope.spawn(run)));
    }
}

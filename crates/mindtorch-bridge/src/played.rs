//! What a shim says, said by a program: what the way from a shim to the recorder takes can be counted without PyTorch.

#![expect(unsafe_code, reason = "the recorder's functions take what a shim has")]

use crate::abi::{Op, Recorder};
use crate::inputs::{INT, TENSOR, first_word};
use crate::shim::RECORDER;
use std::ffi::CString;
use std::hint::black_box;
use std::ptr;

/// An operator of PyTorch's that a program plays.
#[derive(Debug)]
pub struct PlayedOp {
    name: CString,
    inputs: Vec<u64>,
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
        Self { name, inputs: Vec::new(), sequence: -1, forward_thread: 0, scope: 0 }
    }

    /// It is given two matrices of so many rows and columns, and a number.
    pub fn given_two_matrices(mut self, rows: u64, columns: u64) -> Self {
        const FLOAT: u64 = 6;
        for _ in 0..2 {
            self.inputs.extend([first_word(TENSOR, FLOAT, 2), rows, columns, columns, 1]);
        }
        self.inputs.extend([first_word(INT, 0, 0), 1]);
        self
    }

    /// It is the node of an operator of this thread.
    pub fn backward(mut self, sequence: u32) -> Self {
        (self.sequence, self.forward_thread, self.scope) = (sequence.into(), THREAD, BACKWARD);
        self
    }

    /// Begins and ends it.
    pub fn run(&self) {
        let op = Op {
            name: self.name.as_ptr(),
            overload: ptr::null(),
            inputs: self.inputs.as_ptr(),
            input_words: self.inputs.len(),
            sequence: self.sequence,
            thread: THREAD,
            forward_thread: self.forward_thread,
            scope: self.scope,
        };
        let key = ptr::from_ref(self).cast();
        // SAFETY: what the operation points to is good for longer than this call.
        unsafe { (recorder().begin)(key, &raw const op) };
        (recorder().end)(key);
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

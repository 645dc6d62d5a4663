//! The runtime that the profiler grew up with.
//!
//! So far it has what tensors will stand on: [`Storage`], the one place where memory for numbers comes from, which tells
//! the profiler of every allocation and free.

mod storage;

pub use storage::{Storage, allocated_bytes};

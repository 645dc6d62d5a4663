//! The tracer: while it is on, every call of a Python function or a builtin is a span, on every thread.
//!
//! Python tells a profile hook what it calls. A [`hook::ThreadTracer`] is the hook of one thread; its [`calls::Calls`] are
//! the spans that are open there. [`registry`] puts a hook on every thread when the first session asks for it and takes
//! them away after the last. While the tracer is off there is no hook, and so no cost.
//!
//! A program may have a hook of its own, such as `cProfile`'s: ours calls it, and leaves it in its place at the end.

mod calls;
mod held;
mod hook;
mod interpreter;
mod modules;
mod names;
mod registry;

pub(crate) use registry::{start, stop};

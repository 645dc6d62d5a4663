//! The accelerator, `npu`: a device with memory of its own and streams that work while the host goes on.
//!
//! It is a program that computes on the host, so that what is written for an accelerator runs, and is tested and profiled,
//! where there is none. Everything else is as with a GPU under torch: kernels are launched and run later, memory comes from
//! a caching allocator over a fixed capacity, streams and events order the work, and errors in kernels are seen at the next
//! synchronisation.
//!
//! ```
//! use mindtorch::npu::{Npu, StreamId};
//! use mindtorch_profiler::Name;
//! use std::sync::atomic::{AtomicU32, Ordering};
//!
//! static SUM: AtomicU32 = AtomicU32::new(0);
//! let npu = Npu::get(0)?;
//! for number in 0..100 {
//!     let add = move || _ = SUM.fetch_add(number, Ordering::Relaxed);
//!     npu.launch(StreamId::DEFAULT, Name::new("add"), None, Box::new(add))?;
//! }
//! npu.synchronize()?;
//! assert_eq!(SUM.load(Ordering::Relaxed), 4950);
//! # Ok::<(), mindtorch::npu::NpuError>(())
//! ```
//!
//! `MINDTORCH_NPU_COUNT` says how many accelerators there are (1), `MINDTORCH_NPU_MEMORY` how many bytes of memory each has
//! (`4GiB`, or half of the host's).

mod allocator;
mod block;
mod cache;
mod current;
mod device;
mod error;
mod event;
mod executor;
mod fork;
mod memory;
mod pieces;
mod point;
mod progress;
mod queue;
mod region;
mod runtime_call;
mod segments;
mod settings;
mod stats;
mod stream;
#[cfg(test)]
mod tests;
mod worker;

pub use block::Block;
pub use current::{allocate, current_device, current_stream, enqueue, set_current_stream, set_device};
pub use device::{Npu, device_count, finish_all, is_initialized};
pub use error::{NpuError, OutOfMemory};
pub use event::Event;
pub(crate) use runtime_call::cost_of_a_call;
pub use stats::{MemoryStats, PoolStat, Stat};
pub use stream::{PRIORITY_RANGE, StreamId};

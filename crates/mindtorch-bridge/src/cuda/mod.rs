//! What NVIDIA's GPUs do: kernels, copies, sets and waits, and the calls that ask for them.
//!
//! CUPTI, which comes with CUDA, tells of calls as they happen (`callbacks`), which makes them spans of the thread that
//! calls, and of work after it is done, in buffers of records (`buffers`, `activity`). Both have the number of the call,
//! by which the work finds its span (`correlation`). Times are the recorder's: CUPTI is given its clock. Nothing is loaded
//! on a machine without a GPU (`driver`), and CUPTI is left alone but while someone records ([`start`], [`stop`]): it
//! tells one at a time, which may be another profiler.

mod activity;
mod api;
mod buffers;
mod callbacks;
mod collector;
mod correlation;
mod driver;
mod error;
#[cfg(test)]
mod fake;
mod layout;
mod library;
mod occupancy;
#[cfg(test)]
mod tests;
mod words;

pub use collector::{catch_up, flush, is_running, lost, start, stop, versions};
pub use error::CudaError;

//! PyTorch's operators, scopes and memory, in the recorder of [`mindtorch_profiler`].
//!
//! PyTorch tells observers what it does, in terms of C++ structs that differ from one version to the next. So a shim, a
//! small library that is built for the very version that is installed, reads them, and calls the functions of a table that
//! this crate gives it (`abi`). Operators become spans here (`ops`, `inputs`), and so does nothing else: the shim is
//! asked to observe only while someone records ([`Bridge::sync`]). What NVIDIA's GPUs do is asked of CUPTI (`cuda`).

mod abi;
mod boxed;
mod canary;
pub mod cuda;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod exported;
mod flops;
mod inputs;
mod known;
mod loader;
mod memory;
mod ops;
mod played;
mod shim;
mod thread;
mod thread_table;

pub use canary::{SeenOp, canary};
pub use played::{PlayedOp, play_memory};
pub use shim::{Bridge, BridgeError, VERSIONS_WITHOUT_SHIM};

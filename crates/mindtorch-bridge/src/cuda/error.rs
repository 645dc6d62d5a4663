//! Why a GPU is not recorded.

use std::ffi::CStr;

/// Why what a GPU does cannot be recorded.
#[derive(Debug, thiserror::Error)]
pub enum CudaError {
    /// CUPTI is nowhere to be found.
    #[error(
        "CUPTI, the library that tells what NVIDIA's GPUs do, was not found (looked for {tried}). It comes with PyTorch for \
         CUDA, as the package nvidia-cuda-cupti, and with the CUDA toolkit"
    )]
    Library {
        /// Where it was looked for.
        tried: String,
    },
    /// A library that lacks what CUPTI has.
    #[error("CUPTI has no function {}: it is too old, or another library of that name", name.to_string_lossy())]
    Function {
        /// What it lacks.
        name: &'static CStr,
    },
    /// It is from before CUDA 12.
    #[error("CUPTI's version is {found}, and only those of CUDA 12 and later are supported")]
    Version {
        /// Its version.
        found: u32,
    },
    /// CUPTI tells one at a time.
    #[error(
        "another profiler uses CUPTI, which tells only one at a time: torch.profiler, which keeps it once it has recorded \
         CUDA in this process, or NVIDIA's Nsight"
    )]
    InUse,
    /// It refuses.
    #[error("CUPTI refuses {function}: {name} ({status})")]
    Call {
        /// What was called.
        function: &'static str,
        /// The number that it gave.
        status: u32,
        /// The name of that number.
        name: String,
    },
}

//! The runtime that the profiler grew up with: tensors, operations, autograd, and the devices they run on.
//!
//! Data flows one way: an operation ([`ops`]) checks its arguments, allocates its result ([`Storage`]) and launches a kernel
//! on the tensors' device; if a gradient may be wanted, it leaves a node behind ([`autograd`]). The profiler sees each
//! operation, each node, each kernel of the [`npu`] and each byte.
//!
//! ```
//! use mindtorch::{Tensor, autograd, ops};
//! let x = Tensor::from_slice(&[1.0f32, 2.0, 3.0], &[3])?;
//! x.set_requires_grad(true)?;
//! let y = ops::sum(&ops::mul(&x, &x)?, &[], false, None)?;
//! autograd::backward(&[y], &[None], &[], autograd::Request::default())?;
//! assert_eq!(x.grad().unwrap().to_vec::<f32>()?, [2.0, 4.0, 6.0]);
//! # Ok::<(), mindtorch::Error>(())
//! ```

pub mod autograd;
mod dispatch;
mod dtype;
mod error;
pub mod execution_trace;
mod generator;
mod kernels;
pub mod npu;
pub mod ops;
mod overhead;
mod shape;
mod storage;
mod tensor;
mod thread_state;

pub use dispatch::{next_has_target, operator_span};
pub use dtype::{DType, Element, Scalar, default_dtype, set_default_dtype};
pub use error::{Error, ErrorKind, Result};
pub use generator::{Generator, InvalidState};
pub use kernels::parallel::{num_threads, set_num_threads};
pub use mindtorch_profiler::Device;
pub use overhead::profiler_overhead;
pub use shape::Dims;
pub use storage::{Storage, allocated_bytes};
pub use tensor::Tensor;

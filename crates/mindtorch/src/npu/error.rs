//! What can go wrong with an accelerator.

use crate::error::{Error, ErrorKind};
use std::fmt;

/// Why an accelerator did not do what it was asked to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NpuError {
    /// An environment variable has a value that means nothing.
    #[error("{variable} must be {expected}, but it is {value:?}")]
    InvalidSetting {
        /// The variable.
        variable: &'static str,
        /// Its value.
        value: String,
        /// What it may be.
        expected: String,
    },
    /// There are not so many accelerators.
    #[error("invalid NPU device index {index}: there {} (set by MINDTORCH_NPU_COUNT)", devices(*count))]
    NoSuchDevice {
        /// The number that was asked for.
        index: u16,
        /// How many there are.
        count: u16,
    },
    /// The process was forked after its parent had begun to use an accelerator.
    #[error(
        "Cannot re-initialize the NPU in a forked subprocess. To use the NPU with multiprocessing, you must use the \
         'spawn' start method"
    )]
    Forked,
    /// The host does not give what the accelerator needs.
    #[error("NPU {device} cannot start: {reason}")]
    CannotStart {
        /// The accelerator.
        device: u16,
        /// What the host said.
        reason: String,
    },
    /// No memory of this size is left on the accelerator.
    #[error(transparent)]
    OutOfMemory(#[from] OutOfMemory),
    /// A kernel failed some time ago. The accelerator goes on.
    #[error("NPU error in kernel {kernel}: {message}")]
    Kernel {
        /// The kernel's name.
        kernel: String,
        /// What it said.
        message: String,
    },
    /// A kernel waited for the accelerator that runs it.
    #[error("a kernel cannot wait for NPU {device}, which is busy running it")]
    WaitInKernel {
        /// The accelerator.
        device: u16,
    },
    /// An event belongs to the accelerator that it was first recorded on.
    #[error("Event device index {event} does not match recording stream's device index {stream}.")]
    EventOnOtherDevice {
        /// The event's accelerator.
        event: u16,
        /// The stream's.
        stream: u16,
    },
    /// A time was asked of an event that keeps none.
    #[error("Both events must be created with argument 'enable_timing=True'.")]
    EventWithoutTiming,
    /// A time was asked of an event that was never recorded.
    #[error("Both events must be recorded before calculating elapsed time.")]
    EventNotRecorded,
    /// A time was asked of an event that the accelerator has not come to yet.
    #[error("Both events must be completed before calculating elapsed time.")]
    EventNotCompleted,
}

fn devices(count: u16) -> String {
    match count {
        0 => "is none".to_owned(),
        1 => "is 1 device".to_owned(),
        _ => format!("are {count} devices"),
    }
}

impl From<NpuError> for Error {
    fn from(error: NpuError) -> Self {
        let kind = match error {
            NpuError::OutOfMemory(_) => ErrorKind::OutOfMemory,
            NpuError::EventWithoutTiming | NpuError::EventNotRecorded => ErrorKind::Value,
            _ => ErrorKind::Runtime,
        };
        Self::new(kind, error.to_string())
    }
}

/// An allocation that did not fit, and how full the accelerator was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub struct OutOfMemory {
    /// The accelerator.
    pub device: u16,
    /// The bytes that it was to set aside; `None` if they were more than anyone has.
    pub tried: Option<u64>,
    /// All of its memory.
    pub capacity: u64,
    /// The bytes that the cache holds, in use or not.
    pub reserved: u64,
    /// The bytes in use.
    pub allocated: u64,
}

impl fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { device, tried, capacity, reserved, allocated } = *self;
        let Some(tried) = tried else {
            return f.write_str("NPU out of memory. Tried to allocate more than 1EB memory.");
        };
        write!(
            f,
            "NPU out of memory. Tried to allocate {}. NPU {device} has a total capacity of {} of which {} is free. Of the \
             allocated memory {} is allocated by MindTorch, and {} is reserved by MindTorch but unallocated. \
             MINDTORCH_NPU_MEMORY sets the capacity.",
            Size(tried),
            Size(capacity),
            Size(capacity - reserved),
            Size(allocated),
            Size(reserved - allocated)
        )
    }
}

/// Bytes, in the unit in which torch would write them.
pub(super) struct Size(pub(super) u64);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
        match units.into_iter().find(|&(_, bytes)| self.0 > bytes) {
            Some((unit, bytes)) => write!(f, "{:.2} {unit}", self.0 as f64 / bytes as f64),
            None => write!(f, "{} bytes", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_the_unit_that_torch_chooses() {
        let text = |bytes| Size(bytes).to_string();
        assert_eq!(text(0), "0 bytes");
        assert_eq!(text(1024), "1024 bytes");
        assert_eq!(text(1025), "1.00 KiB");
        assert_eq!(text(1 << 20), "1024.00 KiB");
        assert_eq!(text(20 << 20), "20.00 MiB");
        assert_eq!(text(1 << 30), "1024.00 MiB");
        assert_eq!(text(3 << 29), "1.50 GiB");
    }

    #[test]
    fn running_out_of_memory_says_where_the_memory_is() {
        let error = OutOfMemory {
            device: 0,
            tried: Some(20 << 20),
            capacity: 2 << 30,
            reserved: (2 << 30) - (12 << 20),
            allocated: 1 << 30,
        };
        assert_eq!(
            NpuError::from(error).to_string(),
            "NPU out of memory. Tried to allocate 20.00 MiB. NPU 0 has a total capacity of 2.00 GiB of which 12.00 MiB is \
             free. Of the allocated memory 1024.00 MiB is allocated by MindTorch, and 1012.00 MiB is reserved by MindTorch \
             but unallocated. MINDTORCH_NPU_MEMORY sets the capacity."
        );
    }
}

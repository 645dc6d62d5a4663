//! What events call the accelerator. Here it is the NPU; a trace that was read from a file has the one that the file names.

use crate::recorder::Device;
use crate::trace::Trace;

/// The texts and numbers that stand for the accelerator.
pub(in crate::export) struct Accelerator {
    /// What rows of devices are labelled with, before their number.
    pub(in crate::export) label: String,
    /// Torch's number for its type.
    pub(in crate::export) type_number: u64,
    /// The category of calls of its runtime.
    pub(in crate::export) runtime: &'static str,
    /// The argument `device_type`, and the key of the argument `step`.
    pub(super) on_device: String,
    /// The keys of the arguments that tell its memory before and after an event, and the difference.
    memory_keys: [String; 3],
}

const ON_HOST: &str = ",\"device_type\":\"CPU\",\"step\":";

const HOST_MEMORY_KEYS: [&str; 3] =
    [",\"cpu_memory_allocated_before\":", ",\"cpu_memory_allocated_after\":", ",\"cpu_memory_allocated_delta\":"];

impl Accelerator {
    pub(in crate::export) fn of(trace: &Trace) -> Self {
        // A name from a file may be anything, and goes into keys.
        let name: String = trace.accelerator().chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
        let (label, type_number, runtime) = match name.as_str() {
            "CUDA" => ("GPU", 1, "cuda_runtime"),
            "HIP" => ("GPU", 6, "cuda_runtime"),
            "XPU" => ("XPU", 12, "xpu_runtime"),
            "MTIA" => ("MTIA", 19, "mtia_runtime"),
            // In torch's dialect the accelerator is CUDA: programs that read it know no other, and TensorBoard's plugin shows no
            // memory at all of a file with torch's number for other devices.
            other => (other, 1, "cuda_runtime"),
        };
        let key = name.to_lowercase();
        Self {
            label: label.to_owned(),
            type_number,
            runtime,
            on_device: format!(",\"device_type\":\"{name}\",\"step\":"),
            memory_keys: ["before", "after", "delta"].map(|when| format!(",\"{key}_memory_allocated_{when}\":")),
        }
    }

    /// The argument `device_type`, and the key of the argument `step`.
    #[inline]
    pub(super) fn place(&self, device: Device) -> &str {
        if device == Device::Cpu { ON_HOST } else { &self.on_device }
    }

    /// The keys of the arguments that tell a device's memory before and after an event, and the difference.
    pub(super) fn memory_keys(&self, device: Device) -> [&str; 3] {
        if device == Device::Cpu { HOST_MEMORY_KEYS } else { self.memory_keys.each_ref().map(String::as_str) }
    }
}

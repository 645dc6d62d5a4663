//! Memory that PyTorch's allocators give and take back.

use mindtorch_profiler::{Device, Memory, MemoryRole, Stack};

/// PyTorch's number of the host as a device.
const CPU: i32 = 0;

pub(crate) extern "C" fn memory(address: u64, bytes: i64, allocated: u64, reserved: u64, kind: i32, index: i32) {
    let device = if kind == CPU { Device::Cpu } else { Device::Npu(u16::try_from(index).unwrap_or(0)) };
    mindtorch_profiler::memory(&Memory {
        address,
        bytes,
        device,
        allocated: i64::try_from(allocated).unwrap_or(i64::MAX),
        reserved,
        stack: Stack::NONE,
        role: MemoryRole::Unknown,
    });
}

//! Memory that PyTorch's allocators give and take back.

use crate::thread::Thread;
use mindtorch_profiler::{Device, Memory, MemoryRole, Stack};

/// PyTorch's number of the host as a device.
const CPU: i32 = 0;

pub(crate) extern "C" fn memory(address: u64, bytes: i64, allocated: u64, reserved: u64, kind: i32, index: i32) {
    match (Thread::with_found(|thread| thread.here).flatten(), i64::try_from(allocated)) {
        // Not a word of it need be written anywhere but to the record.
        (Some(here), Ok(allocated)) if kind == CPU && reserved == 0 => here.memory(address, bytes, allocated),
        _ => other_memory(address, bytes, allocated, reserved, kind, index),
    }
}

#[cold]
#[inline(never)]
fn other_memory(address: u64, bytes: i64, allocated: u64, reserved: u64, kind: i32, index: i32) {
    let device = if kind == CPU { Device::Cpu } else { Device::Npu(u16::try_from(index).unwrap_or(0)) };
    let allocated = i64::try_from(allocated).unwrap_or(i64::MAX);
    let (stack, role) = (Stack::NONE, MemoryRole::Unknown);
    mindtorch_profiler::memory(&Memory { address, bytes, device, allocated, reserved, stack, role });
}

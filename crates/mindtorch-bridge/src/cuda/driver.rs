//! The GPUs of this machine, asked of NVIDIA's driver.

#![expect(unsafe_code, reason = "the driver is a C library that is loaded at run time")]

use super::occupancy::Processor;
use crate::loader::{Library, function};
use std::sync::OnceLock;

type Init = unsafe extern "C" fn(u32) -> i32;
type GetCount = unsafe extern "C" fn(*mut i32) -> i32;
type GetVersion = unsafe extern "C" fn(*mut i32) -> i32;
type GetDevice = unsafe extern "C" fn(*mut i32, i32) -> i32;
type GetAttribute = unsafe extern "C" fn(*mut i32, i32, i32) -> i32;

/// The driver's numbers of what can be asked of a device.
mod attribute {
    pub(super) const MAX_THREADS_PER_BLOCK: i32 = 1;
    pub(super) const WARP_SIZE: i32 = 10;
    pub(super) const MULTIPROCESSORS: i32 = 16;
    pub(super) const MAX_THREADS_PER_MULTIPROCESSOR: i32 = 39;
    pub(super) const CAPABILITY_MAJOR: i32 = 75;
    pub(super) const MAX_SHARED_MEMORY_PER_MULTIPROCESSOR: i32 = 81;
    pub(super) const MAX_REGISTERS_PER_MULTIPROCESSOR: i32 = 82;
    pub(super) const MAX_BLOCKS_PER_MULTIPROCESSOR: i32 = 106;
    pub(super) const RESERVED_SHARED_MEMORY_PER_BLOCK: i32 = 111;
}

/// What the driver knows.
#[derive(Debug, Default)]
pub(super) struct Driver {
    /// The GPUs, by number.
    pub(super) processors: Vec<Processor>,
    /// The latest CUDA that it is for: 13000 is 13.0.
    pub(super) version: u32,
}

/// What the driver knows: nothing on a machine that has no GPU, or no driver. Found out once.
pub(super) fn driver() -> &'static Driver {
    static DRIVER: OnceLock<Driver> = OnceLock::new();
    DRIVER.get_or_init(|| find().unwrap_or_default())
}

fn find() -> Option<Driver> {
    let driver = Library::open(c"libcuda.so.1").ok()?;
    // SAFETY: these are the types that the driver's interface gives them.
    let (init, version_of, count_of, device_of, attribute_of) = unsafe {
        (
            function!(driver, c"cuInit", Init)?,
            function!(driver, c"cuDriverGetVersion", GetVersion)?,
            function!(driver, c"cuDeviceGetCount", GetCount)?,
            function!(driver, c"cuDeviceGet", GetDevice)?,
            function!(driver, c"cuDeviceGetAttribute", GetAttribute)?,
        )
    };
    let (mut version, mut count) = (0, 0);
    // SAFETY: 0 is the only argument that it takes; then it may be asked what it is, and how many there are.
    let is_well = unsafe { init(0) == 0 && version_of(&raw mut version) == 0 && count_of(&raw mut count) == 0 };
    if !is_well {
        return None;
    }
    let processor = |number| {
        let mut device = 0;
        // SAFETY: the number is below the count.
        if unsafe { device_of(&raw mut device, number) } != 0 {
            return Processor::default();
        }
        let attribute = |what| {
            let mut value = 0;
            // SAFETY: the device is one that the driver gave. What it does not know is an error.
            let is_known = unsafe { attribute_of(&raw mut value, what, device) } == 0;
            if is_known { u32::try_from(value).unwrap_or(0) } else { 0 }
        };
        Processor {
            multiprocessors: attribute(attribute::MULTIPROCESSORS),
            capability: attribute(attribute::CAPABILITY_MAJOR),
            warp: attribute(attribute::WARP_SIZE),
            block_threads: attribute(attribute::MAX_THREADS_PER_BLOCK),
            threads: attribute(attribute::MAX_THREADS_PER_MULTIPROCESSOR),
            blocks: attribute(attribute::MAX_BLOCKS_PER_MULTIPROCESSOR),
            registers: attribute(attribute::MAX_REGISTERS_PER_MULTIPROCESSOR),
            shared_memory: attribute(attribute::MAX_SHARED_MEMORY_PER_MULTIPROCESSOR),
            reserved_shared_memory: attribute(attribute::RESERVED_SHARED_MEMORY_PER_BLOCK),
        }
    };
    Some(Driver { processors: (0..count).map(processor).collect(), version: u32::try_from(version).unwrap_or(0) })
}

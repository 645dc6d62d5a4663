//! The structures of `DLPack`, as `dlpack.h` has them.

use mindtorch::{DType, Device};
use std::ffi::{CStr, c_void};

/// The version of the protocol that is written here. Readers of any 1.x understand it.
pub(super) const VERSION: Version = Version { major: 1, minor: 0 };

pub(super) const READ_ONLY: u64 = 1 << 0;
pub(super) const IS_COPIED: u64 = 1 << 1;

#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Version {
    pub(super) major: u32,
    pub(super) minor: u32,
}

#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) kind: i32,
    pub(super) index: i32,
}

impl Place {
    pub(super) const CPU: Self = Self { kind: 1, index: 0 };
    /// What the protocol calls an extension device.
    const EXTENSION: i32 = 12;

    pub(super) fn of(device: Device) -> Self {
        match device {
            Device::Cpu => Self::CPU,
            Device::Npu(index) => Self { kind: Self::EXTENSION, index: i32::from(index) },
        }
    }
}

#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Type {
    pub(super) code: u8,
    pub(super) bits: u8,
    pub(super) lanes: u16,
}

impl Type {
    pub(super) fn of(dtype: DType) -> Self {
        let code = match dtype {
            DType::Int8 | DType::Int16 | DType::Int32 | DType::Int64 => 0,
            DType::UInt8 => 1,
            DType::Float16 | DType::Float32 | DType::Float64 => 2,
            DType::BFloat16 => 4,
            DType::Bool => 6,
        };
        Self { code, bits: 8 * dtype.size() as u8, lanes: 1 }
    }

    pub(super) fn dtype(self) -> Option<DType> {
        DType::ALL.into_iter().find(|dtype| Self::of(*dtype) == self)
    }
}

#[repr(C)]
pub(super) struct Array {
    pub(super) data: *mut c_void,
    pub(super) place: Place,
    pub(super) ndim: i32,
    pub(super) dtype: Type,
    pub(super) shape: *mut i64,
    /// In numbers; null if they lie one after another.
    pub(super) strides: *mut i64,
    pub(super) byte_offset: u64,
}

/// What a capsule points to: an array, and how to give it back.
///
/// # Safety
/// The names are those of the structure's capsules, by which both sides know what the pointer is to.
pub(super) unsafe trait Managed: Sized + 'static {
    /// The name of a capsule that nobody has taken the array from.
    const NAME: &'static CStr;
    /// The name of one that somebody has.
    const USED: &'static CStr;

    fn new(array: Array, context: *mut c_void, deleter: unsafe extern "C" fn(*mut Self), flags: u64) -> Self;
    fn array(&self) -> &Array;
    fn context(&self) -> *mut c_void;
    fn deleter(&self) -> Option<unsafe extern "C" fn(*mut Self)>;
    fn version(&self) -> Version;
}

/// As it was before version 1.
#[repr(C)]
pub(super) struct Unversioned {
    array: Array,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Self)>,
}

// SAFETY: the protocol's names.
unsafe impl Managed for Unversioned {
    const NAME: &'static CStr = c"dltensor";
    const USED: &'static CStr = c"used_dltensor";

    fn new(array: Array, context: *mut c_void, deleter: unsafe extern "C" fn(*mut Self), _flags: u64) -> Self {
        Self { array, context, deleter: Some(deleter) }
    }

    fn array(&self) -> &Array {
        &self.array
    }

    fn context(&self) -> *mut c_void {
        self.context
    }

    fn deleter(&self) -> Option<unsafe extern "C" fn(*mut Self)> {
        self.deleter
    }

    fn version(&self) -> Version {
        VERSION
    }
}

#[repr(C)]
pub(super) struct Versioned {
    version: Version,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Self)>,
    flags: u64,
    array: Array,
}

// SAFETY: the protocol's names.
unsafe impl Managed for Versioned {
    const NAME: &'static CStr = c"dltensor_versioned";
    const USED: &'static CStr = c"used_dltensor_versioned";

    fn new(array: Array, context: *mut c_void, deleter: unsafe extern "C" fn(*mut Self), flags: u64) -> Self {
        Self { version: VERSION, context, deleter: Some(deleter), flags, array }
    }

    fn array(&self) -> &Array {
        &self.array
    }

    fn context(&self) -> *mut c_void {
        self.context
    }

    fn deleter(&self) -> Option<unsafe extern "C" fn(*mut Self)> {
        self.deleter
    }

    fn version(&self) -> Version {
        self.version
    }
}

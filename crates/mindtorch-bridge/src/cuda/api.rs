//! CUPTI's functions, of which each tells by a number how it went.

#![expect(unsafe_code, reason = "CUPTI is a C library that is loaded at run time")]

use super::error::CudaError;
use crate::loader::{Library, function, text};
use std::ffi::{c_char, c_void};
use std::ptr::NonNull;

/// Functions and what they say of themselves are CUPTI's, as `cupti_activity.h` and `cupti_callbacks.h` have them.
pub(super) type Status = u32;

pub(super) const MULTIPLE_SUBSCRIBERS: Status = 39;
const SUCCESS: Status = 0;

/// The oldest version whose records are laid out as `layout.rs` has it: that of CUDA 12.
const OLDEST: u32 = 18;

/// What CUPTI tells whoever subscribed to calls.
#[repr(C)]
pub(super) struct CallbackData {
    pub(super) site: u32,
    pub(super) function_name: *const c_char,
    pub(super) function_params: *const c_void,
    pub(super) function_return_value: *mut c_void,
    pub(super) symbol_name: *const c_char,
    pub(super) context: *mut c_void,
    pub(super) context_id: u32,
    pub(super) correlation_data: *mut u64,
    pub(super) correlation: u32,
}

/// Where a call is when CUPTI tells of it.
pub(super) const ENTERS: u32 = 0;
pub(super) const EXITS: u32 = 1;

/// Whose functions are called.
pub(super) const DRIVER: u32 = 1;
pub(super) const RUNTIME: u32 = 2;

/// One that has subscribed.
pub(super) type Subscriber = *mut c_void;
pub(super) type OnCall = unsafe extern "C" fn(*mut c_void, u32, u32, *const c_void);
pub(super) type BufferRequested = unsafe extern "C" fn(*mut *mut u8, *mut usize, *mut usize);
pub(super) type BufferCompleted = unsafe extern "C" fn(*mut c_void, u32, *mut u8, usize, usize);
pub(super) type Timestamp = extern "C" fn() -> u64;

macro_rules! functions {
    ($($field:ident = $name:literal: fn($($argument:ty),*);)*) => {
        /// CUPTI, loaded.
        #[derive(Clone, Copy, Debug)]
        pub(super) struct Cupti {
            pub(super) version: u32,
            $(pub(super) $field: unsafe extern "C" fn($($argument),*) -> Status,)*
        }

        impl Cupti {
            fn of(library: Library) -> Result<Self, CudaError> {
                // SAFETY: these are the types that CUPTI's headers give its functions, and have since CUDA 12.
                unsafe {
                    $(let $field = function!(library, $name, unsafe extern "C" fn($($argument),*) -> Status)
                        .ok_or(CudaError::Function { name: $name })?;)*
                    Ok(Self { version: 0, $($field,)* })
                }
            }
        }
    };
}

functions! {
    get_version = c"cuptiGetVersion": fn(*mut u32);
    result_string = c"cuptiGetResultString": fn(Status, *mut *const c_char);
    callback_name = c"cuptiGetCallbackName": fn(u32, u32, *mut *const c_char);
    subscribe = c"cuptiSubscribe": fn(*mut Subscriber, OnCall, *mut c_void);
    unsubscribe = c"cuptiUnsubscribe": fn(Subscriber);
    enable_callback = c"cuptiEnableCallback": fn(u32, Subscriber, u32, u32);
    enable_domain = c"cuptiEnableDomain": fn(u32, Subscriber, u32);
    register_callbacks = c"cuptiActivityRegisterCallbacks": fn(BufferRequested, BufferCompleted);
    register_timestamp = c"cuptiActivityRegisterTimestampCallback": fn(Timestamp);
    enable_activity = c"cuptiActivityEnable": fn(u32);
    disable_activity = c"cuptiActivityDisable": fn(u32);
    flush_all = c"cuptiActivityFlushAll": fn(u32);
    next_record = c"cuptiActivityGetNextRecord": fn(*mut u8, usize, *mut *mut u8);
    dropped_records = c"cuptiActivityGetNumDroppedRecords": fn(*mut c_void, u32, *mut usize);
}

impl Cupti {
    /// The functions of a library that is CUPTI.
    pub(super) fn load(library: Library) -> Result<Self, CudaError> {
        let mut cupti = Self::of(library)?;
        // SAFETY: it stores a number.
        let status = unsafe { (cupti.get_version)(&raw mut cupti.version) };
        cupti.check("cuptiGetVersion", status)?;
        if cupti.version < OLDEST {
            return Err(CudaError::Version { found: cupti.version });
        }
        Ok(cupti)
    }

    /// What a function's number means, if it is not that all went well.
    pub(super) fn check(&self, function: &'static str, status: Status) -> Result<(), CudaError> {
        if status == SUCCESS {
            return Ok(());
        }
        if status == MULTIPLE_SUBSCRIBERS {
            return Err(CudaError::InUse);
        }
        Err(CudaError::Call { function, status, name: self.name_of(status) })
    }

    fn name_of(&self, status: Status) -> String {
        let mut name = std::ptr::null();
        // SAFETY: it stores a string that is good for ever, or fails.
        unsafe {
            let is_known = (self.result_string)(status, &raw mut name) == SUCCESS;
            if is_known { text(name) } else { None }.unwrap_or_else(|| "an error without a name".to_owned())
        }
    }

    /// The name of a function that is called, as CUPTI has it; none if there is no such function.
    pub(super) fn function_name(&self, domain: u32, number: u32) -> Option<String> {
        let mut name = std::ptr::null();
        // SAFETY: as above.
        unsafe {
            let is_known = (self.callback_name)(domain, number, &raw mut name) == SUCCESS;
            if is_known { text(name) } else { None }
        }
    }

    /// The activities in the first `valid` bytes of a buffer, as addresses within it.
    ///
    /// # Safety
    /// CUPTI has filled the buffer and given it back, and nothing else uses it meanwhile.
    pub(super) unsafe fn records(&self, buffer: *mut u8, valid: usize) -> impl Iterator<Item = NonNull<u8>> {
        let mut record = std::ptr::null_mut();
        let next = self.next_record;
        std::iter::from_fn(move || {
            // SAFETY: by the caller. It gives the record after that which it gave last, or an error at the end.
            let status = unsafe { next(buffer, valid, &raw mut record) };
            if status == SUCCESS { NonNull::new(record) } else { None }
        })
    }
}

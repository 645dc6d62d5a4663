//! Libraries that are loaded at run time.

#![expect(unsafe_code, reason = "the system's loader is a C interface")]

use std::ffi::{CStr, c_void};
use std::ptr::NonNull;

/// A library that stays loaded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Library(NonNull<c_void>);

// SAFETY: a handle of the loader, which takes its own locks. Nobody closes it.
unsafe impl Send for Library {}
// SAFETY: as above.
unsafe impl Sync for Library {}

impl Library {
    /// Loads a library, by its path or by a name that the system looks up.
    pub(super) fn open(name: &CStr) -> Option<Self> {
        Self::open_with(name, libc::RTLD_NOW | libc::RTLD_LOCAL)
    }

    /// A library that is loaded already.
    pub(super) fn loaded(name: &CStr) -> Option<Self> {
        Self::open_with(name, libc::RTLD_NOW | libc::RTLD_LOCAL | libc::RTLD_NOLOAD)
    }

    fn open_with(name: &CStr, flags: i32) -> Option<Self> {
        // SAFETY: the name is a string. What the library runs when it is loaded is what it runs in any program.
        NonNull::new(unsafe { libc::dlopen(name.as_ptr(), flags) }).map(Self)
    }

    /// Where the library has what goes by this name.
    pub(super) fn symbol(self, name: &CStr) -> Option<NonNull<c_void>> {
        // SAFETY: the library was opened and is never closed, and the name is a string.
        NonNull::new(unsafe { libc::dlsym(self.0.as_ptr(), name.as_ptr()) })
    }
}

/// Gives the function that a library has under a name.
///
/// # Safety
/// The function has this type.
macro_rules! function {
    ($library:expr, $name:expr, $type:ty) => {
        $library.symbol($name).map(|symbol| std::mem::transmute::<*mut std::ffi::c_void, $type>(symbol.as_ptr()))
    };
}
pub(super) use function;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_is_not_loaded() {
        assert!(Library::open(c"libmindtorch-has-no-such-library.so").is_none());
        assert!(Library::loaded(c"libmindtorch-has-no-such-library.so").is_none());
        let libc = Library::loaded(c"libc.so.6").expect("every program has it");
        assert!(libc.symbol(c"strlen").is_some());
        assert!(libc.symbol(c"cuptiSubscribe").is_none());
    }
}

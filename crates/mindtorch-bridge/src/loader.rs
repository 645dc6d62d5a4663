//! Libraries that are loaded at run time, and what they have by name.

#![expect(unsafe_code, reason = "the system's loader is a C interface")]

use std::ffi::{CStr, CString, c_char, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::NonNull;

/// A library that stays loaded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Library(NonNull<c_void>);

// SAFETY: a handle of the loader, which takes its own locks. Nobody closes it.
unsafe impl Send for Library {}
// SAFETY: as above.
unsafe impl Sync for Library {}

impl Library {
    /// Loads a library, by its path or by a name that the system looks up.
    ///
    /// # Errors
    /// What the system says, if it cannot.
    pub(crate) fn open(name: &CStr) -> Result<Self, String> {
        Self::open_with(name, libc::RTLD_NOW | libc::RTLD_LOCAL)
    }

    /// A library that is loaded already.
    ///
    /// # Errors
    /// What the system says, if it is not.
    pub(crate) fn loaded(name: &CStr) -> Result<Self, String> {
        Self::open_with(name, libc::RTLD_NOW | libc::RTLD_LOCAL | libc::RTLD_NOLOAD)
    }

    fn open_with(name: &CStr, flags: i32) -> Result<Self, String> {
        // SAFETY: the name is a string. What the library runs when it is loaded is what it runs in any program.
        NonNull::new(unsafe { libc::dlopen(name.as_ptr(), flags) }).map(Self).ok_or_else(last_error)
    }

    /// Where the library has what goes by this name.
    pub(crate) fn symbol(self, name: &CStr) -> Option<NonNull<c_void>> {
        // SAFETY: the library was opened and is never closed, and the name is a string.
        NonNull::new(unsafe { libc::dlsym(self.0.as_ptr(), name.as_ptr()) })
    }
}

/// A path as the loader takes it.
///
/// # Errors
/// If it has a zero within.
pub(crate) fn path_text(path: &Path) -> Result<CString, String> {
    CString::new(path.as_os_str().as_bytes()).map_err(|error| error.to_string())
}

fn last_error() -> String {
    // SAFETY: what the loader says is a string that is good until it is next asked for something, or nothing.
    unsafe { text(libc::dlerror()) }.unwrap_or_else(|| "the system does not say why".to_owned())
}

/// The text of a string of C.
///
/// # Safety
/// It is a string that is good for this call, or null.
pub(crate) unsafe fn text(string: *const c_char) -> Option<String> {
    // SAFETY: by the caller.
    (!string.is_null()).then(|| unsafe { CStr::from_ptr(string) }.to_string_lossy().into_owned())
}

/// Gives the function that a library has under a name, if it has one.
///
/// # Safety
/// The function has this type.
macro_rules! function {
    ($library:expr, $name:expr, $type:ty) => {
        $library.symbol($name).map(|symbol| std::mem::transmute::<*mut std::ffi::c_void, $type>(symbol.as_ptr()))
    };
}
pub(crate) use function;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_is_not_loaded() {
        let missing = c"libmindtorch-has-no-such-library.so";
        let why = Library::open(missing).expect_err("there is none");
        assert!(why.contains("libmindtorch-has-no-such-library.so"), "{why}");
        assert!(Library::loaded(missing).is_err());
        let libc = Library::loaded(c"libc.so.6").expect("every program has it");
        assert!(libc.symbol(c"strlen").is_some());
        assert!(libc.symbol(c"cuptiSubscribe").is_none());
    }

    #[test]
    fn a_path_with_a_zero_is_none() {
        assert!(path_text(Path::new("a\0b")).is_err());
        assert_eq!(path_text(Path::new("/a/b")).as_deref(), Ok(c"/a/b"));
    }
}

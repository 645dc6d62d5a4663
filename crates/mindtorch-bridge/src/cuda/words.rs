//! What torch calls the things that CUPTI has numbers or mangled names for.

#![expect(unsafe_code, reason = "the C++ library's function for mangled names takes and gives C strings")]

use crate::loader::{Library, function};
use std::borrow::Cow;
use std::ffi::{CStr, c_char, c_int};
use std::sync::OnceLock;

type Demangle = unsafe extern "C" fn(*const c_char, *mut c_char, *mut usize, *mut c_int) -> *mut c_char;

/// The name of a function's C++ source, or the name itself where it has none.
pub(super) fn demangled(name: &CStr) -> Cow<'_, str> {
    static DEMANGLE: OnceLock<Option<Demangle>> = OnceLock::new();
    let find = || {
        // PyTorch has it loaded.
        let library = Library::open(c"libstdc++.so.6").ok()?;
        // SAFETY: this is the type that the C++ ABI gives it.
        unsafe { function!(library, c"__cxa_demangle", Demangle) }
    };
    let is_mangled = name.to_bytes().starts_with(b"_Z");
    let Some(demangle) = DEMANGLE.get_or_init(find).filter(|_| is_mangled) else { return name.to_string_lossy() };
    let mut status = 0;
    // SAFETY: the name is a string; without a buffer of ours it allocates one.
    let text = unsafe { demangle(name.as_ptr(), std::ptr::null_mut(), std::ptr::null_mut(), &raw mut status) };
    if text.is_null() {
        return name.to_string_lossy();
    }
    // SAFETY: it gave a string, which is ours to free.
    let owned = unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned();
    // SAFETY: it was allocated with malloc, and nobody else has it.
    unsafe { libc::free(text.cast()) };
    Cow::Owned(owned)
}

/// A call's name without what tells versions of CUDA apart: `cudaLaunchKernel` for `cudaLaunchKernel_v7000`.
pub(super) fn without_version(name: &str) -> &str {
    match name.rsplit_once("_v") {
        // `cudaStreamGetCaptureInfo_v2` is another function, and not a version of CUDA.
        Some((function, version)) if version.len() >= 4 && version.bytes().all(|byte| byte.is_ascii_digit()) => {
            function
        }
        _ => name,
    }
}

/// The name of a copy, by CUPTI's numbers of where to where, and of the two kinds of memory.
pub(super) fn copy(kind: u8, from: u8, to: u8) -> String {
    const KINDS: [&str; 11] =
        ["<unknown>", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD", "DtoA", "DtoD", "HtoH", "PtoP"];
    let kind = KINDS.get(usize::from(kind)).unwrap_or(&KINDS[0]);
    format!("Memcpy {kind} ({} -> {})", memory(from.into()), memory(to.into()))
}

/// The name of filling memory of a kind.
pub(super) fn set(kind: u16) -> String {
    format!("Memset ({})", memory(kind))
}

fn memory(kind: u16) -> &'static str {
    const KINDS: [&str; 8] =
        ["Unknown", "Pageable", "Pinned", "Device", "Array", "Managed", "Device Static", "Managed Static"];
    KINDS.get(usize::from(kind)).copied().unwrap_or("Unrecognized")
}

/// The name of a wait.
pub(super) fn wait(kind: u32) -> &'static str {
    const KINDS: [&str; 5] = ["Unknown", "Event Sync", "Stream Wait Event", "Stream Sync", "Context Sync"];
    KINDS.get(kind as usize).copied().unwrap_or(KINDS[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_torch() {
        assert_eq!(copy(1, 1, 3), "Memcpy HtoD (Pageable -> Device)");
        assert_eq!(copy(2, 3, 2), "Memcpy DtoH (Device -> Pinned)");
        assert_eq!(copy(10, 3, 3), "Memcpy PtoP (Device -> Device)");
        assert_eq!(copy(99, 0, 77), "Memcpy <unknown> (Unknown -> Unrecognized)");
        assert_eq!(set(3), "Memset (Device)");
        assert_eq!((wait(2), wait(4), wait(9)), ("Stream Wait Event", "Context Sync", "Unknown"));
    }

    #[test]
    fn calls_have_no_versions_of_cuda() {
        for (name, shown) in [
            ("cudaLaunchKernel_v7000", "cudaLaunchKernel"),
            ("cudaGraphLaunch_v10000", "cudaGraphLaunch"),
            ("cudaStreamGetCaptureInfo_v2_v11030", "cudaStreamGetCaptureInfo_v2"),
            ("cudaLaunchKernel_ptsz_v7000", "cudaLaunchKernel_ptsz"),
            ("cuMemcpyHtoDAsync_v2", "cuMemcpyHtoDAsync_v2"),
            ("cuLaunchKernelEx", "cuLaunchKernelEx"),
        ] {
            assert_eq!(without_version(name), shown);
        }
    }

    #[test]
    fn what_is_not_mangled_is_left_as_it_is() {
        for name in [c"triton_poi_fused_add_0", c"", c"_Z", c"_Znot a name"] {
            assert_eq!(demangled(name), name.to_str().unwrap());
        }
    }

    #[test]
    fn what_is_mangled_is_shown_as_in_the_source() {
        if Library::open(c"libstdc++.so.6").is_err() {
            return;
        }
        let shown = demangled(c"_Z4axpyIfEviT_PKS0_PS0_");
        assert_eq!(shown, "void axpy<float>(int, float, float const*, float*)");
    }
}

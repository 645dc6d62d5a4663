//! What will soon be needed, fetched into the processor's cache meanwhile.

#![cfg_attr(
    all(target_arch = "x86_64", not(any(loom, miri))),
    expect(unsafe_code, reason = "these are instructions of the processor's")
)]

/// Has the processor fetch the line of its cache that this is in, to be read soon.
#[inline(always)]
pub fn prefetch<T>(place: *const T) {
    #[cfg(all(target_arch = "x86_64", not(any(loom, miri))))]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: what is at the address, or whether anything is, does not matter: nothing is read or written.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(place.cast()) };
    }
    let _ = place;
}

/// The same, to be written, where every processor that this is compiled for can be told so. A store that waits for its line holds
/// up all that come after it.
#[inline(always)]
pub(crate) fn prefetch_to_write<T>(place: *const T) {
    #[cfg(all(target_arch = "x86_64", not(any(loom, miri))))]
    {
        use std::arch::x86_64::{_MM_HINT_ET0, _mm_prefetch};
        // SAFETY: as above.
        unsafe { _mm_prefetch::<_MM_HINT_ET0>(place.cast()) };
    }
    let _ = place;
}

//! Names, by where PyTorch has them.

#![expect(unsafe_code, reason = "the shim passes pointers")]

use crate::boxed::boxed;
use mindtorch_profiler::Name;
use rustc_hash::FxBuildHasher;
use std::ffi::{CStr, c_char};
use std::hash::BuildHasher;

/// The names that a thread used lately. What is asked first comes first.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct NameCache {
    by_address: Option<Box<[Entry; ENTRIES]>>,
    by_text: Option<Box<[KnownText; TEXTS]>>,
}

#[derive(Clone, Debug)]
struct KnownText {
    hash: u64,
    name: Name,
    text: Box<CStr>,
}

/// Operators' names stay where they are for as long as there is the operator, so that an address and a look at what is there
/// tell them faster than any table of texts. One line of the processor's cache, so that a name takes no more than this and
/// PyTorch's own text.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Entry {
    /// Negated, if the text is not what was found there each time. That of a node is made for each run, and another one's is
    /// there before long.
    address: usize,
    name: Name,
    /// Ends with a zero.
    text: [u8; ROOM],
}

const ENTRIES: usize = 1024;
const TEXTS: usize = 512;
const ROOM: usize = 64 - size_of::<usize>() - size_of::<Name>();

impl NameCache {
    pub(crate) const fn new() -> Self {
        Self { by_address: None, by_text: None }
    }

    /// The name of a text.
    ///
    /// # Safety
    /// It is a string that is good for this call.
    #[inline]
    pub(crate) unsafe fn of(&mut self, text: *const c_char) -> Name {
        // Aligned strings differ in their middle bits.
        let place = (text.addr() >> 3 ^ text.addr() >> 12) % ENTRIES;
        if let Some(entries) = &self.by_address
            && let entry = &entries[place]
            && entry.address == text.addr()
            // SAFETY: both are strings.
            && unsafe { libc::strcmp(text, entry.text.as_ptr().cast()) } == 0
        {
            return entry.name;
        }
        // SAFETY: by the caller.
        unsafe { self.look_up(place, text) }
    }

    /// # Safety
    /// As for [`Self::of`].
    #[cold]
    #[inline(never)]
    unsafe fn look_up(&mut self, place: usize, text: *const c_char) -> Name {
        const UNUSED: Entry = Entry { address: 0, name: Name::EMPTY, text: [0; ROOM] };
        // SAFETY: by the caller.
        let text = unsafe { CStr::from_ptr(text) };
        let name = self.of_text(text);
        let entry = &mut self.by_address.get_or_insert_with(|| boxed(UNUSED))[place];
        let bytes = text.to_bytes_with_nul();
        let address = text.as_ptr().addr();
        let was_there = [address, !address].contains(&entry.address);
        (entry.address, entry.name) = (!address, name);
        if !was_there && bytes.len() <= ROOM {
            entry.address = address;
            entry.text[..bytes.len()].copy_from_slice(bytes);
        }
        name
    }

    /// Wherever the text is.
    fn of_text(&mut self, text: &CStr) -> Name {
        let hash = FxBuildHasher.hash_one(text.to_bytes());
        let texts =
            self.by_text.get_or_insert_with(|| boxed(KnownText { hash: 0, name: Name::EMPTY, text: Box::default() }));
        let known = &mut texts[(hash >> 32) as usize % TEXTS];
        if known.hash != hash || *known.text != *text {
            *known = KnownText { hash, name: Name::new(&text.to_string_lossy()), text: text.into() };
        }
        known.name
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;

    #[test]
    fn what_is_at_an_address_is_what_counts() {
        let mut cache = NameCache::new();
        let mut buffer = *b"aten::add\0";
        // SAFETY: these are strings.
        let mut name = |buffer: &[u8]| unsafe { cache.of(buffer.as_ptr().cast()) };
        assert_eq!(name(&buffer), Name::new("aten::add"));
        assert_eq!(name(&buffer), Name::new("aten::add"));
        buffer[7] = b'n';
        assert_eq!(name(&buffer), Name::new("aten::and"));
        buffer[7] = b'd';
        assert_eq!(name(&buffer), Name::new("aten::add"));
        assert_eq!(name(b"\0"), Name::EMPTY);
    }

    #[test]
    fn a_text_may_have_any_length() {
        let mut cache = NameCache::new();
        for length in [ROOM - 2, ROOM - 1, ROOM, 1000] {
            let text = CString::new(vec![b'a'; length]).unwrap();
            for _ in 0..3 {
                // SAFETY: it is a string.
                assert_eq!(unsafe { cache.of(text.as_ptr()) }, Name::new(&"a".repeat(length)));
            }
        }
    }
}

//! Names, by where PyTorch has them.

#![expect(unsafe_code, reason = "the shim passes pointers")]

use mindtorch_profiler::Name;
use rustc_hash::FxBuildHasher;
use std::ffi::{CStr, c_char};
use std::hash::BuildHasher;

/// The names that a thread used lately.
#[derive(Debug)]
pub(crate) struct NameCache {
    by_address: Vec<Entry>,
    by_text: Vec<(u64, Name, Box<CStr>)>,
}

/// Operators' names stay where they are for as long as there is the operator, so that an address and a look at what is there
/// tell them faster than any table of texts. One line of the processor's cache, so that a name takes no more than this and
/// PyTorch's own text.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Entry {
    address: usize,
    name: Name,
    /// Whether the text is what was found at the address each time. That of a node is made for each run, and another one's is
    /// there before long.
    is_kept: bool,
    /// Ends with a zero.
    text: [u8; ROOM],
}

const ENTRIES: usize = 1024;
const TEXTS: usize = 512;
const ROOM: usize = 64 - size_of::<usize>() - size_of::<Name>() - size_of::<bool>();

impl NameCache {
    pub(crate) const fn new() -> Self {
        Self { by_address: Vec::new(), by_text: Vec::new() }
    }

    /// The name of a text.
    ///
    /// # Safety
    /// It is a string that is good for this call.
    #[inline]
    pub(crate) unsafe fn of(&mut self, text: *const c_char) -> Name {
        // Aligned strings differ in their middle bits.
        let place = (text.addr() >> 3 ^ text.addr() >> 12) % ENTRIES;
        if let Some(entry) = self.by_address.get(place)
            && entry.address == text.addr()
            && entry.is_kept
            // SAFETY: both are strings.
            && unsafe { libc::strcmp(text, entry.text.as_ptr().cast()) } == 0
        {
            return entry.name;
        }
        // SAFETY: by the caller.
        self.look_up(place, unsafe { CStr::from_ptr(text) })
    }

    #[inline(never)]
    fn look_up(&mut self, place: usize, text: &CStr) -> Name {
        if self.by_address.is_empty() {
            self.by_address.resize(ENTRIES, Entry { address: 0, name: Name::EMPTY, is_kept: false, text: [0; ROOM] });
            self.by_text.resize(TEXTS, (0, Name::EMPTY, Box::default()));
        }
        let name = self.of_text(text);
        let (entry, bytes) = (&mut self.by_address[place], text.to_bytes_with_nul());
        let is_known = entry.address == text.as_ptr().addr();
        entry.is_kept = !is_known && bytes.len() <= ROOM;
        if entry.is_kept {
            entry.text[..bytes.len()].copy_from_slice(bytes);
        }
        (entry.address, entry.name) = (text.as_ptr().addr(), name);
        name
    }

    /// Wherever the text is.
    fn of_text(&mut self, text: &CStr) -> Name {
        let hash = FxBuildHasher.hash_one(text.to_bytes());
        let known = &mut self.by_text[(hash >> 32) as usize % TEXTS];
        if known.0 != hash || *known.2 != *text {
            *known = (hash, Name::new(&text.to_string_lossy()), text.into());
        }
        known.1
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

//! Names, by where PyTorch has them.

#![expect(unsafe_code, reason = "the shim passes pointers")]

use mindtorch_profiler::Name;
use std::ffi::{CStr, c_char};

/// The names that a thread used lately. Operators' names stay where they are for as long as there is the operator, so that an
/// address and a look at what is there tell them faster than any table of texts.
#[derive(Debug)]
pub(crate) struct NameCache(Vec<Entry>);

/// One line of the processor's cache, so that a name takes no more than this and PyTorch's own text.
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
const ROOM: usize = 64 - size_of::<usize>() - size_of::<Name>() - size_of::<bool>();

impl NameCache {
    pub(crate) const fn new() -> Self {
        Self(Vec::new())
    }

    /// The name of a text.
    ///
    /// # Safety
    /// It is a string that is good for this call.
    #[inline]
    pub(crate) unsafe fn of(&mut self, text: *const c_char) -> Name {
        // Aligned strings differ in their middle bits.
        let place = (text.addr() >> 3 ^ text.addr() >> 12) % ENTRIES;
        if let Some(entry) = self.0.get(place)
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
        let name = Name::new(&text.to_string_lossy());
        if self.0.is_empty() {
            self.0.resize(ENTRIES, Entry { address: 0, name: Name::EMPTY, is_kept: false, text: [0; ROOM] });
        }
        let (entry, bytes) = (&mut self.0[place], text.to_bytes_with_nul());
        let is_known = entry.address == text.as_ptr().addr();
        entry.is_kept = !is_known && bytes.len() <= ROOM;
        if entry.is_kept {
            entry.text[..bytes.len()].copy_from_slice(bytes);
        }
        (entry.address, entry.name) = (text.as_ptr().addr(), name);
        name
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

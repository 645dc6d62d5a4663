//! Names, by where PyTorch has them.

#![expect(unsafe_code, reason = "the shim passes pointers")]

use mindtorch_profiler::Name;
use std::ffi::{CStr, CString, c_char};

/// The names that a thread used lately. Operators' names stay where they are for as long as there is the operator, so that an
/// address and a look at what is there tell them faster than any table of texts.
#[derive(Debug)]
pub(crate) struct NameCache(Vec<Entry>);

#[derive(Clone, Debug)]
struct Entry {
    address: usize,
    text: CString,
    name: Name,
    /// Whether other texts were there, too: those of nodes are made for each run.
    is_used_again: bool,
}

const ENTRIES: usize = 1024;

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
        if let Some(entry) = self.0.get_mut(place)
            && entry.address == text.addr()
        {
            // SAFETY: both are strings.
            if !entry.is_used_again && unsafe { libc::strcmp(text, entry.text.as_ptr()) } == 0 {
                return entry.name;
            }
            entry.is_used_again = true;
            // SAFETY: by the caller.
            return name_of(unsafe { CStr::from_ptr(text) });
        }
        // SAFETY: by the caller.
        self.add(place, unsafe { CStr::from_ptr(text) })
    }

    #[cold]
    fn add(&mut self, place: usize, text: &CStr) -> Name {
        let name = name_of(text);
        if self.0.is_empty() {
            let none = Entry { address: 0, text: CString::default(), name: Name::EMPTY, is_used_again: false };
            self.0.resize(ENTRIES, none);
        }
        self.0[place] = Entry { address: text.as_ptr().addr(), text: text.to_owned(), name, is_used_again: false };
        name
    }
}

fn name_of(text: &CStr) -> Name {
    Name::new(&text.to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;

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
}

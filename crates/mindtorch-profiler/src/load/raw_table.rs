//! Texts as they stand in a file, each with a number. What repeats is looked at once.

use rustc_hash::FxHasher;
use std::hash::Hasher;

/// A map from bytes to numbers that keeps a copy of the bytes, all in one place.
#[derive(Debug, Default)]
pub(super) struct RawTable {
    /// The upper half of a hash, and the entry, one higher; 0 is free. As many as a power of two, at most half in use.
    slots: Vec<u64>,
    entries: Vec<Entry>,
    bytes: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    start: usize,
    length: u32,
    value: u32,
    hash: u32,
}

/// Where a text is in the table, or will be.
#[derive(Clone, Copy, Debug)]
pub(super) enum Found {
    At(u32),
    /// The hash, for [`RawTable::insert`].
    Missing(u64),
}

impl RawTable {
    #[inline]
    pub(super) fn find(&self, text: &[u8]) -> Found {
        let mut hasher = FxHasher::default();
        hasher.write(text);
        let hash = hasher.finish();
        if self.slots.is_empty() {
            return Found::Missing(hash);
        }
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let slot = self.slots[at];
            if slot == 0 {
                return Found::Missing(hash);
            }
            if slot >> 32 == hash >> 32 {
                let entry = &self.entries[(slot as u32 - 1) as usize];
                if self.bytes[entry.start..entry.start + entry.length as usize] == *text {
                    return Found::At(entry.value);
                }
            }
            at = (at + 1) & mask;
        }
    }

    /// Adds a text that [`RawTable::find`] did not find.
    pub(super) fn insert(&mut self, hash: u64, text: &[u8], value: u32) {
        if self.entries.len() * 2 >= self.slots.len() {
            self.grow();
        }
        // A table that is full of texts of 4 GiB does not fit in any memory.
        let Ok(length) = u32::try_from(text.len()) else { return };
        self.entries.push(Entry { start: self.bytes.len(), length, value, hash: hash as u32 });
        self.bytes.extend_from_slice(text);
        self.place(hash, self.entries.len());
    }

    fn place(&mut self, hash: u64, entry: usize) {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        while self.slots[at] != 0 {
            at = (at + 1) & mask;
        }
        self.slots[at] = hash >> 32 << 32 | entry as u64;
    }

    #[cold]
    fn grow(&mut self) {
        let old = std::mem::take(&mut self.slots);
        self.slots = vec![0; (old.len() * 2).max(256)];
        for slot in old.into_iter().filter(|slot| *slot != 0) {
            let entry = slot as u32;
            let low = self.entries[(entry - 1) as usize].hash;
            self.place(slot >> 32 << 32 | u64::from(low), entry as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_keep_their_numbers() {
        let mut table = RawTable::default();
        let texts: Vec<String> = (0..10_000).map(|i| format!("text {i}")).collect();
        for (text, value) in texts.iter().zip(0..) {
            let Found::Missing(hash) = table.find(text.as_bytes()) else { panic!("{text} is not there yet") };
            table.insert(hash, text.as_bytes(), value);
        }
        for (text, value) in texts.iter().zip(0..) {
            assert!(matches!(table.find(text.as_bytes()), Found::At(found) if found == value));
        }
        assert!(matches!(table.find(b"text"), Found::Missing(_)));
        assert!(matches!(table.find(b""), Found::Missing(_)));
    }
}

//! Texts that many events have in common, made once and then copied: few large copies are quicker than many small ones.

/// Past this the texts are forgotten and made anew, so that a trace with ever new names does not fill the memory.
const MOST_BYTES: usize = 1 << 20;

/// Texts that are remembered at a time. Names are numbered from 0, so those of most traces have a slot each.
const SLOTS: usize = 4096;

/// What a text is made of: the numbers of the names in it, and anything else that tells it from others. Never all zero.
pub(super) type Key = [u32; 4];

/// The last texts that were asked for, as many as fit.
pub(super) struct Texts {
    slots: Vec<Slot>,
    texts: Vec<u8>,
}

#[derive(Clone, Copy, Default)]
struct Slot {
    key: Key,
    start: u32,
    end: u32,
}

impl Texts {
    pub(super) fn new() -> Self {
        Self { slots: vec![Slot::default(); SLOTS], texts: Vec::new() }
    }

    /// The text with this key, which `make` appends if it is not known.
    #[inline]
    pub(super) fn get(&mut self, key: Key, make: impl FnOnce(&mut Vec<u8>)) -> &[u8] {
        let [name, second, third, fourth] = key;
        let mixed = name ^ second.wrapping_mul(0x9e37_79b1) ^ third.wrapping_mul(0x85eb_ca6b) ^ fourth.wrapping_mul(97);
        let place = mixed as usize % SLOTS;
        if self.slots[place].key != key {
            self.make(place, key, make);
        }
        let Slot { start, end, .. } = self.slots[place];
        &self.texts[start as usize..end as usize]
    }

    #[inline(never)]
    fn make(&mut self, place: usize, key: Key, make: impl FnOnce(&mut Vec<u8>)) {
        if self.texts.len() > MOST_BYTES {
            self.texts = Vec::new();
            self.slots.fill(Slot::default());
        }
        let start = self.texts.len() as u32;
        make(&mut self.texts);
        self.slots[place] = Slot { key, start, end: self.texts.len() as u32 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_made_again_when_it_was_forgotten() {
        let mut texts = Texts::new();
        let mut made = 0;
        let mut check = |number: u32| {
            let key = [number, 0, number % 3, 1];
            let expected = format!("{number}").repeat(10);
            let text = texts.get(key, |out| {
                made += 1;
                out.extend_from_slice(expected.as_bytes());
            });
            assert_eq!(text, expected.as_bytes());
        };
        (0..1000).chain(0..1000).for_each(&mut check);
        (0..100_000).for_each(&mut check);
        (0..1000).for_each(&mut check);
        assert!((101_000..102_000 + 1000).contains(&made), "{made}");
        assert!(texts.texts.capacity() <= 2 * MOST_BYTES + 100);
    }
}

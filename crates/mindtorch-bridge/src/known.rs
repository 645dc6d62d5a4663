//! Operations that were told of lately, by the shim's hashes.

use crate::boxed::boxed;
use crate::{flops, inputs};
use mindtorch_profiler::{Capture, Inputs, Name};

/// Most operations are ones that were there before, with the same inputs. Of these, no more than a hash need be told.
///
/// They are known by that alone, of which no two share the 127 bits by chance: to keep and compare names and inputs would take
/// several lines of the processor's cache, and in a program of any size those are far away.
#[derive(Debug)]
pub(crate) struct KnownOps(Option<Box<[Set; SETS]>>);

/// Two, so that operations that come in turns do not drive each other out. One line of the cache.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Set {
    newer: KnownOp,
    older: KnownOp,
}

/// What an operation is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KnownOp {
    key: OpKey,
    pub(crate) name: Name,
    pub(crate) inputs: Inputs,
    /// Its floating-point operations, if they are counted, or 0.
    pub(crate) flops: u64,
}

/// What an operation is known by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OpKey([u64; 2]);

const SETS: usize = 1024;

const _: () = assert!(size_of::<Set>() == 64);

impl KnownOps {
    pub(crate) const fn new() -> Self {
        Self(None)
    }

    /// What has this key, if it was seen lately.
    #[inline(always)]
    pub(crate) fn get(&self, key: OpKey) -> Option<KnownOp> {
        let Set { newer, older } = &self.0.as_ref()?[key.place()];
        if newer.key == key {
            Some(*newer)
        } else if older.key == key {
            Some(*older)
        } else {
            None
        }
    }

    /// Takes an operation that has this key.
    pub(crate) fn add(&mut self, key: OpKey, op: KnownOp) {
        let sets = self.0.get_or_insert_with(|| boxed(Set { newer: KnownOp::UNUSED, older: KnownOp::UNUSED }));
        let set = &mut sets[key.place()];
        set.older = std::mem::replace(&mut set.newer, KnownOp { key, ..op });
    }
}

impl KnownOp {
    const UNUSED: Self = Self { key: OpKey([0; 2]), name: Name::EMPTY, inputs: Inputs::NONE, flops: 0 };

    /// The operation with this name, which should be UTF-8, and these words of inputs.
    pub(crate) fn new(capture: Capture, name: &[u8], words: &[u64]) -> Self {
        let name = Name::from_bytes(name);
        let inputs = if words.is_empty() { Inputs::NONE } else { inputs::encode(words) };
        let flops = if capture.contains(Capture::FLOPS) { flops::count(&name.text(), words) } else { 0 };
        Self { name, inputs, flops, ..Self::UNUSED }
    }
}

impl OpKey {
    /// That of an operation with this hash, of which more or less is known as more or less is collected.
    #[inline(always)]
    pub(crate) fn new(capture: Capture, one: u64, other: u64) -> Self {
        // What an entry has that is not used is never a key.
        Self([one ^ u64::from(capture.contains(Capture::FLOPS)), other | 1])
    }

    #[inline(always)]
    fn place(self) -> usize {
        (self.0[0] >> 1) as usize % SETS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrices(size: u64) -> Vec<u64> {
        [inputs::first_word(inputs::TENSOR, 6, 2), size, size, size, 1].repeat(2)
    }

    #[test]
    fn of_what_shares_a_place_the_last_two_are_known() {
        let mut cache = KnownOps::new();
        let key = |number: u64| OpKey::new(Capture::CPU, 7 + 2 * SETS as u64 * number, 9);
        assert!(cache.get(key(0)).is_none());
        for number in 0..3 {
            cache.add(key(number), KnownOp::new(Capture::CPU, b"aten::mm", &matrices(number)));
            for known in number.saturating_sub(1)..=number {
                let known_op = cache.get(key(known)).unwrap();
                assert_eq!((known_op.name, known_op.inputs), (Name::new("aten::mm"), inputs::encode(&matrices(known))));
            }
        }
        assert!(cache.get(key(0)).is_none());
    }

    #[test]
    fn what_is_counted_is_known_apart() {
        let mut cache = KnownOps::new();
        for (capture, flops) in [(Capture::CPU, 0), (Capture::CPU | Capture::FLOPS, 128)] {
            let key = OpKey::new(capture, 7, 9);
            assert!(cache.get(key).is_none());
            cache.add(key, KnownOp::new(capture, b"aten::mm", &matrices(4)));
            assert_eq!(cache.get(key).unwrap().flops, flops);
        }
    }

    #[test]
    fn nothing_is_known_at_first() {
        let mut cache = KnownOps::new();
        cache.add(OpKey::new(Capture::CPU, 7, 9), KnownOp::new(Capture::CPU, b"aten::mm", &[]));
        assert!(cache.get(OpKey::new(Capture::CPU, 0, 0)).is_none());
    }

    #[test]
    fn what_is_no_text_is_shown_as_far_as_it_can_be() {
        assert_eq!(KnownOp::new(Capture::CPU, b"a\xffb", &[]).name, Name::new("a\u{fffd}b"));
    }
}

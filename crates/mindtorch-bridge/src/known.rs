//! Operations that were told of lately, by the shim's hashes.

use crate::boxed::boxed;
use crate::{flops, inputs};
use mindtorch_profiler::{Capture, Inputs, Name, prefetch};

/// Most operations are ones that were there before, with the same inputs. Of these, no more than a hash need be told.
///
/// They are known by that alone, of which no two share the 111 bits by chance: to keep and compare names and inputs would take
/// several lines of the processor's cache, and in a program of any size those are far away.
///
/// So is the one line that an operation does take. But programs mostly do what they did before, in the same order: each set knows
/// which one was asked for after it, and that one is fetched while the operation runs.
#[derive(Debug)]
pub(crate) struct KnownOps {
    sets: Option<Box<[Set; SETS]>>,
    /// The set that was asked for last, and the one that is expected to be the next.
    last: u16,
    expected: u16,
}

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
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpKey {
    one: u64,
    /// Of this, the lowest bits are not the key's: those of a set's newer operation are the number of the set that was asked for
    /// after it.
    other: u64,
}

const SETS: usize = 1024;
/// What the key of an operation has that is there, and an entry that is not used has not.
const USED: u64 = 1 << u16::BITS;

const _: () = assert!(size_of::<Set>() == 64 && SETS <= 1 << u16::BITS);

impl KnownOps {
    pub(crate) const fn new() -> Self {
        Self { sets: None, last: 0, expected: 0 }
    }

    /// What has this key, if it was seen lately.
    #[inline(always)]
    pub(crate) fn get(&mut self, key: OpKey) -> Option<KnownOp> {
        let Set { newer, older } = &self.sets.as_ref()?[key.place()];
        let known = if newer.key.is(key) {
            *newer
        } else if older.key.is(key) {
            *older
        } else {
            return None;
        };
        self.follow(key.place());
        Some(known)
    }

    /// Takes an operation that has this key.
    pub(crate) fn add(&mut self, key: OpKey, op: KnownOp) {
        let sets = self.sets.get_or_insert_with(|| boxed(Set { newer: KnownOp::UNUSED, older: KnownOp::UNUSED }));
        let set = &mut sets[key.place()];
        let key = key.followed_by(set.follower());
        set.older = std::mem::replace(&mut set.newer, KnownOp { key, ..op });
        self.follow(key.place());
    }

    /// A set was asked for: it is what follows the last one, and what followed it before is fetched.
    #[inline(always)]
    fn follow(&mut self, place: usize) {
        let Some(sets) = &mut self.sets else { return };
        if place != self.expected.into() {
            let last = &mut sets[usize::from(self.last) % SETS].newer.key;
            *last = last.followed_by(place as u16);
        }
        self.last = place as u16;
        self.expected = sets[place].follower();
        prefetch(&raw const sets[usize::from(self.expected) % SETS]);
    }
}

impl Set {
    /// The number of the set that was asked for after this one.
    #[inline(always)]
    fn follower(&self) -> u16 {
        self.newer.key.other as u16
    }
}

impl KnownOp {
    const UNUSED: Self = Self { key: OpKey { one: 0, other: 0 }, name: Name::EMPTY, inputs: Inputs::NONE, flops: 0 };

    /// The operation with this name, which should be UTF-8, and these words of inputs.
    pub(crate) fn new(capture: Capture, name: &[u8], words: &[u64]) -> Self {
        let text = String::from_utf8_lossy(name);
        let name = Name::new(&text);
        let inputs = if words.is_empty() { Inputs::NONE } else { inputs::encode(words) };
        let counts = capture.contains(Capture::FLOPS) && !words.is_empty();
        let flops = if counts { flops::count(&text, words) } else { 0 };
        Self { name, inputs, flops, ..Self::UNUSED }
    }
}

impl OpKey {
    /// That of an operation with this hash, of which more or less is known as more or less is collected.
    #[inline(always)]
    pub(crate) fn new(capture: Capture, one: u64, other: u64) -> Self {
        Self { one: one ^ u64::from(capture.contains(Capture::FLOPS)), other: other | USED }
    }

    #[inline(always)]
    fn is(self, key: Self) -> bool {
        (self.one ^ key.one) | (self.other ^ key.other) >> u16::BITS == 0
    }

    #[inline(always)]
    fn followed_by(self, place: u16) -> Self {
        Self { other: self.other >> u16::BITS << u16::BITS | u64::from(place), ..self }
    }

    #[inline(always)]
    fn place(self) -> usize {
        (self.one >> 1) as usize % SETS
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
    fn what_comes_after_what_came_before_is_expected() {
        const PLACES: [u16; 4] = [5, 900, 5, 17];
        let mut cache = KnownOps::new();
        let key = |place: u16, other| OpKey::new(Capture::CPU, u64::from(place) << 1, other);
        for place in PLACES {
            cache.add(key(place, 1 << 40), KnownOp::new(Capture::CPU, b"aten::mm", &[]));
        }
        // What shares its place comes first there, and does not change what is next.
        cache.add(key(900, 2 << 40), KnownOp::new(Capture::CPU, b"aten::add", &[]));
        let mut expected = Vec::new();
        for place in PLACES.repeat(2) {
            assert!(cache.get(key(place, 1 << 40)).is_some());
            expected.push(cache.expected);
        }
        // After the fifth place comes what came there last.
        assert_eq!(expected[4..], [17, 5, 900, 5]);
    }

    #[test]
    fn what_is_no_text_is_shown_as_far_as_it_can_be() {
        assert_eq!(KnownOp::new(Capture::CPU, b"a\xffb", &[]).name, Name::new("a\u{fffd}b"));
    }
}

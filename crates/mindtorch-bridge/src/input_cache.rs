//! Inputs that were interned lately, by the shim's hashes.

use crate::boxed::boxed;
use crate::{flops, inputs};
use mindtorch_profiler::{Inputs, Name};
use rustc_hash::FxBuildHasher;
use std::hash::BuildHasher;

/// Most operators are given what they were given before. Then their inputs need neither be told nor decoded.
///
/// They are known by the shim's hash alone, of which no two share the 127 bits by chance: to keep and compare the inputs
/// themselves would take several lines of the processor's cache, and in a program of any size those are far away.
#[derive(Debug)]
pub(crate) struct InputCache(Option<Box<[Set; SETS]>>);

/// Two, so that inputs that come in turns do not drive each other out. One line of the cache.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Set {
    newer: KnownInputs,
    older: KnownInputs,
}

/// What inputs are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KnownInputs {
    key: InputKey,
    pub(crate) inputs: Inputs,
    /// The floating-point operations of the operator that is in the key, or 0.
    pub(crate) flops: u64,
}

/// What inputs are known by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InputKey([u64; 2]);

const SETS: usize = 512;

const _: () = assert!(size_of::<Set>() == 64);

impl InputCache {
    pub(crate) const fn new() -> Self {
        Self(None)
    }

    /// What has this key, if it was seen lately.
    #[inline]
    pub(crate) fn get(&self, key: InputKey) -> Option<KnownInputs> {
        let Set { newer, older } = &self.0.as_ref()?[key.place()];
        [newer, older].into_iter().find(|known| known.key == key).copied()
    }

    /// Takes inputs that have this key, by their words, and with them the operator, if it is part of the key.
    pub(crate) fn add(&mut self, key: InputKey, words: &[u64], counted_for: Option<Name>) -> KnownInputs {
        let inputs = inputs::encode(words);
        let flops = counted_for.map_or(0, |name| flops::count(&name.text(), words));
        let sets = self.0.get_or_insert_with(|| boxed(Set { newer: KnownInputs::NONE, older: KnownInputs::NONE }));
        let set = &mut sets[key.place()];
        set.older = std::mem::replace(&mut set.newer, KnownInputs { key, inputs, flops });
        set.newer
    }
}

impl KnownInputs {
    /// Those of an operator that has none.
    pub(crate) const NONE: Self = Self { key: InputKey([0; 2]), inputs: Inputs::NONE, flops: 0 };
}

impl InputKey {
    /// That of inputs with this hash, and of an operator, if what it does with them is to be counted.
    #[inline]
    pub(crate) fn new([one, other]: [u64; 2], counted_for: Option<Name>) -> Self {
        // What an entry has that is not used is never a key.
        let other = other | 1;
        Self(counted_for.map_or([one, other], |name| [one ^ FxBuildHasher.hash_one(name), other]))
    }

    #[inline]
    fn place(self) -> usize {
        self.0[0] as usize % SETS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: [u64; 2] = [7, 9];

    fn matrices(size: u64) -> Vec<u64> {
        [inputs::first_word(inputs::TENSOR, 6, 2), size, size, size, 1].repeat(2)
    }

    #[test]
    fn of_what_shares_a_place_the_last_two_are_known() {
        let mut cache = InputCache::new();
        let key = |number: u64| InputKey::new([7 + SETS as u64 * number, 9], None);
        assert!(cache.get(key(0)).is_none());
        for number in 0..3 {
            let words = matrices(number);
            let inputs = cache.add(key(number), &words, None).inputs;
            assert_eq!(inputs, inputs::encode(&words));
            for known in number.saturating_sub(1)..=number {
                assert_eq!(cache.get(key(known)).unwrap().inputs, inputs::encode(&matrices(known)));
            }
        }
        assert!(cache.get(key(0)).is_none());
    }

    #[test]
    fn an_operator_has_its_own_count() {
        let mut cache = InputCache::new();
        let words = matrices(4);
        let [product, sum] = ["aten::mm", "aten::add"].map(|name| Some(Name::new(name)));
        for (counted_for, flops) in [(product, 128), (sum, 16), (None, 0)] {
            let key = InputKey::new(HASH, counted_for);
            assert!(cache.get(key).is_none());
            cache.add(key, &words, counted_for);
            let known = cache.get(key).unwrap();
            assert_eq!((known.inputs, known.flops), (inputs::encode(&words), flops));
        }
    }

    #[test]
    fn nothing_is_known_at_first() {
        let mut cache = InputCache::new();
        cache.add(InputKey::new(HASH, None), &matrices(1), None);
        assert!(cache.get(InputKey::new([0; 2], None)).is_none());
    }
}

//! Inputs that were interned lately, by the shim's words.

use crate::{flops, inputs};
use mindtorch_profiler::{Inputs, Name};

/// Most operators are given what they were given before. Then their words need not be decoded.
///
/// Words are known by a hash of 127 bits alone, which no two share by chance: to keep and compare the words
/// themselves would take several lines of the processor's cache, and in a program of any size those are far away.
#[derive(Debug)]
pub(crate) struct InputCache(Vec<Set>);

/// Two, so that words that come in turns do not drive each other out. One line of the cache.
#[derive(Debug)]
#[repr(align(64))]
struct Set {
    newer: KnownInputs,
    older: KnownInputs,
}

/// What words are.
#[derive(Debug)]
pub(crate) struct KnownInputs {
    hash: [u64; 2],
    pub(crate) inputs: Inputs,
    /// The operator that was last given these, and how many floating-point operations it does.
    operator: Name,
    flops: u64,
}

const SETS: usize = 512;

const _: () = assert!(size_of::<Set>() == 64);

impl InputCache {
    pub(crate) const fn new() -> Self {
        Self(Vec::new())
    }

    #[inline]
    pub(crate) fn of(&mut self, words: &[u64]) -> &mut KnownInputs {
        let hash = hash(words);
        let place = place_of(hash);
        match self.0.get(place) {
            Some(set) if set.newer.hash == hash => &mut self.0[place].newer,
            Some(set) if set.older.hash == hash => &mut self.0[place].older,
            _ => self.add(hash, words),
        }
    }

    #[cold]
    fn add(&mut self, hash: [u64; 2], words: &[u64]) -> &mut KnownInputs {
        if self.0.is_empty() {
            self.0.resize_with(SETS, || Set { newer: KnownInputs::NONE, older: KnownInputs::NONE });
        }
        let set = &mut self.0[place_of(hash)];
        let inputs = inputs::encode(words);
        set.older = std::mem::replace(&mut set.newer, KnownInputs { hash, inputs, ..KnownInputs::NONE });
        &mut set.newer
    }
}

impl KnownInputs {
    const NONE: Self = Self { hash: [0; 2], inputs: Inputs::NONE, operator: Name::EMPTY, flops: 0 };

    /// The floating-point operations of an operator with these inputs, whose words these are.
    #[inline]
    pub(crate) fn flops(&mut self, name: Name, words: &[u64]) -> u64 {
        if self.operator != name {
            self.count_flops(name, words);
        }
        self.flops
    }

    #[cold]
    fn count_flops(&mut self, name: Name, words: &[u64]) {
        (self.operator, self.flops) = (name, flops::count(&name.text(), words));
    }
}

/// Never all zero, which is what an entry has that is not used.
#[inline]
fn hash(words: &[u64]) -> [u64; 2] {
    // Digits of pi, made odd, which nothing in a program is by chance.
    const ODD: [u64; 4] = [0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7345, 0xa409_3822_299f_31d1, 0x082e_fa98_ec4e_6c89];
    let length = (words.len() as u64).wrapping_mul(ODD[0]);
    let [mut one, mut other] = [ODD[1] ^ length, ODD[2].wrapping_add(length)];
    let (pairs, rest) = words.as_chunks::<2>();
    // The two halves do not wait for each other.
    for &[a, b] in pairs {
        one = folded(a ^ ODD[2], b ^ one);
        other = folded(b ^ ODD[3], a ^ other);
    }
    for &word in rest {
        one = folded(word ^ ODD[2], one);
        other = folded(word ^ other, ODD[3]);
    }
    [one, other | 1]
}

/// A product of 128 bits, in 64 of which each depends on all that went into it.
#[inline]
fn folded(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product >> u64::BITS) as u64 ^ product as u64
}

#[inline]
fn place_of(hash: [u64; 2]) -> usize {
    hash[0] as usize % SETS
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// A list of whole numbers.
    fn words(numbers: &[u64]) -> Vec<u64> {
        [&[inputs::first_word(inputs::INTS, 0, numbers.len() as u64)], numbers].concat()
    }

    fn matrix(rows: u64, columns: u64) -> Vec<u64> {
        vec![inputs::first_word(inputs::TENSOR, 6, 2), rows, columns, columns, 1]
    }

    #[test]
    fn the_same_words_are_the_same_inputs() {
        let mut cache = InputCache::new();
        let few: Vec<Vec<u64>> = (0..2000).map(|number| words(&[number])).collect();
        let many = words(&[1; 1000]);
        for _ in 0..2 {
            for words in few.iter().chain([&many]) {
                assert_eq!(cache.of(words).inputs, inputs::encode(words));
            }
        }
        assert_eq!(cache.of(&[]).inputs, Inputs::NONE);
    }

    #[test]
    fn an_operator_has_its_own_count() {
        let mut cache = InputCache::new();
        let (product, sum) = (Name::new("aten::mm"), Name::new("aten::add"));
        let [small, large] = [4, 8].map(|size| [matrix(size, size), matrix(size, size)].concat());
        for _ in 0..2 {
            for (words, name, flops) in [(&small, product, 128), (&small, sum, 16), (&large, product, 1024)] {
                assert_eq!(cache.of(words).flops(name, words), flops);
            }
        }
    }

    #[test]
    fn words_that_are_alike_have_hashes_of_their_own() {
        let sizes = [0, 1, 2, 3, 4, 8, 16, 32, 64, 128, 256, 768, 1024, u64::MAX];
        let mut words = vec![vec![]];
        for length in 0..4 {
            let longer = |known: &Vec<u64>| sizes.map(|size| [&known[..], &[size]].concat());
            words.extend(words.clone().iter().filter(|known| known.len() == length).flat_map(longer));
        }
        let hashes: HashSet<[u64; 2]> = words.iter().map(|words| hash(words)).collect();
        assert_eq!(hashes.len(), words.len());
        // Either half tells them apart as well, and the sets are used alike: of so many balls a box has 81 on average.
        for half in 0..2 {
            assert_eq!(hashes.iter().map(|hash| hash[half]).collect::<HashSet<_>>().len(), words.len());
        }
        let mut sets = vec![0; SETS];
        hashes.iter().for_each(|&hash| sets[place_of(hash)] += 1);
        assert!(sets.iter().all(|&count| (40..130).contains(&count)), "{sets:?}");
    }
}

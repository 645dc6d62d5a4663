//! Inputs that were interned lately, by the shim's words.

use crate::{flops, inputs};
use mindtorch_profiler::{Inputs, Name};

/// Most operators are given what they were given before. Then their words need not even be read.
#[derive(Debug)]
pub(crate) struct InputCache(Vec<[KnownInputs; 2]>);

/// What words are.
#[derive(Debug, Default)]
pub(crate) struct KnownInputs {
    words: Vec<u64>,
    pub(crate) inputs: Inputs,
    /// How many floating-point operations the operator does that was last given these.
    flops: Option<(Name, u64)>,
}

/// Words are in one of two entries of their set, so that two that come in turns do not drive each other out.
const SETS: usize = 512;
/// Where those are that are too long to be kept: no words have this set.
const LONG: usize = SETS;
/// Inputs of more words are seldom the same, and their copies would be large.
const LONGEST: usize = 128;

impl InputCache {
    pub(crate) const fn new() -> Self {
        Self(Vec::new())
    }

    #[inline]
    pub(crate) fn of(&mut self, words: &[u64]) -> &mut KnownInputs {
        let set = set_of(words);
        match self.0.get(set) {
            Some([newer, _]) if *newer.words == *words => &mut self.0[set][0],
            _ => self.older(set, words),
        }
    }

    #[inline(never)]
    fn older(&mut self, set: usize, words: &[u64]) -> &mut KnownInputs {
        match self.0.get(set) {
            Some([_, older]) if *older.words == *words => &mut self.0[set][1],
            _ => self.add(set, words),
        }
    }

    #[cold]
    fn add(&mut self, set: usize, words: &[u64]) -> &mut KnownInputs {
        if self.0.is_empty() {
            self.0.resize_with(SETS + 1, Default::default);
        }
        let (set, kept) = if words.len() > LONGEST { (LONG, Vec::new()) } else { (set, words.to_vec()) };
        let [newer, older] = &mut self.0[set];
        *older = std::mem::replace(newer, KnownInputs { words: kept, inputs: inputs::encode(words), flops: None });
        newer
    }
}

impl KnownInputs {
    /// The floating-point operations of an operator with these inputs, whose words these are.
    #[inline]
    pub(crate) fn flops(&mut self, name: Name, words: &[u64]) -> u64 {
        match self.flops {
            Some((known, flops)) if known == name => flops,
            _ => self.count_flops(name, words),
        }
    }

    #[cold]
    fn count_flops(&mut self, name: Name, words: &[u64]) -> u64 {
        let flops = flops::count(&name.text(), words);
        self.flops = Some((name, flops));
        flops
    }
}

/// The set of words. Four multiplications are under way at a time: one after the other they would take longer than all else
/// that is done to find inputs.
#[inline]
fn set_of(words: &[u64]) -> usize {
    const ODD: u64 = 0xf135_7aea_2e62_a9c5;
    let mut lanes = [0u64; 4];
    let (fours, rest) = words.as_chunks::<4>();
    for four in fours {
        for (lane, &word) in lanes.iter_mut().zip(four) {
            *lane = lane.wrapping_add(word).wrapping_mul(ODD);
        }
    }
    for (lane, &word) in lanes.iter_mut().zip(rest) {
        *lane = lane.wrapping_add(word).wrapping_mul(ODD);
    }
    let [a, b, c, d] = lanes;
    let mixed = a.wrapping_add(b.rotate_left(11)) ^ c.rotate_left(23).wrapping_add(d.rotate_left(37));
    // The upper bits of a product are those that all of the word is in.
    (mixed >> (u64::BITS - SETS.ilog2())) as usize
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
    fn shapes_that_are_alike_have_sets_of_their_own() {
        let sizes = [1, 2, 3, 4, 8, 16, 32, 64, 128, 256, 768, 1024];
        let pairs =
            sizes.iter().flat_map(|&rows| sizes.map(|columns| [matrix(rows, columns), matrix(columns, rows)].concat()));
        let sets: HashSet<usize> = pairs.map(|words| set_of(&words)).collect();
        // Of 144 balls in 512 boxes, 126 are expected to have one of their own or be the first in it.
        assert!(sets.len() > 110, "{}", sets.len());
    }
}

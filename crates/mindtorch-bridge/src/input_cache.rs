//! Inputs that were interned lately, by the shim's words.

use crate::inputs;
use mindtorch_profiler::Inputs;
use rustc_hash::FxHasher;
use std::hash::Hasher;

/// Most operators are given what they were given before. Then their words need not even be read.
#[derive(Debug)]
pub(crate) struct InputCache(Vec<(Box<[u64]>, Inputs)>);

const ENTRIES: usize = 512;
/// Inputs of more words are seldom the same, and their copies would be large.
const LONGEST: usize = 128;

impl InputCache {
    pub(crate) const fn new() -> Self {
        Self(Vec::new())
    }

    #[inline]
    pub(crate) fn of(&mut self, words: &[u64]) -> Inputs {
        let mut hasher = FxHasher::default();
        words.iter().for_each(|&word| hasher.write_u64(word));
        let place = (hasher.finish() % ENTRIES as u64) as usize;
        match self.0.get(place) {
            Some((known, inputs)) if **known == *words => *inputs,
            _ => self.add(place, words),
        }
    }

    #[cold]
    fn add(&mut self, place: usize, words: &[u64]) -> Inputs {
        let inputs = inputs::encode(words);
        if self.0.is_empty() {
            self.0.resize(ENTRIES, (Box::default(), Inputs::NONE));
        }
        if words.len() <= LONGEST {
            self.0[place] = (words.into(), inputs);
        }
        inputs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_words_are_the_same_inputs() {
        let mut cache = InputCache::new();
        // A list of whole numbers.
        let words = |numbers: &[u64]| [&[7 | (numbers.len() as u64) << 16], numbers].concat();
        let few: Vec<Vec<u64>> = (0..2000).map(|number| words(&[number])).collect();
        let many = words(&[1; 1000]);
        for _ in 0..2 {
            for words in few.iter().chain([&many]) {
                assert_eq!(cache.of(words), inputs::encode(words));
            }
        }
        assert_eq!(cache.of(&[]), Inputs::NONE);
    }
}

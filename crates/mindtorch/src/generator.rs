//! Where random numbers come from.

use crate::kernels::random::Random;
use crate::kernels::twister::{Twister, WORDS};
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

/// The seed of a new generator, as torch has it.
const DEFAULT_SEED: u64 = 67_280_421_310_721;
/// A stored state: the seed, the next word, whether a normal number is left, the number, and the words.
const STATE_BYTES: usize = 8 + 8 + 8 + 8 + 4 * WORDS;

/// A source of random numbers, the same for the same seed. Threads may share it: each draws what it asks for at once.
#[derive(Debug)]
pub struct Generator {
    source: Mutex<Source>,
}

struct Source {
    seed: u64,
    random: Random,
}

impl std::fmt::Debug for Source {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Source").field("seed", &self.seed).finish_non_exhaustive()
    }
}

/// Bytes that are no state of a generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("these {0} bytes are not the state of a generator")]
pub struct InvalidState(usize);

static DEFAULT: LazyLock<Arc<Generator>> = LazyLock::new(|| {
    let generator = Generator::new();
    generator.seed();
    Arc::new(generator)
});

impl Generator {
    /// A generator with torch's default seed.
    pub fn new() -> Self {
        Self { source: Mutex::new(Source { seed: DEFAULT_SEED, random: Random::new(DEFAULT_SEED) }) }
    }

    /// The generator that is used where none is named. Its first seed is different in every process.
    pub fn default_generator() -> &'static Self {
        &DEFAULT
    }

    /// [`Self::default_generator`], for a binding that keeps it.
    pub fn shared_default() -> Arc<Self> {
        Arc::clone(&DEFAULT)
    }

    /// Starts again, with the numbers that a seed stands for.
    pub fn manual_seed(&self, seed: u64) {
        *self.source() = Source { seed, random: Random::new(seed) };
    }

    /// Starts again with a seed that cannot be foretold, and tells it.
    pub fn seed(&self) -> u64 {
        // The keys of hash tables are random. Scripts may hold the seed as a double: 53 bits.
        let seed = RandomState::new().hash_one(DEFAULT_SEED) >> 11;
        self.manual_seed(seed);
        seed
    }

    /// The seed that it started with.
    pub fn initial_seed(&self) -> u64 {
        self.source().seed
    }

    /// Where it is in its numbers, for [`set_state`](Self::set_state).
    pub fn get_state(&self) -> Vec<u8> {
        let source = self.source();
        let (words, next) = source.random.twister.position();
        let normal = source.random.normal;
        let mut bytes = Vec::with_capacity(STATE_BYTES);
        bytes.extend(source.seed.to_le_bytes());
        bytes.extend((next as u64).to_le_bytes());
        bytes.extend(u64::from(normal.is_some()).to_le_bytes());
        bytes.extend(normal.unwrap_or(0.0).to_le_bytes());
        bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        bytes
    }

    /// Goes back to where it was when [`get_state`](Self::get_state) was called, or to where another generator was.
    pub fn set_state(&self, bytes: &[u8]) -> Result<(), InvalidState> {
        let source = Source::from_bytes(bytes).ok_or(InvalidState(bytes.len()))?;
        *self.source() = source;
        Ok(())
    }

    /// Calls `draw` with the source of numbers, which no other thread draws from meanwhile.
    pub(crate) fn draw<R>(&self, draw: impl FnOnce(&mut Random) -> R) -> R {
        draw(&mut self.source().random)
    }

    fn source(&self) -> MutexGuard<'_, Source> {
        self.source.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Generator {
    fn default() -> Self {
        Self::new()
    }
}

impl Source {
    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (head, words) = bytes.split_at_checked(STATE_BYTES - 4 * WORDS)?;
        let [seed, next, has_normal, normal] = head.as_chunks::<8>().0 else { return None };
        let (words, []) = words.as_chunks::<4>() else { return None };
        let words: [u32; WORDS] =
            words.iter().map(|&word| u32::from_le_bytes(word)).collect::<Vec<_>>().try_into().ok()?;
        let next = usize::try_from(u64::from_le_bytes(*next)).ok().filter(|&next| next <= WORDS)?;
        let normal = (u64::from_le_bytes(*has_normal) == 1).then(|| f64::from_le_bytes(*normal));
        let random = Random { twister: Twister::resume(words, next), normal };
        Some(Self { seed: u64::from_le_bytes(*seed), random })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(generator: &Generator, len: usize) -> Vec<f64> {
        let mut numbers = vec![0.0; len];
        generator.draw(|random| random.normal(&mut numbers, 0.0, 1.0));
        numbers
    }

    #[test]
    fn a_seed_stands_for_its_numbers() {
        let generator = Generator::new();
        assert_eq!(generator.initial_seed(), 67_280_421_310_721);
        generator.manual_seed(5);
        let first = numbers(&generator, 3);
        generator.manual_seed(5);
        assert_eq!(numbers(&generator, 3), first);
        assert_eq!(generator.initial_seed(), 5);
        let seed = generator.seed();
        assert_eq!(generator.initial_seed(), seed);
        assert!(seed < 1 << 53 && numbers(&generator, 3) != first);
        assert_ne!(generator.seed(), seed);
    }

    #[test]
    fn a_state_is_resumed_by_any_generator() {
        let (one, other) = (Generator::new(), Generator::new());
        one.manual_seed(9);
        // An odd number: another one is left.
        numbers(&one, 3);
        other.set_state(&one.get_state()).unwrap();
        assert_eq!(numbers(&one, 1000), numbers(&other, 1000));
        assert_eq!((other.initial_seed(), one.get_state()), (9, other.get_state()));
    }

    #[test]
    fn bytes_that_are_no_state_change_nothing() {
        let generator = Generator::new();
        let state = generator.get_state();
        let mut beyond = state.clone();
        beyond[8..16].fill(255);
        for bytes in [&[][..], &state[1..], &[&state[..], &[0]].concat(), &beyond] {
            assert_eq!(generator.set_state(bytes), Err(InvalidState(bytes.len())));
        }
        assert_eq!(generator.get_state(), state);
    }

    #[test]
    fn the_default_generator_is_one() {
        assert!(std::ptr::eq(Generator::default_generator(), Generator::default_generator()));
        assert_ne!(Generator::default_generator().initial_seed(), DEFAULT_SEED);
    }
}

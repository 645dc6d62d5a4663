//! The Mersenne Twister MT19937: random words, the same for the same seed everywhere.

use super::simd::vectorized;

/// The words of the state, and how many are drawn before it moves on.
pub(crate) const WORDS: usize = 624;
const MIDDLE: usize = 397;
/// Words of the state before this one are made from old words alone, words after it from new ones as well.
const TURN: usize = WORDS - MIDDLE;

/// A source of random words.
#[derive(Clone)]
pub(crate) struct Twister {
    state: [u32; WORDS],
    /// The state as it is given out.
    words: [u32; WORDS],
    next: usize,
}

impl Twister {
    /// The source that a seed stands for.
    pub(crate) fn new(seed: u32) -> Self {
        let mut state = [seed; WORDS];
        for index in 1..WORDS {
            let last = state[index - 1];
            state[index] = 1_812_433_253u32.wrapping_mul(last ^ last >> 30).wrapping_add(index as u32);
        }
        Self::resume(state, WORDS)
    }

    /// The source that was at the word `next`, [`WORDS`] at most, of a state.
    pub(crate) fn resume(state: [u32; WORDS], next: usize) -> Self {
        debug_assert!(next <= WORDS);
        Self { state, words: state.map(temper), next }
    }

    /// Where the source is, to resume it.
    pub(crate) fn position(&self) -> (&[u32; WORDS], usize) {
        (&self.state, self.next)
    }

    /// The next word.
    #[inline]
    pub(crate) fn word(&mut self) -> u32 {
        if self.next == WORDS {
            self.advance();
        }
        self.next += 1;
        self.words[self.next - 1]
    }

    /// Makes numbers of `N` words each, in order.
    pub(crate) fn fill<T, const N: usize>(&mut self, mut out: &mut [T], make: impl Fn([u32; N]) -> T) {
        while !out.is_empty() {
            let words = self.words[self.next..].as_chunks::<N>().0;
            if words.is_empty() {
                // The words of the next number are of two states, or all of the next.
                out[0] = make(std::array::from_fn(|_| self.word()));
                out = &mut out[1..];
                continue;
            }
            let count = words.len().min(out.len());
            let (now, later) = out.split_at_mut(count);
            vectorized(
                #[inline(always)]
                || {
                    for (out, &words) in now.iter_mut().zip(words) {
                        *out = make(words);
                    }
                },
            );
            self.next += count * N;
            out = later;
        }
    }

    fn advance(&mut self) {
        vectorized(
            #[inline(always)]
            || {
                let state = &mut self.state;
                let (old, rest) = state.split_at_mut(MIDDLE);
                for index in 0..TURN {
                    old[index] = twist(old[index], old[index + 1], rest[index]);
                }
                for index in TURN..WORDS - 1 {
                    state[index] = twist(state[index], state[index + 1], state[index - TURN]);
                }
                state[WORDS - 1] = twist(state[WORDS - 1], state[0], state[MIDDLE - 1]);
                for (word, &state) in self.words.iter_mut().zip(&*state) {
                    *word = temper(state);
                }
            },
        );
        self.next = 0;
    }
}

#[inline(always)]
fn twist(high: u32, low: u32, far: u32) -> u32 {
    let mixed = high & 0x8000_0000 | low & 0x7fff_ffff;
    far ^ mixed >> 1 ^ (low & 1).wrapping_neg() & 0x9908_b0df
}

#[inline(always)]
fn temper(mut word: u32) -> u32 {
    word ^= word >> 11;
    word ^= word << 7 & 0x9d2c_5680;
    word ^= word << 15 & 0xefc6_0000;
    word ^ word >> 18
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_are_those_of_the_reference() {
        let mut twister = Twister::new(5489);
        let words: Vec<u32> = std::iter::repeat_with(|| twister.word()).take(10_000).collect();
        assert_eq!(words[..3], [3_499_211_612, 581_869_302, 3_890_346_734]);
        assert_eq!(words[9999], 4_123_659_995);
    }

    #[test]
    fn filling_draws_the_same_words_wherever_it_begins() {
        for skipped in [0, 1, 623, 624] {
            let (mut one, mut other) = (Twister::new(7), Twister::new(7));
            for _ in 0..skipped {
                assert_eq!(one.word(), other.word());
            }
            let mut pairs = [[0; 2]; 1000];
            one.fill(&mut pairs, |words| words);
            assert_eq!(pairs.map(|_| [other.word(), other.word()]), pairs);
            assert_eq!(one.word(), other.word());
        }
    }

    #[test]
    fn a_source_resumes_where_it_was() {
        let mut twister = Twister::new(3);
        for _ in 0..1000 {
            twister.word();
        }
        let (state, next) = twister.position();
        let mut again = Twister::resume(*state, next);
        assert!((0..1000).all(|_| twister.word() == again.word()));
    }
}

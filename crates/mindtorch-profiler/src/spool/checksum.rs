//! Checksums: whether what was written is what is there.
//!
//! Blocks are summed on the recording path, so they have a sum of their own: four independent chains, one a word of a
//! slot, each a multiplication and a rotation a step. A table-driven CRC takes several times as long, and one by the
//! processor's instructions is not the same everywhere. Every step is a bijection of the chain's state and of the word, so
//! a change of one word never goes unnoticed, and other changes do once in 2^64. Entries of the log are rare and short,
//! and have a CRC.

use crate::recorder::{Head, RecordKind, Words};
use flate2::Crc;

#[inline]
fn step(state: u64, word: u64) -> u64 {
    // 2^64 divided by the golden ratio, which is odd.
    (state ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
}

fn sum(seed: Words, slots: impl IntoIterator<Item = Words>) -> u64 {
    let mut chains = seed;
    for words in slots {
        for (chain, word) in chains.iter_mut().zip(words) {
            *chain = step(*chain, word);
        }
    }
    of_numbers(chains)
}

/// The checksum of what a block's header has when the block begins.
pub(super) fn of_head(owner: u64, base: u64) -> u64 {
    sum([owner, base, 0, 0], [])
}

/// The checksum of slots that do not change any more.
pub(super) fn of_final_slots(slots: &[Words]) -> u64 {
    sum([slots.len() as u64, 0, 0, 0], slots.iter().copied())
}

/// The checksum of any numbers.
pub(super) fn of_numbers(numbers: impl IntoIterator<Item = u64>) -> u64 {
    numbers.into_iter().fold(0, step)
}

/// The checksum of a block's slots, and of what its header has. Left out is what may still change when a block is sealed:
/// the end of a span, and whether another thread ended it.
pub(super) fn of_slots(owner: u64, base: u64, filled: u64, slots: impl IntoIterator<Item = Words>) -> u64 {
    let elsewhere = closed_elsewhere();
    let mut is_second = false;
    let lasting = slots.into_iter().map(|mut words| {
        if is_second {
            is_second = false;
            return words;
        }
        let head = Head::unpack(words[2]);
        is_second = head.is_detailed();
        if head.kind.is_span() {
            words[1] = 0;
            words[2] &= !elsewhere;
        }
        words
    });
    sum([owner, base, filled, 0], lasting)
}

/// The bit of a head that says that another thread ended the span.
fn closed_elsewhere() -> u64 {
    let head = |flags| Head { kind: RecordKind::Op, flags, track: 0, name: 0 }.pack();
    head(Head::CLOSED_ELSEWHERE) ^ head(0)
}

/// The checksum of an entry of the log: of its length, as stored, and of what follows.
pub(super) fn of_entry(length: [u8; 4], payload: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(&length);
    crc.update(payload);
    crc.sum()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn head(kind: RecordKind, flags: u64) -> u64 {
        Head { kind, flags, track: 5, name: 9 }.pack()
    }

    fn slots() -> Vec<Words> {
        vec![
            [10, 20, head(RecordKind::Op, 0), 1],
            [11, 0, head(RecordKind::Annotation, Head::DETAILED), 0],
            [7, head(RecordKind::Op, 0), head(RecordKind::Op, 0), 8],
            [12, 0x1000, head(RecordKind::Memory, 0), 64],
        ]
    }

    fn of(slots: &[Words]) -> u64 {
        of_slots(1, 0, 4, slots.iter().copied())
    }

    #[test]
    fn any_bit_is_noticed_but_those_that_may_still_change() {
        let good = slots();
        for place in 0..good.len() * 4 * 64 {
            let (slot, word, bit) = (place / 256, place / 64 % 4, place % 64);
            let mut other = good.clone();
            other[slot][word] ^= 1 << bit;
            let may_change = slot < 2 && (word == 1 || word == 2 && 1 << bit == closed_elsewhere());
            // A bit of a head may also say that what follows is no record of its own.
            assert_eq!(of(&other) == of(&good), may_change, "slot {slot} word {word} bit {bit}");
        }
    }

    #[test]
    fn the_header_is_part_of_it_and_so_is_the_order() {
        let good = slots();
        let mut swapped = good.clone();
        swapped.swap(2, 3);
        let sums = [
            of(&good),
            of(&swapped),
            of(&good[..3]),
            of_slots(2, 0, 4, good.clone()),
            of_slots(1, 1, 4, good.clone()),
            of_slots(1, 0, 5, good.clone()),
            of_head(1, 0),
            of_head(0, 1),
        ];
        for (at, one) in sums.iter().enumerate() {
            assert!(!sums[at + 1..].contains(one), "{at}");
        }
    }
}

//! The record: what one event is in memory.
//!
//! A record is one slot of 32 bytes, or two when it has details. Names, input shapes and stacks are ids into tables, so a
//! record owns nothing. Fresh memory is a large part of the cost of recording (the first touch of a page costs as much as
//! recording sixty events, and a page holds 128), which is why a plain span takes one slot.
//!
//! ```text
//! slot 1   w0              w1         w2                                        w3
//! span     begin ticks     end ticks  name:32 | track:16 | flags:8 | kind:8     inputs:32 | stack:32
//! numbered as above                   as above, track = overload name           inputs:32 | sequence + 1:32
//! function as above                   as above                                  line that called:32 | stack:32
//! memory   ticks           address    name = allocated >> 24:16 | role:8 | device kind:8, track = device number
//!                                                                               allocated:24 | bytes (signed):40
//! use      ticks           address    name = written:16 | role:8 | kind:8, track as above
//!                                                                               bytes
//! sources  address         address    name = device kind, track as above        address
//! device   begin ticks     end ticks  as above, track = stream                  device:32 | extra name:32
//! counter  ticks           value f64  as above                                  0
//! mark     ticks           0          as above                                  0
//!
//! slot 2   w0              w1               w2                                  w3
//! span     numbers         flops            forward thread:32 | note:32         overload name:32 | context:32
//! memory   allocated       reserved         stack:32 | 0                        0          (and bytes:64 in slot 1)
//! device   launching span  bytes moved      0                                   0
//! ```
//!
//! A span's numbers are the id of its record function, in 24 bits, and its sequence number plus 1, in 40. Most operators
//! have a sequence number and an overload and nothing else, and most memory is a program's and not a terabyte: these are
//! packed into one slot (`packing.rs`), and take two where they do not fit.
//!
//! A span's end is 0 until it is closed. All words are atomics written with relaxed stores: the chunk's length publishes
//! them, and an end is published by its own store.

use crate::capture::Capture;
use crate::sync::{AtomicU64, Ordering};

/// One 32-byte cell of a chunk.
#[derive(Debug, Default)]
#[repr(transparent)]
pub(crate) struct Slot {
    words: [AtomicU64; 4],
}

/// The contents of a slot, copied out.
pub(crate) type Words = [u64; 4];

impl Slot {
    /// Slots that are words of a file.
    #[cfg(not(loom))]
    #[expect(unsafe_code, reason = "the standard library has no cast of slices of wrappers")]
    pub(super) fn of_words(words: &[[AtomicU64; 4]]) -> &[Self] {
        // SAFETY: a slot is nothing but such an array, which `repr(transparent)` makes sure of.
        unsafe { &*(std::ptr::from_ref(words) as *const [Self]) }
    }

    /// The head comes last: in memory that was 0 before, a slot that has one is whole, also to whoever finds it after the process
    /// has died in the middle of this.
    #[inline]
    pub(crate) fn write(&self, [first, end, head, last]: Words) {
        self.words[0].store(first, Ordering::Relaxed);
        self.words[1].store(end, Ordering::Relaxed);
        self.words[3].store(last, Ordering::Relaxed);
        self.words[2].store(head, Ordering::Release);
    }

    /// Reads the slot. The end comes first: whoever sees a span's end sees all that was written before it.
    #[inline]
    pub(crate) fn read(&self) -> Words {
        let end = self.words[1].load(Ordering::Acquire);
        [
            self.words[0].load(Ordering::Relaxed),
            end,
            self.words[2].load(Ordering::Relaxed),
            self.words[3].load(Ordering::Relaxed),
        ]
    }

    #[inline]
    pub(crate) fn close(&self, end: u64) {
        self.words[1].store(end, Ordering::Release);
    }

    /// Closes the span and notes that another thread than its own did.
    pub(crate) fn close_elsewhere(&self, end: u64) {
        let head = self.words[2].load(Ordering::Relaxed);
        self.words[2].store(head | Head::CLOSED_ELSEWHERE << Head::FLAGS_AT, Ordering::Relaxed);
        self.words[1].store(end, Ordering::Release);
    }
}

/// What a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub(crate) enum RecordKind {
    Op = 1,
    Backward = 2,
    Annotation = 3,
    Runtime = 4,
    Memory = 5,
    Kernel = 6,
    Copy = 7,
    Counter = 8,
    Mark = 9,
    Function = 10,
    Use = 11,
    Sources = 12,
    Set = 13,
    Sync = 14,
}

impl RecordKind {
    fn from_bits(bits: u8) -> Self {
        match bits {
            1 => Self::Op,
            2 => Self::Backward,
            3 => Self::Annotation,
            4 => Self::Runtime,
            5 => Self::Memory,
            6 => Self::Kernel,
            7 => Self::Copy,
            8 => Self::Counter,
            10 => Self::Function,
            11 => Self::Use,
            12 => Self::Sources,
            13 => Self::Set,
            14 => Self::Sync,
            _ => Self::Mark,
        }
    }

    /// Whether it is a device's work, whose time is not when it was recorded.
    #[inline]
    pub(crate) fn is_device(self) -> bool {
        matches!(self, Self::Kernel | Self::Copy | Self::Set | Self::Sync)
    }

    /// Whether it begins with the time at which it was recorded.
    #[inline]
    pub(crate) fn tells_when(self) -> bool {
        !self.is_device() && self != Self::Sources
    }

    /// Whether it is something that happened, and not what became known of something else.
    pub(crate) fn is_event(self) -> bool {
        !matches!(self, Self::Use | Self::Sources)
    }

    /// What has to be collected for it to be seen.
    #[inline]
    pub(crate) fn needs(self) -> Capture {
        /// What operators computed from what.
        const OPERATORS_MEMORY: Capture = Capture::from_bits(Capture::MEMORY.bits() | Capture::CPU.bits());
        match self {
            Self::Memory | Self::Use => Capture::MEMORY,
            Self::Sources => OPERATORS_MEMORY,
            Self::Kernel | Self::Copy | Self::Set | Self::Sync | Self::Runtime => Capture::DEVICE,
            Self::Op | Self::Backward | Self::Annotation | Self::Counter | Self::Mark => Capture::CPU,
            Self::Function => Capture::FUNCTIONS,
        }
    }

    /// Whether it is closed after it was opened (a device span is recorded when it is over).
    #[inline]
    pub(crate) fn is_span(self) -> bool {
        matches!(self, Self::Op | Self::Backward | Self::Annotation | Self::Runtime | Self::Function)
    }
}

/// A set of kinds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RecordKinds(u16);

impl RecordKinds {
    pub(crate) fn bits(self) -> u16 {
        self.0
    }

    pub(crate) fn from_bits(bits: u16) -> Self {
        Self(bits)
    }

    pub(crate) fn add(&mut self, kind: RecordKind) {
        self.0 |= 1 << kind as u16;
    }

    #[inline]
    pub(crate) fn contains(self, kind: RecordKind) -> bool {
        self.0 & 1 << kind as u16 != 0
    }
}

/// The third word of a record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    pub(crate) kind: RecordKind,
    pub(crate) flags: u64,
    pub(crate) track: u16,
    pub(crate) name: u32,
}

impl Head {
    /// The record has a second slot.
    pub(crate) const DETAILED: u64 = 1;
    /// The span was closed on another thread than the one that opened it.
    pub(crate) const CLOSED_ELSEWHERE: u64 = 2;
    /// The stack is only the place where the span began; the frames beneath it are those of the spans around it.
    pub(crate) const SITE_ONLY: u64 = 4;
    /// The span has numbers where others have a stack.
    pub(crate) const NUMBERED: u64 = 8;

    /// The span is a function of TorchScript.
    pub(crate) const SCRIPT: u64 = 16;

    pub(crate) const FLAGS_AT: u32 = 8;

    #[inline]
    pub(crate) fn pack(self) -> u64 {
        u64::from(self.kind as u8)
            | self.flags << Self::FLAGS_AT
            | u64::from(self.track) << 16
            | u64::from(self.name) << 32
    }

    #[inline]
    pub(crate) fn unpack(word: u64) -> Self {
        Self {
            kind: RecordKind::from_bits(word as u8),
            flags: word >> Self::FLAGS_AT & 0xff,
            track: (word >> 16) as u16,
            name: (word >> 32) as u32,
        }
    }

    pub(crate) fn is_detailed(self) -> bool {
        self.flags & Self::DETAILED != 0
    }

    #[inline]
    pub(crate) fn is_numbered(self) -> bool {
        self.flags & Self::NUMBERED != 0
    }

    pub(crate) fn is_script(self) -> bool {
        self.flags & Self::SCRIPT != 0
    }

    pub(crate) fn is_site_only(self) -> bool {
        self.flags & Self::SITE_ONLY != 0
    }

    pub(crate) fn is_closed_elsewhere(self) -> bool {
        self.flags & Self::CLOSED_ELSEWHERE != 0
    }
}

/// Two 32-bit numbers in a word.
#[inline]
pub(crate) fn pair(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

/// The inverse of [`pair`].
#[inline]
pub(crate) fn unpair(word: u64) -> (u32, u32) {
    ((word >> 32) as u32, word as u32)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_half_a_cache_line() {
        assert_eq!(size_of::<Slot>(), 32);
    }

    #[test]
    fn heads_and_pairs_survive_packing() {
        let head = Head { kind: RecordKind::Copy, flags: Head::DETAILED, track: 65_535, name: u32::MAX };
        let again = Head::unpack(head.pack());
        assert_eq!(again.kind, RecordKind::Copy);
        assert_eq!((again.flags, again.track, again.name), (Head::DETAILED, 65_535, u32::MAX));
        assert!(again.is_detailed() && !again.is_closed_elsewhere());
        assert_eq!(unpair(pair(7, u32::MAX)), (7, u32::MAX));
    }

    #[test]
    fn closing_elsewhere_is_noted_and_keeps_the_rest() {
        let slot = Slot::default();
        let head = Head { kind: RecordKind::Annotation, flags: 0, track: 3, name: 9 };
        slot.write([10, 0, head.pack(), 0]);
        slot.close_elsewhere(20);
        let [begin, end, head, _] = slot.read();
        assert_eq!((begin, end), (10, 20));
        let head = Head::unpack(head);
        assert!(head.is_closed_elsewhere());
        assert_eq!((head.kind, head.track, head.name), (RecordKind::Annotation, 3, 9));
    }
}

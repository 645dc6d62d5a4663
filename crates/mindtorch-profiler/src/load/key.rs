//! The keys of events and of their arguments, as numbers, and what is likely to come after each.
//!
//! A program that writes traces writes one event like another: the same keys in the same order, with the same blanks around
//! them. So what stands between two values is compared, whole, with what stood there before, and only if it differs is it
//! read character by character.

use super::cursor::{Cursor, Read, Stop};

/// A key: one of those below, or one that the file brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key(u8);

macro_rules! keys {
    ($($name:ident = $text:literal,)*) => {
        #[expect(non_camel_case_types, clippy::upper_case_acronyms, reason = "they only number the constants")]
        enum Number { $($name,)* COUNT }
        impl Key {
            $(pub(super) const $name: Self = Self(Number::$name as u8);)*
            const TEXTS: [&'static str; Number::COUNT as usize] = [$($text,)*];
        }
    };
}

keys! {
    // Not keys, but places: before the first member of an event, of its arguments, and behind the last member.
    EVENT = "",
    ARGUMENTS = "",
    END = "",
    PHASE = "ph",
    CATEGORY = "cat",
    NAME = "name",
    PROCESS = "pid",
    THREAD = "tid",
    TIME = "ts",
    DURATION = "dur",
    ARGS = "args",
    ID = "id",
    EXTERNAL_ID = "External id",
    RECORD_FUNCTION_ID = "Record function id",
    EVENT_INDEX = "Ev Idx",
    SEQUENCE_NUMBER = "Sequence number",
    FORWARD_THREAD = "Fwd thread id",
    INPUT_DIMS = "Input Dims",
    INPUT_TYPE = "Input type",
    INPUT_STRIDES = "Input Strides",
    CONCRETE_INPUTS = "Concrete Inputs",
    INPUT_SHAPES = "input_shapes",
    STACK = "stack",
    CALL_STACK = "Call stack",
    PYTHON_ID = "Python id",
    PYTHON_PARENT_ID = "Python parent id",
    PYTHON_THREAD = "Python thread",
    PYTHON_MODULE_ID = "Python module id",
    CALL_FROM = "CallFrom",
    CORRELATION = "correlation",
    DEVICE = "device",
    STREAM = "stream",
    BYTES_MOVED = "bytes",
    BANDWIDTH = "memory bandwidth (GB/s)",
    FLOPS = "Flops",
    NOTE = "note",
    FINISHED = "finished",
    CUT = "cut",
    ASYNC = "async",
    DEVICE_TYPE = "device_type",
    STEP = "step",
    CPU_MEMORY_BEFORE = "cpu_memory_allocated_before",
    CPU_MEMORY_AFTER = "cpu_memory_allocated_after",
    CPU_MEMORY_DELTA = "cpu_memory_allocated_delta",
    NPU_MEMORY_BEFORE = "npu_memory_allocated_before",
    NPU_MEMORY_AFTER = "npu_memory_allocated_after",
    NPU_MEMORY_DELTA = "npu_memory_allocated_delta",
    TOTAL_RESERVED = "Total Reserved",
    TOTAL_ALLOCATED = "Total Allocated",
    BYTES = "Bytes",
    DEVICE_ID = "Device Id",
    DEVICE_KIND = "Device Type",
    ADDRESS = "Addr",
    LABELS = "labels",
    VALUE = "value",
    RANK = "rank",
}

/// Keys beyond the last that has a number of its own are all this one.
const OTHER: Key = Key(u8::MAX);

/// Guesses for each key.
const WAYS: usize = 4;
/// A text between values that is longer is always read character by character.
const LONGEST: usize = 32;

type Block = [u64; LONGEST / 8];

/// What once stood between two values: `, "tid": `.
#[derive(Clone, Copy, Debug)]
struct Guess {
    text: Block,
    /// The bits of `text` that count.
    mask: Block,
    length: u8,
    /// Where the key's quote is.
    quote: u8,
    key: Key,
}

/// Right wherever it fits: the object ends.
const NO_GUESS: Guess =
    Guess { text: [b'}' as u64, 0, 0, 0], mask: [0xff, 0, 0, 0], length: 1, quote: 0, key: Key::END };

/// Finds the keys of members.
#[derive(Debug)]
pub(super) struct Keys {
    /// By the key before: the guesses, the most useful first.
    guesses: Vec<[Guess; WAYS]>,
    /// The keys that the file brought.
    others: Vec<Box<[u8]>>,
}

/// A member of an object whose value comes next.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    pub(super) key: Key,
    /// Where its key begins, with the quote.
    pub(super) start: usize,
}

impl Default for Keys {
    fn default() -> Self {
        Self { guesses: vec![[NO_GUESS; WAYS]; Key::TEXTS.len()], others: Vec::new() }
    }
}

impl Keys {
    /// Goes to the value of the next member, behind one whose key is `after`; or past the end of the object.
    #[inline]
    pub(super) fn next(&mut self, cursor: &mut Cursor<'_>, after: Key) -> Read<Member> {
        if let Some(ahead) = block(cursor.text, cursor.at) {
            for guess in self.guesses.get(usize::from(after.0)).into_iter().flatten() {
                let differs = (0..ahead.len()).fold(0, |all, at| all | (ahead[at] ^ guess.text[at]) & guess.mask[at]);
                if differs == 0 {
                    let start = cursor.at + usize::from(guess.quote);
                    cursor.at += usize::from(guess.length);
                    return Ok(Member { key: guess.key, start });
                }
            }
        }
        self.read_next(cursor, after)
    }

    #[cold]
    fn read_next(&mut self, cursor: &mut Cursor<'_>, after: Key) -> Read<Member> {
        let from = cursor.at;
        let is_first = after == Key::EVENT || after == Key::ARGUMENTS;
        let mut byte = cursor.peek_past_blanks()?;
        if byte == b'}' {
            let start = cursor.at;
            cursor.at += 1;
            self.learn(cursor, from, after, Member { key: Key::END, start });
            return Ok(Member { key: Key::END, start });
        }
        if !is_first {
            cursor.expect(b',', "`,` or `}`")?;
            byte = cursor.peek_past_blanks()?;
        }
        if byte != b'"' {
            return Err(Stop::Expected(if is_first { "a key or `}`" } else { "a key" }));
        }
        let name = cursor.string()?;
        cursor.expect(b':', "`:`")?;
        cursor.peek_past_blanks()?;
        let member = Member { key: self.key(name.content(cursor.text)), start: name.start };
        self.learn(cursor, from, after, member);
        Ok(member)
    }

    fn key(&mut self, text: &[u8]) -> Key {
        // Whatever the accelerator is called, its memory is that of the accelerator.
        let text = match memchr::memmem::find(text, b"_memory_allocated_") {
            Some(at) if &text[..at] != b"cpu" => &[b"npu", &text[at..]].concat(),
            _ => text,
        };
        let known = Key::TEXTS.iter().position(|known| !known.is_empty() && known.as_bytes() == text);
        let first_other = Key::TEXTS.len();
        let known = known.or_else(|| Some(first_other + self.others.iter().position(|other| **other == *text)?));
        let place = known.unwrap_or_else(|| {
            let place = first_other + self.others.len();
            if place < usize::from(OTHER.0) {
                self.others.push(text.into());
            }
            place
        });
        Key(place.min(usize::from(OTHER.0)) as u8)
    }

    /// Remembers what stood between the value before and this one.
    fn learn(&mut self, cursor: &Cursor<'_>, from: usize, after: Key, member: Member) {
        let length = cursor.at - from;
        let Some(text) = block(cursor.text, from).filter(|_| length <= LONGEST) else { return };
        let mut mask = [0; LONGEST];
        mask[..length].fill(0xff);
        let Some(mask) = block(&mask, 0) else { return };
        let quote = (member.start - from) as u8;
        let after = usize::from(after.0);
        if self.guesses.len() <= after {
            self.guesses.resize(after + 1, [NO_GUESS; WAYS]);
        }
        let guesses = &mut self.guesses[after];
        guesses.rotate_right(1);
        guesses[0] = Guess { text, mask, length: length as u8, quote, key: member.key };
        // Bytes that do not count would have to be equal otherwise.
        for (text, mask) in guesses[0].text.iter_mut().zip(mask) {
            *text &= mask;
        }
    }
}

/// The bytes from `at` on, as words.
#[inline]
fn block(text: &[u8], at: usize) -> Option<Block> {
    let bytes: &[u8; LONGEST] = text.get(at..)?.first_chunk()?;
    let mut words = [0; LONGEST / 8];
    for (word, bytes) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
        *word = u64::from_le_bytes(*bytes);
    }
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The keys of an object whose values are numbers of one digit.
    fn keys_of(keys: &mut Keys, text: &str) -> Read<Vec<Key>> {
        let mut cursor = Cursor::new(text.as_bytes(), 1);
        let mut found = vec![Key::EVENT];
        loop {
            let member = keys.next(&mut cursor, *found.last().unwrap())?;
            if member.key == Key::END {
                return Ok(found.split_off(1));
            }
            assert_eq!(text.as_bytes()[member.start], b'"');
            // A guess may be right and leave blanks.
            assert!(cursor.peek_past_blanks()?.is_ascii_digit());
            cursor.at += 1;
            found.push(member.key);
        }
    }

    #[test]
    fn keys_are_the_same_whether_guessed_or_read() {
        let mut keys = Keys::default();
        let padding = " ".repeat(40);
        let texts = [
            "{\"ph\": 1, \"tid\": 2}",
            "{\n  \"ph\" : 1\n  ,\n  \"tid\":2,\"own\": 3, \"of one's own\": 4}",
            "{\"ph\":1,\"ts\":2}",
            "{}",
            "{ }",
            "{\"a key that is longer than anything that can be guessed\": 1, \"ph\": 2}",
        ];
        // Each text twice in a row, so that what was read is guessed, and then the others in between.
        let mut read = |text: &str| keys_of(&mut keys, &format!("{text}{padding}")).unwrap();
        let expected: Vec<Vec<Key>> = texts.iter().map(|text| read(text)).collect();
        assert_eq!(expected[0], [Key::PHASE, Key::THREAD]);
        assert_eq!(expected[2], [Key::PHASE, Key::TIME]);
        assert_eq!(expected[5][1], Key::PHASE);
        for _ in 0..3 {
            for (text, expected) in texts.iter().zip(&expected) {
                assert_eq!([read(text), read(text)], [expected.clone(), expected.clone()], "{text}");
            }
        }
    }

    #[test]
    fn more_keys_than_there_are_numbers_are_all_one() {
        let mut keys = Keys::default();
        for number in 0..300 {
            keys.key(format!("key {number}").as_bytes());
        }
        assert_eq!(keys.key(b"key 299"), OTHER);
        assert_ne!(keys.key(b"key 0"), OTHER);
        assert_eq!(keys.key(b"ts"), Key::TIME);
    }

    #[test]
    fn what_is_no_member_is_refused() {
        for text in ["{1", "{\"ph\" 1}", "{\"ph\":1 \"tid\":2}", "{\"ph\":1,}", "{\"ph\":1]"] {
            let text = format!("{text}{}", " ".repeat(40));
            assert!(matches!(keys_of(&mut Keys::default(), &text), Err(Stop::Expected(_))), "{text}");
        }
    }
}

//! Texts that a sequence of packets refers to by number: each is written once, in the packet that first uses it.

use super::field::interned;
use super::proto::Buffer;
use super::words::{Category, Key};
use rustc_hash::FxHashMap;
use std::hash::Hash;
use std::sync::Arc;

/// Past this many bytes of texts, or this many entries of a table, what was written is forgotten and written anew under
/// other numbers, so that a trace with ever new texts does not fill the memory.
const MOST_BYTES: usize = 8 << 20;
const MOST_ENTRIES: usize = 1 << 16;

pub(super) struct Interned<'a> {
    trace_names: &'a [Arc<str>],
    /// What the packet that is being written uses for the first time: the content of its `InternedData`.
    pub(super) pending: Buffer,
    /// By number in the trace: the number of the event name, or 0.
    names: Vec<u32>,
    /// The names that have one.
    used_names: Vec<u32>,
    /// Names with an overload.
    overloaded: FxHashMap<(u32, u32), u32>,
    last_name: u32,
    /// The number of the name of allocations, or 0.
    memory_name: u32,
    /// A bit for each that is known.
    categories: u64,
    /// By number of the text in the trace.
    other_categories: Table<u32>,
    keys: u64,
    other_keys: Table<Box<str>>,
    texts: Table<Box<str>>,
    /// The bytes of `texts` and `other_keys`.
    text_bytes: usize,
}

impl<'a> Interned<'a> {
    pub(super) fn new(trace_names: &'a [Arc<str>]) -> Self {
        Self {
            trace_names,
            pending: Buffer::default(),
            names: vec![0; trace_names.len()],
            used_names: Vec::new(),
            overloaded: FxHashMap::default(),
            last_name: 0,
            memory_name: 0,
            categories: 0,
            other_categories: Table::after(Category::OTHERS),
            keys: 0,
            other_keys: Table::after(Key::OTHERS),
            texts: Table::after(0),
            text_bytes: 0,
        }
    }

    /// Forgets everything: a new sequence begins.
    pub(super) fn clear(&mut self) {
        for name in self.used_names.drain(..) {
            self.names[name as usize] = 0;
        }
        self.overloaded.clear();
        self.last_name = 0;
        self.memory_name = 0;
        self.categories = 0;
        self.other_categories.restart(Category::OTHERS);
        self.keys = 0;
        self.other_keys.restart(Key::OTHERS);
        self.texts.restart(0);
        self.text_bytes = 0;
    }

    /// The number of the event name that has this number in the trace.
    #[inline]
    pub(super) fn name(&mut self, name: u32) -> u32 {
        match self.names[name as usize] {
            0 => self.add_name(name),
            known => known,
        }
    }

    #[cold]
    fn add_name(&mut self, name: u32) -> u32 {
        self.last_name += 1;
        self.names[name as usize] = self.last_name;
        self.used_names.push(name);
        add(&mut self.pending, interned::EVENT_NAMES, self.last_name, &self.trace_names[name as usize]);
        self.last_name
    }

    /// The number of the name that allocations have.
    pub(super) fn memory_name(&mut self) -> u32 {
        if self.memory_name == 0 {
            self.last_name += 1;
            self.memory_name = self.last_name;
            add(&mut self.pending, interned::EVENT_NAMES, self.last_name, "[memory]");
        }
        self.memory_name
    }

    /// The number of an event name with its overload.
    #[cold]
    pub(super) fn overloaded_name(&mut self, name: u32, overload: u32) -> u32 {
        if let Some(&known) = self.overloaded.get(&(name, overload)) {
            return known;
        }
        if self.overloaded.len() >= MOST_ENTRIES {
            self.overloaded.clear();
        }
        self.last_name += 1;
        self.overloaded.insert((name, overload), self.last_name);
        let text = format!("{}.{}", self.trace_names[name as usize], self.trace_names[overload as usize]);
        add(&mut self.pending, interned::EVENT_NAMES, self.last_name, &text);
        self.last_name
    }

    #[inline]
    pub(super) fn category(&mut self, category: Category) -> u32 {
        self.category_with_text(category, category.text())
    }

    /// The category of calls of a device's runtime, which is called by the kind of device.
    pub(super) fn runtime_category(&mut self, text: &str) -> u32 {
        self.category_with_text(Category::Runtime, text)
    }

    #[inline]
    fn category_with_text(&mut self, category: Category, text: &str) -> u32 {
        let number = category as u32;
        if self.categories & 1 << number == 0 {
            self.categories |= 1 << number;
            add(&mut self.pending, interned::EVENT_CATEGORIES, number, text);
        }
        number
    }

    /// The number of a category that a trace which was read has: a text of the trace.
    #[cold]
    pub(super) fn other_category(&mut self, text: u32) -> u32 {
        let (number, is_new) = self.other_categories.number(&text, || text);
        if is_new {
            add(&mut self.pending, interned::EVENT_CATEGORIES, number, &self.trace_names[text as usize]);
        }
        number
    }

    #[inline]
    pub(super) fn key(&mut self, key: Key) -> u8 {
        let number = key as u8;
        if self.keys & 1 << number == 0 {
            self.add_key(key);
        }
        number
    }

    #[cold]
    fn add_key(&mut self, key: Key) {
        self.keys |= 1 << key as u8;
        add(&mut self.pending, interned::DEBUG_ANNOTATION_NAMES, key as u32, key.text());
    }

    /// The number of an argument's name that is none of ours.
    pub(super) fn other_key(&mut self, text: &str) -> u32 {
        let (number, is_new) = self.other_keys.number(text, || text.into());
        if is_new {
            self.count_text(text);
            add(&mut self.pending, interned::DEBUG_ANNOTATION_NAMES, number, text);
        }
        number
    }

    /// The number of a text that is the value of an argument.
    pub(super) fn text(&mut self, text: &str) -> u32 {
        let (number, is_new) = self.texts.number(text, || text.into());
        if is_new {
            self.count_text(text);
            add(&mut self.pending, interned::DEBUG_ANNOTATION_STRING_VALUES, number, text);
        }
        number
    }

    fn count_text(&mut self, text: &str) {
        self.text_bytes += text.len();
        if self.text_bytes > MOST_BYTES {
            self.texts.numbers = FxHashMap::default();
            self.other_keys.numbers = FxHashMap::default();
            self.text_bytes = 0;
        }
    }
}

fn add(pending: &mut Buffer, field: u32, number: u32, text: &str) {
    let entry = pending.begin(field);
    pending.number(interned::IID, u64::from(number));
    pending.text(interned::TEXT, text);
    pending.end(entry);
}

/// Numbers in the order in which they were asked for. What was forgotten gets another.
pub(super) struct Table<T> {
    numbers: FxHashMap<T, u32>,
    last: u32,
}

impl<T: Hash + Eq> Table<T> {
    fn after(last: u32) -> Self {
        Self { numbers: FxHashMap::default(), last }
    }

    fn restart(&mut self, last: u32) {
        self.numbers.clear();
        self.last = last;
    }

    /// The number, and whether it is new.
    fn number<Q: Hash + Eq + ?Sized>(&mut self, key: &Q, owned: impl FnOnce() -> T) -> (u32, bool)
    where
        T: std::borrow::Borrow<Q>,
    {
        if let Some(&known) = self.numbers.get(key) {
            return (known, false);
        }
        if self.numbers.len() >= MOST_ENTRIES {
            self.numbers = FxHashMap::default();
        }
        self.last += 1;
        self.numbers.insert(owned(), self.last);
        (self.last, true)
    }
}

//! Interning: equal values get equal 32-bit ids, so that a record has no heap and comparing is comparing integers.
//!
//! The tables belong to the process, not to a recorder: a call site looks its name up once and keeps the id. Id 0 is the
//! empty value. Looking up a value that this thread used lately takes no lock.

use crate::quiet::Quiet;
use crate::spooling::{self, Spooled};
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::cell::RefCell;
use std::hash::{BuildHasher, Hash};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::LocalKey;

/// An append-only table of distinct values.
pub(crate) struct Interner<T: ?Sized + 'static> {
    table: Mutex<Table<T>>,
    most_bytes: usize,
    recent: &'static LocalKey<RefCell<Recent<T>>>,
}

pub(crate) struct Table<T: ?Sized> {
    ids: FxHashMap<Arc<T>, u32>,
    values: Vec<Arc<T>>,
    /// What the values take, and the tables for them.
    bytes: usize,
}

/// Values that this thread looked up lately, by hash.
pub(crate) struct Recent<T: ?Sized>(Vec<Option<Known<T>>>);

/// The hash is here so that a value is only looked at if it is most likely the one.
struct Known<T: ?Sized> {
    hash: u64,
    id: u32,
    value: Arc<T>,
}

/// A value is looked for in one set of so many places, so that a few that happen to have one hash do not drive each other
/// out. 256 places are 8 KiB a thread that interns.
const WAYS: usize = 4;
const SETS: usize = 64;

/// A table takes no more than so much, some two million names: a program that makes a new one for each thing that it does would
/// else run out of memory in the end. What comes later is one value for all.
const MOST_BYTES: usize = 256 << 20;
/// What a value takes beside itself.
const ENTRY_BYTES: usize = 64;

impl<T: ?Sized + Hash + Eq + Spooled> Interner<T>
where
    for<'a> &'a T: Into<Arc<T>>,
{
    pub(crate) const fn new(recent: &'static LocalKey<RefCell<Recent<T>>>) -> Self {
        Self::with_most_bytes(recent, MOST_BYTES)
    }

    const fn with_most_bytes(recent: &'static LocalKey<RefCell<Recent<T>>>, most_bytes: usize) -> Self {
        let ids = FxHashMap::with_hasher(FxBuildHasher);
        Self { table: Mutex::new(Table { ids, values: Vec::new(), bytes: 0 }), most_bytes, recent }
    }

    /// The id of `value`.
    pub(crate) fn id(&self, value: &T) -> u32 {
        let hash = FxBuildHasher.hash_one(value);
        let cached = self.recent.try_with(|recent| {
            let Ok(mut recent) = recent.try_borrow_mut() else { return self.id_in_table(value).1 };
            if recent.0.is_empty() {
                let _quiet = Quiet::new();
                recent.0.resize_with(WAYS * SETS, || None);
            }
            let set = &mut recent.0[(hash >> 32) as usize % SETS * WAYS..][..WAYS];
            for known in set.iter().flatten() {
                if known.hash == hash && *known.value == *value {
                    return known.id;
                }
            }
            // The newest comes first, and the oldest leaves.
            let (value, id) = self.id_in_table(value);
            set.rotate_right(1);
            set[0] = Some(Known { hash, id, value });
            id
        });
        cached.unwrap_or_else(|_thread_is_ending| self.id_in_table(value).1)
    }

    fn id_in_table(&self, value: &T) -> (Arc<T>, u32) {
        let _quiet = Quiet::new();
        let mut table = self.lock();
        if let Some((known, id)) = table.ids.get_key_value(value) {
            return (Arc::clone(known), *id);
        }
        if let Some(replacement) = value.replacement() {
            drop(table);
            return self.id_in_table(&replacement);
        }
        let bytes = size_of_val(value) + ENTRY_BYTES;
        let instead = T::instead_of_more();
        if table.bytes + bytes > self.most_bytes && value != instead {
            drop(table);
            return if size_of_val(instead) == 0 { (instead.into(), 0) } else { self.id_in_table(instead) };
        }
        table.bytes += bytes;
        let known: Arc<T> = value.into();
        table.values.push(Arc::clone(&known));
        // Id 0 is nothing, so the first value is 1.
        let id = u32::try_from(table.values.len()).expect("fewer than four billion distinct names");
        table.ids.insert(Arc::clone(&known), id);
        // Before anyone can record it.
        spooling::tell(|| known.entry(id));
        (known, id)
    }

    /// A value that [`Self::id`] gave this id.
    pub(crate) fn value(&self, id: u32) -> Option<Arc<T>> {
        self.lock().values.get((id as usize).checked_sub(1)?).cloned()
    }

    /// Held across `fork`, so that the child finds the table whole.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Table<T>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: ?Sized> Table<T> {
    /// All values and their ids.
    pub(crate) fn all(&self) -> impl Iterator<Item = (u32, &T)> {
        self.values.iter().zip(1..).map(|(value, id)| (id, &**value))
    }
}

impl<T: ?Sized> Recent<T> {
    pub(crate) const fn new() -> Self {
        Self(Vec::new())
    }
}

impl<T: ?Sized> Drop for Recent<T> {
    fn drop(&mut self) {
        let _quiet = Quiet::new();
        self.0 = Vec::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    thread_local! { static RECENT_NAMES: RefCell<Recent<str>> = const { RefCell::new(Recent::new()) } }

    #[test]
    fn a_table_does_not_grow_for_ever() {
        thread_local! { static RECENT: RefCell<Recent<str>> = const { RefCell::new(Recent::new()) } }
        static TABLE: Interner<str> = Interner::with_most_bytes(&RECENT, 10_000);
        let first = TABLE.id("first");
        let ids: std::collections::HashSet<u32> =
            (0..10_000).map(|number| TABLE.id(&format!("name {number}"))).collect();
        assert!(ids.len() < 200, "{}", ids.len());
        let text = |id: u32| TABLE.value(id).unwrap();
        assert_eq!(&*text(TABLE.id("another")), "(one of too many names)");
        assert_eq!((TABLE.id("first"), &*text(TABLE.id("name 3"))), (first, "name 3"));
        thread_local! { static RECENT_STACKS: RefCell<Recent<[u32]>> = const { RefCell::new(Recent::new()) } }
        static STACKS: Interner<[u32]> = Interner::with_most_bytes(&RECENT_STACKS, 100);
        assert_eq!([STACKS.id(&[1, 2]), STACKS.id(&[1, 3])], [1, 0]);
    }

    #[test]
    fn equal_values_have_equal_ids_on_every_thread() {
        static TABLE: Interner<str> = Interner::new(&RECENT_NAMES);
        let names: Vec<String> = (0..5000).map(|i| format!("name {i}")).collect();
        let ids: Vec<Vec<u32>> = std::thread::scope(|scope| {
            let threads: Vec<_> =
                (0..4).map(|_| scope.spawn(|| names.iter().map(|name| TABLE.id(name)).collect())).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(ids.iter().all(|of_thread| *of_thread == ids[0]));
        let distinct: std::collections::HashSet<_> = ids[0].iter().collect();
        assert_eq!(distinct.len(), names.len());
        for (name, id) in names.iter().zip(&ids[0]) {
            assert_eq!(&*TABLE.value(*id).unwrap(), name.as_str());
        }
        assert!(TABLE.value(0).is_none());
        assert!(TABLE.value(u32::MAX).is_none());
    }
}

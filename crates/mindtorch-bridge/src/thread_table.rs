//! A table of what threads have of their own, by what the processor knows a thread by.
//!
//! What the language has for that takes, in a shared library, a call into the system's loader, and with it half a dozen lines of
//! the processor's cache. This takes one.

#![expect(unsafe_code, reason = "the language has no name for the processor's register")]

use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

const PLACES: usize = 1024;

/// What threads have of their own, at an address.
pub(crate) struct ThreadTable<T>([Place<T>; PLACES]);

/// Written by the thread that it is of, and by no other until that leaves. So whoever finds it to be of the own thread need not
/// look twice.
struct Place<T> {
    /// 0 if it is nobody's.
    thread: AtomicUsize,
    own: AtomicPtr<T>,
}

impl<T> ThreadTable<T> {
    pub(crate) const fn new() -> Self {
        Self([const { Place { thread: AtomicUsize::new(0), own: AtomicPtr::new(ptr::null_mut()) } }; PLACES])
    }

    /// What this thread has entered, and not left.
    #[inline(always)]
    pub(crate) fn get(&self) -> Option<NonNull<T>> {
        let thread = this_thread()?;
        let place = self.place(thread);
        if place.thread.load(Ordering::Relaxed) != thread {
            return None;
        }
        NonNull::new(place.own.load(Ordering::Relaxed))
    }

    /// Enters what this thread has, unless its place is another's.
    pub(crate) fn enter(&self, own: NonNull<T>) {
        if let Some(thread) = this_thread() {
            let place = self.place(thread);
            // Looked at first: whoever finds it taken asks each time, and should not take the line from its owner.
            if place.thread.load(Ordering::Relaxed) == 0
                && place.thread.compare_exchange(0, thread, Ordering::Acquire, Ordering::Relaxed).is_ok()
            {
                place.own.store(own.as_ptr(), Ordering::Relaxed);
            }
        }
    }

    /// To be called before what this thread has entered is gone.
    pub(crate) fn leave(&self) {
        if let Some(thread) = this_thread() {
            self.place(thread).leave(|of| of == thread);
        }
    }

    /// To be called in a child process, before its thread does anything else. Others that it starts may be where those of its parent
    /// were.
    pub(crate) fn leave_all(&self) {
        self.0.iter().for_each(|place| place.leave(|_| true));
    }

    /// How many threads are in it.
    #[cfg(test)]
    pub(crate) fn count(&self) -> usize {
        self.0.iter().filter(|place| place.thread.load(Ordering::Relaxed) != 0).count()
    }

    #[inline(always)]
    fn place(&self, thread: usize) -> &Place<T> {
        // The upper bits of a product depend on all of it.
        const ODD: usize = 0x9e37_79b9_7f4a_7c15_u64 as usize;
        &self.0[thread.wrapping_mul(ODD) >> (usize::BITS - PLACES.ilog2())]
    }
}

impl<T> Place<T> {
    fn leave(&self, is_left: impl FnOnce(usize) -> bool) {
        if is_left(self.thread.load(Ordering::Relaxed)) {
            self.own.store(ptr::null_mut(), Ordering::Relaxed);
            // Whoever is next here sees that it is empty.
            self.thread.store(0, Ordering::Release);
        }
    }
}

/// What no two threads share at a time: the address that the processor finds a thread's own things by.
#[inline(always)]
fn this_thread() -> Option<usize> {
    #[cfg(all(target_os = "linux", target_arch = "x86_64", not(miri)))]
    {
        let pointer;
        // SAFETY: on Linux the register leads to a word that holds its own address.
        unsafe {
            std::arch::asm!("mov {}, fs:[0]", out(reg) pointer, options(pure, readonly, nostack, preserves_flags));
        };
        Some(pointer)
    }
    #[cfg(all(target_os = "linux", target_arch = "aarch64", not(miri)))]
    {
        let pointer;
        // SAFETY: any thread may read the register.
        unsafe {
            std::arch::asm!("mrs {}, tpidr_el0", out(reg) pointer, options(pure, nomem, nostack, preserves_flags));
        };
        Some(pointer)
    }
    #[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"), not(miri))))]
    None
}

#[cfg(all(test, target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
mod tests {
    use super::*;
    use std::sync::Barrier;

    #[test]
    fn a_thread_finds_what_it_has_entered_until_it_leaves() {
        let table = ThreadTable::new();
        let mut own = 5;
        assert!(table.get().is_none());
        table.enter(NonNull::from(&mut own));
        assert_eq!(table.get(), Some(NonNull::from(&mut own)));
        std::thread::scope(|scope| _ = scope.spawn(|| assert!(table.get().is_none())));
        table.leave();
        assert!(table.get().is_none());
        table.enter(NonNull::from(&mut own));
        assert!(table.get().is_some());
    }

    #[test]
    fn no_thread_finds_what_is_anothers() {
        const THREADS: usize = 100;
        let (table, together) = (ThreadTable::new(), Barrier::new(THREADS));
        let found = || {
            let mut own = 0u8;
            table.enter(NonNull::from(&mut own));
            together.wait();
            let found = table.get();
            assert!(found.is_none_or(|found| found == NonNull::from(&mut own)));
            together.wait();
            table.leave();
            usize::from(found.is_some())
        };
        // Twice, since new threads are where old ones were.
        for _ in 0..2 {
            let found: usize = std::thread::scope(|scope| {
                let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(found)).collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).sum()
            });
            // By chance some ten of a hundred have a place that is another's.
            assert!(found > THREADS / 2, "{found}");
        }
    }

    #[test]
    fn a_child_process_begins_without_threads() {
        let (table, together) = (ThreadTable::new(), Barrier::new(2));
        let mut own = 1u8;
        table.enter(NonNull::from(&mut own));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut own = 2u8;
                table.enter(NonNull::from(&mut own));
                together.wait();
                together.wait();
                assert!(table.get().is_none());
            });
            together.wait();
            table.leave_all();
            assert!(table.get().is_none());
            together.wait();
        });
    }
}

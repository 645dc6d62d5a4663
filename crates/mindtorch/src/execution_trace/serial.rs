//! Numbers that tell things apart after they are gone.

use std::sync::atomic::{AtomicU64, Ordering};

/// A number that nothing else in the process ever has. Addresses would not do: they are used again.
///
/// It is given when someone first asks, so that what nobody asks about has none.
#[derive(Debug, Default)]
pub(crate) struct Serial(AtomicU64);

impl Serial {
    pub(crate) fn get(&self) -> u64 {
        static LAST: AtomicU64 = AtomicU64::new(0);
        match self.0.load(Ordering::Relaxed) {
            0 => {
                let new = LAST.fetch_add(1, Ordering::Relaxed) + 1;
                // Another thread may have asked at the same time.
                self.0
                    .compare_exchange(0, new, Ordering::Relaxed, Ordering::Relaxed)
                    .map_or_else(|theirs| theirs, |_| new)
            }
            given => given,
        }
    }
}

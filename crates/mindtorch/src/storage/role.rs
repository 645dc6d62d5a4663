//! What a storage is for, and how the profiler learns of it.
//!
//! Each storage has a word: its role, and the number of the recording that last heard of it, so that a recording hears once of
//! what was there before it began. Lasting roles are given whether or not anyone records (parameters when they become some,
//! gradients when they are a tensor's, an optimiser's state when it has made a step); all others only while someone
//! collects memory, by the operations (`dispatch/roles.rs`).

use super::{Inner, Owner, Storage};
use crate::thread_state::here;
use mindtorch_profiler::{
    Capture, MemoryRole, MemoryUse, capture, keep_memory, memory_epoch, memory_use, release_memory,
};
use std::sync::atomic::{AtomicU32, Ordering};

/// What this thread allocates now is for this.
#[inline]
pub(crate) fn current() -> MemoryRole {
    here(|thread| thread.role.get())
}

/// While it lives, what its thread allocates has a role.
#[derive(Debug)]
pub(crate) struct RoleScope(MemoryRole);

impl RoleScope {
    #[inline]
    pub(crate) fn enter(role: MemoryRole) -> Self {
        Self(here(|thread| thread.role.replace(role)))
    }
}

impl Drop for RoleScope {
    #[inline]
    fn drop(&mut self) {
        here(|thread| thread.role.set(self.0));
    }
}

/// A role, and the recording that knows of it.
#[derive(Debug, Default)]
pub(super) struct RoleWord(AtomicU32);

/// Roles take eight bits of the word. A recording whose number is that of one 2^24 before it is told too little.
const EPOCH_AT: u32 = 8;

impl RoleWord {
    #[inline]
    pub(super) fn role(&self) -> MemoryRole {
        MemoryRole::from_number(self.0.load(Ordering::Relaxed) as u8)
    }

    /// Gives the role, which this recording knows of from now on.
    #[inline]
    pub(super) fn set(&self, role: MemoryRole) {
        self.0.store(memory_epoch() << EPOCH_AT | role as u32, Ordering::Relaxed);
    }

    /// Gives the role as [`Self::set`] does, but for one that lasts, which another thread may have given it meanwhile.
    fn set_unless_lasting(&self, role: MemoryRole) {
        let told = memory_epoch() << EPOCH_AT;
        let kept =
            |word| Some(MemoryRole::from_number(word as u8)).filter(|known| known.is_lasting() && !role.is_lasting());
        let update = |word| Some(told | kept(word).unwrap_or(role) as u32);
        let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, update);
    }

    /// The role, and whether this recording knows it.
    #[inline]
    fn role_and_whether_known(&self) -> (MemoryRole, bool) {
        let word = self.0.load(Ordering::Relaxed);
        (MemoryRole::from_number(word as u8), (word ^ memory_epoch() << EPOCH_AT) >> EPOCH_AT == 0)
    }

    /// Whether it has this role, and this recording knows.
    #[inline]
    fn is_known_as(&self, role: MemoryRole) -> bool {
        self.0.load(Ordering::Relaxed) == (memory_epoch() << EPOCH_AT | role as u32)
    }
}

impl Storage {
    /// What it is for, as far as that is known.
    #[inline]
    pub fn role(&self) -> MemoryRole {
        self.0.role.role()
    }

    /// Says what it is for, from its beginning to its end. Of several such roles it has the last in their order.
    pub fn keep_as(&self, role: MemoryRole) {
        debug_assert!(role.is_lasting());
        if self.role() >= role {
            return;
        }
        self.0.role.set(role);
        if let Some(block) = self.0.block(false) {
            keep_memory(&block);
            memory_use(&block);
        }
    }

    /// What it is for, as far as that is known, and whether those who collect memory were told.
    #[inline]
    pub(crate) fn role_and_whether_known(&self) -> (MemoryRole, bool) {
        self.0.role.role_and_whether_known()
    }

    /// Says that an operation uses it, as this; to be called while someone collects memory.
    #[inline]
    pub(crate) fn use_as(&self, role: MemoryRole) {
        if !self.0.role.is_known_as(role) {
            self.tell(role, false);
        }
    }

    /// Says that an operation changes its bytes, which are this afterwards; to be called while someone collects memory.
    pub(crate) fn write_as(&self, role: MemoryRole) {
        self.tell(role, true);
    }

    fn tell(&self, role: MemoryRole, is_written: bool) {
        self.0.role.set_unless_lasting(role);
        if let Some(block) = self.0.block(is_written) {
            memory_use(&block);
        }
    }

    /// Where the profiler knows it to be; `None` if it was not told of it.
    #[inline]
    pub(crate) fn reported_address(&self) -> Option<u64> {
        self.0.is_reported().then(|| self.0.data().addr().get() as u64)
    }
}

impl Inner {
    /// Whether the profiler was told that it was allocated.
    #[inline]
    fn is_reported(&self) -> bool {
        self.bytes > 0 && matches!(self.owner, Owner::Host(_) | Owner::Inline(_) | Owner::Npu(_))
    }

    /// What the profiler knows it as.
    fn block(&self, is_written: bool) -> Option<MemoryUse> {
        let bytes = match &self.owner {
            Owner::Npu(block) => block.reserved_bytes(),
            _ => self.bytes as u64,
        };
        self.is_reported().then(|| MemoryUse {
            address: self.data().addr().get() as u64,
            bytes,
            device: self.device,
            role: self.role.role(),
            is_written,
        })
    }

    /// The role of memory that was just allocated.
    #[inline]
    pub(super) fn begin_role(&self) {
        if capture().contains(Capture::MEMORY) {
            self.role.set(current());
        }
    }

    /// To be called before the free is reported.
    #[inline]
    pub(super) fn end_role(&self) {
        if self.role.role().is_lasting() && self.is_reported() {
            release_memory(self.data().addr().get() as u64);
        }
    }
}

//! Recording to files: where the memory of chunks comes from meanwhile.

use super::chunk::Spares;
use super::{Recorder, ThreadLog};
use crate::spool::{Entry, Spool};
use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// The files that new chunks are in, if any.
#[derive(Debug, Default)]
pub(super) struct SpoolSlot {
    /// Whose turn it is, from the claim on.
    claimed: Mutex<Claimed>,
    /// Whether new chunks are in it, where one load finds it.
    is_on: AtomicBool,
}

#[derive(Debug, Default)]
pub(super) struct Claimed {
    spool: Weak<Spool>,
    /// Why a chunk could not be had.
    trouble: Option<String>,
}

impl SpoolSlot {
    pub(super) fn lock(&self) -> MutexGuard<'_, Claimed> {
        self.claimed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn spool(&self) -> Option<Arc<Spool>> {
        if !self.is_on.load(Ordering::Relaxed) {
            return None;
        }
        self.lock().spool.upgrade()
    }

    /// In a forked child, which has taken the lock before it was forked.
    pub(super) fn forget(&self, mut claimed: MutexGuard<'_, Claimed>) {
        self.is_on.store(false, Ordering::Relaxed);
        std::mem::forget(std::mem::take(&mut claimed.spool));
    }
}

impl Spares {
    /// Slots of a file, if there is one. Where it can give none, as on a full disk, memory does: the recording goes on, and does
    /// not outlive the process.
    #[cfg(not(loom))]
    pub(super) fn mapped_slots(&self, owner: &ThreadLog, base: u64) -> Option<super::slots::Slots> {
        let spool = self.spool.spool()?;
        match spool.block(owner.serial, base, super::chunk::FULL) {
            Ok(block) => Some(super::slots::Slots::mapped(block)),
            Err(error) => {
                self.spool.lock().trouble.get_or_insert_with(|| error.to_string());
                None
            }
        }
    }

    #[cfg(loom)]
    pub(super) fn mapped_slots(&self, _: &ThreadLog, _: u64) -> Option<super::slots::Slots> {
        None
    }
}

impl Recorder {
    fn spool_slot(&self) -> &SpoolSlot {
        &self.0.spares.spool
    }

    /// Reserves the recorder for a session with these files. False if another has it.
    pub(crate) fn claim_spool(&self, spool: &Arc<Spool>) -> bool {
        let mut claimed = self.spool_slot().lock();
        let is_free = claimed.spool.strong_count() == 0;
        if is_free {
            *claimed = Claimed { spool: Arc::downgrade(spool), trouble: None };
        }
        is_free
    }

    /// Threads record to the files from now on: they leave the chunks that they are in.
    pub(crate) fn begin_spool(&self, spool: &Spool) {
        let mut registry = self.lock();
        spool.log_all(registry.threads.iter().map(|thread| described(&thread.log)));
        self.spool_slot().is_on.store(true, Ordering::Relaxed);
        registry.leave_chunks();
    }

    /// Threads no longer record to files.
    pub(crate) fn end_spool(&self) {
        let mut registry = self.lock();
        self.spool_slot().is_on.store(false, Ordering::Relaxed);
        self.spool_slot().lock().spool = Weak::new();
        registry.leave_chunks();
    }

    /// Why something that was recorded is not in the files, if that is so.
    pub(crate) fn spool_trouble(&self) -> Option<String> {
        self.spool_slot().lock().trouble.clone()
    }

    /// Tells of a new thread, under the registry's lock.
    pub(super) fn tell_thread(&self, log: &ThreadLog) {
        if let Some(spool) = self.spool_slot().spool() {
            spool.log(described(log));
        }
    }
}

fn described(log: &ThreadLog) -> Entry<'_> {
    Entry::Thread { serial: log.serial, os_id: log.os_id, name: log.name.as_deref().map(Cow::Borrowed) }
}

//! An accelerator's memory: blocks of it, and what it was used for.

use super::allocator::{Allocator, Request};
use super::block::Block;
use super::device::Npu;
use super::error::{NpuError, OutOfMemory};
use super::fork::{is_child, refuse_in_child};
use super::pieces::PieceId;
use super::runtime_call::RuntimeCall;
use super::stats::MemoryStats;
use super::stream::StreamId;
use crate::storage::role::current as current_role;
use mindtorch_profiler::{Capture, Device, Memory, MemoryRole, Stack, capture, memory};
use std::ptr::NonNull;
use std::sync::{MutexGuard, PoisonError};

impl Npu {
    /// Memory for work of a stream. What is in it is whatever was left there.
    ///
    /// # Errors
    /// [`NpuError::OutOfMemory`] if there is no room, not even after the cache is emptied.
    pub fn allocate(&'static self, bytes: usize, stream: StreamId) -> Result<Block, NpuError> {
        refuse_in_child()?;
        if bytes == 0 {
            return Ok(Block::empty(self, stream));
        }
        let Some(request) = Request::new(bytes as u64) else {
            return Err(self.out_of_memory(&mut self.lock_allocator(), None));
        };
        let streams = &self.executor.streams;
        let hand_out = |allocator: &Allocator, piece| self.hand_out(allocator, piece, bytes, stream);
        let mut allocator = self.lock_allocator();
        if let Some(piece) = allocator.allocate(request, stream, streams) {
            return Ok(hand_out(&allocator, piece));
        }
        // Without the lock, which a kernel takes that drops a block.
        drop(allocator);
        self.finish();
        let mut allocator = self.lock_allocator();
        allocator.stats.num_alloc_retries += 1;
        self.release_cached(&mut allocator);
        match allocator.allocate(request, stream, streams) {
            Some(piece) => Ok(hand_out(&allocator, piece)),
            None => Err(self.out_of_memory(&mut allocator, Some(request.segment))),
        }
    }

    /// Releases what the cache holds and nobody uses, for other streams and for the host. Waits for the accelerator first.
    ///
    /// # Errors
    /// In a forked child.
    pub fn empty_cache(&'static self) -> Result<(), NpuError> {
        refuse_in_child()?;
        self.finish();
        self.release_cached(&mut self.lock_allocator());
        Ok(())
    }

    /// What its memory was used for.
    ///
    /// # Errors
    /// In a forked child.
    pub fn memory_stats(&self) -> Result<MemoryStats, NpuError> {
        refuse_in_child()?;
        Ok(self.lock_allocator().stats)
    }

    /// Makes every peak of [`Npu::memory_stats`] what is current.
    ///
    /// # Errors
    /// In a forked child.
    pub fn reset_peak_memory_stats(&self) -> Result<(), NpuError> {
        refuse_in_child()?;
        self.lock_allocator().stats.reset_peak();
        Ok(())
    }

    /// Makes the sums and counts of [`Npu::memory_stats`] start anew.
    ///
    /// # Errors
    /// In a forked child.
    pub fn reset_accumulated_memory_stats(&self) -> Result<(), NpuError> {
        refuse_in_child()?;
        self.lock_allocator().stats.reset_accumulated();
        Ok(())
    }

    /// The bytes that no segment of the cache has, and all that there are.
    ///
    /// # Errors
    /// In a forked child.
    pub fn mem_get_info(&self) -> Result<(u64, u64), NpuError> {
        let total = self.total_memory();
        Ok((total - self.memory_stats()?.reserved_bytes.all.current, total))
    }
    pub(super) fn address(&self, offset: u64) -> NonNull<u8> {
        self.region.at(offset)
    }

    pub(super) fn record_use(&self, piece: PieceId, stream: StreamId) {
        if !is_child() {
            self.lock_allocator().record_use(piece, stream);
        }
    }

    /// Takes back the piece of a block. In a forked child all memory is the parent's, and nothing is done.
    pub(super) fn free(&self, piece: PieceId) {
        if is_child() {
            return;
        }
        let mut allocator = self.lock_allocator();
        let extent = allocator.extent(piece);
        allocator.free(piece, &self.executor.streams);
        self.report(&allocator, extent.offset, -extent.bytes.cast_signed());
    }

    fn hand_out(&'static self, allocator: &Allocator, piece: PieceId, bytes: usize, stream: StreamId) -> Block {
        let extent = allocator.extent(piece);
        self.report(allocator, extent.offset, extent.bytes.cast_signed());
        Block::new(self, extent, bytes, stream, piece)
    }

    /// Tells the profiler, while the lock is held: the totals are in the order of time.
    fn report(&self, allocator: &Allocator, offset: u64, bytes: i64) {
        if capture().contains(Capture::MEMORY) {
            memory(&Memory {
                address: self.address(offset).addr().get() as u64,
                bytes,
                device: Device::Npu(self.index()),
                allocated: allocator.stats.allocated_bytes.all.current.cast_signed(),
                reserved: allocator.stats.reserved_bytes.all.current,
                stack: Stack::NONE,
                role: if bytes > 0 { current_role() } else { MemoryRole::Unknown },
            });
        }
    }

    fn release_cached(&self, allocator: &mut Allocator) {
        for segment in allocator.release_cached(&self.executor.streams) {
            let _call = RuntimeCall::Free.begin();
            self.region.discard(segment.offset, segment.bytes);
        }
    }

    fn out_of_memory(&self, allocator: &mut Allocator, tried: Option<u64>) -> NpuError {
        allocator.stats.num_ooms += 1;
        NpuError::from(OutOfMemory {
            device: self.index(),
            tried,
            capacity: self.total_memory(),
            reserved: allocator.stats.reserved_bytes.all.current,
            allocated: allocator.stats.allocated_bytes.all.current,
        })
    }

    fn lock_allocator(&self) -> MutexGuard<'_, Allocator> {
        self.allocator.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

//! Blocks: memory of an accelerator that someone has.

use super::allocator::Extent;
use super::device::Npu;
use super::pieces::PieceId;
use super::stream::StreamId;
use std::fmt;
use std::ptr::NonNull;

/// Memory of an accelerator. When it is dropped, it goes back to the cache.
///
/// It belongs to a stream: once it is dropped, work that is launched on that stream may get it, and does so after all that
/// was launched before. So a kernel needs the address only, and the block can be dropped as soon as the kernel is launched.
/// For a kernel on another stream, say so with [`Block::record_stream`].
pub struct Block {
    npu: &'static Npu,
    offset: u64,
    bytes: usize,
    /// The bytes that were set aside.
    reserved: u64,
    stream: StreamId,
    /// `None` if it has no bytes.
    piece: Option<PieceId>,
}

impl Block {
    /// One without bytes.
    pub(super) fn empty(npu: &'static Npu, stream: StreamId) -> Self {
        Self { npu, offset: 0, bytes: 0, reserved: 0, stream, piece: None }
    }

    pub(super) fn new(npu: &'static Npu, extent: Extent, bytes: usize, stream: StreamId, piece: PieceId) -> Self {
        Self { npu, offset: extent.offset, bytes, reserved: extent.bytes, stream, piece: Some(piece) }
    }

    /// Where it starts: an address that all threads can read and write, and that is a multiple of 512. It stays mapped when
    /// the block is dropped.
    pub fn data(&self) -> NonNull<u8> {
        self.npu.address(self.offset)
    }

    /// The bytes that were asked for.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The bytes that were set aside for it, which are what the profiler is told.
    pub fn reserved_bytes(&self) -> u64 {
        self.reserved
    }

    /// The accelerator that it is on.
    pub fn npu(&self) -> &'static Npu {
        self.npu
    }

    /// The stream that it belongs to.
    pub fn stream(&self) -> StreamId {
        self.stream
    }

    /// Says that work of another stream uses the block. When it is dropped, nobody gets it before all is done that was
    /// launched on that stream by then.
    pub fn record_stream(&self, stream: StreamId) {
        if let Some(piece) = self.piece {
            self.npu.record_use(piece, stream);
        }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        if let Some(piece) = self.piece {
            self.npu.free(piece);
        }
    }
}

impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut block = f.debug_struct("Block");
        block.field("device", &self.npu.index()).field("data", &self.data()).field("bytes", &self.bytes);
        block.field("stream", &self.stream).finish_non_exhaustive()
    }
}

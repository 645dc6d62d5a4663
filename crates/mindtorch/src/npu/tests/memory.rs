//! Blocks of a device's memory.

#![expect(unsafe_code, reason = "what is in a block is read and written through its address")]

use super::{Busy, MIB, device, launch, two_streams};
use crate::npu::{Block, NpuError, OutOfMemory, Stat, StreamId};
use std::sync::mpsc;

const DEFAULT: StreamId = StreamId::DEFAULT;

/// The address of a block, for a kernel.
struct Address(*mut u8);

// SAFETY: it is used by the kernels of one device, one after the other, and by the host when they are done.
unsafe impl Send for Address {}

impl Address {
    fn of(block: &Block) -> Self {
        Self(block.data().as_ptr())
    }

    /// Writes a number where the block begins.
    fn write(self, number: u64) {
        // SAFETY: the blocks of these tests have at least 8 bytes, aligned to 512, in a mapping that stays.
        unsafe { self.0.cast::<u64>().write(number) };
    }

    fn read(self) -> u64 {
        // SAFETY: as above; whatever is there is a number.
        unsafe { self.0.cast::<u64>().read() }
    }
}

#[test]
fn blocks_are_aligned_hold_what_was_asked_for_and_come_back() {
    let npu = device(64 * MIB);
    let block = npu.allocate(1000, DEFAULT).unwrap();
    assert_eq!((block.bytes(), block.stream(), block.npu().index()), (1000, DEFAULT, npu.index()));
    assert_eq!(block.data().addr().get() % 512, 0);
    let data = block.data();
    drop(block);
    assert_eq!(npu.allocate(900, DEFAULT).unwrap().data(), data);
    assert_eq!(npu.mem_get_info(), Ok((62 * MIB, 64 * MIB)));
    npu.empty_cache().unwrap();
    assert_eq!(npu.mem_get_info(), Ok((64 * MIB, 64 * MIB)));
}

#[test]
fn statistics_are_exact() {
    let npu = device(64 * MIB);
    let first = npu.allocate(100, DEFAULT).unwrap();
    let second = npu.allocate(3 << 20, DEFAULT).unwrap();
    drop(first);
    let stats = npu.memory_stats().unwrap();
    let stat = |current, peak, allocated, freed| Stat { current, peak, allocated, freed };
    assert_eq!(stats.allocation.all, stat(1, 2, 2, 1));
    assert_eq!(stats.allocated_bytes.all, stat(3 * MIB, 3 * MIB + 512, 3 * MIB + 512, 512));
    assert_eq!(stats.allocated_bytes.small_pool, stat(0, 512, 512, 512));
    assert_eq!(stats.requested_bytes.all, stat(3 * MIB, 3 * MIB + 100, 3 * MIB + 100, 100));
    assert_eq!(stats.reserved_bytes.all, stat(22 * MIB, 22 * MIB, 22 * MIB, 0));
    assert_eq!(stats.segment.large_pool, stat(1, 1, 1, 0));
    assert_eq!(stats.inactive_split_bytes.large_pool, stat(17 * MIB, 17 * MIB, 17 * MIB, 0));
    assert_eq!(stats.inactive_split.small_pool, stat(0, 1, 1, 1));
    drop(second);
    npu.reset_peak_memory_stats().unwrap();
    npu.reset_accumulated_memory_stats().unwrap();
    let stats = npu.memory_stats().unwrap();
    assert_eq!((stats.allocation.all, stats.segment.all), (Stat::default(), stat(2, 2, 0, 0)));
}

#[test]
fn nothing_is_allocated_for_no_bytes() {
    let npu = device(2 * MIB);
    let blocks: Vec<Block> = (0..3).map(|_| npu.allocate(0, DEFAULT).unwrap()).collect();
    blocks[0].record_stream(npu.new_stream(0));
    assert_eq!((blocks[0].bytes(), blocks[1].data()), (0, blocks[2].data()));
    drop(blocks);
    assert_eq!(npu.memory_stats(), Ok(Default::default()));
}

#[test]
fn running_out_of_memory_a_thousand_times_leaves_everything_as_it_was() {
    let npu = device(40 * MIB);
    let kept = npu.allocate(15 << 20, DEFAULT).unwrap();
    let mut before = npu.memory_stats().unwrap();
    for bytes in [25 << 20, usize::MAX, isize::MAX as usize, 1 << 60, 40 << 20].into_iter().cycle().take(1000) {
        let Err(NpuError::OutOfMemory(error)) = npu.allocate(bytes, DEFAULT) else { panic!("there is no room") };
        let tried = (bytes < 1 << 60).then(|| (bytes as u64).next_multiple_of(2 * MIB));
        let (reserved, allocated) = (16 * MIB, 16 * MIB);
        assert_eq!(error, OutOfMemory { device: npu.index(), tried, capacity: 40 * MIB, reserved, allocated });
    }
    let after = npu.memory_stats().unwrap();
    (before.num_ooms, before.num_alloc_retries, before.num_sync_all_streams) = (1000, 400, 400);
    assert_eq!(after, before);
    assert_eq!(npu.mem_get_info(), Ok((24 * MIB, 40 * MIB)));
    assert_eq!(npu.allocate(24 << 20, DEFAULT).unwrap().bytes(), 24 << 20);
    assert_eq!(npu.synchronize(), Ok(()));
    drop(kept);
}

#[test]
fn the_cache_is_emptied_before_an_allocation_fails() {
    let npu = device(40 * MIB);
    let stream = npu.new_stream(0);
    drop(npu.allocate(30 << 20, stream).unwrap());
    let block = npu.allocate(20 << 20, DEFAULT).unwrap();
    let stats = npu.memory_stats().unwrap();
    assert_eq!((stats.num_alloc_retries, stats.num_ooms, stats.num_device_free), (1, 0, 1));
    assert_eq!(stats.reserved_bytes.all.current, 20 * MIB);
    drop(block);
}

#[test]
fn memory_goes_to_another_stream_only_when_the_first_is_done_with_it() {
    let npu = device(20 * MIB);
    let [a, b] = two_streams(npu);
    let (sender, read) = mpsc::channel();
    let block = npu.allocate(20 << 20, a).unwrap();
    let busy = Busy::on(npu, b);
    let address = Address::of(&block);
    launch(npu, a, move || address.write(1));
    let address = Address::of(&block);
    launch(npu, a, move || sender.send(address.read()).unwrap());
    drop(block);
    // There is no other memory: this waits for what was launched on the first stream.
    let host = std::thread::spawn(move || {
        let block = npu.allocate(20 << 20, b).unwrap();
        let address = Address::of(&block);
        launch(npu, b, move || address.write(2));
        npu.synchronize().unwrap();
        Address::of(&block).read()
    });
    assert!(read.try_recv().is_err());
    drop(busy);
    assert_eq!(host.join().unwrap(), 2);
    assert_eq!(read.recv(), Ok(1));
}

#[test]
fn a_block_that_another_stream_uses_is_not_given_away_before_that_is_done() {
    let npu = device(20 * MIB);
    let other = npu.new_stream(0);
    let block = npu.allocate(512, DEFAULT).unwrap();
    let data = block.data();
    let busy = Busy::on(npu, other);
    block.record_stream(other);
    drop(block);
    let second = npu.allocate(512, DEFAULT).unwrap();
    assert_ne!(second.data(), data);
    drop(busy);
    npu.synchronize().unwrap();
    assert_eq!(npu.allocate(512, DEFAULT).unwrap().data(), data);
}

#[test]
fn a_kernel_may_own_and_allocate_blocks() {
    let npu = device(20 * MIB);
    let owned = npu.allocate(20 << 20, DEFAULT).unwrap();
    let (sender, received) = mpsc::channel();
    launch(npu, DEFAULT, move || {
        let full = npu.allocate(512, DEFAULT).map(drop);
        drop(owned);
        sender.send((full.is_err(), npu.allocate(11 << 20, DEFAULT).is_ok())).unwrap();
    });
    assert_eq!(received.recv(), Ok((true, true)));
    npu.synchronize().unwrap();
    assert_eq!(npu.memory_stats().unwrap().allocation.all.current, 0);
}

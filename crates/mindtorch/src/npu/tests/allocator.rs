//! The allocator without a device: offsets, and counts of jobs that nobody runs.

use super::MIB;
use crate::npu::allocator::{Allocator, Extent, Request};
use crate::npu::pieces::PieceId;
use crate::npu::stats::Stat;
use crate::npu::stream::{StreamId, Streams};

/// An allocator, and the streams that it asks how far they are.
struct Scene {
    allocator: Allocator,
    streams: Streams,
}

impl Scene {
    fn new(capacity: u64) -> Self {
        Self { allocator: Allocator::new(capacity), streams: Streams::new() }
    }

    fn allocate_on(&mut self, bytes: u64, stream: StreamId) -> Option<PieceId> {
        self.allocator.allocate(Request::new(bytes).unwrap(), stream, &self.streams)
    }

    fn allocate(&mut self, bytes: u64) -> PieceId {
        self.allocate_on(bytes, StreamId::DEFAULT).expect("there is room")
    }

    fn free(&mut self, id: PieceId) {
        self.allocator.free(id, &self.streams);
    }

    fn release(&mut self) -> Vec<Extent> {
        self.allocator.release_cached(&self.streams)
    }

    fn offset(&self, id: PieceId) -> u64 {
        self.allocator.extent(id).offset
    }

    /// The bytes in use, active, in pieces that cannot be released, and reserved.
    fn bytes(&self) -> [u64; 4] {
        let stats = &self.allocator.stats;
        [stats.allocated_bytes, stats.active_bytes, stats.inactive_split_bytes, stats.reserved_bytes]
            .map(|stat| stat.all.current)
    }
}

#[test]
fn sizes_are_rounded_and_segments_chosen_as_torch_does() {
    let mut scene = Scene::new(1 << 40);
    for (asked, rounded, segment) in [
        (1, 512, 2 * MIB),
        (512, 512, 2 * MIB),
        (513, 1024, 2 * MIB),
        (MIB, MIB, 2 * MIB),
        (MIB + 1, MIB + 512, 20 * MIB),
        (10 * MIB - 512, 10 * MIB - 512, 20 * MIB),
        // From here a piece has a segment of its own.
        (10 * MIB - 511, 10 * MIB, 10 * MIB),
        (10 * MIB + 1, 10 * MIB + 512, 12 * MIB),
        // All of it, if what is left over is too little to be a piece.
        (11 * MIB, 12 * MIB, 12 * MIB),
    ] {
        let before = scene.bytes();
        let id = scene.allocate(asked);
        let after = scene.bytes();
        assert_eq!((after[0] - before[0], after[3] - before[3]), (rounded, segment), "{asked}");
        scene.free(id);
        scene.release();
    }
    assert_eq!(Request::new(1 << 60), None);
    assert!(Request::new((1 << 60) - 1).is_some());
}

#[test]
fn pieces_are_split_from_a_segment_and_grow_together_again() {
    let mut scene = Scene::new(100 * MIB);
    let [first, second, third] = [512, 1024, 2048].map(|bytes| scene.allocate(bytes));
    assert_eq!([first, second, third].map(|id| scene.offset(id)), [0, 512, 1536]);
    assert_eq!(scene.bytes(), [3584, 3584, 2 * MIB - 3584, 2 * MIB]);
    // The hole in the middle is the best for what fits into it, and is split for less.
    scene.free(second);
    let fourth = scene.allocate(600);
    assert_eq!(scene.offset(fourth), 512);
    scene.free(fourth);
    let fifth = scene.allocate(100);
    assert_eq!(scene.offset(fifth), 512);
    assert_eq!(scene.allocator.stats.inactive_split.all.current, 2);
    // Not with those in use; then with the one before, with the one after, with both.
    scene.free(first);
    assert_eq!(scene.allocator.stats.inactive_split.all.current, 3);
    scene.free(fifth);
    assert_eq!(scene.allocator.stats.inactive_split.all.current, 2);
    assert!(scene.release().is_empty());
    scene.free(third);
    assert_eq!(scene.bytes(), [0, 0, 0, 2 * MIB]);
    assert_eq!(scene.release(), [Extent { offset: 0, bytes: 2 * MIB }]);
    assert_eq!(scene.bytes(), [0; 4]);
}

#[test]
fn the_smallest_piece_that_fits_is_taken() {
    let mut scene = Scene::new(100 * MIB);
    let ids = [8192, 512, 2048, 512, 4096, 512].map(|bytes| scene.allocate(bytes));
    for large in [ids[0], ids[2], ids[4]] {
        scene.free(large);
    }
    let fits = scene.allocate(3000);
    assert_eq!(scene.offset(fits), 8192 + 512 + 2048 + 512);
}

#[test]
fn a_large_piece_is_split_if_what_is_left_is_more_than_a_mebibyte() {
    let mut scene = Scene::new(100 * MIB);
    let first = scene.allocate(9 * MIB);
    let second = scene.allocate(9 * MIB);
    // Two are left of the 20: one and a half is taken whole.
    let third = scene.allocate(MIB + MIB / 2);
    assert_eq!([first, second, third].map(|id| scene.offset(id)), [0, 9 * MIB, 18 * MIB]);
    assert_eq!(scene.bytes(), [20 * MIB, 20 * MIB, 0, 20 * MIB]);
    assert_eq!(scene.allocator.stats.requested_bytes.all.current, 19 * MIB + MIB / 2);
}

#[test]
fn a_piece_is_kept_for_its_stream() {
    let mut scene = Scene::new(4 * MIB);
    let other = scene.streams.next(0);
    let mine = scene.allocate(512);
    scene.free(mine);
    let theirs = scene.allocate_on(512, other).unwrap();
    assert_eq!(scene.offset(theirs), 2 * MIB);
    let again = scene.allocate(512);
    assert_eq!(scene.offset(again), 0);
    // All is reserved, and neither stream gives.
    scene.free(again);
    assert_eq!(scene.allocate_on(MIB, other).map(|id| scene.offset(id)), Some(2 * MIB + 512));
    assert_eq!(scene.allocate_on(MIB, other), None);
}

#[test]
fn a_piece_that_another_stream_uses_waits_for_it() {
    let mut scene = Scene::new(100 * MIB);
    let others = [scene.streams.next(0), scene.streams.next(0)];
    let id = scene.allocate(1000);
    let used = scene.allocate(512);
    for stream in [others[0], others[1], others[0], StreamId::DEFAULT] {
        scene.allocator.record_use(id, stream);
    }
    scene.streams[others[0]].submit();
    scene.streams[others[1]].submit();
    scene.free(id);
    // What comes later does not matter.
    scene.streams[others[0]].submit();
    assert_eq!(scene.bytes()[..2], [512, 1536]);
    let is_reused = |scene: &mut Scene| {
        let id = scene.allocate(1024);
        let offset = scene.offset(id);
        scene.free(id);
        offset == 0
    };
    assert!(!is_reused(&mut scene));
    scene.streams[others[0]].progress.advance();
    assert!(!is_reused(&mut scene));
    scene.free(used);
    scene.streams[others[1]].progress.advance();
    assert!(is_reused(&mut scene));
    assert_eq!(scene.bytes()[..3], [0, 0, 0]);
}

#[test]
fn a_segment_that_a_stream_may_still_work_on_is_not_released() {
    let mut scene = Scene::new(100 * MIB);
    let stream = scene.streams.next(0);
    scene.streams[stream].submit();
    let [small, large] = [512, 5 * MIB].map(|bytes| scene.allocate_on(bytes, stream).unwrap());
    scene.free(small);
    scene.streams[stream].submit();
    scene.free(large);
    assert!(scene.release().is_empty());
    scene.streams[stream].progress.advance();
    assert_eq!(scene.release(), [Extent { offset: 0, bytes: 2 * MIB }]);
    scene.streams[stream].progress.advance();
    assert_eq!(scene.release(), [Extent { offset: 2 * MIB, bytes: 20 * MIB }]);
}

/// The generator of `cuda_stats.py`.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    fn size(&mut self) -> u64 {
        match self.below(8) {
            0..=2 => 1 + self.below(MIB),
            3..=5 => MIB + 1 + self.below(9 * MIB),
            6 => 10 * MIB + self.below(30 * MIB),
            _ => 512 * (1 + self.below(64)),
        }
    }
}

/// `cuda_stats.txt` has what torch counted on a GPU. In these steps no two free pieces of a size are to choose from, unless
/// they are whole segments: of such, the first in memory is taken, and where that is differs from device to device.
#[test]
fn the_statistics_are_those_of_torch_on_a_gpu() {
    let mut lines = include_str!("cuda_stats.txt").lines();
    let keys: Vec<&str> = lines.next().unwrap().split(' ').collect();
    let mut scene = Scene::new(64 << 30);
    let streams = [StreamId::DEFAULT, scene.streams.next(0)];
    let mut random = Random(1);
    let mut live = Vec::new();
    for step in 1..=2500 {
        if live.is_empty() || random.below(100) < 52 {
            let stream = streams[random.below(2) as usize];
            live.push(scene.allocate_on(random.size(), stream).unwrap());
        } else {
            let id = live.swap_remove(random.below(live.len() as u64) as usize);
            scene.free(id);
        }
        if step % 1111 == 0 {
            scene.release();
        }
        if step % 250 == 0 {
            let expected = keys.iter().copied().zip(lines.next().unwrap().split(' ').map(|text| text.parse().unwrap()));
            let entries = scene.allocator.stats.entries();
            let entries = entries.iter().map(|(key, value)| (key.as_str(), *value));
            assert_eq!(entries.collect::<Vec<_>>(), expected.collect::<Vec<(&str, i64)>>(), "after step {step}");
        }
    }
    assert_eq!(lines.next(), None);
}

#[test]
fn no_two_pieces_overlap_and_nothing_is_lost() {
    let capacity = 256 * MIB;
    let mut scene = Scene::new(capacity);
    let others = [scene.streams.next(0), scene.streams.next(-1)];
    let mut random = Random(7);
    let mut live: Vec<PieceId> = Vec::new();
    for _ in 0..5000 {
        let stream = [StreamId::DEFAULT, others[0], others[1]][random.below(3) as usize];
        match random.below(8) {
            0..=3 => {
                let size = random.size();
                live.extend(scene.allocate_on(size, stream));
            }
            4 | 5 if !live.is_empty() => {
                let id = live.swap_remove(random.below(live.len() as u64) as usize);
                scene.allocator.record_use(id, stream);
                scene.free(id);
            }
            6 => _ = scene.streams[stream].submit(),
            _ if !scene.streams[stream].is_idle() => scene.streams[stream].progress.advance(),
            _ => {}
        }
        if random.below(50) == 0 {
            scene.release();
            let mut extents: Vec<_> = live.iter().map(|&id| scene.allocator.extent(id)).collect();
            extents.sort_unstable_by_key(|extent| extent.offset);
            assert!(extents.windows(2).all(|pair| pair[0].offset + pair[0].bytes <= pair[1].offset));
            assert!(extents.iter().all(|extent| extent.offset + extent.bytes <= capacity));
            assert_eq!(extents.iter().map(|extent| extent.bytes).sum::<u64>(), scene.bytes()[0]);
        }
    }
    live.drain(..).for_each(|id| scene.free(id));
    for stream in [StreamId::DEFAULT, others[0], others[1]] {
        while !scene.streams[stream].is_idle() {
            scene.streams[stream].progress.advance();
        }
    }
    scene.release();
    assert_eq!(scene.bytes(), [0; 4]);
    let Stat { current, allocated, freed, .. } = scene.allocator.stats.inactive_split_bytes.all;
    assert_eq!((current, allocated), (0, freed));
    let whole = scene.allocate(capacity);
    assert_eq!(scene.allocator.extent(whole), Extent { offset: 0, bytes: capacity });
}

//! What was written is what is read.

use super::super::{BlockState, Gap, SpoolClock, SpoolScope, SpoolSettings, SpoolSpan, SpoolStep};
use super::*;
use crate::recorder::{Device, MemoryRole, MemoryUse};
use proptest::prelude::*;
use std::borrow::Cow;

fn settings() -> SpoolSettings {
    SpoolSettings {
        capture: Capture::CPU | Capture::MEMORY | Capture::OVERLOADS,
        record_steps: true,
        first_step: 7,
        left_out: 0b1010,
        hides_memory_events: false,
        annotates_devices: true,
        accelerator: "CUDA".to_owned(),
        metadata: vec![("model".into(), "\"ä\"".into()), (String::new(), String::new())],
        memory_in_use: vec![(Device::Cpu, -5), (Device::Npu(3), i64::MAX)],
        open_scopes: vec![SpoolScope { name: 1, note: 0, os_thread: 12, end: 0 }],
    }
}

#[test]
fn everything_that_was_logged_comes_back() {
    let scene = Scene::new();
    let clock = |multiplier| SpoolClock { origin_ticks: 1, origin_epoch_ns: 2, multiplier };
    let step = SpoolStep { ended: 4, ticks: 5, os_thread: 6 };
    let span = |serial, end| SpoolSpan { serial, position: 9, first: [1, end, 2, 3], second: Some([4, 5, 6, 7]) };
    let used =
        MemoryUse { address: 0x1000, bytes: 64, device: Device::Npu(1), role: MemoryRole::Parameter, is_written: true };
    let edge = SpoolEdge { cut: cut(3, &[]), capture: Capture::CPU, blocks: vec![used] };
    scene.spool.log_all([
        Entry::Settings(Cow::Owned(SpoolSettings::default())),
        Entry::Settings(Cow::Owned(settings())),
        Entry::Name { id: 3, text: "aten::mm".into() },
        Entry::Name { id: u32::MAX, text: "".into() },
        Entry::Stack { id: 1, frames: vec![3, 1].into() },
        Entry::Inputs { id: 2, words: vec![u64::MAX, 0].into() },
        thread(2, "worker"),
        Entry::Thread { serial: 1, os_id: 11, name: None },
        Entry::Clock(clock(1)),
        Entry::Clock(clock(2)),
        Entry::Edge(edge.clone()),
        Entry::Step(step),
        Entry::Carried(span(2, 0)),
        Entry::Carried(span(1, 0)),
        Entry::Carried(span(1, 8)),
        Entry::Lost { events: 3 },
        Entry::Lost { events: 4 },
        Entry::End(cut(9, &[(1, 0), (2, 0)])),
    ]);
    let read = scene.read();
    let begin = read.begin.unwrap();
    assert_eq!(begin.pid, std::process::id());
    assert!(begin.start_epoch_ns > 0);
    assert_eq!((read.settings, read.clock), (Some(settings()), Some(clock(2))));
    assert_eq!((read.edges, read.steps, read.lost_events), (vec![edge], vec![step], 4));
    assert_eq!(read.carried, [span(1, 8), span(2, 0)]);
    assert_eq!(read.end, Some(cut(9, &[(1, 0), (2, 0)])));
    assert_eq!(read.names.into_iter().collect::<Vec<_>>(), [(3, "aten::mm".into()), (u32::MAX, String::new())]);
    assert_eq!((&read.stacks[&1][..], &read.inputs[&2][..]), (&[3, 1][..], &[u64::MAX, 0][..]));
    let threads: Vec<_> = read.threads.iter().map(|thread| (thread.serial, thread.os_id, &thread.name)).collect();
    assert_eq!(threads, [(1, 11, &None), (2, 102, &Some("worker".into()))]);
    assert!(read.damage.is_none(), "{}", read.damage);
    assert_eq!(read.damage.to_string(), "nothing is missing");
}

#[test]
fn sealed_and_open_blocks_come_back_up_to_the_last_whole_record() {
    let read = Scene::killed().read();
    let records = some_records();
    let length = records.len() as u64;
    let blocks = |at: usize| {
        let of_thread = read.threads[at].blocks.iter();
        of_thread.map(|block| (block.base, block.state, &block.slots[..])).collect::<Vec<_>>()
    };
    assert_eq!(blocks(0), [(0, BlockState::Sealed, &records[..]), (length, BlockState::Open, &records[..])]);
    assert_eq!(blocks(1), [(0, BlockState::Open, &records[..3])]);
    assert_eq!(read.damage.to_string(), "the recording was not stopped");
}

#[test]
fn ends_of_spans_may_come_after_a_block_is_sealed() {
    let scene = Scene::new();
    scene.spool.log(thread(1, "main"));
    let block = scene.spool.block(1, 0, 4).unwrap();
    let slots = [record(RecordKind::Op, 1), detailed(RecordKind::Annotation, 2)].concat();
    store(&block, 0, &slots);
    block.seal(3, 2);
    let elsewhere = Head { kind: RecordKind::Op, flags: Head::CLOSED_ELSEWHERE, track: 0, name: 1 };
    block.slots()[0][2].store(elsewhere.pack(), Ordering::Relaxed);
    block.slots()[0][1].store(99, Ordering::Release);
    block.slots()[1][1].store(98, Ordering::Release);
    let read = scene.read();
    let found = &read.threads[0].blocks[0];
    assert_eq!((found.state, found.slots[0][1], found.slots[1][1]), (BlockState::Sealed, 99, 98));
    assert!(Head::unpack(found.slots[0][2]).is_closed_elsewhere());
}

#[test]
fn a_running_process_can_be_read_again_and_again() {
    let scene = Scene::new();
    scene.spool.log(thread(1, "main"));
    for blocks in 0..40 {
        let block = scene.spool.block(1, 2 * blocks, 2).unwrap();
        store(&block, 0, &record(RecordKind::Mark, blocks));
        assert_eq!(scene.read().threads[0].blocks.len() as u64, blocks + 1);
        store(&block, 1, &record(RecordKind::Mark, blocks));
        block.seal(2, 0);
        let of_thread = &scene.read().threads[0].blocks;
        assert!(of_thread.iter().all(|block| block.state == BlockState::Sealed && block.slots.len() == 2));
    }
}

#[test]
fn what_is_in_no_block_is_told() {
    let scene = Scene::new();
    scene.spool.log_all([thread(1, "main"), edge(1, &[(1, 10), (3, 5)])]);
    let first = scene.spool.block(1, 12, 8).unwrap();
    store(&first, 0, &record(RecordKind::Mark, 1));
    let second = scene.spool.block(1, 20, 8).unwrap();
    store(&second, 0, &record(RecordKind::Mark, 1));
    let gap = |serial, from, to| Gap { serial, from, to };
    assert_eq!(scene.read().damage.gaps, [gap(1, 10, 12), gap(1, 13, 20)]);
    scene.spool.log(Entry::End(cut(9, &[(1, 22), (3, 5), (4, 2)])));
    assert_eq!(scene.read().damage.gaps, [gap(1, 10, 12), gap(1, 13, 20), gap(1, 21, 22), gap(4, 0, 2)]);
}

#[test]
fn spools_share_a_directory_and_leave_it_as_it_was() {
    let directory = tempfile::tempdir().unwrap();
    let inner = directory.path().join("spools");
    let spools = [Spool::create(&inner).unwrap(), Spool::create(&inner).unwrap()];
    for (number, spool) in (1..).zip(&spools) {
        spool.log(thread(number, "main"));
        spool.sync().unwrap();
    }
    std::fs::create_dir(inner.join("something else")).unwrap();
    std::os::unix::fs::symlink(spools[0].path(), inner.join("mindtorch-link")).unwrap();
    let mut paths = spools.each_ref().map(Spool::path);
    paths.sort_unstable();
    assert_eq!(sessions(&inner).unwrap(), paths);
    for (number, spool) in (1..).zip(&spools) {
        assert_eq!(read_soundly(spool.path()).unwrap().threads[0].serial, number);
        let block = spool.block(1, 0, 1).unwrap();
        spool.remove().unwrap();
        assert_eq!(block.slots()[0][0].swap(1, Ordering::Relaxed), 0);
    }
    assert!(sessions(&inner).unwrap().is_empty());
}

/// Any records, without their ends.
fn records() -> impl Strategy<Value = Vec<Words>> {
    let kinds = prop_oneof![
        Just(RecordKind::Op),
        Just(RecordKind::Function),
        Just(RecordKind::Memory),
        Just(RecordKind::Use),
        Just(RecordKind::Kernel)
    ];
    let record = (kinds, any::<(bool, u16, u32)>(), any::<[u64; 3]>(), any::<[u64; 4]>());
    let slots = record.prop_map(|(kind, (more, track, name), [first, second, last], details)| {
        let is_detailed = kind == RecordKind::Kernel || more && kind != RecordKind::Use;
        let flags = if is_detailed { Head::DETAILED } else { 0 };
        let slot = [first, second, Head { kind, flags, track, name }.pack(), last];
        if is_detailed { vec![slot, details] } else { vec![slot] }
    });
    prop::collection::vec(slots, 0..60).prop_map(|slots| slots.concat())
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config(200))]

    #[test]
    fn any_records_come_back(streams in prop::collection::vec((records(), any::<bool>(), 1u32..4), 0..24)) {
        let scene = Scene::new();
        scene.spool.log_all((1..4).map(|serial| thread(serial, "any")));
        let mut positions = [0; 4];
        let mut expected = [const { Vec::new() }; 4];
        for (slots, is_sealed, serial) in streams {
            let position = &mut positions[serial as usize];
            let block = scene.spool.block(serial, *position, slots.len().max(1)).unwrap();
            store(&block, 0, &slots);
            if is_sealed {
                block.seal(slots.len(), 0);
            }
            *position += slots.len() as u64;
            expected[serial as usize].extend(slots);
        }
        scene.spool.log(Entry::End(cut(1, &[1, 2, 3].map(|serial| (serial, positions[serial as usize])))));
        let read = scene.read();
        prop_assert!(read.damage.is_none(), "{}", read.damage);
        for thread in read.threads {
            let found: Vec<Words> = thread.blocks.into_iter().flat_map(|block| block.slots).collect();
            prop_assert_eq!(&found, &expected[thread.serial as usize]);
        }
    }
}

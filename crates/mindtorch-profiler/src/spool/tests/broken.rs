//! Files that are cut off or changed: what can be read is read, what cannot is told, and nothing else happens.

use super::super::{BlockState, Damage, LogDamage, LogFault, SpoolBlock, layout};
use super::*;
use crate::inputs::Inputs;
use crate::recorder::pair;
use crate::trace::Trace;
use proptest::prelude::*;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::sync::{LazyLock, Mutex, PoisonError};

const HEADER: usize = layout::SpoolFile::HEADER_BYTES;

fn writable(path: &Path) -> File {
    OpenOptions::new().read(true).write(true).open(path).unwrap()
}

/// Where the entries of a log end.
fn ends_of_entries(log: &[u8]) -> Vec<usize> {
    let mut ends = vec![HEADER];
    while let Some(length) = log.get(*ends.last().unwrap()..).and_then(|rest| rest.first_chunk()) {
        ends.push(ends.last().unwrap() + 8 + u32::from_ne_bytes(*length) as usize);
    }
    assert_eq!(ends.last(), Some(&log.len()));
    ends
}

#[test]
fn a_log_that_is_cut_anywhere_is_read_up_to_its_last_whole_entry() {
    let scene = Scene::killed();
    let log = fs::read(scene.log()).unwrap();
    let ends = ends_of_entries(&log);
    let mut whole = None;
    for length in 0..=log.len() {
        fs::write(scene.log(), &log[..length]).unwrap();
        let read = read_soundly(scene.spool.path());
        if length < HEADER {
            assert_eq!(
                read.unwrap_err(),
                format!("cannot read {}: at byte {length}, it ends before its header does", scene.log().display())
            );
            continue;
        }
        let mut read = read.unwrap();
        if ends.contains(&length) {
            assert_eq!(read.damage.log, None);
            whole = Some(read);
            continue;
        }
        let end = *ends.iter().rfind(|&&end| end < length).unwrap();
        let torn = LogDamage { offset: end as u64, bytes: (length - end) as u64, fault: LogFault::Torn };
        assert_eq!(read.damage.log.take(), Some(torn));
        assert_eq!(Some(&read), whole.as_ref());
    }
    assert_eq!(whole.unwrap().names.len(), 3);
}

/// The lengths of a records file at which something begins or ends, and many between, from the longest on.
fn lengths(longest: usize) -> impl Iterator<Item = usize> {
    let heads = layout::PIECE..layout::PIECE + 4 * layout::HEAD_BYTES;
    let first = 2 * layout::PIECE..2 * layout::PIECE + 700;
    let others = 2 * layout::PIECE + 700..5 * layout::PIECE;
    (0..=HEADER).chain(heads).chain(first).chain(others.step_by(251)).chain([longest]).rev()
}

#[test]
fn a_records_file_that_is_cut_anywhere_is_read_up_to_there() {
    let scene = Scene::killed();
    let whole = scene.read();
    // Apart from the spool's own, whose pages would be taken away.
    let copy = tempfile::tempdir().unwrap();
    fs::copy(scene.log(), copy.path().join("log")).unwrap();
    let longest = fs::copy(scene.records(), copy.path().join("records")).unwrap();
    let records = writable(&copy.path().join("records"));
    for length in lengths(longest as usize) {
        records.set_len(length as u64).unwrap();
        let Ok(read) = read_soundly(copy.path()) else {
            assert!(length < HEADER, "{length}");
            continue;
        };
        assert!(length >= HEADER);
        for (thread, of_whole) in read.threads.iter().zip(&whole.threads) {
            for (block, of_whole) in thread.blocks.iter().zip(&of_whole.blocks) {
                assert!(of_whole.slots.starts_with(&block.slots));
                assert!(block.slots == of_whole.slots || !read.damage.blocks.is_empty(), "{length}");
            }
        }
        let blocks = |read: &SpoolContents| read.threads.iter().map(|thread| thread.blocks.len()).sum::<usize>();
        assert_eq!(blocks(&read) == blocks(&whole), length >= 4 * layout::PIECE + layout::SLOT_BYTES, "{length}");
    }
}

#[test]
fn files_that_claim_to_be_endless_are_not_read_for_ever() {
    let scene = Scene::killed();
    writable(&scene.records()).set_len(1 << 43).unwrap();
    let length = writable(&scene.log()).metadata().unwrap().len();
    writable(&scene.log()).set_len(1 << 43).unwrap();
    let read = scene.read();
    let log = LogDamage { offset: length, bytes: (1 << 43) - length, fault: LogFault::Changed };
    assert_eq!((read.names.len(), read.damage.log), (3, Some(log)));
    assert!(read.damage.records_unread.is_some() && read.threads[0].blocks.len() == 2);
}

#[test]
fn a_sealed_block_that_changed_is_kept_as_far_as_it_makes_sense() {
    let scene = Scene::killed();
    let records = some_records();
    let first = 2 * layout::PIECE as u64;
    let file = writable(&scene.records());
    // The third word of the third slot: a head of no kind that there is.
    file.write_all_at(&[200], first + 2 * 32 + 16).unwrap();
    let read = scene.read();
    let block = &read.threads[0].blocks[0];
    assert_eq!((block.state, &block.slots[..]), (BlockState::Damaged, &records[..2]));
    let damaged = read.damage.blocks[0];
    let found = (damaged.serial, damaged.offset, damaged.kept, damaged.unreadable as usize);
    assert_eq!(found, (1, first, 2, records.len() - 2));
    assert_eq!(read.damage.gaps[0].to, records.len() as u64);
}

#[test]
fn a_header_that_makes_no_sense_is_told_and_its_block_is_not_read() {
    let scene = Scene::killed();
    let heads = layout::PIECE as u64;
    writable(&scene.records()).write_all_at(&[1], heads + 8).unwrap();
    let header = heads + layout::HEAD_BYTES as u64;
    writable(&scene.records()).write_all_at(&[0xee], header + 8).unwrap();
    let read = scene.read();
    assert_eq!(read.damage.lost_headers, [header]);
    assert_eq!(read.threads[0].blocks.len(), 1);
}

#[test]
fn blocks_that_claim_the_same_positions_are_not_both_read() {
    let scene = Scene::new();
    for base in [4, 5, u64::MAX, 7] {
        let block = scene.spool.block(9, base, 4).unwrap();
        let slots: Vec<Words> = (0..3).flat_map(|number| record(RecordKind::Op, number)).collect();
        store(&block, 0, &slots);
        block.seal(3, 3);
    }
    let read = scene.read();
    let bases: Vec<u64> = read.threads[0].blocks.iter().map(|block| block.base).collect();
    assert_eq!(bases, [4, 7]);
    let damaged = (read.damage.blocks[0].base, read.damage.lost_headers.len());
    assert_eq!((damaged, &read.damage.unknown_threads[..]), ((5, 1), &[9][..]));
}

#[test]
fn a_block_that_is_sealed_over_what_is_no_record_is_not_trusted() {
    let scene = Scene::new();
    scene.spool.log(thread(1, "main"));
    let block = scene.spool.block(1, 0, 8).unwrap();
    store(&block, 0, &record(RecordKind::Op, 1));
    block.seal(8, 1);
    let read = scene.read();
    assert_eq!(read.threads[0].blocks[0].state, BlockState::Damaged);
    assert_eq!((read.damage.blocks[0].kept, read.damage.blocks[0].unreadable), (1, 7));
}

#[test]
fn inputs_that_are_nested_too_deep_are_elided_and_nothing_else_is_lost() {
    let scene = Scene::new();
    // The first word of a list of one item.
    const LIST: u64 = 1 | 1 << 3;
    let inputs = |id: u32, depth: usize| Entry::Inputs { id, words: vec![LIST; depth].into() };
    let capture = Capture::CPU | Capture::SHAPES;
    let begin = Entry::Edge(SpoolEdge { cut: cut(0, &[]), capture, blocks: Vec::new() });
    scene.spool.log_all([thread(1, "main"), begin, inputs(1, 1_000_000), inputs(2, Inputs::MAX_DEPTH)]);
    scene.spool.log_all((0..3).map(|id| Entry::Name { id, text: format!("name {id}").into() }));
    let block = scene.spool.block(1, 0, 8).unwrap();
    let mut spans: Vec<Words> = [1, 2].into_iter().flat_map(|number| record(RecordKind::Op, number)).collect();
    spans[0][3] = pair(1, 0);
    store(&block, 0, &spans);
    let contents = scene.read();
    assert_eq!(contents.damage, Damage { deep_inputs: vec![1], ..Damage::default() });
    assert_eq!((contents.inputs[&1].len(), contents.inputs[&2].len()), (Inputs::MAX_DEPTH + 2, Inputs::MAX_DEPTH));
    let recovered = Trace::recover(scene.spool.path()).unwrap().remove(0).unwrap();
    assert_eq!(recovered.damage.deep_inputs, [1]);
    let spans: Vec<_> = recovered.trace.spans().map(|span| (span.name().to_owned(), span.inputs().decode())).collect();
    assert_eq!(spans.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["name 1", "name 2"]);
    assert_eq!(spans[0].1.len(), 1);
    let mut exported = Vec::new();
    recovered.trace.write_chrome_trace(&mut exported, "test").unwrap();
    assert!(Trace::read(&exported[..]).is_ok());
}

/// What a block has that a checksum vouches for.
fn vouched(block: &SpoolBlock) -> Vec<Words> {
    if block.state == BlockState::Open {
        return Vec::new();
    }
    let mut slots = block.slots.clone();
    let mut at = 0;
    while at < slots.len() {
        let head = Head::unpack(slots[at][2]);
        if head.kind.is_span() {
            let flags = head.flags & !Head::CLOSED_ELSEWHERE;
            slots[at] = [slots[at][0], 0, Head { flags, ..head }.pack(), slots[at][3]];
        }
        at += 1 + usize::from(head.is_detailed());
    }
    slots
}

/// The contents but for what nothing vouches for: records of open blocks, and ends of spans.
fn vouched_contents(contents: &SpoolContents) -> SpoolContents {
    let mut contents = contents.clone();
    for thread in &mut contents.threads {
        thread.blocks.retain(|block| block.state != BlockState::Open);
        for block in &mut thread.blocks {
            block.slots = vouched(block);
        }
    }
    contents
}

/// One spool for all cases, since every one puts back what it changed.
static CHANGED: LazyLock<Mutex<(Scene, SpoolContents)>> = LazyLock::new(|| {
    let scene = Scene::killed();
    let contents = scene.read();
    Mutex::new((scene, contents))
});

/// Where a byte is changed: in the log, or where the records file has something.
fn place() -> impl Strategy<Value = (bool, u64)> {
    let piece = layout::PIECE as u64;
    let log = (Just(true), 0..400u64);
    let header = (Just(false), 0..HEADER as u64);
    let heads = (Just(false), piece..piece + 5 * layout::HEAD_BYTES as u64);
    let slots = (Just(false), (2..5u64, 0..640u64).prop_map(move |(number, at)| number * piece + at));
    prop_oneof![4 => log, 1 => header, 4 => heads, 4 => slots]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_change_is_told_or_changes_nothing(changes in prop::collection::vec((place(), 1..=255u8), 1..4)) {
        let held = CHANGED.lock().unwrap_or_else(PoisonError::into_inner);
        let (scene, whole) = &*held;
        let files = [writable(&scene.records()), writable(&scene.log())];
        let mut before = Vec::new();
        for ((is_log, offset), bits) in changes {
            let file = &files[usize::from(is_log)];
            let mut byte = [0];
            if file.read_at(&mut byte, offset).unwrap() == 1 {
                before.push((file, offset, byte));
                file.write_all_at(&[byte[0] ^ bits], offset).unwrap();
            }
        }
        let read = read_soundly(scene.spool.path());
        for (file, offset, byte) in before.into_iter().rev() {
            file.write_all_at(&byte, offset).unwrap();
        }
        let Ok(read) = read else { return Ok(()) };
        let is_told = read.damage != Damage { is_ended: false, ..Damage::default() };
        prop_assert!(is_told || vouched_contents(&read) == vouched_contents(whole));
    }
}

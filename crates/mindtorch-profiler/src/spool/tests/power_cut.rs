//! Power cuts: of what was stored after the last [`Spool::sync`], the disk has any pages and not others.

use super::*;
use proptest::prelude::*;
use std::fs;
use std::sync::LazyLock;

const PAGE: usize = 4096;
const IN_BLOCK: u64 = 512;
/// What each of two threads has recorded when everything was synced, and in all.
const SYNCED: u64 = 9 * IN_BLOCK + 200;
const RECORDED: u64 = 20 * IN_BLOCK + 300;
const THREADS: [u32; 2] = [1, 2];
const NAME_LENGTH: usize = 300;

fn at(serial: u32, position: u64) -> Words {
    record(RecordKind::Op, u64::from(serial) << 32 | position)[0]
}

fn name(id: u64) -> String {
    format!("{id:>NAME_LENGTH$}")
}

/// Records `from..to` of both threads, to their open blocks and to new ones, with a name for every block.
fn write(spool: &Spool, open: &mut [Option<MappedBlock>; 2], from: u64, to: u64) {
    for position in from..to {
        let in_block = position % IN_BLOCK;
        for (&serial, open) in THREADS.iter().zip(&mut *open) {
            if in_block == 0 {
                if let Some(full) = open.take() {
                    full.seal(IN_BLOCK as usize, 0);
                }
                spool.log(Entry::Name { id: position as u32 + serial, text: name(position).into() });
                *open = Some(spool.block(serial, position, IN_BLOCK as usize).unwrap());
            }
            store(open.as_ref().unwrap(), in_block as usize, &[at(serial, position)]);
        }
    }
}

/// The two files, when everything was synced and at the end.
struct Files {
    synced: [Vec<u8>; 2],
    last: [Vec<u8>; 2],
}

static FILES: LazyLock<Files> = LazyLock::new(|| {
    let scene = Scene::new();
    let contents = || [scene.records(), scene.log()].map(|path| fs::read(path).unwrap());
    let mut open = [None, None];
    scene.spool.log_all([thread(1, "main"), thread(2, "worker"), edge(1, &[])]);
    write(&scene.spool, &mut open, 0, SYNCED);
    scene.spool.sync().unwrap();
    let synced = contents();
    write(&scene.spool, &mut open, SYNCED, RECORDED);
    scene.spool.log(Entry::End(cut(9, &[(1, RECORDED), (2, RECORDED)])));
    Files { synced, last: contents() }
});

/// What the disk has of a file: what was synced, and of what changed since the pages that `is_there` says.
fn after_cut(synced: &[u8], last: &[u8], has_grown: bool, mut is_there: impl FnMut() -> bool) -> Vec<u8> {
    let mut disk = synced.to_vec();
    disk.resize(if has_grown { last.len() } else { synced.len() }, 0);
    for (before, after) in disk.chunks_mut(PAGE).zip(last.chunks(PAGE)) {
        let after = &after[..before.len()];
        if *before != *after && is_there() {
            before.copy_from_slice(after);
        }
    }
    disk
}

/// What was read of a thread: positions in order.
fn positions(contents: &SpoolContents, serial: u32) -> Vec<u64> {
    let thread = contents.threads.iter().find(|thread| thread.serial == serial).unwrap();
    let mut positions = Vec::new();
    for block in &thread.blocks {
        for (words, position) in block.slots.iter().zip(block.base..) {
            assert_eq!(*words, at(serial, position), "nothing else was ever written");
            positions.push(position);
        }
    }
    positions
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_was_synced_is_there_and_what_lacks_before_the_end_is_told(
        have_grown in any::<[bool; 2]>(),
        chance in 0..=100u32,
        seed in any::<u64>(),
    ) {
        let mut state = seed | 1;
        let mut is_there = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % 100 < u64::from(chance)
        };
        let directory = tempfile::tempdir().unwrap();
        for (file, (at, has_grown)) in ["records", "log"].into_iter().zip((0..).zip(have_grown)) {
            let disk = after_cut(&FILES.synced[at], &FILES.last[at], has_grown, &mut is_there);
            fs::write(directory.path().join(file), disk).unwrap();
        }
        let read = read_soundly(directory.path()).unwrap();
        for position in (0..SYNCED).step_by(IN_BLOCK as usize) {
            for serial in THREADS {
                prop_assert_eq!(&read.names[&(position as u32 + serial)], &name(position));
            }
        }
        for serial in THREADS {
            let positions = positions(&read, serial);
            prop_assert!(positions.starts_with(&(0..SYNCED).collect::<Vec<_>>()));
            let known = if read.end.is_some() { RECORDED } else { positions[positions.len() - 1] + 1 };
            let told: u64 = read.damage.gaps.iter().filter(|gap| gap.serial == serial).map(|gap| gap.to - gap.from).sum();
            prop_assert_eq!(positions.len() as u64 + told, known);
        }
        let log_is_whole = read.end.is_some() || !have_grown[1];
        prop_assert!(log_is_whole || read.damage.log.is_some());
    }
}

//! What belongs here takes more than one of the spool's files. The records are made by hand: the recorder has no part in it.

mod broken;
mod power_cut;
mod process;
mod refused;
mod round_trip;

use super::{Entry, MappedBlock, Spool, SpoolContents, SpoolCut, SpoolEdge, read, sessions};
use crate::capture::Capture;
use crate::recorder::{Head, RecordKind, Words};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use tempfile::TempDir;

/// A record of one slot.
fn record(kind: RecordKind, number: u64) -> Vec<Words> {
    let head = Head { kind, flags: 0, track: 0, name: number as u32 };
    vec![[number + 1, 0, head.pack(), number]]
}

/// A record of two slots.
fn detailed(kind: RecordKind, number: u64) -> Vec<Words> {
    let head = Head { kind, flags: Head::DETAILED, track: 3, name: number as u32 };
    // The second slot may look like anything, also like a record.
    vec![[number + 1, 0, head.pack(), number], [number, 5, head.pack(), 0]]
}

/// Stores slots as a recorder does: the second one of a record first, and heads last.
fn store(block: &MappedBlock, at: usize, slots: &[Words]) {
    for (place, words) in block.slots()[at..].iter().zip(slots).rev() {
        for index in [0, 1, 3] {
            place[index].store(words[index], Ordering::Relaxed);
        }
        place[2].store(words[2], Ordering::Release);
    }
}

/// All kinds of records, some of them with details.
fn some_records() -> Vec<Words> {
    let plain = [
        RecordKind::Op,
        RecordKind::Backward,
        RecordKind::Annotation,
        RecordKind::Runtime,
        RecordKind::Memory,
        RecordKind::Counter,
        RecordKind::Mark,
        RecordKind::Function,
        RecordKind::Use,
        RecordKind::Sources,
    ];
    let long =
        [RecordKind::Kernel, RecordKind::Copy, RecordKind::Set, RecordKind::Sync, RecordKind::Op, RecordKind::Memory];
    let plain = plain.into_iter().zip(1..).flat_map(|(kind, number)| record(kind, number));
    plain.chain(long.into_iter().zip(50..).flat_map(|(kind, number)| detailed(kind, number))).collect()
}

fn cut(ticks: u64, positions: &[(u32, u64)]) -> SpoolCut {
    SpoolCut { ticks, lost: 0, positions: positions.to_vec() }
}

fn edge(ticks: u64, positions: &[(u32, u64)]) -> Entry<'static> {
    Entry::Edge(SpoolEdge { cut: cut(ticks, positions), capture: Capture::CPU, blocks: Vec::new() })
}

fn thread(serial: u32, name: &str) -> Entry<'_> {
    Entry::Thread { serial, os_id: 100 + u64::from(serial), name: Some(name.into()) }
}

/// A spool, and the directory that it is in.
struct Scene {
    spool: Spool,
    directory: TempDir,
}

impl Scene {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        Self { spool: Spool::create(directory.path()).unwrap(), directory }
    }

    /// Two threads; the second is in the middle of a record. Nobody stopped the session.
    fn killed() -> Self {
        let scene = Self::new();
        let spool = &scene.spool;
        spool.log_all([thread(1, "main"), thread(2, "worker"), edge(5, &[])]);
        spool.log_all((1..4).map(|id| Entry::Name { id, text: format!("name {id}").into() }));
        let records = some_records();
        let (first, second) = (spool.block(1, 0, 32).unwrap(), spool.block(1, records.len() as u64, 128).unwrap());
        store(&first, 0, &records);
        first.seal(records.len(), 6);
        store(&second, 0, &records);
        let other = spool.block(2, 0, 32).unwrap();
        store(&other, 0, &records[..3]);
        other.slots()[3][0].store(77, Ordering::Relaxed);
        scene
    }

    fn log(&self) -> PathBuf {
        self.spool.path().join("log")
    }

    fn records(&self) -> PathBuf {
        self.spool.path().join("records")
    }

    fn read(&self) -> SpoolContents {
        assert_eq!(sessions(self.directory.path()).unwrap(), [self.spool.path()]);
        assert_eq!(sessions(self.spool.path()).unwrap(), [self.spool.path()]);
        read_soundly(self.spool.path()).unwrap()
    }
}

/// Reads a spool and checks what holds for every one that can be read.
fn read_soundly(session: &Path) -> Result<SpoolContents, String> {
    let contents = read(session).map_err(|error| error.to_string())?;
    assert!(contents.threads.is_sorted_by(|one, next| one.serial < next.serial));
    for thread in &contents.threads {
        assert!(thread.blocks.is_sorted_by(|one, next| one.end() <= next.base));
        for block in &thread.blocks {
            assert_eq!(block.serial, thread.serial);
            let mut at = 0;
            while at < block.slots.len() {
                let head = Head::unpack(block.slots[at][2]);
                assert_eq!(head.kind as u8, block.slots[at][2] as u8);
                at += 1 + usize::from(head.is_detailed());
            }
            assert!(!block.slots.is_empty() && at == block.slots.len(), "a record has its second slot");
        }
    }
    assert_ne!(contents.damage.to_string(), "");
    Ok(contents)
}

//! A spool with any changes: reading it never panics, and what is read is sound. Checksums are not looked at while fuzzing,
//! or no change would get past them.
//!
//! The input is a list of changes: a bit for the file and 15 for the place, a length, and that many bytes. Places of the
//! records file are only those where something is.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mindtorch_profiler::spool::{Entry, Spool, SpoolClock, SpoolCut, SpoolEdge, SpoolSettings, SpoolSpan, SpoolStep};
use mindtorch_profiler::{Capture, Device, MemoryRole, MemoryUse, Trace, spool};
use std::borrow::Cow;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::sync::atomic::Ordering;

/// The parts of the records file that have something: its header, those of blocks, and the first slots of three of them.
const PIECE: usize = 64 << 10;
const PARTS: [(usize, usize); 5] = [(0, 16), (PIECE, 1024), (2 * PIECE, 1024), (3 * PIECE, 1024), (4 * PIECE, 1024)];

/// A spool that has something of everything.
struct Original {
    session: PathBuf,
    log: (File, Vec<u8>),
    /// With the contents of its parts, one after another.
    records: (File, Vec<u8>),
}

static ORIGINAL: LazyLock<Original> = LazyLock::new(|| {
    let directory = tempfile::tempdir().expect("there is room for a directory").keep();
    let spool = Spool::create(&directory).expect("there is room for a spool");
    spool.log_all(entries());
    for (serial, base) in [(1, 0), (1, 8), (2, 0)] {
        let block = spool.block(serial, base, 32).expect("there is room for blocks");
        for (at, slot) in block.slots()[..8].iter().enumerate() {
            // All kinds, every third of them detailed, with a second slot that is a record too.
            let kind = 1 + (at as u64 + base) % 12;
            let detailed = u64::from(at % 3 == 0 || matches!(kind, 6 | 7));
            for (word, value) in slot.iter().zip([at as u64 + 1, 0, kind | detailed << 8, 0]) {
                word.store(value, Ordering::Relaxed);
            }
        }
        if base == 0 {
            block.seal(8, 1);
        }
    }
    let session = spool.path().to_owned();
    let open = |name| OpenOptions::new().read(true).write(true).open(session.join(name)).expect("it is ours");
    let (log, records) = (open("log"), open("records"));
    let entries = fs::read(session.join("log")).expect("it was just written");
    let parts = PARTS.map(|(offset, length)| {
        let mut part = vec![0; length];
        records.read_exact_at(&mut part, offset as u64).expect("it was just written");
        part
    });
    Original { log: (log, entries), records: (records, parts.concat()), session }
});

fn entries() -> Vec<Entry<'static>> {
    let cut = SpoolCut { ticks: 9, lost: 0, positions: vec![(1, 16), (2, 8)] };
    let used = MemoryUse { address: 1, bytes: 2, device: Device::Cpu, role: MemoryRole::Parameter, is_written: true };
    let settings = SpoolSettings {
        metadata: vec![("key".into(), "value".into())],
        memory_in_use: vec![(Device::Npu(0), 5)],
        ..SpoolSettings::default()
    };
    vec![
        Entry::Settings(Cow::Owned(settings)),
        Entry::Name { id: 1, text: "name".into() },
        Entry::Stack { id: 1, frames: vec![1].into() },
        Entry::Inputs { id: 1, words: vec![1, 2].into() },
        Entry::Thread { serial: 1, os_id: 1, name: Some("main".into()) },
        Entry::Clock(SpoolClock { origin_ticks: 1, origin_epoch_ns: 1, multiplier: 1 << 40 }),
        Entry::Edge(SpoolEdge { cut: SpoolCut::default(), capture: Capture::CPU, blocks: vec![used] }),
        Entry::Step(SpoolStep { ended: 1, ticks: 1, os_thread: 1 }),
        Entry::Carried(SpoolSpan { serial: 1, position: 0, first: [1, 0, 1, 0], second: None }),
        Entry::Lost { events: 1 },
        Entry::End(cut),
    ]
}

fn change(mut input: &[u8], log: &mut Vec<u8>, records: &mut [u8]) {
    while let Some((place, rest)) = input.split_first_chunk() {
        let place = u16::from_le_bytes(*place);
        let Some((&length, rest)) = rest.split_first() else { return };
        let (bytes, rest) = rest.split_at(usize::from(length).min(rest.len()));
        let at = usize::from(place & 0x7fff);
        if place >> 15 == 0 {
            // Also beyond its end, or it could not become longer.
            let at = at % (log.len() + 1);
            log.resize(log.len().max(at + bytes.len()), 0);
            log[at..at + bytes.len()].copy_from_slice(bytes);
        } else {
            let at = at % records.len();
            let changed = &mut records[at..];
            let length = bytes.len().min(changed.len());
            changed[..length].copy_from_slice(&bytes[..length]);
        }
        input = rest;
    }
}

fuzz_target!(|input: &[u8]| {
    let original = &*ORIGINAL;
    let (mut log, mut records) = (original.log.1.clone(), original.records.1.clone());
    change(input, &mut log, &mut records);
    original.log.0.set_len(log.len() as u64).expect("a file can be cut");
    original.log.0.write_all_at(&log, 0).expect("there is room for it");
    let mut rest = &records[..];
    for (offset, length) in PARTS {
        let (part, after) = rest.split_at(length);
        original.records.0.write_all_at(part, offset as u64).expect("there is room for it");
        rest = after;
    }
    let contents = match spool::read(&original.session) {
        Ok(contents) => contents,
        Err(error) => return assert!(error.to_string().starts_with("cannot read ")),
    };
    assert!(!contents.damage.to_string().is_empty());
    assert!(contents.threads.is_sorted_by(|one, next| one.serial < next.serial));
    let mut kept = contents.names.values().map(String::len).sum::<usize>();
    for thread in &contents.threads {
        assert!(thread.blocks.is_sorted_by(|one, next| one.end() <= next.base));
        for block in &thread.blocks {
            kept += block.slots.len() * 32;
            assert!((1..=2048).contains(&block.slots.len()));
            let mut at = 0;
            while at < block.slots.len() {
                let head = block.slots[at][2];
                assert!((1..=12).contains(&(head as u8)));
                at += 1 + (head >> 8 & 1) as usize;
            }
            assert_eq!(at, block.slots.len());
        }
    }
    assert!(kept <= log.len() + records.len());
    // And a trace can be made of it, whatever it says.
    for found in Trace::recover(&original.session).expect("it was read before") {
        let trace = found.expect("it was read before").trace;
        assert!(trace.spans().all(|span| span.end_ns() <= trace.duration_ns()));
        std::hint::black_box(trace.key_averages());
    }
});

//! A spool with any changes: reading it never panics, and what is read is sound. Checksums are not looked at while fuzzing,
//! or no change would get past them.
//!
//! The input is a list of changes: a bit for the file and 15 for the place, a length, and that many bytes. Places of the
//! records file are only those where something is.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mindtorch_profiler::spool::{
    BLOCK_SLOTS, Entry, HEAD_BYTES, PIECE, SLOT_BYTES, Spool, SpoolClock, SpoolCut, SpoolEdge, SpoolSettings,
    SpoolSpan, SpoolStep,
};
use mindtorch_profiler::{Capture, Device, Input, Inputs, MemoryRole, MemoryUse, Trace, spool};
use std::borrow::Cow;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::sync::atomic::Ordering;

/// Threads and positions of the blocks.
const BLOCKS: [(u32, u64); 3] = [(1, 0), (1, BLOCK_FILLED as u64), (2, 0)];
/// The slots that are filled in each block.
const BLOCK_FILLED: usize = 16;
const BLOCK_BYTES: usize = 2 * BLOCK_FILLED * SLOT_BYTES;
/// The parts of the records file that have something: its header, those of blocks, and the first slots of each block.
const PARTS: [(usize, usize); 5] =
    [(0, 16), (PIECE, 16 * HEAD_BYTES), (2 * PIECE, BLOCK_BYTES), (3 * PIECE, BLOCK_BYTES), (4 * PIECE, BLOCK_BYTES)];

/// Kinds of inputs, as the first word of an input encodes them. The fuzzer finds the others.
const TENSOR: u64 = 0;
const LIST: u64 = 1;
const VALUE: u64 = 2;
const COUNT_AT: u32 = 3;

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
    // All kinds, with and without a second slot, which looks like a record too.
    let heads: Vec<u64> = spool::record_heads().collect();
    let mut heads = heads.into_iter().cycle();
    for (serial, base) in BLOCKS {
        let block = spool.block(serial, base, 2 * BLOCK_FILLED).expect("there is room for blocks");
        for (at, slot) in block.slots()[..BLOCK_FILLED].iter().enumerate() {
            let head = heads.next().expect("there are kinds of records");
            // Of the inputs below.
            let inputs = (at as u64 % 4) << 32;
            for (word, value) in slot.iter().zip([at as u64 + 1, 0, head, inputs]) {
                word.store(value, Ordering::Relaxed);
            }
        }
        if base == 0 {
            block.seal(BLOCK_FILLED, 1);
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
        // A tensor and a number, lists of a list that end too early, and lists that are nested too deep.
        Entry::Inputs { id: 1, words: vec![TENSOR | 1 << COUNT_AT, 5, 1, VALUE, 1].into() },
        Entry::Inputs { id: 2, words: vec![LIST | 2 << COUNT_AT, LIST | 1 << COUNT_AT, VALUE, 1].into() },
        Entry::Inputs { id: 3, words: vec![LIST | 1 << COUNT_AT; 2 * Inputs::MAX_DEPTH].into() },
        Entry::Thread { serial: 1, os_id: 1, name: Some("main".into()) },
        Entry::Clock(SpoolClock { origin_ticks: 1, origin_epoch_ns: 1, multiplier: 1 << 40 }),
        Entry::Edge(SpoolEdge {
            cut: SpoolCut::default(),
            capture: Capture::CPU | Capture::SHAPES,
            blocks: vec![used],
        }),
        Entry::Step(SpoolStep { ended: 1, ticks: 1, os_thread: 1 }),
        Entry::Carried(SpoolSpan { serial: 1, position: 0, first: [1, 0, 1, 0], second: None }),
        Entry::Lost { events: 1 },
        Entry::End(cut),
    ]
}

/// How deep lists are nested.
fn depth(inputs: &[Input]) -> usize {
    let of_input = |input: &Input| if let Input::TensorList(items) = input { 1 + depth(items) } else { 0 };
    inputs.iter().map(of_input).max().unwrap_or(0)
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
            kept += block.slots.len() * SLOT_BYTES;
            assert!((1..=BLOCK_SLOTS).contains(&block.slots.len()));
            let mut at = 0;
            while at < block.slots.len() {
                at += spool::record_length(block.slots[at][2]).expect("only records are read");
            }
            assert_eq!(at, block.slots.len());
        }
    }
    assert!(kept <= log.len() + records.len());
    // And a trace can be made of it, whatever it says.
    for found in Trace::recover(&original.session).expect("it was read before") {
        let trace = found.expect("it was read before").trace;
        for span in trace.spans() {
            assert!(span.end_ns() <= trace.duration_ns());
            assert!(depth(&span.inputs().decode()) <= Inputs::MAX_DEPTH);
            let keywords: Vec<Input> = span.inputs().keywords().into_iter().map(|(_, input)| input).collect();
            assert!(depth(&keywords) <= Inputs::MAX_DEPTH);
        }
        std::hint::black_box(trace.key_averages());
    }
});

//! A span that allocates a block of memory and frees it, as an operator does: four records, and four times in them.

use crate::clock::read_clock;
use mindtorch_benches::{Case, Table};
use mindtorch_profiler::{
    Device, Memory, MemoryRole, Name, Session, Span, SpanArgs, SpanKind, Stack, memory, memory_sources,
};
use std::hint::black_box;

/// Events a batch: their records are in the caches, whoever writes them.
const BATCH: usize = 4_000;

/// Beside four reads of the clock, and beside the same with four records written to an array, which is the least that any
/// profiler does that keeps as much.
pub(crate) fn recorded(rounds: usize) -> Table {
    let args = SpanArgs::new(SpanKind::Op, Name::new("aten::add"));
    let mut records = vec![[[0u64; 4]; 4]; BATCH];
    let mut next = 0;
    let mut cases = [
        Case::repeated(
            "four raw clock reads",
            BATCH,
            || (),
            || {
                for _ in 0..4 {
                    black_box(read_clock());
                }
            },
            drop,
        ),
        Case::repeated(
            "four clock reads and four records of 32 bytes in an array",
            BATCH,
            || (),
            || {
                let event = &mut records[next];
                next = (next + 1) % BATCH;
                event[0] = [read_clock(), 0, 1, 2];
                event[1] = [0x1000, 0x2000, 3, 0];
                event[2] = [read_clock(), 0x3000, 4, 64];
                event[3] = [read_clock(), 0x3000, 4, 64];
                event[0][1] = read_clock();
                black_box(event);
            },
            drop,
        ),
        Case::repeated(
            "mindtorch-profiler",
            BATCH,
            || Session::builder().profile_memory(true).start(),
            || {
                let _span = Span::begin(&args);
                memory_sources(Device::Cpu, [0x1000, 0x2000, 0]);
                memory(&block(64));
                memory(&block(-64));
            },
            drop,
        ),
    ];
    Table::measure("A span that allocates and frees, while recording", rounds, &mut cases)
}

/// A block that is allocated, or freed if there are fewer bytes than none.
fn block(bytes: i64) -> Memory {
    let allocated = black_box(1_000_000) + bytes.max(0);
    let (device, stack, role) = (Device::Cpu, Stack::NONE, MemoryRole::Unknown);
    Memory { address: black_box(0x3000), bytes, device, allocated, reserved: 0, stack, role }
}

//! Walking the records of a window.

use crate::capture::Capture;
use crate::recorder::{Head, RecordKind, Stream, Words};
use crate::session::Edge;

/// Calls `found` with the position, the capture in force, and the slots of each record of the stream that the window
/// collects.
#[inline]
pub(super) fn for_each_record(
    stream: &Stream,
    edges: &[Edge],
    mut found: impl FnMut(u64, Capture, Head, Words, Option<Words>),
) {
    if stream.chunks.is_empty() {
        return;
    }
    let serial = stream.log.serial;
    let mut later = edges.iter().map(|edge| (edge.cut.position(serial), edge.capture)).peekable();
    let mut capture = Capture::NONE;
    for chunk in &stream.chunks {
        let base = chunk.base();
        let mut index = stream.from.saturating_sub(base) as usize;
        let end = (stream.to.min(chunk.end()) - base) as usize;
        while index < end {
            while let Some((_, changed)) = later.next_if(|&(from, _)| from <= base + index as u64) {
                capture = changed;
            }
            // A cut lies between records, never between the slots of one.
            let until = later.peek().map_or(end, |&(from, _)| end.min((from - base) as usize));
            while index < until {
                let position = base + index as u64;
                let words = chunk.read(index);
                let head = Head::unpack(words[2]);
                index += 1;
                let second = head.is_detailed().then(|| chunk.read(index));
                index += usize::from(second.is_some());
                if capture.contains(needs(head.kind)) {
                    found(position, capture, head, words, second);
                }
            }
        }
    }
}

/// What operators computed from what.
const OPERATORS_MEMORY: Capture = Capture::from_bits(Capture::MEMORY.bits() | Capture::CPU.bits());

#[inline]
fn needs(kind: RecordKind) -> Capture {
    match kind {
        RecordKind::Memory | RecordKind::Use => Capture::MEMORY,
        RecordKind::Sources => OPERATORS_MEMORY,
        RecordKind::Kernel | RecordKind::Copy | RecordKind::Runtime => Capture::DEVICE,
        RecordKind::Op | RecordKind::Backward | RecordKind::Annotation => Capture::CPU,
        RecordKind::Function => Capture::FUNCTIONS,
        RecordKind::Counter | RecordKind::Mark => Capture::CPU,
    }
}

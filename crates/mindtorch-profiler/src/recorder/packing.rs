//! What a span or a block of memory is, as words of records: one slot where it fits, else two. See `record.rs`.

use super::event::{Device, Memory, SpanArgs, SpanDetails};
use super::record::{Head, RecordKind, Words, pair, unpair};
use super::role::MemoryRole;
use crate::inputs::Inputs;
use crate::names::{Name, Stack};

/// The head and the last word of a span that fits into one slot.
#[inline]
pub(super) fn span_in_one_slot(args: &SpanArgs) -> Option<(Head, u64)> {
    let mut head = Head { kind: args.kind.record_kind(), flags: 0, track: 0, name: args.name.0 };
    if args.details.is_some() {
        return None;
    }
    if args.sequence_plus_one == 0 && args.overload.0 == 0 {
        return Some((head, pair(args.inputs.0, args.stack.0)));
    }
    let fits = args.stack == Stack::NONE && args.sequence_plus_one >> 32 == 0 && args.overload.0 >> 16 == 0;
    head.flags = Head::NUMBERED;
    head.track = args.overload.0 as u16;
    fits.then(|| (head, pair(args.inputs.0, args.sequence_plus_one as u32)))
}

/// The head and the last word of the first slot, and the second slot.
pub(super) fn span_in_two_slots(args: &SpanArgs) -> (Head, u64, Words) {
    const NOTHING: SpanDetails =
        SpanDetails { forward_thread: 0, flops: 0, note: Name(0), context: 0, record_function: 0, is_script: false };
    let details = args.details.as_ref().unwrap_or(&NOTHING);
    let flags = if details.is_script { Head::DETAILED | Head::SCRIPT } else { Head::DETAILED };
    let head = Head { kind: args.kind.record_kind(), flags, track: 0, name: args.name.0 };
    let numbers = pack_numbers(details.record_function, args.sequence_plus_one);
    let threads = pair(details.forward_thread, details.note.0);
    let second = [numbers, details.flops, threads, pair(args.overload.0, details.context)];
    (head, pair(args.inputs.0, args.stack.0), second)
}

/// The same, of a node of the backward pass of which no more is known.
#[inline(always)]
pub(super) fn node_in_two_slots(
    name: Name,
    inputs: Inputs,
    sequence_plus_one: u32,
    forward_thread: u32,
) -> (Head, u64, Words) {
    let head = Head { kind: RecordKind::Backward, flags: Head::DETAILED, track: 0, name: name.0 };
    let second = [pack_numbers(0, sequence_plus_one.into()), 0, pair(forward_thread, 0), 0];
    (head, pair(inputs.0, 0), second)
}

/// The inputs and the stack of a span, and its sequence number plus 1, if that is in the first slot.
#[inline]
pub(crate) fn unpack_last(head: Head, last: u64) -> (u64, u32) {
    if !head.is_numbered() {
        return (last, 0);
    }
    let (inputs, sequence_plus_one) = unpair(last);
    (pair(inputs, 0), sequence_plus_one)
}

const SEQUENCE_BITS: u32 = 40;

/// The two numbers of a span in a word. 2^40 nodes of a graph are more than a thread lives to make; a record function that is
/// not among the first 2^24 has none.
#[inline]
fn pack_numbers(record_function: u32, sequence_plus_one: u64) -> u64 {
    let id = if record_function < 1 << (64 - SEQUENCE_BITS) { u64::from(record_function) } else { 0 };
    id << SEQUENCE_BITS | sequence_plus_one.min((1 << SEQUENCE_BITS) - 1)
}

/// The id of the record function, or 0, and the sequence number plus 1, or 0.
pub(crate) fn unpack_numbers(word: u64) -> (u32, u64) {
    ((word >> SEQUENCE_BITS) as u32, word & ((1 << SEQUENCE_BITS) - 1))
}

/// Bits of a size in the last word, and of a total, which are there and in the head.
const BYTES_BITS: u32 = 40;
const TOTAL_BITS: u32 = 64 - BYTES_BITS + 16;

/// The head and the last word of a block of memory that fits into one slot.
#[inline(always)]
pub(super) fn memory_in_one_slot(memory: &Memory) -> Option<(Head, u64)> {
    const UNUSED: u32 = 64 - BYTES_BITS;
    let (bytes, allocated) = (memory.bytes.cast_unsigned(), memory.allocated.cast_unsigned());
    let is_short = memory.bytes << UNUSED >> UNUSED == memory.bytes && allocated >> TOTAL_BITS == 0;
    if !is_short || memory.reserved != 0 || memory.stack != Stack::NONE {
        return None;
    }
    let mut head = memory_head(memory, 0);
    head.name |= ((allocated >> UNUSED) as u32) << 16;
    Some((head, allocated << BYTES_BITS | bytes & ((1 << BYTES_BITS) - 1)))
}

/// The head and the last word of the first slot, and the second slot.
pub(super) fn memory_in_two_slots(memory: &Memory) -> (Head, u64, Words) {
    let second = [memory.allocated.cast_unsigned(), memory.reserved, pair(memory.stack.0, 0), 0];
    (memory_head(memory, Head::DETAILED), memory.bytes.cast_unsigned(), second)
}

#[inline]
fn memory_head(memory: &Memory, flags: u64) -> Head {
    let name = memory.device.kind_bits() | u32::from(memory.role as u8) << 8;
    Head { kind: RecordKind::Memory, flags, track: memory.device.index(), name }
}

/// What [`memory_in_one_slot`] or [`memory_in_two_slots`] packed.
pub(crate) fn unpack_memory(head: Head, address: u64, last: u64, second: Option<Words>) -> Memory {
    let device = Device::from_bits(head.name & 0xff, head.track);
    let role = MemoryRole::from_number((head.name >> 8) as u8);
    let (bytes, allocated, reserved, stack) = match second {
        Some([allocated, reserved, stack, _]) => (last.cast_signed(), allocated, reserved, Stack(unpair(stack).0)),
        None => {
            let bytes = last.cast_signed() << (64 - BYTES_BITS) >> (64 - BYTES_BITS);
            let high = u64::from(head.name >> 16) << (64 - BYTES_BITS);
            (bytes, high | last >> BYTES_BITS, 0, Stack::NONE)
        }
    };
    Memory { address, bytes, device, allocated: allocated.cast_signed(), reserved, stack, role }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::recorder::SpanKind;

    #[test]
    fn numbers_of_a_span_do_not_touch() {
        let most = (1 << 24) - 1;
        for (id, number) in [(0, 0), (0, 1), (most, 0), (most, (1 << 40) - 1), (7, 9)] {
            assert_eq!(unpack_numbers(pack_numbers(id, number)), (id, number));
        }
        assert_eq!(unpack_numbers(pack_numbers(1 << 24, u64::MAX)), (0, (1 << 40) - 1));
    }

    #[test]
    fn a_span_is_the_same_in_one_slot_and_in_two() {
        let inputs = Inputs(77);
        for (overload, sequence) in [(0, None), (0, Some(0)), (0xffff, None), (3, Some(u64::from(u32::MAX) - 1))] {
            let mut args = SpanArgs::new(SpanKind::Op, Name(5)).inputs(inputs).overload(Name(overload));
            if let Some(sequence) = sequence {
                args = args.sequence(sequence);
            }
            let (head, last) = span_in_one_slot(&args).expect("it fits");
            let (_, same_last, second) = span_in_two_slots(&args);
            let (inputs_and_stack, number) = unpack_last(head, last);
            assert_eq!(inputs_and_stack, same_last);
            assert_eq!([number.into(), 0, 0, pair(head.track.into(), 0)], second);
            assert!(!head.is_detailed());
        }
    }

    #[test]
    fn a_node_is_the_same_by_its_own_way() {
        let args = SpanArgs::new(SpanKind::Backward, Name(5)).inputs(Inputs(77)).sequence(8).forward_thread(3);
        let (head, last, second) = span_in_two_slots(&args);
        let (same_head, same_last, same_second) = node_in_two_slots(Name(5), Inputs(77), 9, 3);
        assert_eq!((head.pack(), last, second), (same_head.pack(), same_last, same_second));
    }

    #[test]
    fn what_does_not_fit_takes_two_slots() {
        let args = SpanArgs::new(SpanKind::Op, Name(5)).sequence(1);
        for long in
            [args.sequence(u64::from(u32::MAX)), args.overload(Name(0x1_0000)), args.stack(Stack(1)), args.flops(1)]
        {
            assert!(span_in_one_slot(&long).is_none());
        }
    }

    #[test]
    fn memory_survives_packing() {
        let half_terabyte = 1 << 39;
        let memory = |bytes, allocated, reserved, stack| Memory {
            address: u64::MAX,
            bytes,
            device: Device::Npu(u16::MAX),
            allocated,
            reserved,
            stack: Stack(stack),
            role: MemoryRole::OptimizerState,
        };
        for (slots, memory) in [
            (1, memory(half_terabyte - 1, (1 << 40) - 1, 0, 0)),
            (1, memory(-half_terabyte, 0x12_3456_789a, 0, 0)),
            (1, memory(-1, 0, 0, 0)),
            (2, memory(half_terabyte, 0, 0, 0)),
            (2, memory(-half_terabyte - 1, 0, 0, 0)),
            (2, memory(i64::MIN, -1, 0, 0)),
            (2, memory(0, 1 << 40, 0, 0)),
            (2, memory(5, 5, 1, 0)),
            (2, memory(5, 5, 0, u32::MAX)),
        ] {
            let (head, last, second) = memory_in_two_slots(&memory);
            let mut packed = vec![(head, last, Some(second))];
            packed.extend(memory_in_one_slot(&memory).map(|(head, last)| (head, last, None)));
            assert_eq!(packed.len(), 3 - slots, "{memory:?}");
            for (head, last, second) in packed {
                assert_eq!(head.is_detailed(), second.is_some());
                let again = unpack_memory(Head::unpack(head.pack()), memory.address, last, second);
                assert_eq!(format!("{again:?}"), format!("{memory:?}"));
            }
        }
    }
}

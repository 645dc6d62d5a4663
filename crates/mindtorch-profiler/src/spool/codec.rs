//! Entries of the log as bytes.

use super::entry::{Entry, SpoolBegin, SpoolClock, SpoolCut, SpoolEdge, SpoolSpan, SpoolStep};
use super::fields::{FieldWriter, Fields};
use super::settings::SpoolSettings;
use crate::capture::Capture;
use crate::recorder::{Device, MemoryRole, MemoryUse, Words};
use std::borrow::Cow;

impl Entry<'_> {
    const BEGIN: u8 = 1;
    const NAME: u8 = 2;
    const STACK: u8 = 3;
    const INPUTS: u8 = 4;
    const THREAD: u8 = 5;
    const SETTINGS: u8 = 6;
    const CLOCK: u8 = 7;
    const EDGE: u8 = 8;
    const STEP: u8 = 9;
    const CARRIED: u8 = 10;
    const LOST: u8 = 11;
    const UNWRITTEN: u8 = 12;
    const END: u8 = 13;

    /// Whether there are entries of this kind.
    pub(super) fn is_kind(kind: u8) -> bool {
        (Self::BEGIN..=Self::END).contains(&kind)
    }

    /// Writes the kind, then the fields.
    pub(super) fn write(&self, out: &mut FieldWriter<'_>) {
        match self {
            Self::Begin(begin) => {
                out.u8(Self::BEGIN);
                out.u32(begin.pid);
                out.u64(begin.start_epoch_ns);
            }
            Self::Name { id, text } => {
                out.u8(Self::NAME);
                out.u32(*id);
                out.text(text);
            }
            Self::Stack { id, frames } => {
                out.u8(Self::STACK);
                out.u32(*id);
                out.list(frames, |out, &frame| out.u32(frame));
            }
            Self::Inputs { id, words } => {
                out.u8(Self::INPUTS);
                out.u32(*id);
                out.list(words, |out, &word| out.u64(word));
            }
            Self::Thread { serial, os_id, name } => {
                out.u8(Self::THREAD);
                out.u32(*serial);
                out.u64(*os_id);
                out.flag(name.is_some());
                if let Some(name) = name {
                    out.text(name);
                }
            }
            Self::Settings(settings) => {
                out.u8(Self::SETTINGS);
                settings.write(out);
            }
            Self::Clock(SpoolClock { origin_ticks, origin_epoch_ns, multiplier }) => {
                out.u8(Self::CLOCK);
                out.u64s(&[*origin_ticks, *origin_epoch_ns, *multiplier]);
            }
            Self::Edge(edge) => {
                out.u8(Self::EDGE);
                edge.cut.write(out);
                out.u32(edge.capture.bits());
                out.list(&edge.blocks, write_memory_use);
            }
            Self::Step(SpoolStep { ended, ticks, os_thread }) => {
                out.u8(Self::STEP);
                out.u64s(&[*ended, *ticks, *os_thread]);
            }
            Self::Carried(span) => {
                out.u8(Self::CARRIED);
                out.u32(span.serial);
                out.u64(span.position);
                out.u64s(&span.first);
                out.flag(span.second.is_some());
                out.u64s(span.second.as_ref().map_or(&[], |words| words));
            }
            Self::Lost { events } => {
                out.u8(Self::LOST);
                out.u64(*events);
            }
            Self::Unwritten { entries } => {
                out.u8(Self::UNWRITTEN);
                out.u64(*entries);
            }
            Self::End(cut) => {
                out.u8(Self::END);
                cut.write(out);
            }
        }
    }
}

impl<'a> Entry<'a> {
    /// The inverse of [`Self::write`]; `None` if the bytes are no entry.
    pub(super) fn read(bytes: &'a [u8]) -> Option<Self> {
        let mut from = Fields(bytes);
        let entry = match from.u8()? {
            Self::BEGIN => Self::Begin(SpoolBegin { pid: from.u32()?, start_epoch_ns: from.u64()? }),
            Self::NAME => Self::Name { id: from.u32()?, text: from.text()?.into() },
            Self::STACK => Self::Stack { id: from.u32()?, frames: from.list(4, Fields::u32)?.into() },
            Self::INPUTS => Self::Inputs { id: from.u32()?, words: from.list(8, Fields::u64)?.into() },
            Self::THREAD => {
                let (serial, os_id) = (from.u32()?, from.u64()?);
                let name = if from.flag()? { Some(from.text()?.into()) } else { None };
                Self::Thread { serial, os_id, name }
            }
            Self::SETTINGS => Self::Settings(Cow::Owned(SpoolSettings::read(&mut from)?)),
            Self::CLOCK => {
                let (origin_ticks, origin_epoch_ns, multiplier) = (from.u64()?, from.u64()?, from.u64()?);
                Self::Clock(SpoolClock { origin_ticks, origin_epoch_ns, multiplier })
            }
            Self::EDGE => {
                let (cut, capture) = (SpoolCut::read(&mut from)?, Capture::from_bits(from.u32()?));
                Self::Edge(SpoolEdge { cut, capture, blocks: from.list(MEMORY_USE_BYTES, read_memory_use)? })
            }
            Self::STEP => Self::Step(SpoolStep { ended: from.u64()?, ticks: from.u64()?, os_thread: from.u64()? }),
            Self::CARRIED => {
                let (serial, position, first) = (from.u32()?, from.u64()?, read_words(&mut from)?);
                let second = if from.flag()? { Some(read_words(&mut from)?) } else { None };
                Self::Carried(SpoolSpan { serial, position, first, second })
            }
            Self::LOST => Self::Lost { events: from.u64()? },
            Self::UNWRITTEN => Self::Unwritten { entries: from.u64()? },
            Self::END => Self::End(SpoolCut::read(&mut from)?),
            _ => return None,
        };
        from.end(entry)
    }
}

impl SpoolCut {
    fn write(&self, out: &mut FieldWriter<'_>) {
        out.u64(self.ticks);
        out.u64(self.lost);
        out.list(&self.positions, |out, &(serial, position)| {
            out.u32(serial);
            out.u64(position);
        });
    }

    fn read(from: &mut Fields<'_>) -> Option<Self> {
        let (ticks, lost) = (from.u64()?, from.u64()?);
        let positions = from.list(12, |from| Some((from.u32()?, from.u64()?)))?;
        // They are looked up by halving.
        positions.is_sorted_by(|(one, _), (next, _)| one < next).then_some(Self { ticks, lost, positions })
    }
}

fn read_words(from: &mut Fields<'_>) -> Option<Words> {
    Some([from.u64()?, from.u64()?, from.u64()?, from.u64()?])
}

pub(super) fn write_device(out: &mut FieldWriter<'_>, device: Device) {
    out.flag(device != Device::Cpu);
    out.u16(device.index());
}

pub(super) fn read_device(from: &mut Fields<'_>) -> Option<Device> {
    let (is_npu, index) = (from.flag()?, from.u16()?);
    match is_npu {
        true => Some(Device::Npu(index)),
        false => (index == 0).then_some(Device::Cpu),
    }
}

const MEMORY_USE_BYTES: usize = 21;

fn write_memory_use(out: &mut FieldWriter<'_>, used: &MemoryUse) {
    out.u64(used.address);
    out.u64(used.bytes);
    write_device(out, used.device);
    out.u8(used.role as u8);
    out.flag(used.is_written);
}

fn read_memory_use(from: &mut Fields<'_>) -> Option<MemoryUse> {
    let (address, bytes, device) = (from.u64()?, from.u64()?, read_device(from)?);
    let (number, is_written) = (from.u8()?, from.flag()?);
    let role = MemoryRole::from_number(number);
    (role as u8 == number).then_some(MemoryUse { address, bytes, device, role, is_written })
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Bytes that begin like an entry of some kind, with small numbers, so that lengths are often right.
    fn payload() -> impl Strategy<Value = Vec<u8>> {
        let byte = prop_oneof![3 => Just(0u8), 2 => 0..5u8, 1 => any::<u8>()];
        (0..15u8, prop::collection::vec(byte, 0..120)).prop_map(|(kind, rest)| [vec![kind], rest].concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn bytes_are_no_entry_or_exactly_one(bytes in payload()) {
            if let Some(entry) = Entry::read(&bytes) {
                let mut again = Vec::new();
                entry.write(&mut FieldWriter(&mut again));
                prop_assert_eq!(&again, &bytes);
                prop_assert!(Entry::is_kind(bytes[0]));
                // An entry that is cut off is none, and neither is one with something after it.
                prop_assert_eq!(Entry::read(&bytes[..bytes.len() - 1]), None);
                again.push(0);
                prop_assert_eq!(Entry::read(&again), None);
            }
        }
    }

    #[test]
    fn positions_that_could_not_be_looked_up_are_refused() {
        let end = |positions: &[(u32, u64)]| {
            let mut bytes = Vec::new();
            Entry::End(SpoolCut { ticks: 1, lost: 0, positions: positions.to_vec() })
                .write(&mut FieldWriter(&mut bytes));
            bytes
        };
        assert!(Entry::read(&end(&[(1, 9), (2, 3)])).is_some());
        assert_eq!(Entry::read(&end(&[(2, 3), (1, 9)])), None);
        assert_eq!(Entry::read(&end(&[(2, 3), (2, 9)])), None);
    }
}

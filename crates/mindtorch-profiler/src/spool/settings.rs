//! What a session was asked to do, as the log has it.

use super::codec::{read_device, write_device};
use super::fields::{FieldWriter, Fields};
use crate::capture::Capture;
use crate::recorder::Device;

/// What a session was asked to do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpoolSettings {
    /// What it asked for.
    pub capture: Capture,
    /// Whether steps are spans.
    pub record_steps: bool,
    /// The number of its first step.
    pub first_step: u64,
    /// The kinds of record that it does not show, a bit each.
    pub left_out: u16,
    /// Whether allocations are shown only as what spans allocated.
    pub hides_memory_events: bool,
    /// Whether scopes of the program are shown on devices.
    pub annotates_devices: bool,
    /// What the accelerator is called; empty if that is the engine's own name for it.
    pub accelerator: String,
    /// What is written into traces as it is.
    pub metadata: Vec<(String, String)>,
    /// What was in use on devices when it began.
    pub memory_in_use: Vec<(Device, i64)>,
    /// Scopes that were open, and that nobody recorded, when it began.
    pub open_scopes: Vec<SpoolScope>,
}

/// A scope that was open when the session began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpoolScope {
    /// The id of its name.
    pub name: u32,
    /// The id of its note; 0 is none.
    pub note: u32,
    /// The system's number of its thread.
    pub os_thread: u64,
    /// When it ended, in ticks; 0 if it has not.
    pub end: u64,
}

impl SpoolSettings {
    pub(super) fn write(&self, out: &mut FieldWriter<'_>) {
        out.u32(self.capture.bits());
        out.flag(self.record_steps);
        out.u64(self.first_step);
        out.u16(self.left_out);
        out.flag(self.hides_memory_events);
        out.flag(self.annotates_devices);
        out.text(&self.accelerator);
        out.list(&self.metadata, |out, (key, value)| {
            out.text(key);
            out.text(value);
        });
        out.list(&self.memory_in_use, |out, &(device, bytes)| {
            write_device(out, device);
            out.u64(bytes.cast_unsigned());
        });
        out.list(&self.open_scopes, |out, scope| {
            out.u32(scope.name);
            out.u32(scope.note);
            out.u64(scope.os_thread);
            out.u64(scope.end);
        });
    }

    pub(super) fn read(from: &mut Fields<'_>) -> Option<Self> {
        Some(Self {
            capture: Capture::from_bits(from.u32()?),
            record_steps: from.flag()?,
            first_step: from.u64()?,
            left_out: from.u16()?,
            hides_memory_events: from.flag()?,
            annotates_devices: from.flag()?,
            accelerator: from.text()?.to_owned(),
            metadata: from.list(8, |from| Some((from.text()?.to_owned(), from.text()?.to_owned())))?,
            memory_in_use: from.list(11, |from| Some((read_device(from)?, from.u64()?.cast_signed())))?,
            open_scopes: from.list(24, |from| {
                let (name, note, os_thread, end) = (from.u32()?, from.u32()?, from.u64()?, from.u64()?);
                Some(SpoolScope { name, note, os_thread, end })
            })?,
        })
    }
}

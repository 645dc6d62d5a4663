//! Events without length: memory, marks, counters and the ends of arrows.

use super::collector::Collector;
use super::cursor::{Kind, Value};
use super::event::Event;
use super::key::Key;
use crate::recorder::Device;
use crate::trace::loaded::{Arrow, ArrowEnd, LooseInstant, LooseMemory, NOWHERE};

impl Collector {
    /// Marks are on threads; what is said of the recording as a whole is not one.
    pub(super) fn add_instant(&mut self, event: &Event, text: &[u8], at: i64) {
        if event.name_is(text, b"[memory]") && event.arg(Key::BYTES).is_some() {
            return self.add_memory(event, text, at);
        }
        if event.name_is(text, b"Record Window End") {
            self.loose.window_end = Some(at);
        } else if !event.name_is(text, b"Iteration Start: PyTorch Profiler") {
            let (thread, name) = (self.thread(event, text), self.name(&event.name, text));
            self.loose.instants.push(LooseInstant { at, thread, name, value: None });
        }
    }

    pub(super) fn add_memory(&mut self, event: &Event, text: &[u8], at: i64) {
        let signed = |key| event.arg(key).and_then(|argument| argument.value.signed()).unwrap_or(0);
        let unsigned = |key| event.arg(key).and_then(|argument| argument.value.unsigned(text)).unwrap_or(0);
        let device = match signed(Key::DEVICE_KIND) {
            0 => Device::Cpu,
            kind => {
                if kind == 1 {
                    self.labels.guess_accelerator("CUDA");
                }
                Device::Npu(self.labels.device(event, text, &mut self.names, signed(Key::DEVICE_ID)))
            }
        };
        let memory = LooseMemory {
            at,
            thread: self.thread(event, text),
            address: unsigned(Key::ADDRESS),
            bytes: signed(Key::BYTES),
            device,
            allocated: signed(Key::TOTAL_ALLOCATED),
            reserved: unsigned(Key::TOTAL_RESERVED),
        };
        self.loose.memory.push(memory);
    }

    /// A counter with one value named `value` is ours; others may have several values, each with its name.
    pub(super) fn add_counter(&mut self, event: &Event, text: &[u8], at: i64) {
        let (thread, counter) = (self.thread(event, text), self.name(&event.name, text));
        let has_one = event.args.len() == 1 && event.args[0].key == Key::VALUE;
        let mut is_counter = false;
        for argument in &event.args {
            let Some(value) = float(&argument.value, text) else { continue };
            let raw = argument.raw(text);
            let key = raw.get(1..).and_then(|rest| Some(&rest[..memchr::memchr(b'"', rest)?])).unwrap_or_default();
            let name = match has_one {
                true => counter,
                false => {
                    let name = format!("{}.{}", self.names.get(counter), String::from_utf8_lossy(key));
                    self.names.add(&name)
                }
            };
            is_counter = true;
            self.loose.instants.push(LooseInstant { at, thread, name, value: Some(value) });
        }
        self.skipped += u64::from(!is_counter);
    }

    /// An arrow stands behind the event that it touches, in the files of torch and in ours.
    pub(super) fn add_arrow(&mut self, event: &Event, text: &[u8], at: i64, before: Option<(u32, u32, i64)>) {
        let end = match (event.phase, event.category.content(text)) {
            (b's', b"fwdbwd") => ArrowEnd::Forward,
            (b'f', b"fwdbwd") => ArrowEnd::Backward,
            (b's', b"ac2g") => ArrowEnd::Launch,
            // Where it leads on a device, the correlation tells as well.
            (_, b"ac2g") => return,
            _ => {
                self.skipped += 1;
                return;
            }
        };
        let Some(id) = event.id.unsigned(text) else {
            self.skipped += 1;
            return;
        };
        let thread = self.thread(event, text);
        let is_here = |&(_, of_thread, start): &(u32, u32, i64)| of_thread == thread && start == at;
        let span = before.filter(is_here).map_or(NOWHERE, |(span, _, _)| span);
        self.loose.arrows.push(Arrow { id, end, span, thread, at });
    }
}

/// A number. Those that JSON has no number for are strings.
pub(super) fn float(value: &Value, text: &[u8]) -> Option<f64> {
    let text = match value.kind {
        Kind::Int(_) | Kind::Number | Kind::NotFinite => value.raw(text),
        Kind::Text { .. } => value.content(text),
        _ => return None,
    };
    std::str::from_utf8(text).ok()?.parse().ok()
}

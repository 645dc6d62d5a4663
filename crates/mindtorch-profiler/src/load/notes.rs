//! What events say of the recording by the way.

use super::category::accelerator;
use super::collector::Collector;
use super::cursor::Value;
use super::key::Key;
use crate::recorder::Device;

impl Collector {
    pub(super) fn note_device_type(&mut self, value: &Value, text: &[u8]) {
        self.loose.is_ours = true;
        if value.content(text) != b"CPU" {
            self.labels.set_accelerator(value, text);
        }
    }

    pub(super) fn note_accelerator(&mut self, category: &Value, text: &[u8]) {
        if let Some(name) = accelerator(category.content(text)) {
            self.labels.guess_accelerator(name);
        }
    }

    pub(super) fn note_step(&mut self, thread: u32, at: i64, value: &Value, text: &[u8]) {
        let step = value.unsigned(text).unwrap_or(0) as usize;
        let thread = thread as usize;
        if self.last_steps.len() <= thread {
            self.last_steps.resize(thread + 1, 0);
        }
        if self.last_steps[thread] != step.saturating_add(1) {
            self.last_steps[thread] = step.saturating_add(1);
            self.loose.steps.push((at, step));
        }
    }

    /// Device work is not in the order of time: any of it may be the first of a step.
    pub(super) fn note_device_step(&mut self, at: i64, value: &Value, text: &[u8]) {
        self.loose.steps.push((at, value.unsigned(text).unwrap_or(0) as usize));
    }

    pub(super) fn note_memory(&mut self, device: Device, at: i64, value: &Value) {
        let Some(bytes) = value.signed() else { return };
        match self.loose.memory_before.iter_mut().rfind(|(known, _, _)| *known == device) {
            Some((_, first, before)) if at < *first => (*first, *before) = (at, bytes),
            Some(_) => {}
            None => self.loose.memory_before.push((device, at, bytes)),
        }
    }
}

pub(super) fn is_memory_use(key: Key) -> bool {
    matches!(
        key,
        Key::CPU_MEMORY_BEFORE
            | Key::CPU_MEMORY_AFTER
            | Key::CPU_MEMORY_DELTA
            | Key::NPU_MEMORY_BEFORE
            | Key::NPU_MEMORY_AFTER
            | Key::NPU_MEMORY_DELTA
    )
}

//! Work of devices.

use super::collector::Collector;
use super::event::Event;
use super::instants::float;
use super::key::Key;
use super::notes::is_memory_use;
use super::verbatim::Broken;
use crate::recorder::Device;
use crate::trace::DeviceKind;
use crate::trace::loaded::LooseDevice;

impl Collector {
    pub(super) fn add_device(
        &mut self,
        event: &Event,
        text: &[u8],
        (start, duration): (i64, u64),
        kind: DeviceKind,
    ) -> Result<(), Broken> {
        let mut device = event.process.signed().unwrap_or(0);
        let mut stream = event.thread.signed().unwrap_or(0);
        let mut work = LooseDevice {
            start,
            duration,
            name: self.name(&event.name, text),
            device: 0,
            stream: 0,
            kind,
            is_cut: false,
            bytes: 0,
            extra: 0,
            correlation: None,
            external: 0,
        };
        self.runs.extra.clear();
        let moves_bytes = matches!(kind, DeviceKind::Copy | DeviceKind::Set);
        for (place, argument) in event.args.iter().enumerate() {
            let value = &argument.value;
            match argument.key {
                Key::EXTERNAL_ID => work.external = value.unsigned(text).unwrap_or(0),
                Key::EVENT_INDEX => {}
                Key::DEVICE if value.signed().is_some() => device = value.signed().unwrap_or(0),
                Key::STREAM if value.signed().is_some() => stream = value.signed().unwrap_or(0),
                Key::CORRELATION => work.correlation = value.unsigned(text),
                Key::BYTES_MOVED if moves_bytes && value.unsigned(text).is_some() => {
                    work.bytes = value.unsigned(text).unwrap_or(0);
                }
                Key::DEVICE_TYPE if value.is_text() => self.note_device_type(value, text),
                Key::STEP if value.unsigned(text).is_some() => self.note_device_step(start, value, text),
                Key::CUT if value.is_text() => work.is_cut = true,
                Key::NPU_MEMORY_BEFORE if value.signed().is_some() => {
                    let device = self.labels.device(event, text, &mut self.names, device);
                    self.note_memory(Device::Npu(device), start, value);
                }
                key if is_memory_use(key) && value.signed().is_some() => {}
                _ => self.runs.extra.add(place, argument),
            }
        }
        work.device = self.labels.device(event, text, &mut self.names, device);
        work.stream = stream as u32;
        if !self.follows_from(&work, event, text) {
            work.extra = self.extra(event, text)?;
        }
        self.note_accelerator(&event.category, text);
        self.loose.device.push(work);
        Ok(())
    }

    /// Whether all that is said beside is how quickly memory was moved, and that follows from the rest.
    fn follows_from(&self, work: &LooseDevice, event: &Event, text: &[u8]) -> bool {
        let Some(bandwidth) = event.arg(Key::BANDWIDTH) else { return false };
        let is_alone = self.runs.extra.is_one(bandwidth);
        is_alone && work.duration > 0 && float(&bandwidth.value, text) == Some(work.bytes as f64 / work.duration as f64)
    }
}

/// The number of a device. There is no device below 0.
pub(super) fn clamped(device: i64) -> u16 {
    device.clamp(0, i64::from(u16::MAX) - 1) as u16
}

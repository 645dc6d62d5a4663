//! The head of a file: what was recorded, and where.

use super::cursor::{Kind, Value};
use super::text::unescape;
use super::verbatim::{Broken, Form, verbatim};
use crate::capture::Capture;
use crate::recorder::Losses;
use crate::trace::Origin;
use rustc_hash::FxHashMap;

/// No recording began later than this, in the year 2116.
const LATEST_BASE: u64 = 1 << 62;

/// What the keys of the file say.
#[derive(Debug, Default)]
pub(super) struct Head {
    pub(super) base_ns: u64,
    pub(super) capture: Capture,
    pub(super) lost: u64,
    pub(super) dropped: Vec<(u32, u64)>,
    pub(super) stopped: Option<String>,
    pub(super) origin: Origin,
    /// By key: its place in the metadata.
    places: FxHashMap<String, usize>,
}

impl Head {
    /// Takes the value of a key. Of several for one key the last counts.
    pub(super) fn add(&mut self, key: &Value, value: &Value, text: &[u8]) -> Result<(), Broken> {
        let key = unescape(key.content(text), key.is_escaped());
        let origin = &mut self.origin;
        match &*key {
            "schemaVersion" | "displayTimeUnit" | "traceName" => {
                verbatim(value.raw(text), Form::Value)?;
            }
            "baseTimeNanoseconds" => {
                let base = value.unsigned(text).filter(|&base| base <= LATEST_BASE);
                self.base_ns = base.ok_or(Broken { at: 0, expected: "nanoseconds since 1970" })?;
            }
            "trace_id" if value.is_text() => origin.trace_id = Some(string(value, text)),
            "host_name" if value.is_text() => origin.host_name = Some(string(value, text)),
            "lost_events" if value.unsigned(text).is_some() => self.lost = value.unsigned(text).unwrap_or_default(),
            "dropped_events" => {
                self.dropped = Losses::read_dropped_json(&verbatim(value.raw(text), Form::Value)?);
            }
            "recording_ended_early" if value.is_text() => self.stopped = Some(string(value, text)),
            "profile_memory" if is_switch(value) => self.switch(Capture::MEMORY, value),
            "with_stack" if is_switch(value) => self.switch(Capture::STACK, value),
            "record_shapes" if is_switch(value) => self.switch(Capture::SHAPES, value),
            "with_flops" if is_switch(value) => self.switch(Capture::FLOPS, value),
            "deviceProperties" => {
                let list = verbatim(value.raw(text), Form::Value)?;
                origin.device_properties = Some(list).filter(|list| list.starts_with('['));
            }
            _ => {
                let json = verbatim(value.raw(text), Form::Value)?;
                let place = *self.places.entry(key.to_string()).or_insert(origin.metadata_json.len());
                match origin.metadata_json.get_mut(place) {
                    Some((_, known)) => *known = json,
                    None => origin.metadata_json.push((key.into_owned(), json)),
                }
            }
        }
        Ok(())
    }

    /// What the file says that it does not have.
    pub(super) fn losses(&mut self) -> Losses {
        let mut losses = Losses::default();
        losses.dropped = std::mem::take(&mut self.dropped);
        // The file has the sum of all.
        losses.unrecorded = self.lost.saturating_sub(losses.events());
        losses.stopped = self.stopped.take().map(Into::into);
        losses
    }

    fn switch(&mut self, flag: Capture, value: &Value) {
        let is_on = value.kind == Kind::True || value.signed().is_some_and(|number| number != 0);
        self.capture = if is_on { self.capture | flag } else { self.capture & !flag };
    }
}

fn is_switch(value: &Value) -> bool {
    matches!(value.kind, Kind::True | Kind::False | Kind::Int(_))
}

fn string(value: &Value, text: &[u8]) -> String {
    unescape(value.content(text), value.is_escaped()).into_owned()
}

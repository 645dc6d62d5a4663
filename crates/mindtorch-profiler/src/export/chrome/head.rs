//! The head of the file: what was recorded, where, and what the user says of it.

use super::metadata::{self, Value};
use super::{ChromeTrace, base_ns, labels};
use crate::capture::Capture;
use crate::export::json::JsonWriter;

/// The place of a process among those that work together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::export) struct Rank {
    pub(in crate::export) rank: u64,
    pub(in crate::export) world_size: u64,
}

impl Rank {
    pub(in crate::export) const ALONE: Self = Self { rank: 0, world_size: 1 };

    /// What launchers of distributed programs say in the environment; alone if there was none.
    pub(in crate::export) fn of_environment() -> Self {
        let number = |name| std::env::var(name).ok().and_then(|text| text.trim().parse().ok());
        Self::from_numbers(number("RANK"), number("WORLD_SIZE"))
    }

    fn from_numbers(rank: Option<u64>, world_size: Option<u64>) -> Self {
        let rank = rank.unwrap_or(0);
        Self { rank, world_size: world_size.unwrap_or(1).max(rank.saturating_add(1)) }
    }
}

impl ChromeTrace<'_> {
    pub(super) fn write_head(&self, json: &mut JsonWriter<'_>) {
        json.raw("{\"schemaVersion\":1,\n");
        self.write_members(json);
        json.raw("\"displayTimeUnit\":\"ms\",\n\"baseTimeNanoseconds\":");
        json.number(base_ns(self.trace));
        json.raw(",\n\"traceEvents\":[\n");
    }

    /// What the head says of this trace in particular. Every member ends in a comma.
    pub(super) fn write_members(&self, json: &mut JsonWriter<'_>) {
        let header = &self.trace.header;
        let origin = &header.origin;
        let properties = self.device_properties.or(origin.device_properties.as_deref()).unwrap_or("[]");
        json.raw("\"deviceProperties\":");
        json.raw(properties);
        json.raw(",\n");
        let trace_id = if self.trace_id.is_empty() { origin.trace_id.as_deref() } else { Some(self.trace_id) };
        if let Some(id) = trace_id {
            json.raw("\"trace_id\":");
            json.text(id);
            json.raw(",\n");
        }
        write_switches(json, header.capture, self.with_modules);
        let entries = metadata::distinct(&origin.metadata_json, &header.metadata, self.metadata);
        if !entries.iter().any(|(key, _)| key == "distributedInfo") {
            self.write_rank(json);
        }
        for (key, value) in entries {
            json.text(&key);
            json.raw(":");
            match value {
                Value::Text(text) => json.text(text),
                Value::Json(text) => json.raw(text),
            }
            json.raw(",\n");
        }
        let losses = &header.losses;
        if losses.events() > 0 {
            json.raw("\"lost_events\":");
            json.number(losses.events());
            json.raw(",\n");
        }
        if !losses.dropped.is_empty() {
            json.raw("\"dropped_events\":");
            json.raw(&losses.dropped_json());
            json.raw(",\n");
        }
        if let Some(why) = &losses.stopped {
            json.raw("\"recording_ended_early\":");
            json.text(why);
            json.raw(",\n");
        }
        if let Some(host) = self.host_name.map(str::to_owned).or_else(|| self.found_host_name()) {
            json.raw("\"host_name\":");
            json.text(&host);
            json.raw(",\n");
        }
    }

    /// A program that is alone is rank 0 of 1: `HolisticTraceAnalysis` refuses files that do not say.
    fn write_rank(&self, json: &mut JsonWriter<'_>) {
        // What was read from a file has nothing to do with this process. Torch writes this if the program was not alone.
        let found = if self.trace.header.origin.is_file() { Rank::ALONE } else { Rank::of_environment() };
        let Rank { rank, world_size } = self.rank.unwrap_or(found);
        // With blanks: HolisticTraceAnalysis looks for one in the text.
        json.raw("\"distributedInfo\":{\"backend\": \"\", \"rank\": ");
        json.number(rank);
        json.raw(", \"world_size\": ");
        json.number(world_size);
        json.raw(", \"pg_count\": 0, \"pg_config\": []},\n");
    }

    /// That of this machine, unless the trace was read from a file, which may not say.
    pub(super) fn found_host_name(&self) -> Option<String> {
        let origin = &self.trace.header.origin;
        if origin.is_file() { origin.host_name.clone() } else { Some(labels::host_name()) }
    }

    pub(super) fn name_of_process(&self) -> String {
        let origin = &self.trace.header.origin;
        let found = || if origin.is_file() { origin.process_name.clone() } else { labels::program_name() };
        self.process_name.map(str::to_owned).or_else(found).unwrap_or_else(|| "process".to_owned())
    }
}

/// What was asked for, as far as it was.
pub(super) fn write_switches(json: &mut JsonWriter<'_>, capture: Capture, with_modules: bool) {
    let captures = |flag| capture.contains(flag);
    let switches = [
        ("profile_memory", captures(Capture::MEMORY)),
        ("with_stack", captures(Capture::STACK)),
        ("record_shapes", captures(Capture::SHAPES)),
        ("with_modules", with_modules),
        ("with_flops", captures(Capture::FLOPS)),
    ];
    for (key, _) in switches.iter().filter(|(_, is_on)| *is_on) {
        json.text(key);
        json.raw(":1,\n");
    }
}

#[cfg(test)]
mod tests {
    use super::Rank;

    #[test]
    fn a_rank_lies_within_its_world() {
        let of = |rank, world_size| {
            let Rank { rank, world_size } = Rank::from_numbers(rank, world_size);
            (rank, world_size)
        };
        assert_eq!(of(None, None), (0, 1));
        assert_eq!(of(Some(3), Some(8)), (3, 8));
        assert_eq!(of(None, Some(8)), (0, 8));
        assert_eq!(of(Some(3), None), (3, 4));
        assert_eq!(of(Some(0), Some(0)), (0, 1));
    }
}

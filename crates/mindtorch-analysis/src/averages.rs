//! Groups of events, as values.

use mindtorch_profiler::{Average, Averages, Input, SortKey};
use serde::Serialize;

/// The sums of one group of events: a row of torch's table.
#[derive(Clone, Debug, Serialize)]
pub struct AverageRow {
    /// The name that the events share.
    pub key: String,
    /// How many there are.
    pub count: u64,
    /// Time on the host, with what the events contain.
    pub cpu_total_ns: u64,
    /// Time on the host, without what the events contain.
    pub self_cpu_ns: u64,
    /// Time of the device work that the events, and all that they contain, launched.
    pub device_total_ns: u64,
    /// Time of the device work that the events launched themselves; of device work, its own.
    pub self_device_ns: u64,
    /// Host memory allocated less freed in the events.
    pub cpu_memory: i64,
    /// The same without what the events contain.
    pub self_cpu_memory: i64,
    /// Device memory allocated less freed in the events.
    pub device_memory: i64,
    /// The same without what the events contain.
    pub self_device_memory: i64,
    /// Floating-point operations.
    pub flops: u64,
    /// Whether this is work of a device.
    pub is_device: bool,
    /// The shapes of the inputs, when grouped by them; what is no tensor has none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub input_shapes: Vec<Vec<i64>>,
    /// The innermost frames, when grouped by them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stack: Vec<String>,
}

impl AverageRow {
    /// The first groups by a column, largest first.
    pub fn first(averages: &Averages, sort_by: SortKey, count: usize) -> Vec<Self> {
        let mut rows: Vec<&Average> = averages.rows().iter().collect();
        sort_by.sort(&mut rows);
        rows.into_iter().take(count).map(Self::of).collect()
    }

    fn of(row: &Average) -> Self {
        let shape = |input| if let Input::Tensor { dims, .. } = input { dims } else { Vec::new() };
        Self {
            key: row.key.to_string(),
            count: row.count,
            cpu_total_ns: row.cpu_total_ns,
            self_cpu_ns: row.self_cpu_ns,
            device_total_ns: row.device_total_ns,
            self_device_ns: row.self_device_ns,
            cpu_memory: row.cpu_memory,
            self_cpu_memory: row.self_cpu_memory,
            device_memory: row.device_memory,
            self_device_memory: row.self_device_memory,
            flops: row.flops,
            is_device: row.is_device(),
            input_shapes: row.inputs.decode().into_iter().map(shape).collect(),
            stack: row.stack.iter().map(|frame| frame.text().to_string()).collect(),
        }
    }
}

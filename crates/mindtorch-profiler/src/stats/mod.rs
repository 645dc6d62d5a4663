//! Averages: the spans of a trace, grouped and summed.

mod format;
mod group;
mod shapes;
mod subtract;
mod table;
mod times;
mod visible;

pub use format::{format_memory, format_time};
pub use group::GroupBy;
pub use table::{SortKey, TableForm, TableOptions, TimeUnit, UnknownSortKey};

use crate::capture::Capture;
use crate::inputs::Inputs;
use crate::names::Name;
use crate::overhead::Overhead;
use crate::recorder::{Device, Losses, SpanKind};
use crate::trace::Trace;
use group::Grouping;
use std::fmt;
use std::sync::Arc;

/// The groups of a trace's events, in the order of their first event. Printing it gives torch's table.
///
/// ```
/// use mindtorch_profiler::{Session, record_function};
/// let session = Session::start();
/// for _ in 0..3 {
///     let _span = record_function!("work");
/// }
/// let averages = session.stop().key_averages();
/// assert_eq!(averages.rows()[0].count, 3);
/// println!("{averages}");
/// ```
#[derive(Clone, Debug)]
pub struct Averages {
    rows: Vec<Average>,
    capture: Capture,
    losses: Losses,
    /// What the accelerator is called in the table.
    device_label: Arc<str>,
    overhead_ns: Option<u64>,
}

/// The sums of one group of events.
#[derive(Clone, Debug)]
pub struct Average {
    /// The name that the events share.
    pub key: Arc<str>,
    /// How many there are.
    pub count: u64,
    /// Time on the host. Where events of the group contain each other, as in recursion, it is counted once.
    pub cpu_total_ns: u64,
    /// Time on the host, without what the events contain.
    pub self_cpu_ns: u64,
    /// Time of the device work that the events, and all that they contain, launched.
    pub device_total_ns: u64,
    /// Time of the device work that the events launched themselves; for device work, its own time.
    pub self_device_ns: u64,
    /// Host memory allocated less freed in the events.
    pub cpu_memory: i64,
    /// Host memory allocated less freed in the events, without what they contain.
    pub self_cpu_memory: i64,
    /// Device memory allocated less freed in the events.
    pub device_memory: i64,
    /// Device memory allocated less freed in the events, without what they contain.
    pub self_device_memory: i64,
    /// The profiler's own time that was taken off `cpu_total_ns`: see [`Trace::averages_without`].
    pub overhead_ns: u64,
    /// The profiler's own time that was taken off `self_cpu_ns`.
    pub self_overhead_ns: u64,
    /// Floating-point operations.
    pub flops: u64,
    /// Where the events ran. Device work of one name that is not grouped by device has that of the first.
    pub device: Device,
    /// What the first event is; none for what devices did, and for memory outside of all spans.
    pub kind: Option<SpanKind>,
    /// Whether the first event is a function of TorchScript.
    pub is_script: bool,
    /// Whether the first event ended on another thread than it began.
    pub is_async: bool,
    /// Whether the first event is inside another.
    pub has_parent: bool,
    /// The operator's inputs, when grouped by shapes.
    pub inputs: Inputs,
    /// The innermost frames, when grouped by stack.
    pub stack: Vec<Name>,
    /// The four times above in microseconds, for rows that were not made from a trace: total and own on the host, and on the
    /// device. They may be fractions of nanoseconds, or negative.
    pub exact_us: Option<[f64; 4]>,
    /// The shapes as a text, for rows that were not made from a trace; they have no `inputs`.
    pub shapes_text: Option<Arc<str>>,
    /// The number of a process among several; none for all that is made here.
    pub node: Option<i64>,
    /// The operator's overload, when grouped by it.
    pub overload: Arc<str>,
    /// When the first event began, in nanoseconds since the start of the trace.
    pub first_start_ns: u64,
}

impl Average {
    /// A group of nothing yet.
    pub fn new(key: Arc<str>) -> Self {
        Self {
            key,
            count: 0,
            cpu_total_ns: 0,
            self_cpu_ns: 0,
            device_total_ns: 0,
            self_device_ns: 0,
            cpu_memory: 0,
            self_cpu_memory: 0,
            device_memory: 0,
            self_device_memory: 0,
            overhead_ns: 0,
            self_overhead_ns: 0,
            flops: 0,
            device: Device::Cpu,
            kind: None,
            is_script: false,
            is_async: false,
            has_parent: false,
            inputs: Inputs::NONE,
            exact_us: None,
            shapes_text: None,
            stack: Vec::new(),
            node: None,
            overload: Arc::default(),
            first_start_ns: 0,
        }
    }

    /// Whether this is work of a device rather than of the host.
    pub fn is_device(&self) -> bool {
        self.device != Device::Cpu
    }

    /// Whether the events are annotations.
    pub fn is_annotation(&self) -> bool {
        self.kind == Some(SpanKind::Annotation)
    }

    /// The mean time on the host, in microseconds.
    pub fn cpu_mean_us(&self) -> f64 {
        mean(self.cpu_total_us(), self.count)
    }

    /// The mean time on the device, in microseconds.
    pub fn device_mean_us(&self) -> f64 {
        mean(self.device_total_us(), self.count)
    }

    /// The four times in microseconds: total and own on the host, and on the device.
    #[cfg(feature = "arrow")]
    pub(crate) fn times_us(&self) -> [f64; 4] {
        [self.cpu_total_us(), self.self_cpu_us(), self.device_total_us(), self.self_device_us()]
    }

    fn cpu_total_us(&self) -> f64 {
        self.exact_us.map_or(self.cpu_total_ns as f64 / 1e3, |us| us[0])
    }

    fn self_cpu_us(&self) -> f64 {
        self.exact_us.map_or(self.self_cpu_ns as f64 / 1e3, |us| us[1])
    }

    fn device_total_us(&self) -> f64 {
        self.exact_us.map_or(self.device_total_ns as f64 / 1e3, |us| us[2])
    }

    fn self_device_us(&self) -> f64 {
        self.exact_us.map_or(self.self_device_ns as f64 / 1e3, |us| us[3])
    }
}

fn mean(total: f64, count: u64) -> f64 {
    if count == 0 { 0.0 } else { total / count as f64 }
}

impl Averages {
    /// A table's rows that were not made from a trace. `capture` says which columns there can be, and `device_label` what
    /// the accelerator is called.
    pub fn of_rows(rows: Vec<Average>, capture: Capture, device_label: &str) -> Self {
        Self { rows, capture, losses: Losses::default(), device_label: device_label.into(), overhead_ns: None }
    }

    /// The groups.
    pub fn rows(&self) -> &[Average] {
        &self.rows
    }

    /// What the accelerator is called.
    #[cfg(feature = "arrow")]
    pub(crate) fn device_label(&self) -> &str {
        &self.device_label
    }

    /// The host time that the trace's spans cover, which is the sum of all self times.
    pub fn self_cpu_total_ns(&self) -> u64 {
        self.rows.iter().map(|row| row.self_cpu_ns).sum()
    }

    /// The profiler's own time that was taken off self times, which is what was taken off in all; `None` if nothing was to be.
    pub fn overhead_ns(&self) -> Option<u64> {
        self.overhead_ns
    }

    /// The table, as torch prints it.
    pub fn table(&self, options: &TableOptions) -> String {
        table::render(self, options)
    }
}

impl fmt::Display for Averages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.table(&TableOptions::default()))
    }
}

impl Trace {
    /// The trace's events grouped by name. Takes about 10 ns an event.
    pub fn key_averages(&self) -> Averages {
        self.averages(GroupBy::default())
    }

    /// The trace's events grouped by name and whatever else is asked for.
    pub fn averages(&self, by: GroupBy) -> Averages {
        let _store = self.store.enter();
        self.averages_of(Grouping::of(self, by), None)
    }

    /// The same without the profiler's own time, as far as that is known: times on the host are less by what recording took
    /// within them. Takes about three times as long.
    ///
    /// See [`Overhead`] for an example.
    pub fn averages_without(&self, by: GroupBy, overhead: &Overhead) -> Averages {
        let _store = self.store.enter();
        let mut grouping = Grouping::of(self, by);
        let overhead_ns = grouping.subtract(overhead);
        self.averages_of(grouping, Some(overhead_ns))
    }

    /// Every event as a group of its own, in the order of time.
    pub fn events(&self) -> Averages {
        let _store = self.store.enter();
        self.averages_of(Grouping::single_events(self), None)
    }

    fn averages_of(&self, grouping: Grouping<'_>, overhead_ns: Option<u64>) -> Averages {
        let (capture, losses) = (self.header.capture, self.header.losses.clone());
        Averages { rows: grouping.finish(), capture, losses, device_label: self.accelerator().into(), overhead_ns }
    }
}

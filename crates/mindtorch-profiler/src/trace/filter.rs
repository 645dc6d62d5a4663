//! Filters: a part of a trace, for a small file of a large run.

use super::Trace;
use super::rows::{DeviceKind, ThreadRow};
use crate::recorder::SpanKind;
use std::ops::Range;

/// What an event is, for filters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u16)]
pub enum EventKind {
    /// Operators, backward nodes among them.
    Op,
    /// Scopes of the program.
    Annotation,
    /// Functions of an interpreted language.
    Function,
    /// Calls of a device's runtime.
    Runtime,
    /// What a device computed.
    Kernel,
    /// Memory that a device moved.
    Copy,
    /// Memory that a device filled.
    Set,
    /// What a device waited for.
    Sync,
    /// Scopes of the program, as wide as what a device did in them.
    DeviceAnnotation,
    /// Allocations and frees.
    Memory,
    /// Counters and marks.
    Instant,
}

impl EventKind {
    /// All kinds.
    pub const ALL: [Self; 11] = [
        Self::Op,
        Self::Annotation,
        Self::Function,
        Self::Runtime,
        Self::Kernel,
        Self::Copy,
        Self::Set,
        Self::Sync,
        Self::DeviceAnnotation,
        Self::Memory,
        Self::Instant,
    ];

    /// Its name: `"device_annotation"`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Op => "op",
            Self::Annotation => "annotation",
            Self::Function => "function",
            Self::Runtime => "runtime",
            Self::Kernel => "kernel",
            Self::Copy => "copy",
            Self::Set => "set",
            Self::Sync => "sync",
            Self::DeviceAnnotation => "device_annotation",
            Self::Memory => "memory",
            Self::Instant => "instant",
        }
    }
}

/// Which events to take.
///
/// ```
/// use mindtorch_profiler::{EventKind, Filter};
/// let slow_products = Filter::new().kinds(&[EventKind::Op]).name("aten::*mm").min_duration_ns(100_000);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// A bit for each kind; 0 is all.
    kinds: u16,
    names: Vec<String>,
    min_duration_ns: u64,
    time_ns: Option<Range<u64>>,
    threads: Vec<String>,
    max_depth: Option<usize>,
}

impl Filter {
    /// Takes everything.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes only events of these kinds; of any, if there are none.
    pub fn kinds(mut self, kinds: &[EventKind]) -> Self {
        self.kinds = kinds.iter().fold(0, |all, &kind| all | 1 << kind as u16);
        self
    }

    /// Takes events with this name, in which `*` stands for any text and `?` for any character. Given several times, any of
    /// the names will do. Memory has the name `[memory]`.
    pub fn name(mut self, pattern: &str) -> Self {
        self.names.push(pattern.to_owned());
        self
    }

    /// Takes spans and device work that took at least so long, and nothing that has no length.
    pub fn min_duration_ns(mut self, ns: u64) -> Self {
        self.min_duration_ns = ns;
        self
    }

    /// Takes what was going on in this time, in nanoseconds since the start of the trace.
    pub fn time_range_ns(mut self, range: Range<u64>) -> Self {
        self.time_ns = Some(range);
        self
    }

    /// Takes events of threads with this name, in which `*` and `?` mean what they do in names of events, or with this number of
    /// the operating system's. Given several times, any of them will do. Device work is of the thread that launched it.
    pub fn thread(mut self, name_or_number: &str) -> Self {
        self.threads.push(name_or_number.to_owned());
        self
    }

    /// Takes spans that are nested at most so deep: 1 takes those that no other contains. Events of other kinds have no depth.
    pub fn max_depth(mut self, depth: usize) -> Self {
        self.max_depth = Some(depth);
        self
    }

    fn takes_thread(&self, thread: &ThreadRow) -> bool {
        let number = thread.os_id.to_string();
        let takes = |pattern: &String| {
            let has_name = thread.name.as_ref().is_some_and(|name| matches(pattern.as_bytes(), name.as_bytes()));
            has_name || *pattern == number
        };
        self.threads.is_empty() || self.threads.iter().any(takes)
    }

    fn takes_kind(&self, kind: EventKind) -> bool {
        self.kinds == 0 || self.kinds & (1 << kind as u16) != 0
    }

    /// Whether an event with this name is taken, as far as names go.
    pub fn takes_name(&self, name: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|pattern| matches(pattern.as_bytes(), name.as_bytes()))
    }

    fn takes_time(&self, start: u64, end: u64) -> bool {
        let has_length = self.min_duration_ns == 0 || end - start >= self.min_duration_ns;
        has_length && self.time_ns.as_ref().is_none_or(|time| start < time.end && end >= time.start)
    }
}

/// Whether `text` has the form of `pattern`. A `*` that fits too little is tried again with one byte more, and only the
/// last one can be, so this takes the product of the lengths at most.
fn matches(pattern: &[u8], text: &[u8]) -> bool {
    let (mut at, mut of) = (0, 0);
    let mut last_star = None;
    while of < text.len() {
        match pattern.get(at) {
            Some(b'*') => {
                last_star = Some((at, of));
                at += 1;
            }
            Some(b'?') => {
                at += 1;
                of += 1;
                while text.get(of).is_some_and(|byte| byte & 0xC0 == 0x80) {
                    of += 1;
                }
            }
            Some(byte) if *byte == text[of] => {
                at += 1;
                of += 1;
            }
            _ => {
                let Some((star, from)) = last_star else { return false };
                last_star = Some((star, from + 1));
                (at, of) = (star + 1, from + 1);
            }
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

/// The events of a trace that a filter takes. Each is asked about when it is written, so this is no larger for more events.
#[derive(Debug)]
pub(crate) struct Selection<'a> {
    trace: &'a Trace,
    /// Without one, everything is taken.
    filter: Option<Filter>,
    /// By number in the trace: whether the name is taken.
    names: Vec<bool>,
    /// By row of the trace's threads: whether the thread is taken. Empty if all are.
    threads: Vec<bool>,
    /// Whether memory is taken, as far as its kind and name go.
    memory: bool,
}

impl Trace {
    /// What `filter` takes of it.
    pub(crate) fn select(&self, filter: Option<&Filter>) -> Selection<'_> {
        let names = filter.map_or_else(Vec::new, |filter| self.names.iter().map(|n| filter.takes_name(n)).collect());
        let memory = filter.is_none_or(|filter| filter.takes_kind(EventKind::Memory) && filter.takes_name("[memory]"));
        let by_thread = filter.filter(|filter| !filter.threads.is_empty());
        let threads = by_thread
            .map_or_else(Vec::new, |filter| self.threads.iter().map(|thread| filter.takes_thread(thread)).collect());
        Selection { trace: self, filter: filter.cloned(), names, threads, memory }
    }
}

impl Selection<'_> {
    /// Whether everything is taken.
    pub(crate) fn is_all(&self) -> bool {
        self.filter.is_none()
    }

    /// Whether the span in this row is taken.
    #[inline]
    pub(crate) fn span(&self, row: usize) -> bool {
        let Some(filter) = &self.filter else { return true };
        let spans = &self.trace.spans;
        let kind = match spans.kind[row] {
            SpanKind::Op | SpanKind::Backward => EventKind::Op,
            SpanKind::Annotation => EventKind::Annotation,
            SpanKind::Function => EventKind::Function,
            SpanKind::Runtime => EventKind::Runtime,
        };
        filter.takes_kind(kind)
            && self.names[spans.name[row] as usize]
            && filter.takes_time(spans.start[row], spans.end(row))
            && self.takes_thread_of(row)
            && filter.max_depth.is_none_or(|depth| self.is_within(row, depth))
    }

    fn takes_thread(&self, thread: usize) -> bool {
        self.threads.is_empty() || self.threads[thread]
    }

    fn takes_thread_of(&self, row: usize) -> bool {
        self.threads.is_empty() || self.threads[self.trace.thread_of(row)]
    }

    /// Whether fewer than `depth` spans contain it.
    fn is_within(&self, row: usize, depth: usize) -> bool {
        let parents = &self.trace.spans.parent;
        let around =
            std::iter::successors(Some(row), |&row| Some(parents[row] as usize).filter(|&row| row < parents.len()));
        around.take(depth.saturating_add(1)).count() <= depth
    }

    /// Whether the work in this row of the device's is taken.
    pub(crate) fn device(&self, row: usize) -> bool {
        let Some(filter) = &self.filter else { return true };
        let work = &self.trace.device[row];
        let kind = match work.kind {
            DeviceKind::Kernel => EventKind::Kernel,
            DeviceKind::Copy => EventKind::Copy,
            DeviceKind::Set => EventKind::Set,
            DeviceKind::Sync => EventKind::Sync,
            DeviceKind::Annotation => EventKind::DeviceAnnotation,
        };
        filter.takes_kind(kind)
            && self.names[work.name as usize]
            && filter.takes_time(work.start, work.end)
            && (self.threads.is_empty() || work.launched_by.is_some_and(|row| self.takes_thread_of(row as usize)))
    }

    /// Whether the allocation or free in this row is taken.
    pub(crate) fn memory(&self, row: usize) -> bool {
        let Some(filter) = &self.filter else { return true };
        let memory = &self.trace.memory[row];
        self.memory && filter.takes_time(memory.at_ns, memory.at_ns) && self.takes_thread(memory.thread)
    }

    /// Whether the counter's value or mark in this row is taken.
    pub(crate) fn instant(&self, row: usize) -> bool {
        let Some(filter) = &self.filter else { return true };
        let instant = &self.trace.instants[row];
        filter.takes_kind(EventKind::Instant)
            && self.names[instant.name as usize]
            && filter.takes_time(instant.at, instant.at)
            && self.takes_thread(instant.thread)
    }
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns_have_stars_and_question_marks() {
        for (pattern, text) in [
            ("", ""),
            ("*", ""),
            ("*", "anything"),
            ("aten::*", "aten::add"),
            ("*mm", "aten::addmm"),
            ("a*b*c", "a-b-b-c"),
            ("a?c", "aéc"),
            ("[memory]", "[memory]"),
            ("**a", "bba"),
        ] {
            assert!(matches(pattern.as_bytes(), text.as_bytes()), "{pattern} {text}");
        }
        for (pattern, text) in [("", "a"), ("a", ""), ("a?c", "ac"), ("aten::*", "aten:add"), ("*mm", "mma")] {
            assert!(!matches(pattern.as_bytes(), text.as_bytes()), "{pattern} {text}");
        }
    }
}

//! The list of a trace's events: spans, device work, and memory outside of spans, in the order of time.

use super::Trace;
use super::nesting::NO_PARENT;
use super::rows::MemoryRow;
use crate::column::Column;
use std::cmp::Reverse;
use std::sync::OnceLock;

/// An event of a trace, by its row among its like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TraceEvent {
    /// A row of [`Trace::spans`].
    Span(u32),
    /// A row of [`Trace::device_spans`].
    Device(u32),
    /// A row of [`Trace::memory`]: what was allocated or freed, outside of all spans unless all memory was asked for.
    Memory(u32),
}

/// The events of a trace as torch lists them: by start, and of those that start together the longer first. From
/// [`Trace::event_order`].
///
/// Operators that are one call with the operator around them are not in it, nor is memory that a trace hides.
#[derive(Debug)]
pub struct EventOrder {
    events: Column<TraceEvent>,
    is_rows: bool,
    parents: OnceLock<Column<u32>>,
}

impl Trace {
    /// The order of its events. Takes some nanoseconds an event, and eight bytes.
    pub fn event_order(&self) -> EventOrder {
        self.order_with(is_outside_spans)
    }

    /// The same with every allocation and free, those within spans as well: what was in use is then known at every moment.
    pub fn event_order_with_memory(&self) -> EventOrder {
        self.order_with(|_| true)
    }

    fn order_with(&self, lists: impl Fn(&MemoryRow) -> bool) -> EventOrder {
        let repeated = &self.repeated;
        let is_shown = |row: &u32| repeated.is_empty() || repeated.binary_search(row).is_err();
        let _store = self.store.enter();
        let time = |event: TraceEvent| {
            let (start, end) = self.time_range(event);
            (start, Reverse(end))
        };
        let mut others: Column<TraceEvent> = (0..self.device.len() as u32).map(TraceEvent::Device).collect();
        others.extend(self.shown_memory(lists).map(TraceEvent::Memory));
        others.sort_by_key(|&event| time(event));
        let mut others = others.into_iter().peekable();
        let mut events = Column::with_capacity(self.spans.len() - repeated.len() + others.len());
        for span in self.rows_by_time().filter(is_shown).map(TraceEvent::Span) {
            if others.len() > 0 {
                events.extend(std::iter::from_fn(|| others.next_if(|&other| time(other) < time(span))));
            }
            events.push(span);
        }
        events.extend(others);
        let is_rows = events.iter().zip(0..).all(|(event, row)| *event == TraceEvent::Span(row));
        EventOrder { events, is_rows, parents: OnceLock::new() }
    }

    /// How many events there are in [`Self::event_order`], which need not be found for this.
    pub fn event_count(&self) -> usize {
        self.spans.len() - self.repeated.len() + self.device.len() + self.shown_memory(is_outside_spans).count()
    }

    /// The rows of memory that is an event of its own.
    fn shown_memory(&self, lists: impl Fn(&MemoryRow) -> bool) -> impl Iterator<Item = u32> {
        let memory = if self.hides_memory_events() { &[][..] } else { &self.memory[..] };
        memory.iter().zip(0..).filter(move |(row, _)| lists(row)).map(|(_, row)| row)
    }

    /// When an event began and ended. An allocation takes no time.
    ///
    /// # Panics
    /// When the event is not one of this trace.
    pub fn time_range(&self, event: TraceEvent) -> (u64, u64) {
        match event {
            TraceEvent::Span(row) => (self.spans.start[row as usize], self.spans.end(row as usize)),
            TraceEvent::Device(row) => (self.device[row as usize].start, self.device[row as usize].end),
            TraceEvent::Memory(row) => (self.memory[row as usize].at_ns, self.memory[row as usize].at_ns),
        }
    }

    /// The rows of a span and of those that are one call with it.
    #[cfg(feature = "arrow")]
    pub(crate) fn with_repeated(&self, row: usize) -> impl Iterator<Item = usize> {
        // The one call that a span repeats is its only child, and so the next row.
        let is_repeated = move |next: usize| {
            self.repeated.binary_search(&(next as u32)).is_ok() && self.spans.parent[next] as usize + 1 == next
        };
        std::iter::successors(Some(row), move |last| {
            (!self.repeated.is_empty()).then_some(last + 1).filter(|&next| is_repeated(next))
        })
    }
}

fn is_outside_spans(row: &MemoryRow) -> bool {
    row.span.is_none()
}

impl EventOrder {
    /// The events.
    pub fn events(&self) -> &[TraceEvent] {
        &self.events
    }

    /// Whether the events are the rows of the spans, each in its place.
    #[cfg(feature = "arrow")]
    pub(crate) fn is_rows(&self) -> bool {
        self.is_rows
    }

    /// The place of the span around the event in a place: a span that is not in the list is one with what is around it.
    /// `trace` is the one that this is the order of.
    pub fn parent(&self, trace: &Trace, place: usize) -> Option<u32> {
        if self.is_rows {
            return trace.spans.parent.get(place).copied().filter(|&parent| parent != NO_PARENT);
        }
        let parents = self.parents.get_or_init(|| {
            let _store = trace.store.enter();
            self.find_parents(trace)
        });
        parents.get(place).copied().filter(|&parent| parent != NO_PARENT)
    }

    fn find_parents(&self, trace: &Trace) -> Column<u32> {
        let spans = &trace.spans;
        let mut places = Column::filled(NO_PARENT, spans.len());
        for (event, place) in self.events.iter().zip(0..) {
            if let TraceEvent::Span(row) = event {
                places[*row as usize] = place;
            }
        }
        let parent = |event: &TraceEvent| {
            let TraceEvent::Span(row) = event else { return NO_PARENT };
            let mut around = spans.parent[*row as usize];
            while let Some(&place) = places.get(around as usize) {
                if place != NO_PARENT {
                    return place;
                }
                around = spans.parent[around as usize];
            }
            NO_PARENT
        };
        self.events.iter().map(parent).collect()
    }
}

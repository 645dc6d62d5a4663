//! What recording costs the program that is recorded, so that averages can be told without it.
//!
//! A span takes time of the program. What lies between its two readings of the clock is part of its own duration, the rest
//! falls into the span around it. How much that is for each kind of event is measured, not assumed: see [`Calibration`].

mod calibration;
mod spent;

pub use calibration::{Calibration, Sample};
pub(crate) use spent::Spent;

use crate::recorder::SpanKind;
use crate::trace::Trace;

/// What recording a span adds to the program, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventCost {
    /// Between the span's two readings of the clock: part of its own duration.
    pub inner_ns: u64,
    /// Before the first and after the second: part of the span around it.
    pub outer_ns: u64,
}

impl EventCost {
    /// All of it.
    pub fn total_ns(self) -> u64 {
        self.inner_ns + self.outer_ns
    }
}

/// What recording an event adds to the program, by kind.
///
/// ```
/// use mindtorch_profiler::{EventCost, GroupBy, Overhead, Session, record_function};
/// let session = Session::start();
/// {
///     let _outer = record_function!("outer");
///     for _ in 0..1000 {
///         let _inner = record_function!("inner");
///     }
/// }
/// let trace = session.stop();
/// let overhead = trace.overhead().expect("it was recorded here");
/// let averages = trace.averages_without(GroupBy::default(), &overhead);
/// println!("{averages}");
/// assert!(averages.rows()[0].cpu_total_ns < trace.key_averages().rows()[0].cpu_total_ns);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overhead {
    /// An operator.
    pub op: EventCost,
    /// A node of the backward pass.
    pub backward: EventCost,
    /// A part of the program that its author named.
    pub annotation: EventCost,
    /// A call into a device's runtime.
    pub runtime: EventCost,
    /// A function of an interpreted language.
    pub function: EventCost,
    /// An allocation or a free, in the span in which it happens.
    pub memory_ns: u64,
    /// Something that became known of a block of memory, in the span that says it.
    pub memory_use_ns: u64,
}

impl Overhead {
    /// What a span of this kind costs.
    #[inline]
    pub fn of(&self, kind: SpanKind) -> EventCost {
        match kind {
            SpanKind::Op => self.op,
            SpanKind::Backward => self.backward,
            SpanKind::Annotation => self.annotation,
            SpanKind::Runtime => self.runtime,
            SpanKind::Function => self.function,
        }
    }

    /// What all events of a trace cost together, inside and outside of spans.
    pub fn total_ns(&self, trace: &Trace) -> u64 {
        let spans: u64 = trace.spans.kind.iter().map(|&kind| self.of(kind).total_ns()).sum();
        let uses = trace.notes.uses.len() + trace.notes.sources.len();
        spans + trace.memory.len() as u64 * self.memory_ns + uses as u64 * self.memory_use_ns
    }
}

impl Trace {
    /// What recording its events cost, measured now, on this machine, for programs that use this crate alone; takes about two
    /// milliseconds. `None` for a trace that was read from a file: what another program paid is not known here.
    ///
    /// It is what an event costs on a machine that does nothing else, to memory that was used before: the least that it cost.
    pub fn overhead(&self) -> Option<Overhead> {
        (!self.is_of_file()).then(|| Calibration::new(self.capture()).overhead())
    }
}

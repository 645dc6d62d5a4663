//! Measuring what recording costs: spans of nothing, by the paths that programs take, where no session sees them.

use super::{EventCost, Overhead};
use crate::capture::Capture;
use crate::inputs::Inputs;
use crate::names::{Name, Stack};
use crate::record_function;
use crate::recorder::{
    Device, Elsewhere, Memory, MemoryRole, MemoryUse, Recorder, Span, SpanArgs, SpanKind, memory, memory_use,
};
use crate::session::{Session, SessionBuilder};
use std::marker::PhantomData;

/// Events in a round: so many that reading the clock around them does not show.
const EVENTS: usize = 128;
/// Of so many rounds the quickest counts. A machine that does something else makes rounds slower, never quicker.
const ROUNDS: usize = 16;
/// Spans that are recorded beforehand, and how often, so that all later ones go to memory that was used before.
const WARMING: (usize, usize) = (2048, 4);

/// A thread that measures what recording costs it. While it lives, what the thread records goes nowhere: no session sees it.
///
/// Those who record in ways of their own, as a runtime that looks up shapes first, measure them with
/// [`Calibration::cost`], and put what they find into the [`Overhead`] that this crate has found of its own.
///
/// ```
/// use mindtorch_profiler::{Calibration, Capture, record_function};
/// let calibration = Calibration::new(Capture::CPU);
/// let cost = calibration.cost(|| drop(record_function!("measured")));
/// println!("a span takes {} ns, of which {} are in its own duration", cost.total_ns(), cost.inner_ns);
/// ```
#[derive(Debug)]
pub struct Calibration {
    capture: Capture,
    recorder: Recorder,
    /// Before the session, so that this thread writes where it did before that ends. `None` in a thread that is being torn
    /// down, and records nothing.
    _elsewhere: Option<Elsewhere>,
    /// So that [`capture`](crate::capture) says what is to be collected. Others record meanwhile what nobody asked for, as
    /// they do when any session starts.
    _collecting: Session,
    /// It is about this thread.
    _not_send: PhantomData<*const ()>,
}

impl Calibration {
    /// Begins to measure what this thread pays while all of `capture` is collected.
    pub fn new(capture: Capture) -> Self {
        let recorder = Recorder::apart();
        let collecting = collect(capture).start();
        let elsewhere = Elsewhere::new(&recorder);
        let this = Self { capture, recorder, _elsewhere: elsewhere, _collecting: collecting, _not_send: PhantomData };
        let (spans, times) = WARMING;
        for _ in 0..times {
            this.record(|| (0..spans).for_each(|_| drop(record_function!("warming"))));
        }
        this
    }

    /// What an event costs that `record` records. If that is a span, what lies inside of it is told apart.
    pub fn cost(&self, record: impl FnMut()) -> EventCost {
        self.sample(record).cost_beyond(Sample::default())
    }

    /// How long `event` takes, and the span that it records, if it records one.
    pub fn sample(&self, mut event: impl FnMut()) -> Sample {
        let mut best = Sample { round_ns: u64::MAX, inner_ns: 0 };
        for _ in 0..ROUNDS {
            let (round_ns, inner_ns) = self.record(|| self.round(&mut event));
            if round_ns < best.round_ns {
                best = Sample { round_ns, inner_ns };
            }
        }
        best
    }

    /// What the events of this crate cost, of programs that use it alone. What is not collected costs nothing.
    pub fn overhead(&self) -> Overhead {
        Overhead {
            op: self.cost_of_span(SpanKind::Op),
            backward: self.cost_of_span(SpanKind::Backward),
            annotation: self.cost_of_span(SpanKind::Annotation),
            runtime: self.cost_of_span(SpanKind::Runtime),
            function: self.cost_of_span(SpanKind::Function),
            memory_ns: self.cost_of_memory(),
            memory_use_ns: self.cost_of_memory_use(),
        }
    }

    /// Whether all of this is collected.
    pub fn collects(&self, what: Capture) -> bool {
        self.capture.contains(what)
    }

    /// What a span costs that this crate's functions begin, with what spans of its kind have.
    pub fn cost_of_span(&self, kind: SpanKind) -> EventCost {
        if !self.collects(kind.needs()) {
            return EventCost::default();
        }
        let inputs = || if self.collects(Capture::SHAPES) { two_matrices() } else { Inputs::NONE };
        let flops = u64::from(self.collects(Capture::FLOPS));
        let args = SpanArgs::new(kind, Name::new("measured"));
        match kind {
            SpanKind::Op if flops > 0 => self.cost(|| drop(Span::begin(&args.inputs(inputs()).flops(flops)))),
            SpanKind::Op => self.cost(|| drop(Span::begin(&args.inputs(inputs())))),
            SpanKind::Backward => {
                let args = args.sequence(1).forward_thread(1);
                self.cost(|| drop(Span::begin(&args.inputs(inputs()))))
            }
            SpanKind::Annotation => self.cost(|| drop(record_function!("measured"))),
            SpanKind::Runtime => self.cost(|| drop(Span::begin(&args))),
            SpanKind::Function => self.cost(|| drop(Span::begin(&args.call(1, None)))),
        }
    }

    /// What an allocation or a free costs, in nanoseconds.
    pub fn cost_of_memory(&self) -> u64 {
        let (address, bytes, device, stack, role) = (64, 64, Device::Cpu, Stack::NONE, MemoryRole::Unknown);
        let allocation = Memory { address, bytes, device, allocated: bytes, reserved: 0, stack, role };
        if self.collects(Capture::MEMORY) { self.cost(|| memory(&allocation)).total_ns() } else { 0 }
    }

    /// What it costs to say something of a block of memory, in nanoseconds.
    pub fn cost_of_memory_use(&self) -> u64 {
        let (address, bytes, device, role) = (64, 64, Device::Cpu, MemoryRole::Unknown);
        let block = MemoryUse { address, bytes, device, role, is_written: false };
        if self.collects(Capture::MEMORY) { self.cost(|| memory_use(&block)).total_ns() } else { 0 }
    }

    /// Nanoseconds that a round takes.
    fn round(&self, event: &mut impl FnMut()) -> u64 {
        let begin = self.recorder.now();
        (0..EVENTS).for_each(|_| event());
        let end = self.recorder.now();
        self.recorder.scale().ns_between(begin.0, end.0)
    }

    /// What `work` gives, and the median duration of the spans that it records.
    fn record<T>(&self, work: impl FnOnce() -> T) -> (T, u64) {
        let session = collect(Capture::ALL).on(&self.recorder).start();
        let result = work();
        let trace = session.stop();
        let outermost = trace.spans().filter(|span| span.parent().is_none());
        let mut durations: Vec<u64> = outermost.map(|span| span.duration_ns()).collect();
        durations.sort_unstable();
        (result, durations.get(durations.len() / 2).copied().unwrap_or(0))
    }
}

/// How long something takes that may record a span.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sample {
    /// A round of events.
    round_ns: u64,
    /// The span of one.
    inner_ns: u64,
}

impl Sample {
    /// What recording adds, where `unrecorded` is the same without.
    pub fn cost_beyond(self, unrecorded: Self) -> EventCost {
        let events = EVENTS as u64;
        let added = (self.round_ns.saturating_sub(unrecorded.round_ns) + events / 2) / events;
        EventCost { inner_ns: self.inner_ns.min(added), outer_ns: added.saturating_sub(self.inner_ns) }
    }
}

fn collect(capture: Capture) -> SessionBuilder {
    Session::builder()
        .activities(capture)
        .record_shapes(capture.contains(Capture::SHAPES))
        .with_stack(capture.contains(Capture::STACK))
        .profile_memory(capture.contains(Capture::MEMORY))
        .with_flops(capture.contains(Capture::FLOPS))
}

/// The inputs of an operator as most have them.
fn two_matrices() -> Inputs {
    let sizes = &[64, 64];
    Inputs::encode().tensor("float", sizes, &[64, 1]).tensor("float", sizes, &[64, 1]).finish()
}

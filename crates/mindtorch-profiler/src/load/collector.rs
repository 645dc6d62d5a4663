//! Events on their way into a trace: each becomes a loose row of the kind that it is.

use super::category::Category;
use super::cursor::{Kind, Value};
use super::event::Event;
use super::head::Head;
use super::labels::Labels;
use super::overloads::Overloads;
use super::raw_table::RawTable;
use super::runs::Run;
use super::text::LoadedNames;
use super::verbatim::Broken;
use crate::capture::Capture;
use crate::recorder::{Device, SpanKind};
use crate::trace::loaded::{Loose, NOWHERE, PairEnd, TooFarApart};
use crate::trace::{DeviceKind, Trace};

/// Collects the events of a file.
#[derive(Debug, Default)]
pub(super) struct Collector {
    pub(super) head: Head,
    pub(super) loose: Loose,
    pub(super) names: LoadedNames,
    pub(super) labels: Labels,
    pub(super) overloads: Overloads,
    /// Numbers of inputs by the text of the arguments that show them; [`NOWHERE`] if they show none.
    pub(super) inputs: RawTable,
    /// The same for stacks.
    pub(super) stacks: RawTable,
    /// Names by the text of arguments that have no column.
    pub(super) extras: RawTable,
    pub(super) runs: Runs,
    /// The last event, if it was a span of a thread: its place, and when it began.
    pub(super) last_span: Option<(u32, u32, i64)>,
    /// By loose thread: the step of its last event, one higher.
    pub(super) last_steps: Vec<usize>,
    pub(super) skipped: u64,
}

/// The arguments of an event that go together.
#[derive(Debug, Default)]
pub(super) struct Runs {
    pub(super) inputs: Run,
    pub(super) stack: Run,
    pub(super) extra: Run,
}

impl Collector {
    /// Takes an event. It is broken if an argument that is to be kept is not JSON.
    pub(super) fn add(&mut self, event: &Event, text: &[u8]) -> Result<(), Broken> {
        let before = self.last_span.take();
        match (event.phase, event.time) {
            (b'M', _) => self.labels.add(event, text, &mut self.names),
            (b'X', Some(time)) => self.add_complete(event, text, time)?,
            (b'B', Some(time)) => {
                let thread = self.thread(event, text);
                self.pair(thread, time, self.loose.spans.len() as u32);
                self.add_span(event, text, (time, 0), kind_of_begin(event, text))?;
            }
            (b'E', Some(time)) => {
                let thread = self.thread(event, text);
                self.pair(thread, time, NOWHERE);
            }
            (b'i' | b'I' | b'R', Some(time)) => self.add_instant(event, text, time),
            (b'C', Some(time)) => self.add_counter(event, text, time),
            (b's' | b'f', Some(time)) => {
                self.add_arrow(event, text, time, before);
                // Several arrows may touch one span.
                self.last_span = before;
            }
            _ => self.skipped += 1,
        }
        Ok(())
    }

    fn pair(&mut self, thread: u32, at: i64, span: u32) {
        self.loose.pairs.push(PairEnd { thread, at, span });
    }

    #[inline]
    pub(super) fn thread(&mut self, event: &Event, text: &[u8]) -> u32 {
        self.labels.thread(event, text, &mut self.names)
    }

    #[inline]
    fn add_complete(&mut self, event: &Event, text: &[u8], time: i64) -> Result<(), Broken> {
        let duration = event.duration.unwrap_or(0).max(0) as u64;
        let category = category(event, text);
        match category {
            Category::Span(kind, has_own) => self.add_span(event, text, (time, duration), (kind, has_own)),
            Category::Device(kind) => self.add_device(event, text, (time, duration), kind),
            Category::Window => {
                self.loose.add_window(time, duration);
                Ok(())
            }
        }
    }

    #[inline]
    pub(super) fn name(&mut self, value: &Value, text: &[u8]) -> u32 {
        match value.kind {
            Kind::Text { .. } => self.names.of_string(value, text),
            Kind::Null => 0,
            _ => self.names.of_content(value.raw(text), false),
        }
    }

    /// Whether there was anything to make a trace of.
    pub(super) fn is_empty(&self) -> bool {
        let loose = &self.loose;
        loose.spans.is_empty() && loose.device.is_empty() && loose.memory.is_empty() && loose.instants.is_empty()
    }

    pub(super) fn finish(self) -> Result<Trace, TooFarApart> {
        let Self { mut head, mut loose, names, labels, skipped, .. } = self;
        loose.base_ns = head.base_ns;
        loose.losses = head.losses();
        loose.origin = head.origin;
        loose.origin.skipped += skipped;
        // What a file does not say is not to be found out here.
        loose.origin.device_properties.get_or_insert_with(|| "[]".to_owned());
        labels.finish(&names, &mut loose);
        loose.capture = head.capture | shown(&loose, head.capture);
        loose.names = names.into_texts();
        loose.build()
    }
}

fn category(event: &Event, text: &[u8]) -> Category {
    match event.category.kind {
        Kind::Text { .. } => Category::of(event.category.content(text)),
        // The list that torch's `EventList` writes.
        _ if event.process.raw(text) == b"\"CPU functions\"" => Category::Span(SpanKind::Op, false),
        _ if event.process.raw(text) == b"\"CUDA functions\"" => Category::Device(DeviceKind::Kernel),
        _ => Category::Span(SpanKind::Annotation, true),
    }
}

/// What a span is that has a beginning of its own. Devices have none such, whatever it says.
fn kind_of_begin(event: &Event, text: &[u8]) -> (SpanKind, bool) {
    match category(event, text) {
        Category::Span(kind, has_own) => (kind, has_own),
        Category::Device(_) | Category::Window => (SpanKind::Annotation, false),
    }
}

/// What was collected, as far as the events show it, and the head does not say otherwise: who asks for operations alone gets
/// shapes with them.
fn shown(loose: &Loose, head: Capture) -> Capture {
    let has_inputs = || loose.spans.iter().any(|span| span.inputs != 0);
    let has_device = !loose.device.is_empty() || loose.spans.iter().any(|span| span.kind == SpanKind::Runtime);
    let has_stack = loose.spans.iter().any(|span| span.stack != 0 || span.kind == SpanKind::Function);
    let flags = [
        (true, Capture::CPU),
        (has_device || loose.memory.iter().any(|row| row.device != Device::Cpu), Capture::DEVICE),
        (!head.contains(Capture::FLOPS) && has_inputs(), Capture::SHAPES),
        (has_stack, Capture::STACK),
        (!loose.memory.is_empty(), Capture::MEMORY),
        (loose.rest.iter().any(|rest| rest.flops != 0), Capture::FLOPS),
    ];
    flags.iter().filter(|(is_on, _)| *is_on).fold(Capture::NONE, |all, (_, flag)| all | *flag)
}

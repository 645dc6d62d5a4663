//! Events on their way into a trace: each becomes a loose row of the kind that it is.

use super::category::{Category, accelerator};
use super::cursor::{Kind, Value};
use super::event::Event;
use super::head::Head;
use super::inputs::inputs;
use super::key::Key;
use super::labels::Labels;
use super::overloads::Overloads;
use super::raw_table::{Found, RawTable};
use super::runs::Run;
use super::stacks::stack;
use super::text::LoadedNames;
use super::verbatim::{Broken, Form, verbatim};
use crate::capture::Capture;
use crate::recorder::{Device, SpanKind};
use crate::trace::loaded::{
    Arrow, ArrowEnd, Loose, LooseDevice, LooseInstant, LooseMemory, LooseSpan, NOWHERE, PairEnd, RestOfSpan,
    TooFarApart,
};
use crate::trace::{DeviceKind, SpanFlags, Trace};

/// Collects the events of a file.
#[derive(Debug, Default)]
pub(super) struct Collector {
    pub(super) head: Head,
    pub(super) loose: Loose,
    names: LoadedNames,
    labels: Labels,
    overloads: Overloads,
    /// Numbers of inputs by the text of the arguments that show them; [`NOWHERE`] if they show none.
    inputs: RawTable,
    /// The same for stacks.
    stacks: RawTable,
    /// Names by the text of arguments that have no column.
    extras: RawTable,
    runs: Runs,
    /// The last event, if it was a span of a thread: its place, and when it began.
    last_span: Option<(u32, u32, i64)>,
    /// By loose thread: the step of its last event, one higher.
    last_steps: Vec<usize>,
    skipped: u64,
}

/// The arguments of an event that go together.
#[derive(Debug, Default)]
struct Runs {
    inputs: Run,
    stack: Run,
    extra: Run,
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
                self.add_span(event, text, (time, 0), (SpanKind::Annotation, true))?;
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
    fn thread(&mut self, event: &Event, text: &[u8]) -> u32 {
        self.labels.thread(event, text, &mut self.names)
    }

    #[inline]
    fn add_complete(&mut self, event: &Event, text: &[u8], time: i64) -> Result<(), Broken> {
        let duration = event.duration.unwrap_or(0).max(0) as u64;
        let category = match event.category.kind {
            Kind::Text { .. } => Category::of(event.category.content(text)),
            // The list that torch's `EventList` writes.
            _ if event.process.raw(text) == b"\"CPU functions\"" => Category::Span(SpanKind::Op, false),
            _ if event.process.raw(text) == b"\"CUDA functions\"" => Category::Device(DeviceKind::Kernel),
            _ => Category::Span(SpanKind::Annotation, true),
        };
        match category {
            Category::Span(kind, has_own) => self.add_span(event, text, (time, duration), (kind, has_own)),
            Category::Device(kind) => self.add_device(event, text, (time, duration), kind),
            Category::Window => {
                self.loose.window = Some((time, duration));
                Ok(())
            }
        }
    }

    fn add_span(
        &mut self,
        event: &Event,
        text: &[u8],
        (start, duration): (i64, u64),
        (mut kind, has_own_category): (SpanKind, bool),
    ) -> Result<(), Broken> {
        let thread = self.thread(event, text);
        let mut name = self.name(&event.name, text);
        let mut rest = RestOfSpan::default();
        let mut external = 0;
        let [mut is_cut, mut is_open, mut is_async] = [false; 3];
        self.runs.inputs.clear();
        self.runs.stack.clear();
        self.runs.extra.clear();
        for (place, argument) in event.args.iter().enumerate() {
            let value = &argument.value;
            match argument.key {
                Key::EXTERNAL_ID => external = value.unsigned(text).unwrap_or(0),
                Key::EVENT_INDEX => {}
                Key::RECORD_FUNCTION_ID => rest.record_function = small(value, text),
                Key::SEQUENCE_NUMBER if value.unsigned(text).is_some() => {
                    rest.sequence = value.unsigned(text).filter(|&sequence| sequence != u64::MAX);
                }
                Key::FORWARD_THREAD => rest.forward_thread = small(value, text),
                Key::INPUT_DIMS | Key::INPUT_TYPE | Key::INPUT_STRIDES | Key::CONCRETE_INPUTS | Key::INPUT_SHAPES => {
                    self.runs.inputs.add(place, argument);
                }
                Key::STACK | Key::CALL_STACK => self.runs.stack.add(place, argument),
                Key::FLOPS if value.unsigned(text).is_some() => rest.flops = value.unsigned(text).unwrap_or(0),
                Key::NOTE if is_text(value) => rest.note = self.name(value, text),
                Key::FINISHED if is_switch(value) => is_open = value.kind == Kind::False,
                Key::CUT if value.raw(text) == b"\"start\"" => is_cut = true,
                Key::ASYNC if is_switch(value) => is_async = value.kind == Kind::True,
                Key::DEVICE_TYPE if is_text(value) => self.note_device_type(value, text),
                Key::STEP if value.unsigned(text).is_some() => self.note_step(thread, start, value, text),
                Key::CPU_MEMORY_BEFORE if value.signed().is_some() => {
                    self.note_memory(Device::Cpu, start, value);
                }
                key if is_memory_use(key) && value.signed().is_some() => {}
                Key::PYTHON_ID | Key::PYTHON_PARENT_ID | Key::PYTHON_THREAD if kind == SpanKind::Function => {}
                Key::PYTHON_MODULE_ID if kind == SpanKind::Function && value.unsigned(text).is_some() => {
                    rest.module = small(value, text).saturating_add(1);
                }
                Key::CALL_FROM if kind == SpanKind::Function && line(value, text).is_some() => {
                    rest.line = line(value, text).unwrap_or(0);
                }
                Key::CORRELATION if kind == SpanKind::Runtime => rest.correlation = value.unsigned(text),
                _ => self.runs.extra.add(place, argument),
            }
        }
        let inputs = self.inputs(event, text)?;
        let stack = self.stack(event, text)?;
        if kind == SpanKind::Op {
            if rest.forward_thread > 0 && !self.names.get(name).starts_with("autograd::engine::evaluate_function") {
                kind = SpanKind::Backward;
            }
            (name, rest.overload) = self.overloads.split(name, &mut self.names);
        }
        if has_own_category {
            let own = if is_text(&event.category) { self.name(&event.category, text) } else { 0 };
            rest.category = own + 1;
            self.note_accelerator(&event.category, text);
        }
        rest.extra = self.extra(event, text)?;
        let is_special = is_special(&rest);
        if is_special {
            self.loose.rest.push(rest);
        }
        self.last_span = Some((self.loose.spans.len() as u32, thread, start));
        self.loose.spans.push(LooseSpan {
            start,
            duration,
            external,
            name,
            thread,
            inputs,
            stack,
            rest: if is_special { self.loose.rest.len() as u32 } else { 0 },
            kind,
            flags: SpanFlags::new(is_cut, is_open, is_async),
        });
        Ok(())
    }

    fn add_device(
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
                Key::DEVICE_TYPE if is_text(value) => self.note_device_type(value, text),
                Key::STEP if value.unsigned(text).is_some() => self.note_device_step(start, value, text),
                Key::CUT if is_text(value) => work.is_cut = true,
                Key::NPU_MEMORY_BEFORE if value.signed().is_some() => {
                    self.note_memory(Device::Npu(clamped(device)), start, value);
                }
                key if is_memory_use(key) && value.signed().is_some() => {}
                _ => self.runs.extra.add(place, argument),
            }
        }
        work.device = clamped(device);
        work.stream = stream as u32;
        work.extra = self.extra(event, text)?;
        self.note_accelerator(&event.category, text);
        self.loose.device.push(work);
        Ok(())
    }

    /// Marks are on threads; what is said of the recording as a whole is not one.
    fn add_instant(&mut self, event: &Event, text: &[u8], at: i64) {
        if event.name_is(text, b"[memory]") && event.arg(Key::BYTES).is_some() {
            return self.add_memory(event, text, at);
        }
        if event.name_is(text, b"Record Window End") {
            self.loose.window_end = Some(at);
        } else if !event.name_is(text, b"Iteration Start: PyTorch Profiler") {
            let (thread, name) = (self.thread(event, text), self.name(&event.name, text));
            self.loose.instants.push(LooseInstant { at, thread, name, value: None });
        }
    }

    fn add_memory(&mut self, event: &Event, text: &[u8], at: i64) {
        let signed = |key| event.arg(key).and_then(|argument| argument.value.signed()).unwrap_or(0);
        let unsigned = |key| event.arg(key).and_then(|argument| argument.value.unsigned(text)).unwrap_or(0);
        let device = match signed(Key::DEVICE_KIND) {
            0 => Device::Cpu,
            kind => {
                if kind == 1 {
                    self.labels.guess_accelerator("CUDA");
                }
                Device::Npu(clamped(signed(Key::DEVICE_ID)))
            }
        };
        let memory = LooseMemory {
            at,
            thread: self.thread(event, text),
            address: unsigned(Key::ADDRESS),
            bytes: signed(Key::BYTES),
            device,
            allocated: signed(Key::TOTAL_ALLOCATED),
            reserved: unsigned(Key::TOTAL_RESERVED),
        };
        self.loose.memory.push(memory);
    }

    /// A counter with one value named `value` is ours; others may have several values, each with its name.
    fn add_counter(&mut self, event: &Event, text: &[u8], at: i64) {
        let (thread, counter) = (self.thread(event, text), self.name(&event.name, text));
        let has_one = event.args.len() == 1 && event.args[0].key == Key::VALUE;
        let mut is_counter = false;
        for argument in &event.args {
            let Some(value) = float(&argument.value, text) else { continue };
            let raw = argument.raw(text);
            let key = raw.get(1..).and_then(|rest| Some(&rest[..memchr::memchr(b'"', rest)?])).unwrap_or_default();
            let name = match has_one {
                true => counter,
                false => {
                    let name = format!("{}.{}", self.names.get(counter), String::from_utf8_lossy(key));
                    self.names.add(&name)
                }
            };
            is_counter = true;
            self.loose.instants.push(LooseInstant { at, thread, name, value: Some(value) });
        }
        self.skipped += u64::from(!is_counter);
    }

    /// An arrow stands behind the event that it touches, in the files of torch and in ours.
    fn add_arrow(&mut self, event: &Event, text: &[u8], at: i64, before: Option<(u32, u32, i64)>) {
        let end = match (event.phase, event.category.content(text)) {
            (b's', b"fwdbwd") => ArrowEnd::Forward,
            (b'f', b"fwdbwd") => ArrowEnd::Backward,
            (b's', b"ac2g") => ArrowEnd::Launch,
            // Where it leads on a device, the correlation tells as well.
            (_, b"ac2g") => return,
            _ => {
                self.skipped += 1;
                return;
            }
        };
        let Some(id) = event.id.unsigned(text) else {
            self.skipped += 1;
            return;
        };
        let thread = self.thread(event, text);
        let is_here = |&(_, of_thread, start): &(u32, u32, i64)| of_thread == thread && start == at;
        let span = before.filter(is_here).map_or(NOWHERE, |(span, _, _)| span);
        self.loose.arrows.push(Arrow { id, end, span, thread, at });
    }

    #[inline]
    fn name(&mut self, value: &Value, text: &[u8]) -> u32 {
        match value.kind {
            Kind::Text { .. } => self.names.of_string(value, text),
            Kind::Null => 0,
            _ => self.names.of_content(value.raw(text), false),
        }
    }

    #[inline]
    fn inputs(&mut self, event: &Event, text: &[u8]) -> Result<u32, Broken> {
        if self.runs.inputs.is_empty() {
            return Ok(0);
        }
        let raw = self.runs.inputs.text(text);
        let found = match self.inputs.find(raw) {
            Found::At(found) => found,
            Found::Missing(hash) => {
                let made = inputs(event, text).map_or(NOWHERE, |inputs| inputs.0);
                self.inputs.insert(hash, raw, made);
                made
            }
        };
        Ok(if found == NOWHERE { self.keep_inputs(event, text) } else { found })
    }

    /// Inputs that no column takes are kept as they are, but for a list that follows from the others.
    #[cold]
    fn keep_inputs(&mut self, event: &Event, text: &[u8]) -> u32 {
        let keeps = |key| matches!(key, Key::INPUT_DIMS | Key::INPUT_TYPE | Key::INPUT_STRIDES | Key::CONCRETE_INPUTS);
        let is_ours = |value: &Value| value.raw(text) == b"[]";
        for (place, argument) in event.args.iter().enumerate() {
            if keeps(argument.key) || argument.key == Key::INPUT_SHAPES && !is_ours(&argument.value) {
                self.runs.extra.add(place, argument);
            }
        }
        0
    }

    #[inline]
    fn stack(&mut self, event: &Event, text: &[u8]) -> Result<u32, Broken> {
        if self.runs.stack.is_empty() {
            return Ok(0);
        }
        let raw = self.runs.stack.text(text);
        match self.stacks.find(raw) {
            Found::At(found) => Ok(found),
            Found::Missing(hash) => {
                let made = stack(event, text).map_or(0, |stack| stack.0);
                self.stacks.insert(hash, raw, made);
                Ok(made)
            }
        }
    }

    /// The name of what has no column, one higher.
    #[inline]
    fn extra(&mut self, event: &Event, text: &[u8]) -> Result<u32, Broken> {
        if self.runs.extra.is_empty() {
            return Ok(0);
        }
        let raw = self.runs.extra.text(text);
        match self.extras.find(raw) {
            Found::At(found) => Ok(found + 1),
            Found::Missing(hash) => {
                let kept = verbatim(raw, Form::Members).map_err(|broken| place_of(event, text).unwrap_or(broken))?;
                let name = self.names.add(&kept);
                self.extras.insert(hash, raw, name);
                Ok(name + 1)
            }
        }
    }

    fn note_device_type(&mut self, value: &Value, text: &[u8]) {
        self.loose.is_ours = true;
        if value.content(text) != b"CPU" {
            self.labels.set_accelerator(value, text);
        }
    }

    fn note_accelerator(&mut self, category: &Value, text: &[u8]) {
        if let Some(name) = accelerator(category.content(text)) {
            self.labels.guess_accelerator(name);
        }
    }

    fn note_step(&mut self, thread: u32, at: i64, value: &Value, text: &[u8]) {
        let step = value.unsigned(text).unwrap_or(0) as usize;
        let thread = thread as usize;
        if self.last_steps.len() <= thread {
            self.last_steps.resize(thread + 1, 0);
        }
        if self.last_steps[thread] != step.saturating_add(1) {
            self.last_steps[thread] = step.saturating_add(1);
            self.loose.steps.push((at, step));
        }
    }

    /// Device work is not in the order of time: any of it may be the first of a step.
    fn note_device_step(&mut self, at: i64, value: &Value, text: &[u8]) {
        self.loose.steps.push((at, value.unsigned(text).unwrap_or(0) as usize));
    }

    fn note_memory(&mut self, device: Device, at: i64, value: &Value) {
        let Some(bytes) = value.signed() else { return };
        match self.loose.memory_before.iter_mut().rfind(|(known, _, _)| *known == device) {
            Some((_, first, before)) if at < *first => (*first, *before) = (at, bytes),
            Some(_) => {}
            None => self.loose.memory_before.push((device, at, bytes)),
        }
    }

    /// Whether there was anything to make a trace of.
    pub(super) fn is_empty(&self) -> bool {
        let loose = &self.loose;
        loose.spans.is_empty() && loose.device.is_empty() && loose.memory.is_empty() && loose.instants.is_empty()
    }

    pub(super) fn finish(self) -> Result<Trace, TooFarApart> {
        let Self { head, mut loose, names, labels, skipped, .. } = self;
        loose.base_ns = head.base_ns;
        loose.lost = head.lost;
        loose.origin = head.origin;
        loose.origin.skipped += skipped;
        labels.finish(&names, &mut loose);
        loose.capture = head.capture | shown(&loose, head.capture);
        loose.names = names.into_texts();
        loose.build()
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

/// Which argument of an event is not JSON, and where.
#[cold]
fn place_of(event: &Event, text: &[u8]) -> Option<Broken> {
    event.args.iter().find_map(|argument| {
        let broken = verbatim(argument.raw(text), Form::Members).err()?;
        Some(Broken { at: argument.start + broken.at, ..broken })
    })
}

fn is_special(rest: &RestOfSpan) -> bool {
    rest.sequence.is_some()
        || rest.correlation.is_some()
        || rest.flops != 0
        || (rest.forward_thread | rest.note | rest.overload | rest.record_function) != 0
        || (rest.line | rest.module | rest.category | rest.extra) != 0
}

fn is_text(value: &Value) -> bool {
    matches!(value.kind, Kind::Text { .. })
}

fn is_switch(value: &Value) -> bool {
    matches!(value.kind, Kind::True | Kind::False)
}

fn is_memory_use(key: Key) -> bool {
    matches!(
        key,
        Key::CPU_MEMORY_BEFORE
            | Key::CPU_MEMORY_AFTER
            | Key::CPU_MEMORY_DELTA
            | Key::NPU_MEMORY_BEFORE
            | Key::NPU_MEMORY_AFTER
            | Key::NPU_MEMORY_DELTA
    )
}

/// A number that fits, or 0.
fn small(value: &Value, text: &[u8]) -> u32 {
    value.unsigned(text).and_then(|number| u32::try_from(number).ok()).unwrap_or(0)
}

/// The number of a device. There is no device below 0.
fn clamped(device: i64) -> u16 {
    device.clamp(0, i64::from(u16::MAX) - 1) as u16
}

/// The line of a caller, `file.py:line`.
fn line(value: &Value, text: &[u8]) -> Option<u32> {
    let content = std::str::from_utf8(value.content(text)).ok()?;
    content.rsplit_once(':')?.1.parse().ok()
}

/// A counter's value. Those that JSON has no number for are strings.
fn float(value: &Value, text: &[u8]) -> Option<f64> {
    let text = match value.kind {
        Kind::Int(_) | Kind::Number | Kind::NotFinite => value.raw(text),
        Kind::Text { .. } => value.content(text),
        _ => return None,
    };
    std::str::from_utf8(text).ok()?.parse().ok()
}

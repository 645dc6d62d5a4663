//! Any program: recording it never panics, and what comes of it is sound, as a trace, as averages and as a file.
//!
//! The input is a list of actions: a byte that says what is done, and the bytes that its arguments are made of. Where it ends,
//! arguments are 0.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mindtorch_profiler::{
    Capture, Device, DeviceSpan, DeviceWork, GroupBy, Inputs, ManualClock, Memory, MemoryRole, MemoryUse, Name,
    Recorder, Session, SpanArgs, SpanId, SpanKind, SpanToken, Stack, TableOptions, ThreadWriter, Trace, WhenFull,
};

const WORK: [DeviceWork; 4] = [DeviceWork::Kernel, DeviceWork::Copy, DeviceWork::Set, DeviceWork::Sync];
const KINDS: [SpanKind; 5] =
    [SpanKind::Op, SpanKind::Backward, SpanKind::Annotation, SpanKind::Runtime, SpanKind::Function];
/// Enough to fill the least memory that a recording may have.
const MANY: usize = 40_000;
/// In one program: what is recorded is looked at as often, which takes longer than to record it.
const MOST_SESSIONS: usize = 6;

/// What is left of the input.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn array<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        let (taken, rest) = self.0.split_at(N.min(self.0.len()));
        bytes[..taken.len()].copy_from_slice(taken);
        self.0 = rest;
        bytes
    }

    fn byte(&mut self) -> u8 {
        self.array::<1>()[0]
    }

    fn flag(&mut self) -> bool {
        self.byte() & 1 == 1
    }

    /// Small numbers and those at the edges are more likely than others.
    fn number(&mut self) -> u64 {
        match self.byte() {
            0xff => u64::MAX,
            0xfe => u64::MAX / 2,
            0xfd => u64::MAX / 2 + 1,
            0xfc => u64::from_le_bytes(self.array()),
            0xfb => u64::from(u32::from_le_bytes(self.array())),
            small => u64::from(small),
        }
    }

    fn text(&mut self) -> &'a [u8] {
        let length = match self.byte() {
            0xff => usize::from(u16::from_le_bytes(self.array())),
            short => usize::from(short) % 16,
        };
        let (taken, rest) = self.0.split_at(length.min(self.0.len()));
        self.0 = rest;
        taken
    }

    fn name(&mut self) -> Name {
        Name::from_bytes(self.text())
    }

    fn device(&mut self) -> Device {
        if self.flag() { Device::Npu(self.number() as u16) } else { Device::Cpu }
    }

    fn capture(&mut self) -> Capture {
        [Capture::CPU, Capture::DEVICE, Capture::ACTIVITIES][usize::from(self.byte() % 3)]
    }

    fn stack(&mut self) -> Stack {
        let frames: Vec<Name> = (0..self.byte() % 8).map(|_| self.name()).collect();
        Stack::new(&frames)
    }

    fn inputs(&mut self) -> Inputs {
        let mut encoder = Inputs::encode();
        for _ in 0..self.byte() {
            let (dtype, count) = (self.name(), usize::from(self.byte()));
            let what = self.byte() % 7;
            let numbers: Vec<usize> =
                (0..if what == 0 || what == 3 { count } else { 0 }).map(|_| self.number() as usize).collect();
            match what {
                0 => encoder.tensor_of(dtype, &numbers, &numbers),
                1 => encoder.value_of(dtype, self.name()),
                2 => encoder.float_of(dtype, f64::from_bits(self.number())),
                3 => encoder.ints_of(dtype, numbers.iter().map(|&number| number as i64)),
                4 => encoder.list_of(self.number() as usize),
                // So that lists are nested deep.
                5 => encoder.list_of(1),
                _ => encoder.keyword(dtype),
            };
        }
        encoder.finish()
    }

    fn args(&mut self) -> SpanArgs {
        let args = SpanArgs::new(KINDS[usize::from(self.byte()) % KINDS.len()], self.name());
        let with = self.byte();
        let has = |bit: u8| with >> bit & 1 == 1;
        let args = if has(0) { args.inputs(self.inputs()) } else { args };
        let args = if has(1) { args.stack(self.stack()) } else { args };
        let args = if has(2) { args.sequence(self.number()) } else { args };
        let args = if has(3) { args.forward_thread(self.number() as u32) } else { args };
        let args = if has(4) { args.flops(self.number()) } else { args };
        let args = if has(5) { args.note(self.name()) } else { args };
        let args = if has(6) { args.overload(self.name()) } else { args };
        if has(7) { args.record_function(self.number() as u32) } else { args }
    }
}

struct Program {
    clock: ManualClock,
    recorder: Recorder,
    writers: Vec<ThreadWriter>,
    sessions: Vec<Session>,
    /// Spans that are open. They end in any order, on any thread, or never.
    open: Vec<SpanToken>,
    last: Option<SpanId>,
    started: usize,
    floods: bool,
}

impl Program {
    fn new(floods: bool) -> Self {
        let clock = ManualClock::starting_at(1_000_000);
        let recorder = Recorder::with_manual_clock(&clock);
        let writers = [(7, None), (8, Some("\u{1f422}\"\n"))].map(|(id, name)| recorder.thread(id, name)).into();
        Self { clock, recorder, writers, sessions: Vec::new(), open: Vec::new(), last: None, started: 0, floods }
    }

    fn act(&mut self, bytes: &mut Bytes<'_>) {
        let what = bytes.byte();
        let writer = usize::from(what >> 7);
        // Not so far that sums of all times are no longer numbers.
        self.clock.advance(u64::from(what >> 5 & 3));
        let writer = &mut self.writers[writer];
        match what % 19 {
            // It takes long, and so is not to be what most inputs do.
            _ if what == u8::MAX => {
                let (floods, name) = (std::mem::take(&mut self.floods), bytes.name());
                (0..if floods { MANY } else { 0 }).for_each(|_| writer.mark(name));
            }
            0 | 1 => {
                let span = writer.begin(&bytes.args());
                self.last = span.as_ref().map(SpanToken::id).or(self.last);
                self.open.extend(span);
            }
            2 | 3 => drop(self.open.pop().map(|span| writer.end(span))),
            4 if !self.open.is_empty() => {
                let at = usize::from(bytes.byte()) % self.open.len();
                writer.end(self.open.swap_remove(at));
            }
            5 => writer.memory(&Memory {
                address: bytes.number(),
                bytes: bytes.number() as i64,
                device: bytes.device(),
                allocated: bytes.number() as i64,
                reserved: bytes.number(),
                stack: bytes.stack(),
                role: MemoryRole::from_number(bytes.byte()),
            }),
            6 => writer.memory_use(&MemoryUse {
                address: bytes.number(),
                bytes: bytes.number(),
                device: bytes.device(),
                role: MemoryRole::from_number(bytes.byte()),
                is_written: bytes.flag(),
            }),
            7 => writer.memory_sources(bytes.device(), [bytes.number(), bytes.number(), bytes.number()]),
            8 => writer.counter(bytes.name(), f64::from_bits(bytes.number())),
            9 => writer.mark(bytes.name()),
            10 | 11 => writer.device_span(&DeviceSpan {
                name: bytes.name(),
                device: bytes.number() as u16,
                stream: bytes.number() as u16,
                begin: self.recorder.ticks_at(bytes.number()),
                end: self.recorder.ticks_at(bytes.number()),
                work: WORK[usize::from(bytes.byte()) % WORK.len()],
                bytes: bytes.number(),
                launched_by: self.last.filter(|_| bytes.flag()),
                extra: if bytes.flag() { Name::new("\"grid\":[1,1,1]") } else { Name::EMPTY },
            }),
            12 => self.clock.advance(bytes.number() >> 18),
            13 if self.started < MOST_SESSIONS => self.start(bytes),
            14 => drop(self.sessions.pop().map(|session| check(&session.stop()))),
            15 => self.sessions.iter().for_each(Session::step),
            16 => self.sessions.iter().for_each(|session| session.pause(bytes.capture())),
            17 => self.sessions.iter().for_each(|session| session.resume(bytes.capture())),
            18 if self.started < MOST_SESSIONS => {
                self.started += 1;
                self.sessions.iter().take(1).for_each(|session| check(&session.snapshot()));
            }
            _ => {}
        }
    }

    fn start(&mut self, bytes: &mut Bytes<'_>) {
        self.started += 1;
        let with = bytes.byte();
        let has = |bit: u8| with >> bit & 1 == 1;
        let when_full = [WhenFull::Ring, WhenFull::Spill, WhenFull::Stop][usize::from(bytes.byte() % 3)];
        let texts = [bytes.text(), bytes.text()].map(String::from_utf8_lossy);
        let builder = Session::builder()
            .on(&self.recorder)
            .activities(bytes.capture())
            .record_shapes(has(0))
            .with_stack(has(1))
            .profile_memory(has(2))
            .with_flops(has(3))
            .record_steps(has(4))
            .overload_names(has(5))
            .hide_memory_events(has(6))
            .first_step(bytes.number() as usize >> 1)
            .memory_in_use(vec![(bytes.device(), bytes.number() as i64)])
            .metadata(&texts[0], &texts[1])
            .max_bytes(bytes.number())
            .when_full(when_full);
        self.sessions.push(if has(7) { builder.without(SpanKind::Op).start() } else { builder.start() });
    }
}

fn check(trace: &Trace) {
    let mut previous = (0, 0);
    for span in trace.spans() {
        assert!(span.start_ns() <= span.end_ns() && span.end_ns() <= trace.duration_ns());
        assert!(span.self_ns() <= span.duration_ns());
        let place = (span.thread().number, span.start_ns());
        assert!(previous <= place, "spans are in order");
        previous = place;
        if let Some(parent) = span.parent() {
            assert!(parent.row() < span.row() && parent.thread().number == span.thread().number);
            assert!(parent.start_ns() <= span.start_ns() && span.end_ns() <= parent.end_ns());
        }
        std::hint::black_box((span.inputs().decode(), span.inputs().keywords(), span.stack().frames()));
    }
    for span in trace.device_spans() {
        assert!(span.start_ns() <= span.end_ns());
    }
    check_averages(trace);
    let mut text = Vec::new();
    trace.write_chrome_trace(&mut text, "fuzz").expect("a vector takes everything");
    let file: serde_json::Value = serde_json::from_slice(&text).expect("a trace is JSON");
    let spans = file["traceEvents"].as_array().expect("it has a list of events").len();
    assert!(spans >= trace.span_count());
    assert_eq!(Trace::read(&text[..]).expect("what we wrote can be read").span_count(), trace.span_count());
}

fn check_averages(trace: &Trace) {
    let by = GroupBy { shapes: true, stack_depth: 3, overload: true, device: true, functions: true };
    for averages in [trace.averages(by), trace.averages(GroupBy { functions: true, ..GroupBy::default() })] {
        let host = averages.rows().iter().filter(|row| row.kind.is_some());
        let calls = trace.span_count() - trace.repeated_operators().len();
        assert_eq!(host.map(|row| row.count).sum::<u64>(), calls as u64);
        for row in averages.rows() {
            assert!(row.self_cpu_ns <= row.cpu_total_ns || row.is_async, "{row:?}");
        }
        std::hint::black_box(averages.table(&TableOptions::default()));
    }
}

fuzz_target!(|input: &[u8]| {
    let mut bytes = Bytes(input);
    let mut program = Program::new(bytes.byte() % 16 == 1);
    program.start(&mut bytes);
    while !bytes.0.is_empty() {
        program.act(&mut bytes);
    }
    for session in program.sessions.drain(..) {
        check(&session.stop());
    }
    // Nobody collects any more; spans that are open can still be ended.
    let mut open = std::mem::take(&mut program.open);
    open.drain(..).for_each(|span| program.writers[0].end(span));
});

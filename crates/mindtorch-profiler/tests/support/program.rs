//! Random programs. The threads are played by one: each has a [`ThreadWriter`], and the clock moves only between actions. So a
//! program is a list, a failure shrinks to a short one, and the expected trace is exact.

use crate::model::{self, Extras, Model};
use mindtorch_profiler::{
    Capture, Device, DeviceSpan, DeviceWork, Inputs, ManualClock, Memory, MemoryRole, Name, Recorder, Recording,
    Session, SpanArgs, SpanKind, SpanToken, Stack, ThreadWriter, Ticks, Trace,
};
use proptest::prelude::*;

const NAMES: [&str; 5] = ["aten::mm", "step", "", "say \"hi\"", "日本"];
const KINDS: [SpanKind; 4] = [SpanKind::Op, SpanKind::Backward, SpanKind::Annotation, SpanKind::Runtime];

/// What may happen. Numbers choose among what there is at that moment, modulo how many there are.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    StartThread,
    EndThread(usize),
    Begin {
        thread: usize,
        what: usize,
        extras: u8,
    },
    End {
        span: usize,
        closer: Option<usize>,
    },
    ForgetSpan(usize),
    Memory {
        thread: usize,
        bytes: i64,
        on_npu: bool,
        has_stack: bool,
    },
    DeviceSpan {
        thread: usize,
        times: (usize, usize),
        is_copy: bool,
        launched_by: usize,
    },
    Counter {
        thread: usize,
        value: f64,
    },
    /// Many marks, to pass the ends of chunks.
    Marks {
        thread: usize,
        count: usize,
    },
    Start(u8),
    Pause(usize, u8),
    Resume(usize, u8),
    Step(usize),
    Snapshot(usize),
    Finish(usize),
    DropSession(usize),
    IntoTrace(usize),
    DropRecording(usize),
}

fn action() -> impl Strategy<Value = Action> {
    let n = || 0..1000usize;
    prop_oneof![
        2 => Just(Action::StartThread),
        1 => n().prop_map(Action::EndThread),
        12 => (n(), n(), 0..8u8).prop_map(|(thread, what, extras)| Action::Begin { thread, what, extras }),
        8 => n().prop_map(|span| Action::End { span, closer: None }),
        2 => (n(), n()).prop_map(|(span, closer)| Action::End { span, closer: Some(closer) }),
        1 => n().prop_map(Action::ForgetSpan),
        4 => (n(), -99..99i64, any::<bool>(), any::<bool>())
            .prop_map(|(thread, bytes, on_npu, has_stack)| Action::Memory { thread, bytes, on_npu, has_stack }),
        3 => (n(), (n(), n()), any::<bool>(), n()).prop_map(|(thread, times, is_copy, launched_by)| {
            Action::DeviceSpan { thread, times, is_copy, launched_by }
        }),
        1 => (n(), -9.0..9.0f64).prop_map(|(thread, value)| Action::Counter { thread, value }),
        1 => (n(), 1..200usize).prop_map(|(thread, count)| Action::Marks { thread, count }),
        3 => any::<u8>().prop_map(Action::Start),
        2 => (n(), any::<u8>()).prop_map(|(session, what)| Action::Pause(session, what)),
        2 => (n(), any::<u8>()).prop_map(|(session, what)| Action::Resume(session, what)),
        2 => n().prop_map(Action::Step),
        1 => n().prop_map(Action::Snapshot),
        1 => n().prop_map(Action::Finish),
        1 => n().prop_map(Action::DropSession),
        1 => n().prop_map(Action::IntoTrace),
        1 => n().prop_map(Action::DropRecording),
    ]
}

/// Each action with the time that passes before it.
pub(crate) fn program() -> impl Strategy<Value = Vec<(u64, Action)>> {
    prop::collection::vec((0..3u64, action()), 1..250)
}

/// The profiler and the model, side by side. Both number threads, spans and windows in the order of their beginning.
pub(crate) struct World<Check> {
    clock: ManualClock,
    recorder: Recorder,
    writers: Vec<Option<ThreadWriter>>,
    tokens: Vec<(usize, SpanToken)>,
    sessions: Vec<(usize, Session)>,
    recordings: Vec<(usize, Recording)>,
    /// Where the clock has stood.
    times: Vec<(Ticks, u64)>,
    model: Model,
    check: Check,
}

impl<Check: FnMut(&Model, usize, (u64, usize), &Trace)> World<Check> {
    pub(crate) fn new(check: Check) -> Self {
        let clock = ManualClock::starting_at(1_000);
        let recorder = Recorder::with_manual_clock(&clock);
        let times = vec![(recorder.now(), clock.now_ns())];
        let (writers, tokens, sessions, recordings) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { clock, recorder, writers, tokens, sessions, recordings, times, model: Model::default(), check }
    }

    /// Runs the program, then stops what is still running.
    pub(crate) fn run(mut self, program: &[(u64, Action)], least_advance: u64) {
        for (pause, action) in program {
            self.advance(pause + least_advance);
            self.perform(action);
        }
        self.finish(least_advance);
    }

    /// Runs the program on a clock that is set forward or back before each action: by these nanoseconds, over and over.
    pub(crate) fn run_with_jumps(mut self, program: &[(u64, Action)], jumps: &[i64]) {
        for ((_, action), jump) in program.iter().zip(jumps.iter().cycle()) {
            self.clock.set(self.clock.now_ns().saturating_add_signed(*jump));
            self.advance(0);
            self.perform(action);
        }
        self.finish(0);
    }

    fn finish(&mut self, least_advance: u64) {
        while !self.sessions.is_empty() {
            self.advance(least_advance);
            self.perform(&Action::Finish(0));
        }
        while !self.recordings.is_empty() {
            self.perform(&Action::IntoTrace(0));
        }
    }

    fn advance(&mut self, by: u64) {
        self.clock.advance(by);
        self.times.push((self.recorder.now(), self.clock.now_ns()));
        self.model.order += 1;
    }

    /// The chosen one of the threads that have not ended.
    fn thread(&self, choice: usize) -> Option<usize> {
        let alive: Vec<usize> = (0..self.writers.len()).filter(|&at| self.writers[at].is_some()).collect();
        alive.get(choice % alive.len().max(1)).copied()
    }

    fn writer(&mut self, choice: usize) -> Option<(usize, &mut ThreadWriter)> {
        let thread = self.thread(choice)?;
        Some((thread, self.writers[thread].as_mut()?))
    }

    fn perform(&mut self, action: &Action) {
        // `None`: there is nothing of the kind to do it with.
        let _ = self.try_perform(action);
    }

    fn try_perform(&mut self, action: &Action) -> Option<()> {
        let (now, order, capture) = (self.clock.now_ns(), self.model.order, self.model.capture());
        assert_eq!(self.recorder.capture(), capture);
        match *action {
            Action::StartThread => {
                let number = self.writers.len() as u64;
                self.writers.push(Some(self.recorder.thread(1_000_000 + number, None)));
            }
            Action::EndThread(thread) => {
                let thread = self.thread(thread)?;
                self.writers[thread] = None;
            }
            Action::Begin { thread, what, extras } => self.begin(thread, what, extras)?,
            Action::End { span, closer } => {
                let at = span % self.tokens.len().max(1);
                let own = self.tokens.get(at).map(|(span, _)| self.model.spans[*span].thread)?;
                let alone = closer.is_none() && self.writers[own].is_some();
                let closer = if alone { own } else { self.thread(closer.unwrap_or(0))? };
                let (span, token) = self.tokens.swap_remove(at);
                self.writers[closer].as_mut()?.end(token);
                let span = &mut self.model.spans[span];
                (span.end, span.closed_elsewhere) = (Some(now), closer != own);
            }
            Action::ForgetSpan(span) if !self.tokens.is_empty() => {
                self.tokens.swap_remove(span % self.tokens.len());
            }
            Action::Memory { thread, bytes, on_npu, has_stack } => {
                let (thread, writer) = self.writer(thread)?;
                let device = if on_npu { Device::Npu(1) } else { Device::Cpu };
                let frame = has_stack.then_some("alloc.py(1): alloc");
                let stack = frame.map_or(Stack::NONE, |frame| Stack::new(&[Name::new(frame)]));
                let role = MemoryRole::Unknown;
                writer.memory(&Memory { address: now, bytes, device, allocated: bytes, reserved: 0, stack, role });
                self.model.memory.push(model::Memory { order, thread, at: now, bytes, device, frame });
            }
            Action::DeviceSpan { thread, times: (begin, end), is_copy, launched_by } => {
                let (begin, end) = (begin % self.times.len(), end % self.times.len());
                let ((begin, begin_ns), (end, end_ns)) = (self.times[begin.min(end)], self.times[begin.max(end)]);
                // One in eight was launched by nothing that is known.
                let spans = &self.model.spans;
                let launcher = spans.get(launched_by % (spans.len() * 8 / 7).max(1)).map(|span| span.id);
                let (thread, writer) = self.writer(thread)?;
                let name = Name::new("kernel");
                let (device, stream, bytes) = (1, 2, 3);
                writer.device_span(&DeviceSpan {
                    name,
                    device,
                    stream,
                    begin,
                    end,
                    work: if is_copy { DeviceWork::Copy } else { DeviceWork::Kernel },
                    extra: Name::EMPTY,
                    bytes,
                    launched_by: launcher,
                });
                let (begin, end, launched_by) = (begin_ns, end_ns, launcher);
                self.model.device.push(model::DeviceSpan { order, thread, begin, end, is_copy, launched_by });
            }
            Action::Counter { thread, value } => {
                let (thread, writer) = self.writer(thread)?;
                writer.counter(Name::new("queue"), value);
                self.model.instants.push(model::Instant { order, thread, at: now, value: Some(value) });
            }
            Action::Marks { thread, count } => {
                let (thread, writer) = self.writer(thread)?;
                (0..count).for_each(|_| writer.mark(Name::new("mark")));
                let mark = || model::Instant { order, thread, at: now, value: None };
                self.model.instants.extend(std::iter::repeat_with(mark).take(count));
            }
            Action::Start(bits) => {
                let flags = flags(bits);
                let builder = Session::builder().on(&self.recorder).activities(flags).overload_names(true);
                let builder =
                    builder.record_shapes(flags.contains(Capture::SHAPES)).with_stack(flags.contains(Capture::STACK));
                let builder =
                    builder.profile_memory(flags.contains(Capture::MEMORY)).with_flops(flags.contains(Capture::FLOPS));
                self.sessions.push((self.model.windows.len(), builder.start()));
                self.model.open_window(flags | Capture::OVERLOADS, now);
            }
            Action::Pause(session, bits) => {
                let (window, session) = choose(&self.sessions, session)?;
                let what = flags(bits);
                session.pause(what);
                self.model.set_activities(*window, self.model.windows[*window].activities & !what);
            }
            Action::Resume(session, bits) => {
                let (window, session) = choose(&self.sessions, session)?;
                let what = flags(bits);
                session.resume(what);
                let of_window = &self.model.windows[*window];
                let activities = of_window.activities | (what & of_window.flags & Capture::ACTIVITIES);
                self.model.set_activities(*window, activities);
            }
            Action::Step(session) => {
                let (window, session) = choose(&self.sessions, session)?;
                session.step();
                self.model.windows[*window].steps.push(now);
                assert_eq!(session.current_step() + 1, self.model.windows[*window].steps.len());
            }
            Action::Snapshot(session) => {
                let (window, session) = choose(&self.sessions, session)?;
                let trace = session.snapshot();
                assert!(trace.is_running());
                (self.check)(&self.model, *window, (now, order), &trace);
            }
            Action::Finish(session) if !self.sessions.is_empty() => {
                let (window, session) = self.sessions.remove(session % self.sessions.len());
                self.recordings.push((window, session.finish()));
                self.model.windows[window].to = Some((now, order));
            }
            Action::DropSession(session) if !self.sessions.is_empty() => {
                let (window, _session) = self.sessions.remove(session % self.sessions.len());
                self.model.windows[window].to = Some((now, order));
            }
            Action::IntoTrace(recording) if !self.recordings.is_empty() => {
                let (window, recording) = self.recordings.swap_remove(recording % self.recordings.len());
                let to = self.model.windows[window].to?;
                let trace = recording.into_trace();
                assert!(!trace.is_running());
                (self.check)(&self.model, window, to, &trace);
            }
            Action::DropRecording(recording) if !self.recordings.is_empty() => {
                drop(self.recordings.swap_remove(recording % self.recordings.len()));
            }
            _ => return None,
        }
        Some(())
    }

    fn begin(&mut self, thread: usize, what: usize, extras: u8) -> Option<()> {
        let (now, order) = (self.clock.now_ns(), self.model.order);
        let (name, kind) = (NAMES[what % 5], KINDS[what / 5 % 4]);
        let extras = Extras {
            inputs: (extras & 1 != 0).then_some(what as i64),
            frame: (extras & 2 != 0).then_some("model.py(3): forward"),
            details: (extras & 4 != 0).then_some(what as u64),
        };
        let mut args = SpanArgs::new(kind, Name::new(name));
        if let Some(size) = extras.inputs {
            args = args.inputs(Inputs::encode().tensor("float", &[size], &[1]).finish());
        }
        if let Some(frame) = extras.frame {
            args = args.stack(Stack::new(&[Name::new(frame)]));
        }
        if let Some(number) = extras.details {
            args = args.sequence(number).flops(number + 5).note(Name::new(&format!("note {number}")));
            args = args.overload(Name::new("Tensor"));
        }
        let (thread, writer) = self.writer(thread)?;
        let token = writer.begin(&args)?;
        let (end, closed_elsewhere, id) = (None, false, token.id());
        self.tokens.push((self.model.spans.len(), token));
        self.model.spans.push(model::Span { order, thread, kind, name, extras, begin: now, end, closed_elsewhere, id });
        Some(())
    }
}

/// The activities and details that the bits choose.
fn flags(bits: u8) -> Capture {
    let all = [Capture::CPU, Capture::DEVICE, Capture::SHAPES, Capture::STACK, Capture::MEMORY, Capture::FLOPS];
    let chosen = all.iter().enumerate().filter(|(at, _)| bits >> at & 1 != 0);
    chosen.fold(Capture::NONE, |union, (_, &flag)| union | flag)
}

fn choose<T>(items: &[T], choice: usize) -> Option<&T> {
    items.get(choice % items.len().max(1))
}

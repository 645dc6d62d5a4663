//! Traces of random programs in Perfetto's own format, read back and compared with the trace: what belongs here holds for
//! every sequence of events.

#[path = "support/perfetto.rs"]
mod perfetto;
#[path = "support/protobuf.rs"]
mod protobuf;

use mindtorch_profiler::{
    Capture, Device, DeviceSpan, DeviceWork, Input, Inputs, ManualClock, Memory, MemoryRole, Name, Recorder, Session,
    SpanArgs, SpanKind, SpanRef, SpanToken, Stack, ThreadWriter, Ticks, Trace,
};
use perfetto::{File, Slice};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Some second in 2026.
const NOW: u64 = 1_790_900_000_123_456_789;

fn read(trace: &Trace) -> File {
    let mut bytes = Vec::new();
    trace.perfetto_trace().host_name("host").process_name("program").write(&mut bytes).unwrap();
    File::read(&bytes)
}

/// Threads that are played by one, and what may happen on them.
struct Program {
    clock: ManualClock,
    recorder: Recorder,
    threads: Vec<ThreadWriter>,
    open: Vec<(usize, SpanToken)>,
    begun: Vec<mindtorch_profiler::SpanId>,
    times: Vec<Ticks>,
}

impl Program {
    fn new(threads: u64) -> Self {
        let clock = ManualClock::starting_at(NOW);
        let recorder = Recorder::with_manual_clock(&clock);
        let threads = (0..threads).map(|number| recorder.thread(100 + number, (number == 0).then_some("main")));
        let (threads, times) = (threads.collect(), vec![recorder.now()]);
        Self { threads, open: Vec::new(), begun: Vec::new(), times, clock, recorder }
    }

    fn profile_everything(&self) -> Session {
        let builder = Session::builder().on(&self.recorder).record_shapes(true).with_stack(true).with_flops(true);
        builder.profile_memory(true).overload_names(true).start()
    }

    fn begin(&mut self, thread: usize, args: &SpanArgs) {
        if let Some(token) = self.threads[thread].begin(args) {
            self.begun.push(token.id());
            self.open.push((thread, token));
        }
    }

    /// One of the things that may happen. Numbers choose among what there is at that moment.
    fn act(&mut self, session: &Session, (pause, what, number): (u64, usize, usize)) {
        self.clock.advance(pause);
        self.times.push(self.recorder.now());
        let thread = number % self.threads.len();
        match what {
            0..10 => self.begin(thread, &args(number)),
            10..17 if !self.open.is_empty() => {
                // Mostly what began last, and now and then on another thread.
                let last = self.open.len() - 1;
                let (own, token) =
                    self.open.swap_remove(if number.is_multiple_of(3) { number % (last + 1) } else { last });
                self.threads[if number.is_multiple_of(7) { thread } else { own }].end(token);
            }
            17 => {
                let (bytes, device) = (number as i64 - 500, [Device::Cpu, Device::Npu(1)][number % 2]);
                let (address, allocated, reserved) = (number as u64, 10 * number as i64, 7);
                let (stack, role) = (Stack::NONE, MemoryRole::Unknown);
                let memory = Memory { address, bytes, device, allocated, reserved, stack, role };
                self.threads[thread].memory(&memory);
            }
            18 => {
                let (one, other) = (number % self.times.len(), number * 7 % self.times.len());
                let work = DeviceSpan {
                    name: Name::new(["gemm", "copy"][number % 2]),
                    device: (number % 2) as u16,
                    stream: (number % 3) as _,
                    begin: self.times[one.min(other)],
                    end: self.times[one.max(other)],
                    work: if number % 2 == 1 { DeviceWork::Copy } else { DeviceWork::Kernel },
                    bytes: number as u64,
                    launched_by: self.begun.get(number % (self.begun.len() + 1)).copied(),
                    extra: Name::EMPTY,
                };
                self.threads[thread].device_span(&work);
            }
            19 => self.threads[thread].counter(Name::new("queue"), number as f64 / 4.0),
            20 => self.threads[thread].mark(Name::new("mark")),
            _ => {
                session.step();
            }
        }
    }
}

/// A span of some kind with some details.
fn args(number: usize) -> SpanArgs {
    let kinds =
        [SpanKind::Op, SpanKind::Backward, SpanKind::Annotation, SpanKind::Runtime, SpanKind::Function, SpanKind::Op];
    let kind = kinds[number / 2 % kinds.len()];
    let name = ["a.py(3): f", "step", "", "say \"hi\"", "日本"][number % 5];
    let mut args = SpanArgs::new(kind, Name::new(name));
    if kind == SpanKind::Function {
        return args.call(number as u32 % 4, (number.is_multiple_of(5)).then_some(3));
    }
    if number.is_multiple_of(3) {
        let size = (number % 8) as i64;
        args = args.inputs(Inputs::encode().tensor("float", &[size, 2], &[2, 1]).value("Scalar", "1").finish());
    }
    if number.is_multiple_of(4) {
        args = args.stack(Stack::new(&[Name::new("model.py(3): forward"), Name::new("main.py(1): <module>")]));
    }
    if number % 5 < 3 {
        args = args.sequence(number as u64 % 9).forward_thread(number as u32 % 3).flops(number as u64);
        args = args.note(Name::new(["", "note"][number % 2])).overload(Name::new(["", "Tensor"][number / 3 % 2]));
    }
    args
}

/// Compares all that a file says with the trace.
fn assert_says(file: &File, trace: &Trace) {
    let rows = assert_spans(file, trace);
    let work = assert_device_work(file, trace);
    assert_arrows(file, trace, &rows, &work);
    assert_instants(file, trace);
    let others = file.slices.len() - rows.len() - work.len();
    let window = file.slice("PyTorch Profiler (0)");
    let from = trace.start_epoch_ns();
    assert_eq!((others, window.start, window.end), (1, from, from + trace.duration_ns()));
}

/// The places of spans in the file, by row.
fn assert_spans(file: &File, trace: &Trace) -> BTreeMap<usize, usize> {
    let row_of = |slice: &Slice| {
        let is_of_thread = file.path(slice.track).iter().any(|track| track.tid.is_some());
        let number = |key| slice.args.get(key).and_then(Value::as_u64);
        let row = number("External id").map(|id| id - 1).or(number("Ev Idx"));
        is_of_thread.then(|| row.unwrap() as usize)
    };
    let places = file.slices.iter().enumerate().filter_map(|(at, slice)| Some((row_of(slice)?, at)));
    let rows: BTreeMap<usize, usize> = places.collect();
    assert!(rows.keys().copied().eq(0..trace.span_count()));
    for span in trace.spans() {
        let slice = &file.slices[rows[&span.row()]];
        let start = trace.start_epoch_ns() + span.start_ns();
        assert_eq!((slice.start, slice.end), (start, start + span.duration_ns()));
        let name = [span.name(), span.overload()].join(if span.overload().is_empty() { "" } else { "." });
        assert_eq!(slice.name, name);
        let path = file.path(slice.track);
        assert!(path.iter().any(|track| track.tid == Some(span.thread().os_id)));
        assert_eq!(
            (path.last().unwrap().name.as_str(), path.last().unwrap().pid),
            ("program", Some(trace.pid().into()))
        );
        let parent = slice.parent.map(|parent| row_of(&file.slices[parent]).unwrap());
        let expected = span.parent().map(|parent| parent.row());
        // What overlaps has a track of its own, where it is the outermost.
        assert!(parent == expected || parent.is_none() && path[0].name == "overlapping", "{parent:?} {expected:?}");
        assert_eq!(args_of(file, slice), expected_args(trace, &span), "{}", span.row());
    }
    rows
}

/// The arguments of an event, with what the window says for all.
fn args_of(file: &File, slice: &Slice) -> Value {
    let (mut args, of_all) = (slice.args.clone(), &file.slice("PyTorch Profiler (0)").args);
    for key in ["device_type", "step"] {
        args.entry(key).or_insert_with(|| of_all[key].clone());
    }
    Value::Object(args)
}

/// The arguments that a span should have.
fn expected_args(trace: &Trace, span: &SpanRef<'_>) -> Value {
    let mut args = json!({});
    let functions = trace.innermost_functions();
    if span.kind() == SpanKind::Function {
        args["Ev Idx"] = json!(span.row());
        args["Python id"] = json!(functions[span.row()]);
        let around = span.parent().map_or(0, |parent| functions[parent.row()]);
        if around != 0 {
            args["Python parent id"] = json!(around);
            let caller = trace.spans().nth(functions.iter().position(|&number| number == around).unwrap()).unwrap();
            if span.caller_line() != 0 && caller.name() == "a.py(3): f" {
                args["CallFrom"] = json!(format!("a.py:{}", span.caller_line()));
            }
        }
        if let Some(module) = span.module() {
            args["Python module id"] = json!(module);
        }
    } else {
        args["External id"] = json!(span.row() + 1);
    }
    if let Some(sequence) = span.sequence() {
        args["Sequence number"] = json!(sequence);
        if span.forward_thread() != 0 {
            args["Fwd thread id"] = json!(span.forward_thread());
        }
    }
    let inputs = span.inputs().decode();
    if let Some(Input::Tensor { dims, .. }) = inputs.first() {
        args["Input Dims"] = json!(format!("[[{},2],[]]", dims[0]));
        args["Input Strides"] = json!("[[2,1],[]]");
        args["Input type"] = json!("[\"float\",\"Scalar\"]");
        args["Concrete Inputs"] = json!("[\"\",\"1\"]");
    }
    let frames: Vec<String> = span.stack().frames().iter().map(|frame| frame.text().to_string()).collect();
    if !frames.is_empty() {
        args["Call stack"] = json!(frames.join(";"));
    }
    if span.flops() > 0 {
        args["Flops"] = json!(span.flops());
    }
    if !span.note().is_empty() {
        args["note"] = json!(span.note());
    }
    for (key, is_so, value) in [
        ("finished", !span.is_finished(), json!(false)),
        ("cut", span.is_cut_at_start(), json!("start")),
        ("async", span.is_async(), json!(true)),
    ] {
        if is_so {
            args[key] = value;
        }
    }
    add_common(&mut args, trace, span.device(), span.start_ns(), span.end_ns());
    let first = |row: &usize| {
        let work = trace.device_spans().nth(*row).unwrap();
        work.launched_by().is_some_and(|launcher| launcher.row() == span.row())
    };
    if span.kind() == SpanKind::Runtime
        && let Some(row) = (0..trace.device_spans().len()).find(first)
    {
        args["correlation"] = json!(row + 1);
    }
    args
}

/// What spans and device work have alike.
fn add_common(args: &mut Value, trace: &Trace, device: Device, start: u64, end: u64) {
    let (name, key) = if device == Device::Cpu { ("CPU", "cpu") } else { ("NPU", "npu") };
    args["device_type"] = json!(name);
    args["step"] = json!(trace.step_at(start));
    if trace.capture().contains(Capture::MEMORY) {
        let (before, after) = trace.memory_usage().around(device, start, end);
        args[format!("{key}_memory_allocated_before")] = json!(before);
        args[format!("{key}_memory_allocated_after")] = json!(after);
        args[format!("{key}_memory_allocated_delta")] = json!(after - before);
    }
}

/// The places of device work in the file, by row.
fn assert_device_work(file: &File, trace: &Trace) -> BTreeMap<usize, usize> {
    let is_work = |slice: &Slice| slice.args.contains_key("stream");
    let places = file.slices.iter().enumerate().filter(|(_, slice)| is_work(slice));
    let rows: BTreeMap<usize, usize> =
        places.map(|(at, slice)| (slice.args["correlation"].as_u64().unwrap() as usize - 1, at)).collect();
    assert!(rows.keys().copied().eq(0..trace.device_spans().len()));
    for (row, work) in trace.device_spans().enumerate() {
        let slice = &file.slices[rows[&row]];
        let start = trace.start_epoch_ns() + work.start_ns();
        assert_eq!((slice.start, slice.end, &*slice.name), (start, start + work.duration_ns(), work.name()));
        let path: Vec<&str> = file.path(slice.track).iter().map(|track| track.name.as_str()).collect();
        let (stream, device) = (format!("stream {}", work.stream()), format!("NPU {}", work.device()));
        assert!(path == [&stream, &device] || path == ["overlapping", &stream, &device], "{path:?}");
        if let Some(parent) = slice.parent.map(|parent| &file.slices[parent]) {
            assert!(parent.start <= slice.start && slice.end <= parent.end);
        }
        let mut args = json!({"device": work.device(), "stream": work.stream(), "correlation": row + 1});
        if let Some(operator) = work.operator() {
            args["External id"] = json!(operator.row() + 1);
        }
        let is_copy = work.name() == "copy";
        if is_copy {
            args["bytes"] = json!(work.bytes());
            if work.duration_ns() > 0 && !work.is_cut() {
                args["memory bandwidth (GB/s)"] = json!(work.bytes() as f64 / work.duration_ns() as f64);
            }
        }
        assert_eq!(slice.category, if is_copy { "gpu_memcpy" } else { "kernel" });
        if work.is_cut() {
            args["cut"] = json!(if work.start_ns() == 0 { "start" } else { "end" });
        }
        add_common(&mut args, trace, Device::Npu(work.device()), work.start_ns(), work.end_ns());
        assert_eq!(args_of(file, slice), args);
    }
    rows
}

/// Arrows lead from forward operators to their nodes, and from launches to device work.
fn assert_arrows(file: &File, trace: &Trace, rows: &BTreeMap<usize, usize>, work: &BTreeMap<usize, usize>) {
    let mut ends: BTreeMap<u64, (Vec<usize>, Vec<usize>)> = BTreeMap::new();
    for (at, slice) in file.slices.iter().enumerate() {
        slice.flows_out.iter().for_each(|&flow| ends.entry(flow).or_default().0.push(at));
        slice.flows_in.iter().for_each(|&flow| ends.entry(flow).or_default().1.push(at));
    }
    let arrow = |(from, to): &(Vec<usize>, Vec<usize>)| {
        assert!(from.len() == 1 && to.len() == 1, "{from:?} {to:?}");
        (from[0], to[0])
    };
    let arrows: BTreeSet<(usize, usize)> = ends.values().map(arrow).collect();
    assert_eq!(arrows.len(), ends.len());
    let links = trace.forward_links().iter().map(|&(from, to)| (rows[&(from as usize)], rows[&(to as usize)]));
    let launches = trace.device_spans().enumerate();
    let launches = launches.filter_map(|(row, device)| Some((rows[&device.launched_by()?.row()], work[&row])));
    assert_eq!(arrows, links.chain(launches).collect());
}

fn assert_instants(file: &File, trace: &Trace) {
    let from = trace.start_epoch_ns();
    let on_threads = || file.instants.iter().filter(|slice| file.tracks[&slice.track].tid.is_some());
    let allocations: BTreeMap<u64, &Slice> = on_threads()
        .filter(|slice| slice.name == "[memory]")
        .map(|slice| (slice.args["Ev Idx"].as_u64().unwrap(), slice))
        .collect();
    assert_eq!(allocations.len(), trace.memory().len());
    let mut in_use: BTreeMap<String, Vec<(u64, f64)>> = BTreeMap::new();
    for (slice, row) in allocations.values().zip(trace.memory()) {
        assert_eq!(slice.start, from + row.at_ns);
        assert_eq!(file.tracks[&slice.track].tid, Some(trace.threads()[row.thread].os_id));
        let (id, kind) = if row.device == Device::Cpu { (-1, 0) } else { (1, 1) };
        let Value::Object(mut args) = json!({
            "Total Reserved": row.reserved, "Total Allocated": row.allocated, "Bytes": row.bytes,
            "Device Id": id, "Device Type": kind, "Addr": row.address,
        }) else {
            unreachable!()
        };
        args.insert("Ev Idx".into(), slice.args["Ev Idx"].clone());
        assert_eq!(slice.args, args);
        let counter = if row.device == Device::Cpu { "CPU memory" } else { "NPU 1 memory" };
        in_use.entry(counter.into()).or_default().push((slice.start, row.allocated as f64));
    }
    let marks = trace.marks().map(|(name, at)| (name.to_owned(), from + at));
    let written = on_threads().filter(|slice| slice.name != "[memory]");
    assert_eq!(sorted(written.map(|slice| (slice.name.clone(), slice.start))), sorted(marks));
    for (name, at, value) in trace.counters() {
        in_use.entry(name.to_owned()).or_default().push((from + at, value));
    }
    let mut counted: BTreeMap<String, Vec<(u64, f64)>> = BTreeMap::new();
    for &(track, at, value) in &file.counters {
        counted.entry(file.tracks[&track].name.clone()).or_default().push((at, value));
    }
    for values in counted.values_mut().chain(in_use.values_mut()) {
        values.sort_by(|one, other| one.partial_cmp(other).unwrap());
    }
    assert_eq!(counted, in_use);
}

fn sorted<T: Ord>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut items: Vec<T> = items.collect();
    items.sort();
    items
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_file_says_what_the_trace_says(actions in prop::collection::vec((0..3u64, 0..22usize, 0..1000usize), 1..120)) {
        let mut program = Program::new(3);
        let before = program.profile_everything();
        let (carried, rest) = actions.split_at(actions.len() / 4);
        carried.iter().for_each(|&action| program.act(&before, action));
        let session = program.profile_everything();
        rest.iter().for_each(|&action| program.act(&session, action));
        program.clock.advance(1);
        let trace = session.stop();
        assert_says(&read(&trace), &trace);
    }
}

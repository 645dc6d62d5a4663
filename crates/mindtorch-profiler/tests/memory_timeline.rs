//! The memory timeline: exact bytes of each category at each moment, from what a program says of its memory.

use mindtorch_profiler::{
    Capture, Device, ManualClock, Memory, MemoryAction, MemoryCategory, MemoryRole, MemoryTimeline, MemoryUse, Name,
    Recorder, Session, SessionBuilder, SpanArgs, SpanKind, SpanToken, Stack, ThreadWriter, Trace,
};
use proptest::prelude::*;
use std::collections::HashMap;

/// A program with memory of its own, that tells what it does.
struct Program {
    clock: ManualClock,
    recorder: Recorder,
    thread: ThreadWriter,
    /// What the allocator has handed out, by device.
    allocated: HashMap<Device, i64>,
}

impl Program {
    fn new() -> Self {
        let clock = ManualClock::starting_at(1_700_000_000_000_000_000);
        let recorder = Recorder::with_manual_clock(&clock);
        let thread = recorder.thread(1, None);
        Self { clock, recorder, thread, allocated: HashMap::new() }
    }

    fn start(&self) -> Session {
        self.start_with(|builder| builder)
    }

    fn start_with(&self, configure: impl FnOnce(SessionBuilder) -> SessionBuilder) -> Session {
        let in_use = self.allocated.iter().map(|(device, bytes)| (*device, *bytes)).collect();
        configure(Session::builder().profile_memory(true).memory_in_use(in_use)).on(&self.recorder).start()
    }

    fn change(&mut self, device: Device, address: u64, bytes: i64, role: MemoryRole) {
        self.clock.advance(1_000);
        let allocated = self.allocated.entry(device).or_default();
        *allocated += bytes;
        let allocated = *allocated;
        self.thread.memory(&Memory { address, bytes, device, allocated, reserved: 0, stack: Stack::NONE, role });
    }

    fn allocate(&mut self, address: u64, bytes: i64, role: MemoryRole) {
        self.change(Device::Cpu, address, bytes, role);
    }

    fn free(&mut self, address: u64, bytes: i64) {
        self.change(Device::Cpu, address, -bytes, MemoryRole::Unknown);
    }

    fn used(address: u64, bytes: u64, role: MemoryRole) -> MemoryUse {
        MemoryUse { address, bytes, device: Device::Cpu, role, is_written: false }
    }

    fn tell(&mut self, address: u64, bytes: u64, role: MemoryRole) {
        self.clock.advance(1_000);
        self.thread.memory_use(&Self::used(address, bytes, role));
    }

    fn write(&mut self, address: u64, bytes: u64, role: MemoryRole) {
        self.clock.advance(1_000);
        self.thread.memory_use(&MemoryUse { is_written: true, ..Self::used(address, bytes, role) });
    }

    fn begin(&mut self, kind: SpanKind, name: &str) -> SpanToken {
        self.clock.advance(1_000);
        self.thread.begin(&SpanArgs::new(kind, Name::new(name))).unwrap()
    }

    fn end(&mut self, span: SpanToken) {
        self.clock.advance(1_000);
        self.thread.end(span);
    }
}

fn raw(timeline: &MemoryTimeline<'_>) -> Vec<(i64, u8, i64, u8)> {
    let mut json = Vec::new();
    timeline.write_raw_json(&mut json).unwrap();
    serde_json::from_slice(&json).unwrap()
}

fn plain(timeline: &MemoryTimeline<'_>) -> (Vec<u64>, Vec<[i64; 9]>) {
    let mut json = Vec::new();
    timeline.write_json(&mut json).unwrap();
    serde_json::from_slice(&json).unwrap()
}

fn page(timeline: &MemoryTimeline<'_>, title: Option<&str>) -> (String, serde_json::Value) {
    let mut html = Vec::new();
    timeline.write_html(&mut html, title).unwrap();
    let html = String::from_utf8(html).unwrap();
    let at = html.find("{\"title\":").unwrap();
    let mut found = serde_json::Deserializer::from_str(&html[at..]).into_iter();
    let data = found.next().unwrap().unwrap();
    (html, data)
}

/// Actions and categories without times.
fn story(trace: &Trace) -> Vec<(u8, i64, MemoryCategory)> {
    let entries = raw(&trace.memory_timeline(Device::Cpu));
    entries
        .iter()
        .map(|&(_, action, bytes, category)| (action, bytes, MemoryCategory::ALL[category as usize]))
        .collect()
}

const PREEXISTING: u8 = MemoryAction::Preexisting as u8;
const CREATE: u8 = MemoryAction::Create as u8;
const CHANGE: u8 = MemoryAction::IncrementVersion as u8;
const DESTROY: u8 = MemoryAction::Destroy as u8;

#[test]
fn what_was_there_before_is_there_from_the_beginning() {
    let mut program = Program::new();
    program.allocate(0x100, 40, MemoryRole::Unknown);
    program.allocate(0x200, 50, MemoryRole::Unknown);
    program.allocate(0x300, 60, MemoryRole::Unknown);
    program.allocate(0x400, 70, MemoryRole::Unknown);
    // Nothing happens to the first, an operator is given the second, the third is freed, and nobody mentions the fourth.
    program.recorder.keep_memory(&Program::used(0x100, 40, MemoryRole::Parameter));
    let session = program.start();
    program.tell(0x200, 50, MemoryRole::Input);
    program.free(0x300, 60);
    let trace = session.stop();
    assert_eq!(
        story(&trace),
        [
            (PREEXISTING, 40, MemoryCategory::Parameter),
            (PREEXISTING, 50, MemoryCategory::Input),
            (PREEXISTING, 60, MemoryCategory::Unknown),
            (PREEXISTING, 70, MemoryCategory::Unknown),
            (DESTROY, -60, MemoryCategory::Unknown),
        ]
    );
    let timeline = trace.memory_timeline(Device::Cpu);
    assert_eq!(raw(&timeline)[..4].iter().map(|entry| entry.0).collect::<Vec<_>>(), [-1; 4]);
    let (times, sizes) = plain(&timeline);
    let at = (trace.start_epoch_ns() + 2_000) / 1000;
    assert_eq!(times, [at, at]);
    assert_eq!(sizes, [[0, 40, 0, 50, 0, 0, 0, 0, 130], [0, 40, 0, 50, 0, 0, 0, 0, 70]]);
}

#[test]
fn what_was_released_before_is_not_there() {
    let mut program = Program::new();
    program.recorder.keep_memory(&Program::used(0x100, 40, MemoryRole::Parameter));
    program.recorder.release_memory(0x100);
    let session = program.start();
    program.allocate(0x100, 40, MemoryRole::Activation);
    assert_eq!(story(&session.stop()), [(CREATE, 40, MemoryCategory::Activation)]);
}

#[test]
fn a_lasting_role_holds_from_birth_and_others_from_when_they_are_known() {
    let mut program = Program::new();
    let session = program.start();
    program.allocate(0x100, 10, MemoryRole::AutogradDetail);
    program.allocate(0x200, 20, MemoryRole::Unknown);
    program.allocate(0x300, 30, MemoryRole::Input);
    program.tell(0x100, 10, MemoryRole::Gradient);
    program.tell(0x200, 20, MemoryRole::Input);
    program.write(0x300, 30, MemoryRole::Activation);
    program.write(0x100, 10, MemoryRole::Gradient);
    program.tell(0x200, 20, MemoryRole::Input);
    program.free(0x300, 30);
    assert_eq!(
        story(&session.stop()),
        [
            (CREATE, 10, MemoryCategory::Gradient),
            (CREATE, 20, MemoryCategory::Input),
            (CREATE, 30, MemoryCategory::Input),
            (CHANGE, -30, MemoryCategory::Input),
            (CHANGE, 30, MemoryCategory::Activation),
            (CHANGE, -10, MemoryCategory::Gradient),
            (CHANGE, 10, MemoryCategory::Gradient),
            (DESTROY, -30, MemoryCategory::Activation),
        ]
    );
}

#[test]
fn what_an_operator_frees_that_it_allocated_is_temporary() {
    let mut program = Program::new();
    let session = program.start();
    let operator = program.begin(SpanKind::Op, "aten::mean");
    program.allocate(0x100, 10, MemoryRole::Activation);
    let inner = program.begin(SpanKind::Op, "aten::sum");
    program.allocate(0x200, 20, MemoryRole::Activation);
    program.end(inner);
    program.free(0x200, 20);
    program.end(operator);
    program.free(0x100, 10);
    let engine = program.begin(SpanKind::Op, "autograd::engine::evaluate_function: MulBackward0");
    program.allocate(0x300, 30, MemoryRole::AutogradDetail);
    let node = program.begin(SpanKind::Backward, "MulBackward0");
    program.allocate(0x400, 40, MemoryRole::AutogradDetail);
    program.free(0x400, 40);
    program.end(node);
    program.free(0x300, 30);
    program.end(engine);
    let step = program.begin(SpanKind::Annotation, "Optimizer.step#SGD.step");
    program.allocate(0x500, 50, MemoryRole::Derived);
    program.free(0x500, 50);
    program.allocate(0x600, 60, MemoryRole::OptimizerState);
    program.free(0x600, 60);
    program.end(step);
    let trace = session.stop();
    let timeline = trace.memory_timeline(Device::Cpu);
    let categories: Vec<_> = timeline.blocks().iter().map(|block| (block.address, block.category)).collect();
    assert_eq!(
        categories,
        [
            (0x100, MemoryCategory::Activation),
            (0x200, MemoryCategory::Temporary),
            (0x300, MemoryCategory::AutogradDetail),
            (0x400, MemoryCategory::Temporary),
            (0x500, MemoryCategory::Temporary),
            (0x600, MemoryCategory::OptimizerState),
        ]
    );
    let block = timeline.blocks()[1];
    assert_eq!(timeline.allocated_by(&block).unwrap().name(), "aten::sum");
}

#[test]
fn what_an_input_was_computed_from_is_input_and_what_else_comes_of_it_is_activation() {
    let mut program = Program::new();
    let session = program.start();
    program.allocate(0x100, 10, MemoryRole::Unknown);
    program.change(Device::Npu(0), 0x100, 512, MemoryRole::Unknown);
    let normalise = program.begin(SpanKind::Op, "aten::to");
    program.thread.memory_sources(Device::Cpu, [0x100, 0, 0]);
    program.change(Device::Npu(0), 0x200, 1024, MemoryRole::Unknown);
    program.end(normalise);
    let mean = program.begin(SpanKind::Op, "aten::mean");
    program.thread.memory_sources(Device::Npu(0), [0x200, 0, 0]);
    program.change(Device::Npu(0), 0x300, 2048, MemoryRole::Unknown);
    program.end(mean);
    let used = MemoryUse { device: Device::Npu(0), ..Program::used(0x200, 1024, MemoryRole::Input) };
    program.thread.memory_use(&used);
    let trace = session.stop();
    assert_eq!(trace.memory_devices(), [Device::Cpu, Device::Npu(0)]);
    let categories = |device| {
        let timeline = trace.memory_timeline(device);
        timeline.blocks().iter().map(|block| (block.address, block.category)).collect::<Vec<_>>()
    };
    assert_eq!(categories(Device::Cpu), [(0x100, MemoryCategory::Input)]);
    assert_eq!(
        categories(Device::Npu(0)),
        [(0x100, MemoryCategory::Unknown), (0x200, MemoryCategory::Input), (0x300, MemoryCategory::Activation)]
    );
}

#[test]
fn a_break_in_the_recording_ends_what_is_not_seen_again() {
    let mut program = Program::new();
    let session = program.start();
    program.allocate(0x100, 100, MemoryRole::Activation);
    program.clock.advance(1_000);
    session.pause(Capture::ACTIVITIES);
    program.free(0x100, 100);
    program.allocate(0x200, 30, MemoryRole::Activation);
    program.recorder.keep_memory(&Program::used(0x200, 30, MemoryRole::Gradient));
    program.allocate(0x300, 5, MemoryRole::Activation);
    program.clock.advance(1_000);
    session.resume(Capture::ACTIVITIES);
    program.allocate(0x100, 7, MemoryRole::Activation);
    let trace = session.stop();
    let timeline = trace.memory_timeline(Device::Cpu);
    let (_, sizes) = plain(&timeline);
    assert_eq!(sizes, [[0, 0, 0, 0, 0, 100, 0, 0, 0], [0, 0, 0, 0, 0, 0, 30, 0, 5], [0, 0, 0, 0, 0, 7, 30, 0, 5]]);
    assert_eq!(timeline.blocks().iter().map(|block| block.freed_ns).collect::<Vec<_>>(), [None; 4]);
}

#[test]
fn a_device_without_memory_has_an_empty_timeline() {
    let program = Program::new();
    let trace = program.start().stop();
    let timeline = trace.memory_timeline(Device::Npu(0));
    assert_eq!(plain(&timeline), (Vec::new(), Vec::new()));
    assert!(raw(&timeline).is_empty() && timeline.peak().is_none());
    let (_, data) = page(&timeline, None);
    assert_eq!(data["device"], "npu:0");
    assert_eq!(data["times_ns"], serde_json::json!([]));
    assert_eq!(data["peak"]["bytes"], 0);
}

#[test]
fn the_page_has_the_peak_and_who_lived_there() {
    let mut program = Program::new();
    let session = program.start_with(|builder| builder.with_stack(true));
    let stack = Stack::new(&[Name::new("model.py(3): <lambda>"), Name::new("main.py(9): <module>")]);
    program.clock.advance(1_000);
    let args = SpanArgs::new(SpanKind::Op, Name::new("evil::</script><b>")).stack(stack);
    let operator = program.thread.begin(&args).unwrap();
    program.allocate(0x100, 10, MemoryRole::Activation);
    program.end(operator);
    program.allocate(0x200, 300, MemoryRole::Gradient);
    session.step();
    program.free(0x100, 10);
    let trace = session.stop();
    let (html, data) = page(&trace.memory_timeline(Device::Cpu), Some("</script>"));
    assert_eq!(html.matches("</script>").count(), html.matches("<script").count());
    assert_eq!(data["title"], "</script>");
    assert_eq!(data["times_ns"], serde_json::json!([2_000, 4_000, 5_000]));
    assert_eq!(data["sizes"][4], serde_json::json!([10, 10, 0]));
    assert_eq!(data["sizes"][5], serde_json::json!([0, 300, 300]));
    let peak = &data["peak"];
    assert_eq!((peak["at_ns"].as_u64(), peak["bytes"].as_u64()), (Some(4_000), Some(310)));
    let blocks = peak["blocks"].as_array().unwrap();
    assert_eq!(blocks.iter().map(|block| block["bytes"].as_u64().unwrap()).collect::<Vec<_>>(), [300, 10]);
    assert_eq!(blocks[0]["freed_ns"], serde_json::Value::Null);
    assert_eq!(blocks[1]["operator"], "evil::</script><b>");
    assert_eq!(blocks[1]["stack"], serde_json::json!(["model.py(3): <lambda>", "main.py(9): <module>"]));
    assert_eq!((blocks[1]["allocated_ns"].as_u64(), blocks[1]["freed_ns"].as_u64()), (Some(2_000), Some(5_000)));
    assert_eq!(data["steps"][1], serde_json::json!({"number": 1, "start_ns": 4_000}));
}

#[test]
fn a_long_timeline_is_thinned_for_the_page_and_keeps_its_peak() {
    let mut program = Program::new();
    let session = program.start();
    for number in 0..60_000i64 {
        let bytes = if number == 43_210 { 5_000 } else { 1 + number % 7 };
        program.allocate(0x100, bytes, MemoryRole::Activation);
        program.free(0x100, bytes);
    }
    let trace = session.stop();
    let (_, data) = page(&trace.memory_timeline(Device::Cpu), None);
    let times: Vec<u64> = serde_json::from_value(data["times_ns"].clone()).unwrap();
    let sizes: Vec<i64> = serde_json::from_value(data["sizes"][4].clone()).unwrap();
    assert!(times.len() <= 20_000 && times.len() > 10_000, "{}", times.len());
    assert!(times.windows(2).all(|pair| pair[0] < pair[1]));
    assert_eq!((times.len(), *times.last().unwrap(), *sizes.last().unwrap()), (sizes.len(), 120_000_000, 0));
    let peak = sizes.iter().position(|&bytes| bytes == 5_000).unwrap();
    assert_eq!(times[peak], data["peak"]["at_ns"].as_u64().unwrap());
    assert_eq!(data["peak"]["bytes"], 5_000);
}

#[test]
fn the_name_of_a_file_says_its_form() {
    let mut program = Program::new();
    let session = program.start();
    program.allocate(0x100, 10, MemoryRole::Input);
    let trace = session.stop();
    let timeline = trace.memory_timeline(Device::Cpu);
    let directory = tempfile::tempdir().unwrap();
    for (name, starts) in [("a.json", "[[1"), ("a.raw.json", "[[1"), ("a.html", "<!"), ("a", "[[1")] {
        let path = directory.path().join(name);
        timeline.export(&path).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.trim_start().to_lowercase().starts_with(starts), "{name}: {text}");
        let zipped = directory.path().join(format!("{name}.gz"));
        timeline.export(&zipped).unwrap();
        let mut unzipped = String::new();
        let file = std::fs::File::open(&zipped).unwrap();
        std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(file), &mut unzipped).unwrap();
        assert_eq!(unzipped, text, "{name}");
    }
    let text = |name: &str| std::fs::read_to_string(directory.path().join(name)).unwrap();
    assert_eq!(text("a.json").matches('[').count(), 4);
    assert_eq!(text("a.raw.json").matches('[').count(), 2);
    assert!(timeline.export(directory.path().join("none/a.json")).is_err());
}

proptest! {
    /// Whatever happens, the categories add up to what the allocator has handed out.
    #[test]
    fn categories_add_up(actions in prop::collection::vec((0u8..5, 0u64..12, 1i64..100, 0u8..9), 0..200), start in 0usize..200) {
        let mut program = Program::new();
        let mut alive: HashMap<u64, i64> = HashMap::new();
        let mut totals: Vec<(u64, i64)> = Vec::new();
        let mut session = None;
        for (at, (action, address, bytes, role)) in actions.iter().copied().enumerate() {
            if at == start {
                session = Some(program.start());
            }
            let role = MemoryRole::from_number(role);
            let address = 0x1000 + address;
            match (action, alive.get(&address).copied()) {
                (0 | 1, None) => {
                    program.allocate(address, bytes, role);
                    alive.insert(address, bytes);
                }
                (0 | 1, Some(bytes)) => {
                    program.recorder.release_memory(address);
                    program.free(address, bytes);
                    alive.remove(&address);
                }
                (2, Some(bytes)) => program.tell(address, bytes.unsigned_abs(), role),
                (3, Some(bytes)) => program.write(address, bytes.unsigned_abs(), role),
                (4, Some(bytes)) => {
                    program.recorder.keep_memory(&Program::used(address, bytes.unsigned_abs(), MemoryRole::Parameter));
                }
                _ => (),
            }
            totals.push((program.clock.now_ns(), program.allocated.get(&Device::Cpu).copied().unwrap_or(0)));
        }
        let Some(session) = session else { return Ok(()) };
        let trace = session.stop();
        let (times, sizes) = plain(&trace.memory_timeline(Device::Cpu));
        for (time, sizes) in times.iter().zip(&sizes).skip(usize::from(times.len() > 1 && times[0] == times[1])) {
            let expected = totals.iter().rev().find(|(at, _)| at / 1000 <= *time).map_or(0, |&(_, bytes)| bytes);
            prop_assert_eq!(sizes.iter().sum::<i64>(), expected);
            prop_assert!(sizes.iter().all(|&bytes| bytes >= 0));
        }
    }
}

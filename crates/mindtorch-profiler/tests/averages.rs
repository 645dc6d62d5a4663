//! Averages and tables: sums against known times, and torch's text.

use mindtorch_profiler::{
    Device, DeviceSpan, GroupBy, Inputs, ManualClock, Memory, MemoryRole, Name, Recorder, Session, SessionBuilder,
    SortKey, Span, SpanArgs, SpanKind, Stack, TableOptions, ThreadWriter, TimeUnit, Trace, memory,
};
use std::sync::Mutex;

/// A recorder whose clock the test moves, with a session and one thread.
struct Scene {
    clock: ManualClock,
    recorder: Recorder,
    session: Session,
    thread: ThreadWriter,
}

impl Scene {
    fn new(configure: impl FnOnce(SessionBuilder) -> SessionBuilder) -> Self {
        let clock = ManualClock::starting_at(1_000_000);
        let recorder = Recorder::with_manual_clock(&clock);
        let session = configure(Session::builder().on(&recorder)).start();
        let thread = recorder.thread(7, Some("main"));
        Self { clock, recorder, session, thread }
    }

    /// Runs `inside` in a span that takes `before` nanoseconds before it and `after` after it.
    fn span(&mut self, args: SpanArgs, before: u64, inside: impl FnOnce(&mut Self), after: u64) {
        let token = self.thread.begin(&args).unwrap();
        self.clock.advance(before);
        inside(self);
        self.clock.advance(after);
        self.thread.end(token);
    }

    fn scope(&mut self, name: &str, before: u64, inside: impl FnOnce(&mut Self), after: u64) {
        self.span(annotation(name), before, inside, after);
    }

    fn stop(self) -> Trace {
        self.session.stop()
    }
}

fn annotation(name: &str) -> SpanArgs {
    SpanArgs::new(SpanKind::Annotation, Name::new(name))
}

fn op(name: &str) -> SpanArgs {
    SpanArgs::new(SpanKind::Op, Name::new(name))
}

fn nothing(_: &mut Scene) {}

#[test]
fn times_and_counts_are_summed_by_name() {
    let mut scene = Scene::new(|builder| builder);
    for _ in 0..2 {
        scene.scope("outer", 100, |scene| scene.scope("inner", 30, nothing, 0), 70);
    }
    scene.scope("inner", 40, nothing, 0);
    let averages = scene.stop().key_averages();
    let sums: Vec<_> =
        averages.rows().iter().map(|row| (&*row.key, row.count, row.cpu_total_ns, row.self_cpu_ns)).collect();
    assert_eq!(sums, [("outer", 2, 400, 340), ("inner", 3, 100, 100)]);
    assert_eq!(averages.self_cpu_total_ns(), 440);
}

#[test]
fn recursion_counts_every_call_and_its_time_once() {
    fn recurse(scene: &mut Scene, depth: u32) {
        scene.scope(
            "fib",
            10,
            |scene| {
                if depth > 0 {
                    recurse(scene, depth - 1);
                }
            },
            0,
        );
    }
    let mut scene = Scene::new(|builder| builder);
    recurse(&mut scene, 4);
    let averages = scene.stop().key_averages();
    let row = &averages.rows()[0];
    assert_eq!((row.count, row.cpu_total_ns, row.self_cpu_ns), (5, 50, 50));
    assert!(averages.to_string().contains(" 100.00%"), "{averages}");
}

#[test]
fn threads_that_run_at_once_each_count() {
    let scene = Scene::new(|builder| builder);
    let Scene { clock, recorder, session, mut thread } = scene;
    let mut other = recorder.thread(8, None);
    let tokens = (thread.begin(&annotation("work")).unwrap(), other.begin(&annotation("work")).unwrap());
    clock.advance(100);
    thread.end(tokens.0);
    other.end(tokens.1);
    let averages = session.stop().key_averages();
    assert_eq!((averages.rows()[0].count, averages.rows()[0].cpu_total_ns), (2, 200));
}

#[test]
fn groups_can_be_told_apart_by_shapes_stack_and_overload() {
    let mut scene = Scene::new(|builder| builder.overload_names(true).record_shapes(true).with_stack(true));
    let shape = |dims: &[i64]| Inputs::encode().tensor("float", dims, &vec![1; dims.len()]).finish();
    let stack = |leaf: &str| Stack::new(&[Name::new(leaf), Name::new("main.py(1): <module>")]);
    let calls = [(2, "a.py(3): f", ""), (2, "a.py(4): g", ""), (3, "a.py(3): f", "Tensor"), (3, "a.py(3): f", "out")];
    for (size, leaf, overload) in calls {
        let args = op("aten::add").inputs(shape(&[size])).stack(stack(leaf));
        scene.span(if overload.is_empty() { args } else { args.overload(Name::new(overload)) }, 10, nothing, 0);
    }
    let trace = scene.stop();
    let counts = |by: GroupBy| trace.averages(by).rows().iter().map(|row| row.count).collect::<Vec<_>>();
    assert_eq!(counts(GroupBy::default()), [4]);
    assert_eq!(counts(GroupBy { shapes: true, ..GroupBy::default() }), [2, 2]);
    assert_eq!(counts(GroupBy { stack_depth: 1, ..GroupBy::default() }), [3, 1]);
    assert_eq!(counts(GroupBy { overload: true, ..GroupBy::default() }), [2, 1, 1]);
    let by_stack = trace.averages(GroupBy { stack_depth: 1, ..GroupBy::default() });
    assert_eq!(by_stack.rows()[0].stack, [Name::new("a.py(3): f")]);
}

#[test]
fn memory_and_device_time_reach_the_spans_around_them() {
    let mut scene = Scene::new(|builder| builder.profile_memory(true));
    let allocate = |scene: &mut Scene, bytes: i64, device| {
        let (stack, role) = (Stack::NONE, MemoryRole::Unknown);
        let memory = Memory { address: 64, bytes, device, allocated: bytes, reserved: 0, stack, role };
        scene.thread.memory(&memory);
    };
    allocate(&mut scene, 5, Device::Cpu);
    scene.clock.advance(1);
    scene.scope(
        "train",
        10,
        |scene| {
            let launch = scene.thread.begin(&op("aten::mm")).unwrap();
            let begin = scene.recorder.now();
            scene.clock.advance(40);
            let end = scene.recorder.now();
            let launched_by = Some(launch.id());
            let name = Name::new("gemm");
            scene.thread.device_span(&DeviceSpan { stream: 3, launched_by, ..DeviceSpan::kernel(name, begin, end) });
            allocate(scene, 100, Device::Cpu);
            allocate(scene, 1 << 20, Device::Npu(0));
            scene.clock.advance(1);
            scene.thread.end(launch);
            scene.clock.advance(1);
            allocate(scene, -30, Device::Cpu);
        },
        10,
    );
    let averages = scene.stop().key_averages();
    let row = |key: &str| averages.rows().iter().find(|row| &*row.key == key).unwrap();
    assert_eq!((row("train").cpu_memory, row("train").self_cpu_memory), (70, -30));
    assert_eq!((row("aten::mm").device_memory, row("aten::mm").self_device_memory), (1 << 20, 1 << 20));
    assert_eq!((row("train").device_total_ns, row("train").self_device_ns), (40, 0));
    assert_eq!((row("aten::mm").device_total_ns, row("aten::mm").self_device_ns), (40, 40));
    assert_eq!((row("gemm").device, row("gemm").self_device_ns), (Device::Npu(0), 40));
    assert_eq!((row("[memory]").count, row("[memory]").cpu_memory), (1, 5));
    insta::assert_snapshot!("table_with_memory_and_device", averages.to_string());
}

/// A trace with long names, several units of time and nesting.
fn varied() -> Trace {
    let mut scene = Scene::new(|builder| builder);
    let long = "a name that is far longer than any column would like it to be, and then some";
    scene.scope("epoch", 2_000_000_000, |scene| scene.scope(long, 1_500_000, nothing, 250), 999);
    scene.scope("tiny", 1, nothing, 0);
    scene.scope("日本語", 12_345, nothing, 0);
    scene.stop()
}

#[test]
fn the_default_table_is_torchs() {
    insta::assert_snapshot!("table_default", varied().key_averages().to_string());
}

#[test]
fn a_table_follows_its_options() {
    let averages = varied().key_averages();
    let options = TableOptions {
        sort_by: Some(SortKey::Count),
        row_limit: Some(2),
        max_name_column_width: Some(12),
        header: Some("My header".to_owned()),
        top_level_events_only: true,
        time_unit: Some(TimeUnit::Milliseconds),
        ..TableOptions::default()
    };
    insta::assert_snapshot!("table_with_options", averages.table(&options));
    let sorted = TableOptions { sort_by: Some(SortKey::SelfCpuTimeTotal), row_limit: None, ..TableOptions::default() };
    let table = averages.table(&sorted);
    let first = table.lines().nth(3).unwrap();
    assert!(first.trim_start().starts_with("epoch"), "{first}");
}

#[test]
fn shapes_flops_and_stacks_stand_under_their_own_headings() {
    let mut scene = Scene::new(|builder| builder.record_shapes(true).with_stack(true).with_flops(true));
    let inputs = Inputs::encode()
        .tensor("float", &[64, 32], &[32, 1])
        .value("Scalar", "2")
        .list_of(1)
        .tensor("float", &[1], &[1])
        .finish();
    let stack = Stack::new(&[Name::new("model.py(12): forward"), Name::new("train.py(40): main")]);
    scene.span(op("aten::mm").inputs(inputs).stack(stack).flops(131_072), 5_000, nothing, 0);
    scene.scope("plain", 10, nothing, 0);
    let averages = scene.stop().averages(GroupBy { shapes: true, stack_depth: 2, ..GroupBy::default() });
    insta::assert_snapshot!("table_with_shapes_stacks_and_flops", averages.to_string());
}

#[test]
fn steps_are_one_group_under_torchs_name() {
    let mut scene = Scene::new(|builder| builder.record_steps(true));
    for _ in 0..3 {
        scene.scope("work", 10, nothing, 0);
        scene.session.step();
        scene.clock.advance(1);
    }
    let trace = scene.stop();
    let steps: Vec<_> = trace.spans().filter(|span| span.name().starts_with("ProfilerStep#")).collect();
    assert_eq!(steps.len(), 4);
    assert_eq!(steps[1].name(), "ProfilerStep#1");
    let averages = trace.key_averages();
    let row = averages.rows().iter().find(|row| &*row.key == "ProfilerStep*").unwrap();
    assert_eq!((row.count, row.cpu_total_ns), (4, 33));
    assert_eq!(
        trace.spans().filter(|span| span.name() == "work").map(|span| span.step()).collect::<Vec<_>>(),
        [0, 1, 2]
    );
}

#[test]
fn an_unknown_sort_key_is_named() {
    let error = "cpu_tome".parse::<SortKey>().unwrap_err().to_string();
    assert!(error.contains("cpu_tome"), "{error}");
    assert_eq!("self_cuda_time_total".parse(), Ok(SortKey::SelfDeviceTimeTotal));
    assert_eq!("privateuse1_time".parse(), Ok(SortKey::DeviceTime));
}

#[test]
fn a_table_of_nothing_is_empty() {
    assert_eq!(Scene::new(|builder| builder).stop().key_averages().to_string(), "");
}

#[test]
fn events_are_rows_of_their_own_in_the_order_of_time() {
    let mut scene = Scene::new(|builder| builder);
    scene.scope("a", 10, |scene| scene.scope("b", 10, nothing, 0), 0);
    scene.scope("a", 10, nothing, 0);
    let keys: Vec<String> = scene.stop().events().rows().iter().map(|row| row.key.to_string()).collect();
    assert_eq!(keys, ["a", "b", "a"]);
}

/// Steps are made by real threads, so on the process's recorder, which is one test's at a time.
static PROCESS: Mutex<()> = Mutex::new(());

#[test]
fn memory_belongs_to_the_step_that_it_happened_in() {
    let _alone = PROCESS.lock();
    let session = Session::builder().record_steps(true).profile_memory(true).start();
    for bytes in [10, 20] {
        let device = Device::Cpu;
        let (stack, role) = (Stack::NONE, MemoryRole::Unknown);
        memory(&Memory { address: 1, bytes, device, allocated: bytes, reserved: 0, stack, role });
        session.step();
    }
    let trace = session.stop();
    let steps: Vec<_> = trace.spans().map(|span| (span.name(), span.cpu_memory())).collect();
    assert_eq!(steps, [("ProfilerStep#0", 10), ("ProfilerStep#1", 20), ("ProfilerStep#2", 0)]);
}

#[test]
fn what_ends_after_the_steps_is_around_the_last() {
    let _alone = PROCESS.lock();
    let session = Session::builder().record_steps(true).start();
    let around = Span::enter("around");
    session.step();
    drop(Span::enter("in a step"));
    session.end_steps();
    drop(around);
    let trace = session.stop();
    let within: Vec<_> = trace.spans().map(|span| (span.name(), span.parent().map(|parent| parent.name()))).collect();
    let expected = [
        ("ProfilerStep#0", None),
        ("around", None),
        ("ProfilerStep#1", Some("around")),
        ("in a step", Some("ProfilerStep#1")),
    ];
    assert_eq!(within, expected);
}

#[test]
fn groups_whose_spans_overlap_have_all_of_their_amounts() {
    let mut scene = Scene::new(|builder| builder.profile_memory(true));
    // `a` is open when `other` begins and ends before it does; the second `a` is inside `other` alone.
    let first = scene.thread.begin(&op("a")).unwrap();
    scene.clock.advance(1);
    let other = scene.thread.begin(&op("other")).unwrap();
    scene.clock.advance(1);
    let second = scene.thread.begin(&op("a")).unwrap();
    let device = Device::Cpu;
    let (stack, role) = (Stack::NONE, MemoryRole::Unknown);
    scene.thread.memory(&Memory { address: 1, bytes: 100, device, allocated: 100, reserved: 0, stack, role });
    scene.clock.advance(1);
    scene.thread.end(second);
    scene.clock.advance(5);
    scene.thread.end(first);
    scene.clock.advance(5);
    scene.thread.end(other);
    let averages = scene.stop().key_averages();
    let a = averages.rows().iter().find(|row| &*row.key == "a").unwrap();
    assert_eq!((a.count, a.self_cpu_memory, a.cpu_memory), (2, 100, 100));
}

#[test]
fn sums_stop_at_the_largest_number() {
    let mut scene = Scene::new(|builder| builder.with_flops(true));
    for _ in 0..3 {
        scene.span(op("huge").flops(u64::MAX / 2 + 1), 1, nothing, 0);
    }
    assert_eq!(scene.stop().key_averages().rows()[0].flops, u64::MAX);
}

#[test]
fn device_work_can_be_told_apart_by_device() {
    let mut scene = Scene::new(|builder| builder);
    for device in [0, 1, 1] {
        let begin = scene.recorder.now();
        scene.clock.advance(10);
        let (end, name) = (scene.recorder.now(), Name::new("gemm"));
        let span = DeviceSpan { device, ..DeviceSpan::kernel(name, begin, end) };
        scene.thread.device_span(&span);
    }
    let trace = scene.stop();
    let counts = |by| trace.averages(by).rows().iter().map(|row| (row.device, row.count)).collect::<Vec<_>>();
    assert_eq!(counts(GroupBy::default()), [(Device::Npu(0), 3)]);
    assert_eq!(counts(GroupBy { device: true, ..GroupBy::default() }), [(Device::Npu(0), 1), (Device::Npu(1), 2)]);
}

#[test]
fn a_device_with_a_clock_of_its_own_gives_its_times() {
    let mut scene = Scene::new(|builder| builder);
    let start = scene.clock.now_ns();
    scene.clock.advance(100);
    let (begin, end) = (scene.recorder.ticks_at(start + 20), scene.recorder.ticks_at(start + 50));
    let name = Name::new("gemm");
    let span = DeviceSpan::kernel(name, begin, end);
    scene.thread.device_span(&span);
    let trace = scene.stop();
    let span = trace.device_spans().next().unwrap();
    assert_eq!((span.start_ns(), span.end_ns()), (20, 50));
}

//! What is counted. The part of a name before the colon is what happens, the part after it who looks on.

use mindtorch::{Tensor, ops};
use mindtorch_bridge::{PlayedOp, play_memory};
use mindtorch_profiler::{
    Device, DeviceSpan, Inputs, Memory, MemoryRole, Name, Recorder, SessionBuilder, Span, SpanArgs, SpanKind, Stack,
    counter, device_span, mark, memory, record_function,
};

/// Makes an event.
pub(crate) type Event = dyn Fn();

/// One way to the recorder.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    /// What the session asks for that looks on, if there is one.
    pub(crate) session: Option<fn(SessionBuilder) -> SessionBuilder>,
    /// Makes what is needed for an event, once.
    pub(crate) event: fn() -> Box<Event>,
    /// How many are counted.
    pub(crate) events: usize,
}

/// Few enough that no chunk is full meanwhile.
const FEW: usize = 100;

/// Five full-grown chunks of spans, so that there are five changes, wherever in its chunk the thread is.
const FIVE_CHUNKS: usize = 5 * 2048;

impl Case {
    const fn off(name: &'static str, event: fn() -> Box<Event>) -> Self {
        Self { name, session: None, event, events: FEW }
    }

    const fn on(name: &'static str, event: fn() -> Box<Event>, session: fn(SessionBuilder) -> SessionBuilder) -> Self {
        Self { name, session: Some(session), event, events: FEW }
    }

    /// What calling costs.
    pub(crate) const fn nothing(events: usize) -> Self {
        Self { name: "nothing", session: None, event: || Box::new(|| ()), events }
    }
}

pub(crate) const CASES: &[Case] = &[
    Case::off("record_function!: no session", annotation),
    Case::on("record_function!: session", annotation, plain),
    Case::on("record_function!: with_stack", annotation, |session| session.with_stack(true)),
    Case {
        events: FIVE_CHUNKS,
        ..Case::on("record_function!: session, with the changes of chunks", annotation, plain)
    },
    Case::off("Span::enter: no session", named_annotation),
    Case::on("Span::enter: session", named_annotation, plain),
    Case::on("Span::enter: with_stack", named_annotation, |session| session.with_stack(true)),
    Case::off("Span::begin: no session", op),
    Case::on("Span::begin: session", op, plain),
    Case::on("Span::begin: session, given an overload", op_with_overload, plain),
    Case::on("Span::begin: session, given a sequence number and flops", op_with_numbers, plain),
    Case::on("Span::begin: session, given a stack", op_with_stack, plain),
    Case::on("Span::begin: session, given shapes", op_with_shapes, plain),
    Case::off("memory: no session", allocation),
    Case::on("memory: profile_memory", allocation, |session| session.profile_memory(true)),
    Case::off("device_span: no session", kernel),
    Case::on("device_span: session", kernel, plain),
    Case::off("counter: no session", value),
    Case::on("counter: session", value, plain),
    Case::off("mark: no session", milestone),
    Case::on("mark: session", milestone, plain),
    Case::on("PyTorch's operator: session", torch_op, plain),
    Case::on("PyTorch's operator: record_shapes", torch_op_with_inputs, |session| session.record_shapes(true)),
    Case::on("PyTorch's operator: with_flops", torch_op_with_inputs, |session| session.with_flops(true)),
    Case::on("PyTorch's backward node: session", torch_node, plain),
    Case::on("PyTorch's memory: profile_memory", torch_memory, |session| session.profile_memory(true)),
    Case::off("a + b: no session", sum),
    Case::on("a + b: session", sum, plain),
    Case::on("a + b: record_shapes", sum, |session| session.record_shapes(true)),
    Case::on("a + b: with_flops", sum, |session| session.with_flops(true)),
    Case::on("a + b: with_stack", sum, |session| session.with_stack(true)),
    Case::on("a + b: profile_memory", sum, |session| session.profile_memory(true)),
    Case::on("a + b: all of these", sum, everything),
    Case::off("a + b with gradient: no session", tracked_sum),
    Case::on("a + b with gradient: session", tracked_sum, plain),
    Case::on("a + b with gradient: all of these", tracked_sum, everything),
];

fn plain(session: SessionBuilder) -> SessionBuilder {
    session
}

fn everything(session: SessionBuilder) -> SessionBuilder {
    session.record_shapes(true).with_flops(true).with_stack(true).profile_memory(true)
}

fn annotation() -> Box<Event> {
    Box::new(|| drop(record_function!("work")))
}

fn named_annotation() -> Box<Event> {
    let name = "work".to_owned();
    Box::new(move || drop(Span::enter(&name)))
}

fn op_args() -> SpanArgs {
    SpanArgs::new(SpanKind::Op, Name::new("aten::add"))
}

fn op() -> Box<Event> {
    let args = op_args();
    Box::new(move || drop(Span::begin(&args)))
}

fn op_with_overload() -> Box<Event> {
    let (args, overload) = (op_args(), Name::new("Tensor"));
    Box::new(move || drop(Span::begin(&args.overload(overload))))
}

fn op_with_numbers() -> Box<Event> {
    let (args, sequence, flops) = (op_args(), 1, 16);
    Box::new(move || drop(Span::begin(&args.sequence(sequence).flops(flops))))
}

fn op_with_stack() -> Box<Event> {
    let args = op_args();
    let frames = ["layer.py(7): forward", "train.py(30): step", "train.py(50): <module>"].map(Name::new);
    Box::new(move || drop(Span::begin(&args.stack(Stack::new(&frames)))))
}

/// As the dispatcher does it for `a + b`.
fn op_with_shapes() -> Box<Event> {
    let args = op_args();
    let [float, scalar, one] = ["float", "Scalar", "1"].map(Name::new);
    Box::new(move || {
        let mut inputs = Inputs::encode();
        inputs.tensor_of(float, &[4, 4], &[4, 1]).tensor_of(float, &[4, 4], &[4, 1]).value_of(scalar, one);
        drop(Span::begin(&args.inputs(inputs.finish())));
    })
}

fn allocation() -> Box<Event> {
    let block = Memory {
        address: 0x1000,
        bytes: 64,
        device: Device::Cpu,
        allocated: 64,
        reserved: 0,
        stack: Stack::NONE,
        role: MemoryRole::Unknown,
    };
    Box::new(move || memory(&block))
}

fn kernel() -> Box<Event> {
    let now = Recorder::global().now();
    let kernel = DeviceSpan::kernel(Name::new("add_kernel"), now, now);
    Box::new(move || device_span(&kernel))
}

fn value() -> Box<Event> {
    let name = Name::new("loss");
    Box::new(move || counter(name, 1.0))
}

fn milestone() -> Box<Event> {
    let name = Name::new("epoch");
    Box::new(move || mark(name))
}

fn torch_op() -> Box<Event> {
    let op = PlayedOp::new("aten::add");
    Box::new(move || op.run())
}

fn torch_op_with_inputs() -> Box<Event> {
    let op = PlayedOp::new("aten::add").given_two_matrices(4, 4);
    Box::new(move || op.run())
}

fn torch_node() -> Box<Event> {
    let node = PlayedOp::new("AddBackward0").backward(7);
    Box::new(move || node.run())
}

fn torch_memory() -> Box<Event> {
    // PyTorch's threads are known by the operators that they run.
    PlayedOp::new("aten::empty").run();
    Box::new(|| play_memory(0x1000, 64, 64))
}

fn square() -> Tensor {
    Tensor::from_slice(&[1.0f32; 16], &[4, 4]).expect("there is memory")
}

fn sum() -> Box<Event> {
    let (a, b) = (square(), square());
    Box::new(move || drop(ops::add(&a, &b, 1.into()).expect("they go together")))
}

fn tracked_sum() -> Box<Event> {
    let (a, b) = (square(), square());
    a.set_requires_grad(true).expect("it is of floats");
    Box::new(move || drop(ops::add(&a, &b, 1.into()).expect("they go together")))
}

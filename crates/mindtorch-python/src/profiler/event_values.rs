//! What an event has: torch's attributes (microseconds, `file(line): function`) and `MindTorch`'s keys (nanoseconds,
//! `file:line:function`).

use super::inputs::{self, DIMS, STRIDES};
use super::view::{Event, TraceView, micros};
use mindtorch_profiler::{Capture, Device, DeviceKind, DeviceSpanRef, MemoryRow, SpanKind, Stack};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// Torch's number of the host as a type of device.
const CPU: u8 = 0;

type Value<'py> = PyResult<Option<Bound<'py, PyAny>>>;

fn some<'py>(py: Python<'py>, value: impl IntoPyObjectExt<'py>) -> Value<'py> {
    value.into_bound_py_any(py).map(Some)
}

fn list<'py, T: IntoPyObject<'py>>(py: Python<'py>, items: impl IntoIterator<Item = T>) -> Value<'py> {
    let list = PyList::empty(py);
    for item in items {
        list.append(item)?;
    }
    some(py, list)
}

/// An attribute of an event; none if there is none of that name.
pub(super) fn attribute<'py>(py: Python<'py>, view: &TraceView, event: Event, name: &str) -> Value<'py> {
    let own = match event {
        Event::Span(row) => span_attribute(py, view, row, name),
        Event::Device(row) => device_attribute(py, view, row, name),
        Event::Memory(row) => memory_attribute(py, view, row, name),
    }?;
    if own.is_some() { Ok(own) } else { common_attribute(py, view, name) }
}

/// What is the same for all events, or for those that have nothing else to say.
fn common_attribute<'py>(py: Python<'py>, view: &TraceView, name: &str) -> Value<'py> {
    match name {
        "count" => some(py, 1),
        "overload_name" => some(py, ""),
        "kernels"
        | "input_shapes"
        | "structured_input_shapes"
        | "structured_input_strides"
        | "input_dtypes"
        | "concrete_inputs"
        | "stack" => some(py, PyList::empty(py)),
        "kwinputs" => some(py, PyDict::new(py)),
        "sequence_nr" | "node_id" | "python_id" | "python_parent_id" | "python_module_id" => some(py, -1),
        "is_async" | "is_remote" | "is_legacy" | "is_python_function" | "is_user_annotation" | "flow_start"
        | "is_cut_at_start" => some(py, false),
        "is_finished" => some(py, true),
        "scope"
        | "fwd_thread"
        | "flow_id"
        | "flow_type"
        | "external_id"
        | "linked_correlation_id"
        | "flops"
        | "cpu_memory_usage"
        | "device_memory_usage"
        | "self_cpu_memory_usage"
        | "self_device_memory_usage" => some(py, 0),
        "cpu_time_total" | "self_cpu_time_total" | "device_time_total" | "self_device_time_total" => some(py, 0.0),
        "use_device" => some(py, view.device_name()),
        "args" | "activity_type" => Ok(Some(py.None().into_bound(py))),
        _ => Ok(None),
    }
}

fn span_attribute<'py>(py: Python<'py>, view: &TraceView, row: u32, name: &str) -> Value<'py> {
    let span = view.span(row);
    let is_function = span.kind() == SpanKind::Function;
    match name {
        "id" | "external_id" => some(py, if is_function { 0 } else { row + 1 }),
        "name" | "key" => some(py, span.key()),
        "trace_name" => some(py, span.name()),
        "overload_name" => some(py, span.overload()),
        "thread" => some(py, span.thread().number),
        "fwd_thread" => some(py, span.forward_thread()),
        "start_us" => some(py, micros(span.start_ns())),
        "end_us" => some(py, micros(span.end_ns())),
        "kernels" => list(py, view.kernels(row).iter().map(|&work| kernel(view.device(work)))),
        "input_shapes" => some(py, inputs::numbers(py, &span.inputs().decode(), DIMS, false)?),
        "structured_input_shapes" => some(py, inputs::numbers(py, &span.inputs().decode(), DIMS, true)?),
        "structured_input_strides" => some(py, inputs::numbers(py, &span.inputs().decode(), STRIDES, true)?),
        "input_dtypes" => some(py, inputs::types(&span.inputs().decode())),
        "concrete_inputs" => some(py, inputs::values(py, &span.inputs().decode())?),
        "kwinputs" => some(py, inputs::keywords(py, &span.inputs().keywords())?),
        "stack" => list(py, frames(span.stack())),
        "scope" => some(py, scope(span.kind(), span.is_script())),
        "sequence_nr" => some(py, span.sequence().map_or(-1, u64::cast_signed)),
        "cpu_memory_usage" => some(py, span.cpu_memory()),
        "self_cpu_memory_usage" => some(py, view.with_repeated(row, |span| span.self_cpu_memory())),
        "device_memory_usage" => some(py, span.device_memory()),
        "self_device_memory_usage" => some(py, view.with_repeated(row, |span| span.self_device_memory())),
        "flops" => some(py, span.flops()),
        "is_async" => some(py, span.is_async()),
        "device_type" => some(py, CPU),
        "device_index" => some(py, view.trace.pid()),
        "device_resource_id" => some(py, span.thread().os_id),
        "is_python_function" => some(py, is_function),
        "is_user_annotation" => some(py, span.kind() == SpanKind::Annotation),
        "activity_type" => some(py, span.category().unwrap_or_else(|| activity(span.kind()))),
        "flow_id" => some(py, view.flow(row).map_or(0, |flow| flow.id)),
        "flow_type" => some(py, view.flow(row).map_or(0, |flow| flow.kind)),
        "flow_start" => some(py, view.flow(row).is_some_and(|flow| flow.is_start)),
        "python_id" if is_function => some(py, view.function_numbers(row).0),
        "python_parent_id" if is_function && view.function_numbers(row).1 != 0 => {
            some(py, view.function_numbers(row).1)
        }
        "python_module_id" => some(py, span.module().map_or(-1, i64::from)),
        "cpu_time_total" => some(py, micros(span.duration_ns())),
        "self_cpu_time_total" => some(py, micros(view.with_repeated(row, |span| span.self_ns()))),
        "device_time_total" => some(py, micros(span.device_ns())),
        "self_device_time_total" => some(py, micros(view.with_repeated(row, |span| span.self_device_ns()))),
        "args" if !span.note().is_empty() => some(py, span.note()),
        "is_cut_at_start" => some(py, span.is_cut_at_start()),
        "is_finished" => some(py, span.is_finished()),
        _ => Ok(None),
    }
}

fn device_attribute<'py>(py: Python<'py>, view: &TraceView, row: u32, name: &str) -> Value<'py> {
    let work = view.device(row);
    match name {
        "id" | "external_id" => some(py, view.trace.span_count() + row as usize + 1),
        "name" | "key" | "trace_name" => some(py, work.name()),
        "thread" | "device_resource_id" => some(py, work.stream()),
        "start_us" => some(py, micros(work.start_ns())),
        "end_us" => some(py, micros(work.end_ns())),
        "device_type" => some(py, view.device_type()),
        "device_index" => some(py, work.device()),
        "activity_type" => some(py, activity_of_device(work.kind())),
        "flow_id" => some(py, row + 1),
        "flow_type" => some(py, 2),
        "linked_correlation_id" => some(py, work.operator().map_or(0, |span| span.row() + 1)),
        "device_time_total" | "self_device_time_total" => some(py, micros(work.duration_ns())),
        _ => Ok(None),
    }
}

fn memory_attribute<'py>(py: Python<'py>, view: &TraceView, row: u32, name: &str) -> Value<'py> {
    let memory = view.memory(row);
    let (cpu, device) = by_device(memory);
    let thread = &view.trace.threads()[memory.thread];
    match name {
        "id" => some(py, view.trace.span_count() + view.trace.device_spans().len() + row as usize + 1),
        "name" | "key" => some(py, "[memory]"),
        "trace_name" | "flops" => Ok(Some(py.None().into_bound(py))),
        "thread" | "fwd_thread" => some(py, thread.number),
        "start_us" | "end_us" => some(py, micros(memory.at_ns)),
        "device_type" => some(py, if memory.device == Device::Cpu { CPU } else { view.device_type() }),
        "device_index" => some(py, if let Device::Npu(index) = memory.device { i64::from(index) } else { 0 }),
        "device_resource_id" => some(py, thread.os_id),
        "cpu_memory_usage" | "self_cpu_memory_usage" => some(py, cpu),
        "device_memory_usage" | "self_device_memory_usage" => some(py, device),
        _ => Ok(None),
    }
}

fn by_device(memory: &MemoryRow) -> (i64, i64) {
    if memory.device == Device::Cpu { (memory.bytes, 0) } else { (0, memory.bytes) }
}

fn kernel(work: DeviceSpanRef<'_>) -> (String, u16, f64) {
    (work.name().to_owned(), work.device(), micros(work.duration_ns()))
}

fn frames(stack: Stack) -> impl Iterator<Item = String> {
    stack.frames().into_iter().map(|frame| frame.text().to_string())
}

/// Torch's number for the kind of an event, which may be a function of TorchScript.
pub(super) fn scope(kind: SpanKind, is_script: bool) -> u8 {
    match kind {
        _ if is_script => 2,
        SpanKind::Annotation => 7,
        SpanKind::Backward => 1,
        SpanKind::Op | SpanKind::Runtime | SpanKind::Function => 0,
    }
}

fn activity(kind: SpanKind) -> &'static str {
    match kind {
        SpanKind::Op | SpanKind::Backward => "cpu_op",
        SpanKind::Annotation => "user_annotation",
        SpanKind::Runtime => "cuda_runtime",
        SpanKind::Function => "python_function",
    }
}

fn activity_of_device(kind: DeviceKind) -> &'static str {
    match kind {
        DeviceKind::Kernel => "kernel",
        DeviceKind::Copy => "gpu_memcpy",
        DeviceKind::Set => "gpu_memset",
        DeviceKind::Sync => "cuda_sync",
        DeviceKind::Annotation => "gpu_user_annotation",
    }
}

const ALWAYS: [&str; 9] =
    ["name", "kind", "device_type", "start_ns", "end_ns", "duration_ns", "step", "thread_id", "correlation_id"];
const HOST_MEMORY: [&str; 3] =
    ["cpu_memory_allocated_before", "cpu_memory_allocated_after", "cpu_memory_allocated_delta"];
const DEVICE_MEMORY: [&str; 3] =
    ["npu_memory_allocated_before", "npu_memory_allocated_after", "npu_memory_allocated_delta"];

/// The keys that an event has: those of flags that are off are absent.
pub(super) fn keys(view: &TraceView, event: Event) -> Vec<&'static str> {
    let mut keys = ALWAYS.to_vec();
    if let Event::Span(row) = event {
        let is_op = matches!(view.span(row).kind(), SpanKind::Op | SpanKind::Backward);
        if is_op && view.captures(Capture::SHAPES) {
            keys.push("input_shapes");
        }
        if view.captures(Capture::STACK) {
            keys.push("stack");
        }
    }
    if view.captures(Capture::MEMORY) {
        keys.extend(if is_on_device(view, event) { DEVICE_MEMORY } else { HOST_MEMORY });
    }
    keys
}

fn is_on_device(view: &TraceView, event: Event) -> bool {
    match event {
        Event::Span(row) => view.span(row).device() != Device::Cpu,
        Event::Device(_) => true,
        Event::Memory(row) => view.memory(row).device != Device::Cpu,
    }
}

/// What an event has for one of its keys.
pub(super) fn key_value<'py>(py: Python<'py>, view: &TraceView, event: Event, key: &str) -> Value<'py> {
    let (start, end, thread, step) = match event {
        Event::Span(row) => {
            let span = view.span(row);
            (span.start_ns(), span.end_ns(), span.thread().os_id, span.step())
        }
        Event::Device(row) => {
            let work = view.device(row);
            (work.start_ns(), work.end_ns(), u64::from(work.stream()), work.step())
        }
        Event::Memory(row) => {
            let memory = view.memory(row);
            (memory.at_ns, memory.at_ns, view.trace.threads()[memory.thread].os_id, view.trace.step_at(memory.at_ns))
        }
    };
    match key {
        "name" => attribute(py, view, event, "name"),
        "kind" => some(py, if is_scope(view, event) { "scope" } else { "op" }),
        "device_type" => some(py, if is_on_device(view, event) { view.trace.accelerator() } else { "CPU" }),
        "start_ns" => some(py, start),
        "end_ns" => some(py, end),
        "duration_ns" => some(py, end - start),
        "step" => some(py, step),
        "thread_id" => some(py, thread),
        "correlation_id" => correlation(py, view, event),
        "input_shapes" => match event {
            Event::Span(row) => some(py, inputs::tensor_shapes(py, &view.span(row).inputs().decode())?),
            _ => Ok(None),
        },
        "stack" => match event {
            Event::Span(row) => list(py, frames(view.span(row).stack()).map(|frame| source_place(&frame))),
            _ => Ok(None),
        },
        _ => memory_value(py, view, event, key, (start, end)),
    }
}

fn is_scope(view: &TraceView, event: Event) -> bool {
    matches!(event, Event::Span(row) if view.span(row).kind() == SpanKind::Annotation)
}

/// Unique within the recording, for functions too, which have no id in torch.
fn correlation<'py>(py: Python<'py>, view: &TraceView, event: Event) -> Value<'py> {
    if let Event::Span(row) = event { some(py, row + 1) } else { attribute(py, view, event, "id") }
}

fn memory_value<'py>(
    py: Python<'py>,
    view: &TraceView,
    event: Event,
    key: &str,
    (start, end): (u64, u64),
) -> Value<'py> {
    let device = match event {
        Event::Span(row) => view.span(row).device(),
        Event::Device(row) => Device::Npu(view.device(row).device()),
        Event::Memory(row) => view.memory(row).device,
    };
    let (before, after) = view.usage(device, start, end);
    match key.rsplit('_').next() {
        Some("before") => some(py, before),
        Some("after") => some(py, after),
        _ => some(py, after - before),
    }
}

/// `file(line): function` as `file:line:function`.
fn source_place(frame: &str) -> String {
    mindtorch_profiler::frame_parts(frame)
        .map_or_else(|| frame.to_owned(), |(file, line, function)| format!("{file}:{line}:{function}"))
}

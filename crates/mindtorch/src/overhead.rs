//! What it costs to be profiled: the engine's figures, with those of what this runtime does to record its operations.

use crate::autograd;
use crate::dispatch::{Arg, Op};
use crate::error::Result;
use crate::npu;
use crate::tensor::Tensor;
use mindtorch_profiler::{Calibration, Capture, EventCost, MemoryRole, Overhead, SpanKind};

/// What recording costs a program that uses this runtime. An operation is one on two matrices and a number, a node of the
/// backward pass one with one gradient.
///
/// # Errors
/// There is no memory for the matrices.
pub fn profiler_overhead(calibration: &Calibration) -> Result<Overhead> {
    Ok(Overhead {
        op: operation(calibration)?,
        backward: autograd::cost_of_a_node(calibration)?,
        annotation: calibration.cost_of_span(SpanKind::Annotation),
        runtime: npu::cost_of_a_call(calibration),
        function: calibration.cost_of_span(SpanKind::Function),
        memory_ns: calibration.cost_of_memory(),
        memory_use_ns: calibration.cost_of_memory_use(),
    })
}

fn operation(calibration: &Calibration) -> Result<EventCost> {
    static ADD: Op = Op::new("aten::add", "Tensor");
    if !calibration.collects(Capture::CPU) {
        return Ok(EventCost::default());
    }
    let matrix = Tensor::from_slice(&[0f32; 4], &[2, 2])?;
    // As what a model computes. What an operation says of memory that is not known yet is counted apart.
    matrix.storage().use_as(MemoryRole::Activation);
    let args = [Arg::Tensor(&matrix), Arg::Tensor(&matrix), Arg::Int(1)];
    Ok(calibration.cost(|| _ = ADD.run(&args, || Ok(()))))
}

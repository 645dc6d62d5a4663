//! Copies between tensors of any type and layout.

#![expect(unsafe_code, reason = "operands are addresses and strides here")]

use super::map::map1;
use super::parallel::for_ranges;
use super::plan::{Operand, Plan};
use crate::Tensor;
use crate::dtype::{ComputeType, DType};

/// Copies `from`, which can be expanded to `to`'s shape, into `to`, converting.
pub(crate) fn copy(to: &Tensor, from: &Tensor) {
    if to.numel() == 0 {
        return;
    }
    if to.dtype() != from.dtype() {
        return convert(to, from);
    }
    let plan = Plan::new(to, &[from]);
    match to.dtype().size() {
        1 => copy_plan::<u8>(&plan),
        2 => copy_plan::<u16>(&plan),
        4 => copy_plan::<u32>(&plan),
        _ => copy_plan::<u64>(&plan),
    }
}

/// Through a type that holds the numbers of both.
fn convert(to: &Tensor, from: &Tensor) {
    let source = Operand::Tensor(from);
    if to.dtype() == DType::Float64 || from.dtype() == DType::Float64 {
        return map1::<f64, f64>(to, source, |x| x);
    }
    match (from.dtype().compute(), to.dtype().compute()) {
        (ComputeType::I64, ComputeType::I64) => map1::<i64, i64>(to, source, |x| x),
        (ComputeType::I64, _) if from.dtype() == DType::Int64 => map1::<f64, f64>(to, source, |x| x),
        _ => map1::<f32, f32>(to, source, |x| x),
    }
}

/// So many numbers are worth another thread.
const GRAIN: usize = 200_000;
/// Tiles of a transposition: both sides stay in the innermost cache.
const TILE: usize = 32;

fn copy_plan<T: Copy + Send + Sync>(plan: &Plan) {
    let inner = plan.inner();
    let last = plan.shape.len() - 1;
    let (to, from) = (&plan.operands[0], &plan.operands[1]);
    let (to_stride, from_stride) = (to.strides[last], from.strides[last]);
    if plan.rows() == 1 && to_stride == 1 && from_stride == 1 {
        for_ranges(inner, GRAIN, |range| {
            // SAFETY: both have these numbers, one after another. They may be the same memory.
            unsafe {
                let (to, from) = (to.data.cast::<T>().add(range.start), from.data.cast::<T>().add(range.start));
                std::ptr::copy(from, to, range.len());
            }
        });
        return;
    }
    // A transposition: the input runs along the dimension before.
    if last > 0 && to_stride == 1 && from_stride > 1 && from.strides[last - 1] == 1 {
        return transpose_plan::<T>(plan);
    }
    // Rows are short where few dimensions lie together: they are walked through two dimensions at a time.
    let (rows, row_strides) = match last {
        0 => (1, (0, 0)),
        _ => (plan.shape[last - 1], (to.strides[last - 1], from.strides[last - 1])),
    };
    let blocks = plan.rows() / rows;
    for_ranges(blocks, GRAIN.div_ceil(inner * rows), |range| {
        for block in range {
            let offsets = plan.offsets(block * rows);
            for row in 0..rows {
                // SAFETY: the plan's strides stay within the operands.
                unsafe {
                    let to = to.data.cast::<T>().add(offsets[0] + row * row_strides.0);
                    let from = from.data.cast::<T>().add(offsets[1] + row * row_strides.1);
                    if to_stride == 1 && from_stride == 1 {
                        std::ptr::copy(from, to, inner);
                    } else {
                        for index in 0..inner {
                            to.add(index * to_stride).write(from.add(index * from_stride).read());
                        }
                    }
                }
            }
        }
    });
}

/// Copies matrices that lie the other way round, tile by tile.
fn transpose_plan<T: Copy + Send + Sync>(plan: &Plan) {
    let last = plan.shape.len() - 1;
    let (rows, columns) = (plan.shape[last - 1], plan.shape[last]);
    let (to, from) = (&plan.operands[0], &plan.operands[1]);
    let matrices: usize = plan.shape[..last - 1].iter().product();
    let bands = rows.div_ceil(TILE);
    for_ranges(matrices * bands, GRAIN.div_ceil(TILE * columns), |range| {
        for index in range {
            let (matrix, first) = (index / bands, index % bands * TILE);
            let offsets = plan.offsets(matrix * rows + first);
            let height = TILE.min(rows - first);
            // SAFETY: the plan's strides stay within the operands, and these are rows and columns that it has.
            unsafe {
                let (to_data, from_data) = (to.data.cast::<T>().add(offsets[0]), from.data.cast::<T>().add(offsets[1]));
                for column in (0..columns).step_by(TILE) {
                    let width = TILE.min(columns - column);
                    for y in 0..height {
                        for x in column..column + width {
                            let value = from_data.add(y + x * from.strides[last]).read();
                            to_data.add(y * to.strides[last - 1] + x).write(value);
                        }
                    }
                }
            }
        }
    });
}

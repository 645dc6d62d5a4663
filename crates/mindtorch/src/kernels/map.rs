//! Pointwise kernels: a function of numbers, for every number of the output.
//!
//! A kernel sees contiguous pieces of the type it computes in. Operands that lie so are used as they are, others are
//! converted piece by piece on the stack, so that one loop serves all types, strides and broadcasts.

#![expect(unsafe_code, reason = "pieces of operands become slices here")]

use super::element::{Compute, load, store};
use super::parallel::for_ranges;
use super::plan::{Operand, Plan};
use super::simd::vectorized;
use crate::Tensor;
use crate::dtype::Scalar;
use crate::tensor::access;
use std::mem::MaybeUninit;
use std::ops::Range;

/// Numbers in a piece: what all operands of it need stays in the innermost cache.
const PIECE: usize = 1024;
/// So many numbers are worth another thread.
const GRAIN: usize = 100_000;

/// `out = f(a)` for every number.
pub(crate) fn map1<A: Compute, O: Compute>(out: &Tensor, a: Operand<'_>, f: impl Fn(A) -> O + Copy + Sync) {
    run(out, &[a], &|inputs: &[&[A]], out: &mut [O]| {
        let a = &inputs[0][..out.len()];
        vectorized(
            #[inline(always)]
            || {
                for (out, &a) in out.iter_mut().zip(a) {
                    *out = f(a);
                }
            },
        );
    });
}

/// `out = f(a)` for pieces of both.
pub(crate) fn map_slices<A: Compute>(out: &Tensor, a: Operand<'_>, f: impl Fn(&[A], &mut [A]) + Copy + Sync) {
    run(out, &[a], &|inputs: &[&[A]], out: &mut [A]| {
        vectorized(
            #[inline(always)]
            || f(&inputs[0][..out.len()], out),
        );
    });
}

/// `out = f(a, b)` for every number.
pub(crate) fn map2<A: Compute, O: Compute>(
    out: &Tensor,
    a: Operand<'_>,
    b: Operand<'_>,
    f: impl Fn(A, A) -> O + Copy + Sync,
) {
    run(out, &[a, b], &|inputs: &[&[A]], out: &mut [O]| {
        let (a, b) = (&inputs[0][..out.len()], &inputs[1][..out.len()]);
        vectorized(
            #[inline(always)]
            || {
                for ((out, &a), &b) in out.iter_mut().zip(a).zip(b) {
                    *out = f(a, b);
                }
            },
        );
    });
}

/// `out = f(a, b, c)` for every number.
pub(crate) fn map3<A: Compute, O: Compute>(
    out: &Tensor,
    [a, b, c]: [Operand<'_>; 3],
    f: impl Fn(A, A, A) -> O + Copy + Sync,
) {
    run(out, &[a, b, c], &|inputs: &[&[A]], out: &mut [O]| {
        let (a, b, c) = (&inputs[0][..out.len()], &inputs[1][..out.len()], &inputs[2][..out.len()]);
        vectorized(
            #[inline(always)]
            || {
                for (((out, &a), &b), &c) in out.iter_mut().zip(a).zip(b).zip(c) {
                    *out = f(a, b, c);
                }
            },
        );
    });
}

type Kernel<'a, A, O> = &'a (dyn Fn(&[&[A]], &mut [O]) + Sync);

/// Runs `kernel` for all of `out`. One copy of this for each pair of types, not for each kernel.
#[inline(never)]
fn run<A: Compute, O: Compute>(out: &Tensor, inputs: &[Operand<'_>], kernel: Kernel<'_, A, O>) {
    if out.numel() == 0 || run_small(out, inputs, kernel) {
        return;
    }
    let tensors: smallvec::SmallVec<[&Tensor; 3]> = inputs.iter().filter_map(|input| input.tensor()).collect();
    let plan = Plan::new(out, &tensors);
    let (rows, inner) = (plan.rows(), plan.inner());
    if rows == 1 {
        for_ranges(inner, GRAIN, |range| row(&plan, inputs, 0, range, kernel));
    } else {
        for_ranges(rows, GRAIN.div_ceil(inner), |range| {
            for index in range {
                row(&plan, inputs, index, 0..inner, kernel);
            }
        });
    }
}

/// The common case without a plan: one short piece of operands that are used as they lie.
#[inline(always)]
fn run_small<A: Compute, O: Compute>(out: &Tensor, inputs: &[Operand<'_>], kernel: Kernel<'_, A, O>) -> bool {
    let fits = |tensor: &Tensor| tensor.is_contiguous() && A::is(tensor.dtype()) && tensor.numel() == out.numel();
    let ready = out.numel() <= PIECE
        && out.is_contiguous()
        && O::is(out.dtype())
        && inputs.iter().all(|input| match input {
            Operand::Tensor(tensor) => fits(tensor) && !tensor.storage().is_same(out.storage()),
            Operand::Scalar(_) => false,
        });
    if !ready {
        return false;
    }
    // SAFETY: contiguous tensors of these types, and the output shares memory with none of the inputs.
    let slices = inputs.iter().filter_map(|input| input.tensor()).map(|tensor| unsafe {
        std::slice::from_raw_parts(access::start(tensor).cast::<A>().cast_const(), tensor.numel())
    });
    let slices: smallvec::SmallVec<[&[A]; 3]> = slices.collect();
    // SAFETY: as above.
    kernel(&slices, unsafe { std::slice::from_raw_parts_mut(access::start(out).cast(), out.numel()) });
    true
}

/// Where a piece of an input comes from.
enum Piece<A> {
    /// From here, as it lies.
    Direct(*const A),
    /// From the buffer, filled for each piece.
    Converted(usize),
    /// From the buffer, filled once.
    Constant,
}

/// Runs `kernel` for a part of a row.
fn row<A: Compute, O: Compute>(
    plan: &Plan,
    inputs: &[Operand<'_>],
    row: usize,
    range: Range<usize>,
    kernel: Kernel<'_, A, O>,
) {
    let offsets = plan.offsets(row);
    let inner = plan.shape.len() - 1;
    let mut buffers = [const { [const { MaybeUninit::<A>::uninit() }; PIECE] }; 3];
    let mut result = [const { MaybeUninit::<O>::uninit() }; PIECE];
    let length = range.len().min(PIECE);
    let out = &plan.operands[0];
    let place = |operand: usize, index: usize| {
        let at = &plan.operands[operand];
        // SAFETY: the plan's strides stay within the operand for every index that it has.
        unsafe { at.data.add((offsets[operand] + index * at.strides[inner]) * at.dtype.size()) }
    };
    let is_direct_out = O::is(out.dtype) && (out.strides[inner] == 1 || length == 1);
    let (out_first, out_last) = (place(0, range.start).addr(), place(0, range.end - 1).addr());
    let overlaps = |first: usize, last: usize| first < out_last + out.dtype.size() && out_first < last + size_of::<A>();

    let mut operand = 0;
    let mut pieces: smallvec::SmallVec<[Piece<A>; 3]> = smallvec::SmallVec::new();
    for (input, buffer) in inputs.iter().zip(&mut buffers) {
        let piece = match input {
            Operand::Scalar(value) => {
                buffer[..length].fill(MaybeUninit::new(of_scalar(*value)));
                Piece::Constant
            }
            Operand::Tensor(_) => {
                operand += 1;
                let at = &plan.operands[operand];
                let start = place(operand, range.start);
                if at.strides[inner] == 0 {
                    let mut value = [A::default()];
                    // SAFETY: there is one number there.
                    unsafe { load(at.dtype, start, 1, &mut value) };
                    buffer[..length].fill(MaybeUninit::new(value[0]));
                    Piece::Constant
                } else if A::is(at.dtype)
                    && at.strides[inner] == 1
                    && !overlaps(start.addr(), place(operand, range.end - 1).addr())
                {
                    Piece::Direct(start.cast())
                } else {
                    Piece::Converted(operand)
                }
            }
        };
        pieces.push(piece);
    }

    let mut start = range.start;
    while start < range.end {
        let length = (range.end - start).min(PIECE);
        let mut slices: smallvec::SmallVec<[&[A]; 3]> = smallvec::SmallVec::new();
        for (piece, buffer) in pieces.iter().zip(&mut buffers) {
            // SAFETY: numbers in memory as the plan says, or a buffer whose first `length` numbers are written.
            slices.push(unsafe {
                match piece {
                    Piece::Direct(data) => std::slice::from_raw_parts(data.add(start - range.start), length),
                    Piece::Converted(operand) => {
                        let at = &plan.operands[*operand];
                        let buffer = std::slice::from_raw_parts_mut(buffer.as_mut_ptr().cast(), length);
                        load(at.dtype, place(*operand, start), at.strides[inner], buffer);
                        buffer
                    }
                    Piece::Constant => std::slice::from_raw_parts(buffer.as_ptr().cast(), length),
                }
            });
        }
        let to = place(0, start);
        // SAFETY: the output's place, which no input is read from directly; or the buffer, which the kernel writes first.
        unsafe {
            if is_direct_out {
                kernel(&slices, std::slice::from_raw_parts_mut(to.cast(), length));
            } else {
                let result = std::slice::from_raw_parts_mut(result.as_mut_ptr().cast::<O>(), length);
                kernel(&slices, result);
                store(result, out.dtype, to, out.strides[inner]);
            }
        }
        start += length;
    }
}

pub(crate) fn of_scalar<A: Compute>(value: Scalar) -> A {
    match value {
        Scalar::Bool(value) => A::of_i64(i64::from(value)),
        Scalar::Int(value) => A::of_i64(value),
        Scalar::Float(value) => A::of_f64(value),
    }
}

impl<'a> Operand<'a> {
    pub(crate) fn tensor(&self) -> Option<&'a Tensor> {
        match self {
            Self::Tensor(tensor) => Some(tensor),
            Self::Scalar(_) => None,
        }
    }
}

impl<'a> From<&'a Tensor> for Operand<'a> {
    fn from(tensor: &'a Tensor) -> Self {
        Self::Tensor(tensor)
    }
}

//! How to walk through several operands of one shape at once: the fewest dimensions, the innermost as long as possible.

use crate::Tensor;
use crate::dtype::{DType, Scalar};
use crate::shape::{Dims, expanded_strides};
use crate::tensor::access;
use smallvec::SmallVec;

/// What an operation works on: a tensor or a number.
#[derive(Clone, Copy, Debug)]
pub enum Operand<'a> {
    /// A tensor.
    Tensor(&'a Tensor),
    /// A number.
    Scalar(Scalar),
}

/// An operand in memory, with strides for the dimensions of the plan.
pub(crate) struct Place {
    pub(crate) data: *mut u8,
    pub(crate) dtype: DType,
    pub(crate) strides: Dims,
}

// SAFETY: the addresses are those of tensors that the operation holds; see `tensor::access` for who may write.
#[expect(unsafe_code, reason = "an address is not Sync by itself")]
unsafe impl Sync for Place {}
// SAFETY: as above.
#[expect(unsafe_code, reason = "an address is not Send by itself")]
unsafe impl Send for Place {}

/// A walk.
pub(crate) struct Plan {
    /// Sizes, the innermost last. Never empty.
    pub(crate) shape: Dims,
    /// The output first.
    pub(crate) operands: SmallVec<[Place; 4]>,
}

impl Plan {
    /// A walk through `out` and tensors that can be expanded to its shape.
    pub(crate) fn new(out: &Tensor, inputs: &[&Tensor]) -> Self {
        let operand = |tensor: &Tensor| Place {
            data: access::start(tensor),
            dtype: tensor.dtype(),
            strides: expanded_strides(tensor.shape(), tensor.strides(), out.shape()),
        };
        let operands = std::iter::once(out).chain(inputs.iter().copied()).map(operand).collect();
        let mut plan = Self { shape: out.shape().into(), operands };
        plan.simplify();
        plan
    }

    /// Orders the dimensions by the output's strides, and makes one of those that lie together in every operand.
    fn simplify(&mut self) {
        let mut order: SmallVec<[usize; 6]> = (0..self.shape.len()).filter(|&dim| self.shape[dim] != 1).collect();
        // By the output's strides first, then by the inputs'.
        let key = |dim: usize| self.operands.iter().map(move |operand| operand.strides[dim]);
        order.sort_by(|&a, &b| key(b).cmp(key(a)));
        let mut shape = Dims::new();
        let mut strides: SmallVec<[Dims; 4]> = self.operands.iter().map(|_| Dims::new()).collect();
        for dim in order {
            let size = self.shape[dim];
            let joins = shape.last().is_some()
                && self
                    .operands
                    .iter()
                    .zip(&strides)
                    .all(|(operand, done)| done.last() == Some(&(operand.strides[dim] * size)));
            if joins {
                if let Some(last) = shape.last_mut() {
                    *last *= size;
                }
            } else {
                shape.push(size);
            }
            for (operand, done) in self.operands.iter().zip(&mut strides) {
                if joins {
                    done.pop();
                }
                done.push(operand.strides[dim]);
            }
        }
        if shape.is_empty() {
            shape.push(1);
            strides.iter_mut().for_each(|strides| strides.push(1));
        }
        self.shape = shape;
        for (operand, strides) in self.operands.iter_mut().zip(strides) {
            operand.strides = strides;
        }
    }

    /// The size of the innermost dimension.
    pub(crate) fn inner(&self) -> usize {
        self.shape[self.shape.len() - 1]
    }

    /// How many times the innermost dimension is walked through.
    pub(crate) fn rows(&self) -> usize {
        self.shape[..self.shape.len() - 1].iter().product()
    }

    /// Where the given row begins in each operand, in numbers.
    pub(crate) fn offsets(&self, mut row: usize) -> SmallVec<[usize; 4]> {
        let mut offsets: SmallVec<[usize; 4]> = SmallVec::from_elem(0, self.operands.len());
        for dim in (0..self.shape.len() - 1).rev() {
            let index = row % self.shape[dim];
            row /= self.shape[dim];
            for (offset, operand) in offsets.iter_mut().zip(&self.operands) {
                *offset += index * operand.strides[dim];
            }
        }
        offsets
    }
}

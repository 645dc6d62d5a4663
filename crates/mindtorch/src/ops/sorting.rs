//! Numbers in order.

use super::reduce::kernel_dtype;
use super::{contiguous, scatter_, to_dtype, unsqueeze, zeros};
use crate::Tensor;
use crate::autograd::{Context, Grads, Saved, track_list};
use crate::dispatch::{Arg, Op, launch};
use crate::dtype::{DType, Element};
use crate::error::{Result, ensure};
use crate::kernels::line::Axis;
use crate::kernels::select::{self, TopK};
use crate::kernels::sort::{self, Sortable};
use crate::shape::{Dims, wrap_dim};
use crate::tensor::access::{read, write};

/// Numbers along a dimension, and what a kernel makes of them: as many numbers, and their positions.
struct Line {
    input: Tensor,
    axis: Axis,
    values: Tensor,
    indices: Tensor,
}

impl Line {
    /// `kept` of the numbers of a dimension are left.
    fn new(input: &Tensor, dim: usize, kept: usize) -> Result<Self> {
        let dtype = kernel_dtype(input.dtype());
        let (sizes, mut shape) = (Dims::from(input.shape()), Dims::from(input.shape()));
        if let Some(size) = shape.get_mut(dim) {
            *size = kept;
        }
        let axis = Axis {
            outer: sizes.iter().take(dim).product(),
            len: sizes.get(dim).copied().unwrap_or(1),
            inner: sizes.iter().skip(dim + 1).product(),
        };
        Ok(Self {
            input: contiguous(&to_dtype(input, dtype)?)?,
            axis,
            values: Tensor::allocate(&shape, dtype, input.device())?,
            indices: Tensor::allocate(&shape, DType::Int64, input.device())?,
        })
    }

    fn launch(&self, name: &'static str, kernel: impl LineKernel + Send + 'static) -> Result<()> {
        let axis = self.axis;
        launch(name, [&self.values, &self.indices, &self.input], move |tensors| match tensors[0].dtype() {
            DType::Float32 => kernel.run::<f32>(axis, tensors),
            DType::Float64 => kernel.run::<f64>(axis, tensors),
            _ => kernel.run::<i64>(axis, tensors),
        })
    }

    /// The numbers in the input's type, and their positions. The gradient of a number goes to its position.
    fn results(self, dtype: DType) -> Result<(Tensor, Tensor)> {
        Ok((to_dtype(&self.values, dtype)?, self.indices))
    }
}

/// A kernel for numbers of any type: from the input, the last of the tensors, to values and indices.
trait LineKernel {
    fn run<T: Sortable + Element>(&self, axis: Axis, tensors: [&Tensor; 3]);
}

struct Sort {
    descending: bool,
}

impl LineKernel for Sort {
    fn run<T: Sortable + Element>(&self, axis: Axis, [values, indices, input]: [&Tensor; 3]) {
        let mut scratch = vec![T::Entry::default(); sort::scratch_len(axis)];
        sort::sort::<T>(read(input), axis, self.descending, write(values), write(indices), &mut scratch);
    }
}

impl LineKernel for TopK {
    fn run<T: Sortable + Element>(&self, axis: Axis, [values, indices, input]: [&Tensor; 3]) {
        let mut scratch = vec![T::Entry::default(); select::topk_scratch_len(axis, *self)];
        select::topk::<T>(read(input), axis, *self, write(values), write(indices), &mut scratch);
    }
}

/// Makes values that were selected along a dimension part of the graph.
fn track_selected(name: &'static str, input: &Tensor, dim: i64, values: &Tensor, indices: &Tensor) -> Result<()> {
    track_list(name, &[Some(input)], &[values, indices], || {
        let (shape, indices) = (Dims::from(input.shape()), Saved::new(indices));
        move |context: &Context<'_>, grads: &Grads| {
            let Some(grad) = &grads[0] else { return Ok(Grads::from_iter([None])) };
            let whole = value_selecting_reduction_backward(grad, dim, &indices.get(context)?, &shape, true)?;
            Ok(Grads::from_iter([Some(whole)]))
        }
    })
}

/// A gradient of values that were selected along a dimension, at the positions that they were selected from, as one of
/// a tensor of the given shape.
pub(super) fn value_selecting_reduction_backward(
    grad: &Tensor,
    dim: i64,
    indices: &Tensor,
    shape: &[usize],
    keepdim: bool,
) -> Result<Tensor> {
    static OP: Op = Op::new("aten::value_selecting_reduction_backward", "");
    OP.compose(&[grad.into(), Arg::Int(dim), indices.into(), Arg::Sizes(shape), Arg::Bool(keepdim)], || {
        if keepdim || shape.is_empty() {
            return scatter_(&zeros(shape, grad.dtype(), grad.device())?, dim, indices, grad);
        }
        let (grad, indices) = (unsqueeze(grad, dim)?, unsqueeze(indices, dim)?);
        scatter_(&zeros(shape, grad.dtype(), grad.device())?, dim, &indices, &grad)
    })
}

/// Numbers along a dimension in order, NaN last, and the positions that they had. Equal numbers keep their order,
/// whether that is asked for (`stable`) or not.
///
/// # Errors
/// If the dimension does not exist.
pub fn sort(input: &Tensor, dim: i64, descending: bool, stable: Option<bool>) -> Result<(Tensor, Tensor)> {
    static OP: Op = Op::new("aten::sort", "");
    static STABLE: Op = Op::new("aten::sort", "stable");
    let body = || {
        let place = wrap_dim(dim, input.ndim())?;
        let line = Line::new(input, place, input.shape().get(place).copied().unwrap_or(1))?;
        line.launch("sort", Sort { descending })?;
        line.results(input.dtype())
    };
    let (values, indices) = match stable {
        None => OP.run(&[input.into(), Arg::Int(dim), Arg::Bool(descending)], body)?,
        Some(stable) => STABLE.run(&[input.into(), Arg::Bool(stable), Arg::Int(dim), Arg::Bool(descending)], body)?,
    };
    // torch gives both overloads the node of the one that says whether it is stable.
    track_selected("SortBackward0", input, dim, &values, &indices)?;
    Ok((values, indices))
}

/// The positions that numbers along a dimension had before they were put in order. See [`sort`].
///
/// # Errors
/// If the dimension does not exist.
pub fn argsort(input: &Tensor, dim: i64, descending: bool, stable: Option<bool>) -> Result<Tensor> {
    static OP: Op = Op::new("aten::argsort", "");
    static STABLE: Op = Op::new("aten::argsort", "stable");
    let body = || Ok(sort(input, dim, descending, stable)?.1);
    match stable {
        None => OP.run(&[input.into(), Arg::Int(dim), Arg::Bool(descending)], body),
        Some(stable) => STABLE.run(&[input.into(), Arg::Bool(stable), Arg::Int(dim), Arg::Bool(descending)], body),
    }
}

/// The `k` greatest or least numbers along a dimension, the best first if they are to be sorted, and their positions.
///
/// # Errors
/// If there are not so many, or for truths.
pub fn topk(input: &Tensor, k: i64, dim: i64, largest: bool, sorted: bool) -> Result<(Tensor, Tensor)> {
    static OP: Op = Op::new("aten::topk", "");
    let args = [input.into(), Arg::Int(k), Arg::Int(dim), Arg::Bool(largest), Arg::Bool(sorted)];
    let (values, indices) = OP.run(&args, || {
        let place = wrap_dim(dim, input.ndim())?;
        let size = input.shape().get(place).copied().unwrap_or(1);
        ensure!((0..=size as i64).contains(&k), Runtime, "selected index k out of range");
        ensure!(
            input.dtype() != DType::Bool,
            NotImplemented,
            "topk does not support bool dtypes on {}",
            if input.device() == mindtorch_profiler::Device::Cpu { "CPU" } else { "NPU" }
        );
        let line = Line::new(input, place, k as usize)?;
        line.launch("topk", TopK { k: k as usize, largest, sorted })?;
        line.results(input.dtype())
    })?;
    track_selected("TopkBackward0", input, dim, &values, &indices)?;
    Ok((values, indices))
}

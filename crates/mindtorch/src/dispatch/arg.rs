//! The arguments of an operation, as the profiler shows them.

use crate::Tensor;
use crate::dtype::{DType, Scalar};
use crate::shape::list;
use mindtorch_profiler::{Inputs, InputsEncoder};

/// An argument.
#[derive(Clone, Copy)]
pub(crate) enum Arg<'a> {
    Tensor(&'a Tensor),
    Tensors(&'a [Tensor]),
    Int(i64),
    Ints(&'a [i64]),
    Sizes(&'a [usize]),
    Float(f64),
    Bool(bool),
    Scalar(Scalar),
    DType(DType),
    None,
}

impl<'a> From<&'a Tensor> for Arg<'a> {
    fn from(tensor: &'a Tensor) -> Self {
        Self::Tensor(tensor)
    }
}

impl<'a> From<Option<&'a Tensor>> for Arg<'a> {
    fn from(tensor: Option<&'a Tensor>) -> Self {
        tensor.map_or(Self::None, Self::Tensor)
    }
}

impl From<Option<DType>> for Arg<'_> {
    fn from(dtype: Option<DType>) -> Self {
        dtype.map_or(Self::None, Self::DType)
    }
}

impl From<Option<i64>> for Arg<'_> {
    fn from(int: Option<i64>) -> Self {
        int.map_or(Self::None, Self::Int)
    }
}

impl From<Option<Scalar>> for Arg<'_> {
    fn from(scalar: Option<Scalar>) -> Self {
        scalar.map_or(Self::None, Self::Scalar)
    }
}

impl From<Scalar> for Arg<'_> {
    fn from(scalar: Scalar) -> Self {
        Self::Scalar(scalar)
    }
}

pub(super) fn encode(args: &[Arg<'_>]) -> Inputs {
    args.iter()
        .fold(Inputs::encode(), |encoder, arg| match *arg {
            Arg::Tensor(tensor) => encode_tensor(encoder, tensor),
            Arg::Tensors(tensors) => tensors.iter().fold(encoder.list_of(tensors.len()), encode_tensor),
            Arg::Int(value) => encoder.value("Scalar", &value.to_string()),
            Arg::Ints(values) => encoder.value("ScalarList", &list(values)),
            Arg::Sizes(values) => encoder.value("ScalarList", &list(values)),
            Arg::Float(value) => encoder.value("Scalar", &Scalar::Float(value).to_string()),
            Arg::Bool(value) => encoder.value("Scalar", &Scalar::Bool(value).to_string()),
            Arg::Scalar(value) => encoder.value("Scalar", &value.to_string()),
            Arg::DType(dtype) => encoder.value("Scalar", &dtype.number().to_string()),
            Arg::None => encoder.value("", ""),
        })
        .finish()
}

fn encode_tensor(encoder: InputsEncoder, tensor: &Tensor) -> InputsEncoder {
    let signed = |dims: &[usize]| dims.iter().map(|&dim| dim as i64).collect::<smallvec::SmallVec<[i64; 5]>>();
    encoder.tensor(tensor.dtype().profiler_name(), &signed(tensor.shape()), &signed(tensor.strides()))
}

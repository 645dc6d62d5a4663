//! The arguments of an operation, as the profiler shows them.

use crate::Tensor;
use crate::dtype::{DType, Scalar};
use mindtorch_profiler::{Inputs, InputsEncoder, Name};
use std::sync::OnceLock;

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
    let names = Names::get();
    let mut encoder = Inputs::encode();
    for arg in args {
        match *arg {
            Arg::Tensor(tensor) => encode_tensor(&mut encoder, names, tensor),
            Arg::Tensors(tensors) => {
                encoder.list_of(tensors.len());
                tensors.iter().for_each(|tensor| encode_tensor(&mut encoder, names, tensor));
            }
            Arg::Ints(values) => _ = encoder.ints_of(names.list, values.iter().copied()),
            Arg::Sizes(values) => _ = encoder.ints_of(names.list, values.iter().map(|&size| size as i64)),
            Arg::Float(value) | Arg::Scalar(Scalar::Float(value)) => _ = encoder.float_of(names.scalar, value),
            Arg::Int(value) | Arg::Scalar(Scalar::Int(value)) => _ = encoder.int_of(names.scalar, value),
            Arg::DType(dtype) => _ = encoder.int_of(names.scalar, dtype.number()),
            Arg::Bool(value) | Arg::Scalar(Scalar::Bool(value)) => {
                encoder.value_of(names.scalar, names.bools[usize::from(value)]);
            }
            Arg::None => _ = encoder.value_of(names.none, names.none),
        }
    }
    encoder.finish()
}

#[inline]
fn encode_tensor(encoder: &mut InputsEncoder, names: &Names, tensor: &Tensor) {
    encoder.tensor_of(names.dtypes[tensor.dtype() as usize], tensor.shape(), tensor.strides());
}

/// Names that many operations need, looked up once.
struct Names {
    none: Name,
    scalar: Name,
    list: Name,
    bools: [Name; 2],
    /// By type.
    dtypes: Vec<Name>,
}

impl Names {
    fn get() -> &'static Self {
        static NAMES: OnceLock<Names> = OnceLock::new();
        NAMES.get_or_init(|| Self {
            none: Name::new(""),
            scalar: Name::new("Scalar"),
            list: Name::new("ScalarList"),
            bools: [false, true].map(|value| Name::new(&Scalar::Bool(value).to_string())),
            dtypes: DType::ALL.iter().map(|dtype| Name::new(dtype.profiler_name())).collect(),
        })
    }
}

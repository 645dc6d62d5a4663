//! The arguments of an operation, as the profiler shows them.

use crate::Tensor;
use crate::dtype::{DType, Scalar};
use crate::shape::list;
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
            ref value => {
                let (dtype, text) = names.of_value(value);
                encoder.value_of(dtype, text);
            }
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
    /// From -8 on.
    ints: Vec<Name>,
}

const LOWEST: i64 = -8;
const HIGHEST: i64 = 64;

impl Names {
    fn get() -> &'static Self {
        static NAMES: OnceLock<Names> = OnceLock::new();
        NAMES.get_or_init(|| Self {
            none: Name::new(""),
            scalar: Name::new("Scalar"),
            list: Name::new("ScalarList"),
            bools: [false, true].map(|value| Name::new(&Scalar::Bool(value).to_string())),
            dtypes: DType::ALL.iter().map(|dtype| Name::new(dtype.profiler_name())).collect(),
            ints: (LOWEST..=HIGHEST).map(|value| Name::new(&value.to_string())).collect(),
        })
    }

    /// The names of the type and of the value of an argument that is no tensor.
    #[inline]
    fn of_value(&self, arg: &Arg<'_>) -> (Name, Name) {
        match *arg {
            Arg::Int(value) | Arg::Scalar(Scalar::Int(value)) => (self.scalar, self.int(value)),
            Arg::Ints(values) => (self.list, Name::new(&list(values))),
            Arg::Sizes(values) => (self.list, Name::new(&list(values))),
            Arg::Float(value) => (self.scalar, Name::new(&Scalar::Float(value).to_string())),
            Arg::Bool(value) => (self.scalar, self.bools[usize::from(value)]),
            Arg::Scalar(value) => (self.scalar, Name::new(&value.to_string())),
            Arg::DType(dtype) => (self.scalar, self.int(dtype.number())),
            Arg::Tensor(_) | Arg::Tensors(_) | Arg::None => (self.none, self.none),
        }
    }

    #[inline]
    fn int(&self, value: i64) -> Name {
        if (LOWEST..=HIGHEST).contains(&value) {
            self.ints[(value - LOWEST) as usize]
        } else {
            Name::new(&value.to_string())
        }
    }
}

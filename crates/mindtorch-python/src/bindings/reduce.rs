//! Reductions.

use super::args::Args;
use super::call::{Output, bindings};
use mindtorch::{DType, Error, ErrorKind, Result, Scalar, Tensor, ops};

type Along = fn(&Tensor, i64, bool) -> Result<(Tensor, Tensor)>;

/// `max` and `min` are three operations: of all, along a dimension, and of two tensors.
fn extremum(
    a: &Args,
    name: &'static str,
    whole: fn(&Tensor) -> Result<Tensor>,
    along: Along,
    of_two: fn(&Tensor, &Tensor) -> Result<Tensor>,
) -> Result<Output> {
    match a.opt_operand(1) {
        None => whole(a.tensor(0)).map(Output::Tensor),
        Some(ops::Operand::Tensor(other)) => of_two(a.tensor(0), other).map(Output::Tensor),
        Some(ops::Operand::Scalar(Scalar::Int(dim))) => {
            along(a.tensor(0), dim, a.bool(2)).map(|(values, indices)| Output::Named(name, vec![values, indices]))
        }
        Some(_) => Err(Error::new(ErrorKind::Type, format!("{name}(): argument 'dim' must be int or Tensor"))),
    }
}

/// The correction of a variance: given as such, or as `unbiased`.
fn correction(a: &Args, unbiased: usize, correction: usize) -> f64 {
    match (a.opt_scalar(correction), a.opt_scalar(unbiased), a.opt_bool(1)) {
        (Some(correction), ..) => correction.to_f64(),
        (None, Some(unbiased), _) => unbiased.to_f64(),
        (None, None, Some(unbiased)) => f64::from(u8::from(unbiased)),
        (None, None, None) => 1.0,
    }
}

/// `norm`'s order may be a number or a name.
fn norm(a: &Args) -> Result<Tensor> {
    let p = a.opt_scalar(1).map_or(2.0, Scalar::to_f64);
    ops::norm(a.tensor(0), p, a.ints(2), a.bool(3), a.dtype(4))
}

/// A scan in place, whose type is the tensor's.
fn scan_in_place(a: &Args, scan: fn(&Tensor, i64, Option<DType>) -> Result<Tensor>) -> Result<Tensor> {
    let (target, dtype) = (a.tensor(0), a.dtype(2));
    if let Some(dtype) = dtype.filter(|&dtype| dtype != target.dtype()) {
        let (own, other) = (target.dtype().scalar_type(), dtype.scalar_type());
        let message =
            format!("Bad in-place call: input tensor dtype {own} and output tensor dtype {other} should match");
        return Err(Error::new(ErrorKind::Runtime, message));
    }
    ops::in_place(target, |x| scan(x, a.int(1), dtype))
}

bindings! {
    sum: "sum(Tensor input, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None)", Both => |a| ops::sum(a.tensor(0), a.ints(1), a.bool(2), a.dtype(3));
    mean: "mean(Tensor input, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None)", Both => |a| ops::mean(a.tensor(0), a.ints(1), a.bool(2), a.dtype(3));
    prod: "prod(Tensor input, int? dim=None, bool keepdim=False, *, dtype? dtype=None)", Both => |a| ops::prod(a.tensor(0), a.opt_int(1), a.bool(2), a.dtype(3));
    max: "max(Tensor input, Operand? dim=None, bool keepdim=False) -> Any", Both => |a| extremum(a, "max", ops::max, ops::max_along, ops::max_of_two);
    min: "min(Tensor input, Operand? dim=None, bool keepdim=False) -> Any", Both => |a| extremum(a, "min", ops::min, ops::min_along, ops::min_of_two);
    amax: "amax(Tensor input, int[] dim=[], bool keepdim=False)", Both => |a| ops::amax(a.tensor(0), a.ints(1), a.bool(2));
    amin: "amin(Tensor input, int[] dim=[], bool keepdim=False)", Both => |a| ops::amin(a.tensor(0), a.ints(1), a.bool(2));
    argmax: "argmax(Tensor input, int? dim=None, bool keepdim=False)", Both => |a| ops::argmax(a.tensor(0), a.opt_int(1), a.bool(2));
    argmin: "argmin(Tensor input, int? dim=None, bool keepdim=False)", Both => |a| ops::argmin(a.tensor(0), a.opt_int(1), a.bool(2));
    any: "any(Tensor input, int[]? dim=None, bool keepdim=False)", Both => |a| ops::any(a.tensor(0), a.ints(1), a.bool(2));
    all: "all(Tensor input, int[]? dim=None, bool keepdim=False)", Both => |a| ops::all(a.tensor(0), a.ints(1), a.bool(2));
    var: "var(Tensor input, int[]? dim=None, Scalar? unbiased=None, bool keepdim=False, *, Scalar? correction=None)", Both => |a| {
        ops::var(a.tensor(0), a.ints(1), correction(a, 2, 4), a.bool(3))
    };
    std: "std(Tensor input, int[]? dim=None, Scalar? unbiased=None, bool keepdim=False, *, Scalar? correction=None)", Both => |a| {
        ops::std(a.tensor(0), a.ints(1), correction(a, 2, 4), a.bool(3))
    };
    var_mean: "var_mean(Tensor input, int[]? dim=None, Scalar? unbiased=None, bool keepdim=False, *, Scalar? correction=None) -> Tensor[]", Function => |a| {
        ops::var_mean(a.tensor(0), a.ints(1), correction(a, 2, 4), a.bool(3)).map(|(var, mean)| vec![var, mean])
    };
    _norm: "_norm(Tensor input, Scalar? p=None, int[]? dim=None, bool keepdim=False, dtype? dtype=None)", Function => self::norm;
    logsumexp: "logsumexp(Tensor input, int[] dim, bool keepdim=False)", Both => |a| ops::logsumexp(a.tensor(0), a.ints(1), a.bool(2));
    cumsum: "cumsum(Tensor input, int dim, *, dtype? dtype=None)", Both => |a| ops::cumsum(a.tensor(0), a.int(1), a.dtype(2));
    cumsum_: "cumsum_(Tensor input, int dim, *, dtype? dtype=None)", Method => |a| scan_in_place(a, ops::cumsum);
    cumprod_: "cumprod_(Tensor input, int dim, *, dtype? dtype=None)", Method => |a| scan_in_place(a, ops::cumprod);
    cumprod: "cumprod(Tensor input, int dim, *, dtype? dtype=None)", Both => |a| ops::cumprod(a.tensor(0), a.int(1), a.dtype(2));
}

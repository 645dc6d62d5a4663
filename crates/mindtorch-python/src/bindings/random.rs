//! Random numbers.

use super::args::Args;
use super::call::bindings;
use super::{finish, unsigned};
use mindtorch::{DType, Device, Tensor, default_dtype, ops};

/// Type and device: as given, or as those of `like`, or the defaults.
fn place(a: &Args, dtype: usize, device: usize, like: Option<&Tensor>) -> (DType, Device) {
    let defaults = like.map_or_else(|| (default_dtype(), Device::Cpu), |like| (like.dtype(), like.device()));
    (a.dtype(dtype).unwrap_or(defaults.0), a.device(device).unwrap_or(defaults.1))
}

bindings! {
    rand: "rand(int[*] size, *, Generator? generator=None, dtype? dtype=None, device? device=None, bool requires_grad=False)", Function => |a| {
        let (dtype, device) = place(a, 2, 3, None);
        finish(ops::rand(&unsigned(a.ints(0))?, dtype, device, a.generator(1)), a.bool(4))
    };
    randn: "randn(int[*] size, *, Generator? generator=None, dtype? dtype=None, device? device=None, bool requires_grad=False)", Function => |a| {
        let (dtype, device) = place(a, 2, 3, None);
        finish(ops::randn(&unsigned(a.ints(0))?, dtype, device, a.generator(1)), a.bool(4))
    };
    rand_like: "rand_like(Tensor input, *, Generator? generator=None, dtype? dtype=None, device? device=None, bool requires_grad=False)", Function => |a| {
        let (dtype, device) = place(a, 2, 3, Some(a.tensor(0)));
        finish(ops::rand(a.tensor(0).shape(), dtype, device, a.generator(1)), a.bool(4))
    };
    randn_like: "randn_like(Tensor input, *, Generator? generator=None, dtype? dtype=None, device? device=None, bool requires_grad=False)", Function => |a| {
        let (dtype, device) = place(a, 2, 3, Some(a.tensor(0)));
        finish(ops::randn(a.tensor(0).shape(), dtype, device, a.generator(1)), a.bool(4))
    };
    _randint: "_randint(int low, int high, int[] size, *, Generator? generator=None, dtype? dtype=None, device? device=None, bool requires_grad=False)", Function => |a| {
        let dtype = a.dtype(4).unwrap_or(DType::Int64);
        let device = a.device(5).unwrap_or(Device::Cpu);
        finish(ops::randint(a.int(0), a.int(1), &unsigned(a.ints(2))?, dtype, device, a.generator(3)), a.bool(6))
    };
    randperm: "randperm(int n, *, Generator? generator=None, dtype? dtype=None, device? device=None, bool requires_grad=False)", Function => |a| {
        let (dtype, device) = (a.dtype(2).unwrap_or(DType::Int64), a.device(3).unwrap_or(Device::Cpu));
        finish(ops::randperm(unsigned(&[a.int(0)])?[0], dtype, device, a.generator(1)), a.bool(4))
    };
    uniform_: "uniform_(Tensor input, float from=0.0, float to=1.0, *, Generator? generator=None)", Method => |a| {
        ops::uniform_(a.tensor(0), a.float(1), a.float(2), a.generator(3))
    };
    normal_: "normal_(Tensor input, float mean=0.0, float std=1.0, *, Generator? generator=None)", Method => |a| {
        ops::normal_(a.tensor(0), a.float(1), a.float(2), a.generator(3))
    };
    exponential_: "exponential_(Tensor input, float lambd=1.0, *, Generator? generator=None)", Method => |a| {
        ops::exponential_(a.tensor(0), a.float(1), a.generator(2))
    };
    bernoulli_: "bernoulli_(Tensor input, float p=0.5, *, Generator? generator=None)", Method => |a| {
        ops::bernoulli_(a.tensor(0), a.float(1), a.generator(2))
    };
    bernoulli: "bernoulli(Tensor input, *, Generator? generator=None)", Both => |a| ops::bernoulli(a.tensor(0), a.generator(1));
    random_: "random_(Tensor input, int? from=None, int? to=None, *, Generator? generator=None)", Method => |a| {
        let (low, high) = match (a.opt_int(1), a.opt_int(2)) {
            (Some(high), None) => (0, Some(high)),
            (low, high) => (low.unwrap_or(0), high),
        };
        ops::random_(a.tensor(0), low, high, a.generator(3))
    };
}

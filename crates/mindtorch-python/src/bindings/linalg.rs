//! Products of matrices.

use super::call::bindings;
use mindtorch::ops;

bindings! {
    mm: "mm(Tensor input, Tensor mat2)", Both => |a| ops::mm(a.tensor(0), a.tensor(1));
    bmm: "bmm(Tensor input, Tensor mat2)", Both => |a| ops::bmm(a.tensor(0), a.tensor(1));
    mv: "mv(Tensor input, Tensor vec)", Both => |a| ops::mv(a.tensor(0), a.tensor(1));
    dot: "dot(Tensor input, Tensor tensor)", Both => |a| ops::dot(a.tensor(0), a.tensor(1));
    matmul: "matmul(Tensor input, Tensor other)", Both => |a| ops::matmul(a.tensor(0), a.tensor(1));
    addmm: "addmm(Tensor input, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1)", Both => |a| {
        ops::addmm(a.tensor(0), a.tensor(1), a.tensor(2), a.scalar(3), a.scalar(4))
    };
    addmm_: "addmm_(Tensor input, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1)", Method => |a| {
        ops::in_place(a.tensor(0), |x| ops::addmm(x, a.tensor(1), a.tensor(2), a.scalar(3), a.scalar(4)))
    };
    baddbmm: "baddbmm(Tensor input, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1)", Both => |a| {
        ops::baddbmm(a.tensor(0), a.tensor(1), a.tensor(2), a.scalar(3), a.scalar(4))
    };
    baddbmm_: "baddbmm_(Tensor input, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1)", Method => |a| {
        ops::in_place(a.tensor(0), |x| ops::baddbmm(x, a.tensor(1), a.tensor(2), a.scalar(3), a.scalar(4)))
    };
    linear: "linear(Tensor input, Tensor weight, Tensor? bias=None)", Function => |a| ops::linear(a.tensor(0), a.tensor(1), a.opt_tensor(2));
    _einsum: "_einsum(str equation, Tensor[] operands)", Function => |a| ops::einsum(a.text(0), a.tensors(1));
}

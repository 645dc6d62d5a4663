//! Numbers looked up, put and sorted.

use super::call::{Output, bindings};
use mindtorch::ops;

bindings! {
    gather: "gather(Tensor input, int dim, Tensor index)", Both => |a| ops::gather(a.tensor(0), a.int(1), a.tensor(2));
    scatter: "scatter(Tensor input, int dim, Tensor index, Operand src)", Both => |a| ops::scatter(a.tensor(0), a.int(1), a.tensor(2), a.operand(3));
    scatter_: "scatter_(Tensor input, int dim, Tensor index, Operand src)", Method => |a| ops::scatter_(a.tensor(0), a.int(1), a.tensor(2), a.operand(3));
    scatter_add: "scatter_add(Tensor input, int dim, Tensor index, Tensor src)", Both => |a| ops::scatter_add(a.tensor(0), a.int(1), a.tensor(2), a.tensor(3));
    scatter_add_: "scatter_add_(Tensor input, int dim, Tensor index, Tensor src)", Method => |a| ops::scatter_add_(a.tensor(0), a.int(1), a.tensor(2), a.tensor(3));
    take_along_dim: "take_along_dim(Tensor input, Tensor indices, int? dim=None)", Both => |a| ops::take_along_dim(a.tensor(0), a.tensor(1), a.opt_int(2));
    index_select: "index_select(Tensor input, int dim, Tensor index)", Both => |a| ops::index_select(a.tensor(0), a.int(1), a.tensor(2));
    index_add: "index_add(Tensor input, int dim, Tensor index, Tensor source, *, Scalar alpha=1)", Both => |a| ops::index_add(a.tensor(0), a.int(1), a.tensor(2), a.tensor(3), a.scalar(4));
    index_add_: "index_add_(Tensor input, int dim, Tensor index, Tensor source, *, Scalar alpha=1)", Method => |a| ops::index_add_(a.tensor(0), a.int(1), a.tensor(2), a.tensor(3), a.scalar(4));
    index_copy: "index_copy(Tensor input, int dim, Tensor index, Tensor source)", Both => |a| ops::index_copy(a.tensor(0), a.int(1), a.tensor(2), a.tensor(3));
    index_copy_: "index_copy_(Tensor input, int dim, Tensor index, Tensor source)", Method => |a| ops::index_copy_(a.tensor(0), a.int(1), a.tensor(2), a.tensor(3));
    index_fill: "index_fill(Tensor input, int dim, Tensor index, Operand value)", Both => |a| ops::index_fill(a.tensor(0), a.int(1), a.tensor(2), a.operand(3));
    index_fill_: "index_fill_(Tensor input, int dim, Tensor index, Operand value)", Method => |a| ops::index_fill_(a.tensor(0), a.int(1), a.tensor(2), a.operand(3));
    masked_fill: "masked_fill(Tensor input, Tensor mask, Operand value)", Both => |a| ops::masked_fill(a.tensor(0), a.tensor(1), a.operand(2));
    masked_fill_: "masked_fill_(Tensor input, Tensor mask, Operand value)", Method => |a| ops::masked_fill_(a.tensor(0), a.tensor(1), a.operand(2));
    masked_select: "masked_select(Tensor input, Tensor mask)", Both => |a| ops::masked_select(a.tensor(0), a.tensor(1));
    masked_scatter: "masked_scatter(Tensor input, Tensor mask, Tensor source)", Both => |a| ops::masked_scatter(a.tensor(0), a.tensor(1), a.tensor(2));
    masked_scatter_: "masked_scatter_(Tensor input, Tensor mask, Tensor source)", Method => |a| ops::masked_scatter_(a.tensor(0), a.tensor(1), a.tensor(2));
    _index_put_: "_index_put_(Tensor input, Tensor[] indices, Tensor values, bool accumulate=False)", Function => |a| {
        let indices: Vec<Option<mindtorch::Tensor>> = a.tensors(1).iter().cloned().map(Some).collect();
        ops::index_put_(a.tensor(0), &indices, a.tensor(2), a.bool(3))
    };
    nonzero: "nonzero(Tensor input, *, bool as_tuple=False) -> Any", Both => |a| {
        if a.bool(1) { ops::nonzero_numpy(a.tensor(0)).map(Output::Tensors) } else { ops::nonzero(a.tensor(0)).map(Output::Tensor) }
    };
    embedding: "embedding(Tensor weight, Tensor indices, int padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False)", Function => |a| {
        ops::embedding(a.tensor(0), a.tensor(1), a.int(2), a.bool(3), a.bool(4))
    };
    one_hot: "one_hot(Tensor tensor, int num_classes=-1)", Function => |a| ops::one_hot(a.tensor(0), a.int(1));
    sort: "sort(Tensor input, int dim=-1, bool descending=False, bool stable=False) -> Any", Both => |a| {
        ops::sort(a.tensor(0), a.int(1), a.bool(2), Some(a.bool(3))).map(|(values, indices)| Output::Named("sort", vec![values, indices]))
    };
    argsort: "argsort(Tensor input, int dim=-1, bool descending=False, bool stable=False)", Both => |a| ops::argsort(a.tensor(0), a.int(1), a.bool(2), Some(a.bool(3)));
    topk: "topk(Tensor input, int k, int dim=-1, bool largest=True, bool sorted=True) -> Any", Both => |a| {
        ops::topk(a.tensor(0), a.int(1), a.int(2), a.bool(3), a.bool(4)).map(|(values, indices)| Output::Named("topk", vec![values, indices]))
    };
}

//! Views, and tensors put together.

use super::call::{Output, bindings};
use super::unsigned;
use mindtorch::ops;

bindings! {
    flip: "flip(Tensor input, int[*] dims)", Both => |a| ops::flip(a.tensor(0), a.ints(1));
    roll: "roll(Tensor input, int[] shifts, int[] dims=[])", Both => |a| ops::roll(a.tensor(0), a.ints(1), a.ints(2));
    tril: "tril(Tensor input, int diagonal=0)", Both => |a| ops::tril(a.tensor(0), a.int(1));
    tril_: "tril_(Tensor input, int diagonal=0)", Method => |a| ops::in_place(a.tensor(0), |x| ops::tril(x, a.int(1)));
    triu: "triu(Tensor input, int diagonal=0)", Both => |a| ops::triu(a.tensor(0), a.int(1));
    triu_: "triu_(Tensor input, int diagonal=0)", Method => |a| ops::in_place(a.tensor(0), |x| ops::triu(x, a.int(1)));
    diagonal: "diagonal(Tensor input, int offset=0, int dim1=0, int dim2=1)", Both => |a| ops::diagonal(a.tensor(0), a.int(1), a.int(2), a.int(3));
    view: "view(Tensor input, int[*] size)", Method => |a| ops::view(a.tensor(0), a.ints(1));
    reshape: "reshape(Tensor input, int[*] shape)", Both => |a| ops::reshape(a.tensor(0), a.ints(1));
    view_as: "view_as(Tensor input, Tensor other)", Method => |a| ops::view_as(a.tensor(0), a.tensor(1));
    reshape_as: "reshape_as(Tensor input, Tensor other)", Method => |a| ops::reshape_as(a.tensor(0), a.tensor(1));
    flatten: "flatten(Tensor input, int start_dim=0, int end_dim=-1)", Both => |a| ops::flatten(a.tensor(0), a.int(1), a.int(2));
    unflatten: "unflatten(Tensor input, int dim, int[] sizes)", Both => |a| ops::unflatten(a.tensor(0), a.int(1), a.ints(2));
    ravel: "ravel(Tensor input)", Both => |a| ops::reshape(a.tensor(0), &[-1]);
    transpose: "transpose(Tensor input, int dim0, int dim1)", Both => |a| ops::transpose(a.tensor(0), a.int(1), a.int(2));
    swapaxes: "swapaxes(Tensor input, int axis0, int axis1)", Both => |a| ops::swapaxes(a.tensor(0), a.int(1), a.int(2));
    t: "t(Tensor input)", Both => |a| ops::t(a.tensor(0));
    permute: "permute(Tensor input, int[*] dims)", Both => |a| ops::permute(a.tensor(0), a.ints(1));
    movedim: "movedim(Tensor input, int[] source, int[] destination)", Both => |a| ops::movedim(a.tensor(0), a.ints(1), a.ints(2));
    squeeze: "squeeze(Tensor input, int[]? dim=None)", Both => |a| ops::squeeze(a.tensor(0), a.opt_ints(1));
    unsqueeze: "unsqueeze(Tensor input, int dim)", Both => |a| ops::unsqueeze(a.tensor(0), a.int(1));
    expand: "expand(Tensor input, int[*] size)", Method => |a| ops::expand(a.tensor(0), a.ints(1));
    expand_as: "expand_as(Tensor input, Tensor other)", Method => |a| ops::expand_as(a.tensor(0), a.tensor(1));
    broadcast_to: "broadcast_to(Tensor input, int[] size)", Both => |a| ops::broadcast_to(a.tensor(0), a.ints(1));
    select: "select(Tensor input, int dim, int index)", Both => |a| ops::select(a.tensor(0), a.int(1), a.int(2));
    narrow: "narrow(Tensor input, int dim, int start, int length)", Both => |a| ops::narrow(a.tensor(0), a.int(1), a.int(2), a.int(3));
    unbind: "unbind(Tensor input, int dim=0) -> Tensor[]", Both => |a| ops::unbind(a.tensor(0), a.int(1));
    split_with_sizes: "split_with_sizes(Tensor input, int[] split_sizes, int dim=0) -> Tensor[]", Both => |a| ops::split_with_sizes(a.tensor(0), a.ints(1), a.int(2));
    split: "split(Tensor tensor, int[] split_size_or_sections, int dim=0) -> Tensor[]", Both => |a| match a.ints(1) {
        [size] => ops::split(a.tensor(0), *size, a.int(2)),
        sizes => ops::split_with_sizes(a.tensor(0), sizes, a.int(2)),
    };
    chunk: "chunk(Tensor input, int chunks, int dim=0) -> Tensor[]", Both => |a| ops::chunk(a.tensor(0), a.int(1), a.int(2));
    as_strided: "as_strided(Tensor input, int[] size, int[] stride, int? storage_offset=None)", Both => |a| {
        ops::as_strided(a.tensor(0), &unsigned(a.ints(1))?, &unsigned(a.ints(2))?, a.opt_int(3).map(|offset| offset as usize))
    };
    cat: "cat(Tensor[] tensors, int dim=0)", Function => |a| ops::cat(a.tensors(0), a.int(1));
    concat: "concat(Tensor[] tensors, int dim=0)", Function => |a| ops::concat(a.tensors(0), a.int(1));
    stack: "stack(Tensor[] tensors, int dim=0)", Function => |a| ops::stack(a.tensors(0), a.int(1));
    repeat: "repeat(Tensor input, int[*] repeats)", Method => |a| ops::repeat(a.tensor(0), a.ints(1));
    contiguous: "contiguous(Tensor input)", Method => |a| ops::contiguous(a.tensor(0));
    clone: "clone(Tensor input)", Both => |a| ops::clone(a.tensor(0));
    detach: "detach(Tensor input)", Both => |a| ops::detach(a.tensor(0));
    copy_: "copy_(Tensor input, Tensor src, bool non_blocking=False)", Method => |a| ops::copy_(a.tensor(0), a.tensor(1));
    broadcast_tensors: "broadcast_tensors(Tensor[] tensors) -> Tensor[]", Function => |a| {
        ops::broadcast_tensors(a.tensors(0)).map(Output::Tensors)
    };
}

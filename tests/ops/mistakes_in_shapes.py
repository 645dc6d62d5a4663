"""Shapes that do not go together, and dimensions that are not there."""

from __future__ import annotations

from tests.ops.mistake import Mistake

BROADCASTING = [
    Mistake(
        "add",
        lambda torch: torch.zeros(2, 3) + torch.zeros(2, 4),
        RuntimeError,
        "The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 1",
    ),
    Mistake(
        "where",
        lambda torch: torch.where(torch.zeros(2) > 0, torch.zeros(3), torch.zeros(2)),
        RuntimeError,
        "The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 0",
        ("must match the size of tensor b", "at non-singleton dimension 0"),
    ),
    Mistake(
        "mse_loss",
        lambda torch: torch.nn.functional.mse_loss(torch.zeros(2, 3), torch.zeros(4)),
        RuntimeError,
        "The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 1",
    ),
    Mistake(
        "an in-place operation that would grow",
        lambda torch: torch.zeros(3).mul_(torch.zeros(2, 3)),
        RuntimeError,
        "output with shape [3] doesn't match the broadcast shape [2, 3]",
    ),
    Mistake(
        "copy_",
        lambda torch: torch.zeros(2).copy_(torch.zeros(3)),
        RuntimeError,
        "The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 0",
    ),
    Mistake(
        "expand",
        lambda torch: torch.zeros(3).expand(4),
        RuntimeError,
        "The expanded size of the tensor (4) must match the existing size (3) at non-singleton dimension 0.  "
        "Target sizes: [4].  Tensor sizes: [3]",
    ),
    Mistake(
        "expand to fewer dimensions",
        lambda torch: torch.zeros(2, 3).expand(3),
        RuntimeError,
        "expand(torch.FloatTensor{[2, 3]}, size=[3]): the number of sizes provided (1) must be greater or equal to "
        "the number of dimensions in the tensor (2)",
        ("the number of sizes provided (1) must be greater or equal to the number of dimensions in the tensor (2)",),
    ),
]

PRODUCTS = [
    Mistake(
        "mm",
        lambda torch: torch.mm(torch.zeros(2, 3), torch.zeros(4, 5)),
        RuntimeError,
        "mm: mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)",
        ("mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)",),
    ),
    Mistake(
        "mm of a vector",
        lambda torch: torch.mm(torch.zeros(3), torch.zeros(3, 2)),
        RuntimeError,
        "mm: self must be a matrix, got 1-D tensor",
        ("self must be a matrix",),
    ),
    Mistake(
        "matmul",
        lambda torch: torch.zeros(2, 3) @ torch.zeros(4, 5),
        RuntimeError,
        "mm: mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)",
        ("mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)",),
    ),
    Mistake(
        "matmul with a vector",
        lambda torch: torch.zeros(2, 3) @ torch.zeros(4),
        RuntimeError,
        "size mismatch, got input (2), mat (2x3), vec (4)",
        ("size mismatch", "mat (2x3), vec (4)"),
    ),
    Mistake(
        "matmul of a number",
        lambda torch: torch.zeros(()) @ torch.zeros(3),
        RuntimeError,
        "both arguments to matmul need to be at least 1D, but they are 0D and 1D",
    ),
    Mistake(
        "bmm",
        lambda torch: torch.bmm(torch.zeros(2, 3, 4), torch.zeros(2, 5, 6)),
        RuntimeError,
        "Expected size for first two dimensions of batch2 tensor to be: [2, 4] but got: [2, 5].",
    ),
    Mistake(
        "bmm of matrices",
        lambda torch: torch.bmm(torch.zeros(3, 4), torch.zeros(4, 5)),
        RuntimeError,
        "batch1 must be a 3D tensor",
    ),
    Mistake(
        "dot",
        lambda torch: torch.dot(torch.zeros(3), torch.zeros(4)),
        RuntimeError,
        "inconsistent tensor size, expected tensor [3] and src [4] to have the same number of elements, but got 3 and "
        "4 elements respectively",
    ),
    Mistake(
        "linear",
        lambda torch: torch.nn.functional.linear(torch.zeros(2, 3), torch.zeros(5, 4)),
        RuntimeError,
        "mm: mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)",
        ("mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)",),
    ),
    Mistake(
        "einsum",
        lambda torch: torch.einsum("ij,jk->ik", torch.zeros(2, 3), torch.zeros(4, 5)),
        RuntimeError,
        "einsum(): subscript j has size 4 for operand 1 which does not broadcast with previously seen size 3",
    ),
    Mistake(
        "einsum without an operand",
        lambda torch: torch.einsum("ij,jk", torch.zeros(2, 3)),
        RuntimeError,
        "einsum(): fewer operands were provided than specified in the equation",
    ),
    Mistake(
        "conv2d",
        lambda torch: torch.nn.functional.conv2d(torch.zeros(1, 2, 4, 4), torch.zeros(3, 3, 3, 3)),
        RuntimeError,
        "Given groups=1, weight of size [3, 3, 3, 3], expected input[1, 2, 4, 4] to have 3 channels, but got 2 "
        "channels instead",
    ),
    Mistake(
        "conv2d of a small image",
        lambda torch: torch.nn.functional.conv2d(torch.zeros(1, 2, 2, 2), torch.zeros(3, 2, 3, 3)),
        RuntimeError,
        "Calculated padded input size per channel: (2 x 2). Kernel size: (3 x 3). Kernel size can't be greater than "
        "actual input size",
    ),
]

RESHAPING = [
    Mistake(
        "view",
        lambda torch: torch.zeros(2, 3).view(4),
        RuntimeError,
        "shape '[4]' is invalid for input of size 6",
    ),
    Mistake(
        "view with two unknowns",
        lambda torch: torch.zeros(2, 3).view(-1, -1),
        RuntimeError,
        "only one dimension can be inferred",
    ),
    Mistake(
        "view across strides",
        lambda torch: torch.zeros(2, 3).t().view(6),
        RuntimeError,
        "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
        "contiguous subspaces). Use .reshape(...) instead.",
    ),
    Mistake(
        "reshape",
        lambda torch: torch.zeros(2, 3).reshape(4, -1),
        RuntimeError,
        "shape '[4, -1]' is invalid for input of size 6",
    ),
    Mistake(
        "reshape of nothing",
        lambda torch: torch.zeros(0, 3).reshape(0, -1),
        RuntimeError,
        "cannot reshape tensor of 0 elements into shape [0, -1] because the unspecified dimension size -1 can be any "
        "value and is ambiguous",
    ),
    Mistake(
        "cat",
        lambda torch: torch.cat([torch.zeros(2, 3), torch.zeros(2, 4)]),
        RuntimeError,
        "Sizes of tensors must match except in dimension 0. Expected size 3 but got size 4 for tensor number 1 in the "
        "list.",
    ),
    Mistake(
        "cat of dimensions",
        lambda torch: torch.cat([torch.zeros(2, 3), torch.zeros(2)]),
        RuntimeError,
        "Tensors must have same number of dimensions: got 2 and 1",
    ),
    Mistake(
        "cat of numbers",
        lambda torch: torch.cat([torch.zeros(()), torch.zeros(())]),
        RuntimeError,
        "zero-dimensional tensor (at position 0) cannot be concatenated",
    ),
    Mistake(
        "stack",
        lambda torch: torch.stack([torch.zeros(2), torch.zeros(3)]),
        RuntimeError,
        "stack expects each tensor to be equal size, but got [2] at entry 0 and [3] at entry 1",
    ),
    Mistake(
        "split",
        lambda torch: torch.zeros(5).split([2, 2]),
        RuntimeError,
        "split_with_sizes expects split_sizes to sum exactly to 5 (input tensor's size at dimension 0), but got "
        "split_sizes=[2, 2]",
    ),
    Mistake(
        "narrow",
        lambda torch: torch.zeros(3).narrow(0, 2, 2),
        RuntimeError,
        "start (2) + length (2) exceeds dimension size (3).",
    ),
    Mistake(
        "t",
        lambda torch: torch.zeros(2, 3, 4).t(),
        RuntimeError,
        "t() expects a tensor with <= 2 dimensions, but self is 3D",
    ),
    Mistake(
        "permute",
        lambda torch: torch.zeros(2, 3).permute(0, 0),
        RuntimeError,
        "permute(): duplicate dims are not allowed.",
    ),
    Mistake(
        "layer_norm",
        lambda torch: torch.nn.functional.layer_norm(torch.zeros(2, 3), (4,)),
        RuntimeError,
        "Given normalized_shape=[4], expected input with shape [*, 4], but got input of size[2, 3]",
    ),
]

DIMENSIONS = [
    Mistake(
        "sum over a dimension that is not there",
        lambda torch: torch.zeros(2, 3).sum(2),
        IndexError,
        "Dimension out of range (expected to be in range of [-2, 1], but got 2)",
    ),
    Mistake(
        "a dimension too negative",
        lambda torch: torch.zeros(2, 3).transpose(0, -3),
        IndexError,
        "Dimension out of range (expected to be in range of [-2, 1], but got -3)",
    ),
    Mistake(
        "a dimension of a number",
        lambda torch: torch.zeros(()).sum(1),
        IndexError,
        "Dimension out of range (expected to be in range of [-1, 0], but got 1)",
    ),
    Mistake(
        "unsqueeze",
        lambda torch: torch.zeros(2, 3).unsqueeze(4),
        IndexError,
        "Dimension out of range (expected to be in range of [-3, 2], but got 4)",
    ),
    Mistake(
        "a dimension twice",
        lambda torch: torch.zeros(2, 3).sum((0, 0)),
        RuntimeError,
        "dim 0 appears multiple times in the list of dims",
    ),
    Mistake(
        "max of nothing",
        lambda torch: torch.zeros(0).max(),
        RuntimeError,
        "max(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the "
        "'dim' argument.",
    ),
    Mistake(
        "max over nothing",
        lambda torch: torch.zeros(0, 3).max(0),
        IndexError,
        "max(): Expected reduction dim 0 to have non-zero size.",
    ),
]

MISTAKES = BROADCASTING + PRODUCTS + RESHAPING + DIMENSIONS

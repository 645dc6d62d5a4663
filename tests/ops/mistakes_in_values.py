"""Values of the wrong dtype or outside their range."""

from __future__ import annotations

from tests.ops.mistake import Mistake

DTYPES = [
    Mistake(
        "embedding of floats",
        lambda torch: torch.nn.functional.embedding(torch.zeros(2), torch.zeros(5, 3)),
        RuntimeError,
        "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
        "torch.FloatTensor instead (while checking arguments for embedding)",
        ("'indices' to have one of the following scalar types: Long, Int; but got", "FloatTensor"),
    ),
    Mistake(
        "nll_loss of floats",
        lambda torch: torch.nn.functional.nll_loss(torch.zeros(2, 3), torch.zeros(2)),
        RuntimeError,
        "expected target dtype to be Long or Byte, but got Float",
        ("expected", "Long", "Float"),
    ),
    Mistake(
        "cross_entropy of floats",
        lambda torch: torch.nn.functional.cross_entropy(torch.zeros(2, 3), torch.zeros(2)),
        RuntimeError,
        "expected target dtype to be Long or Byte, but got Float",
        ("expected", "Long", "Float"),
    ),
    Mistake(
        "mean of integers",
        lambda torch: torch.arange(3).mean(),
        RuntimeError,
        "mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: Long",
    ),
    Mistake(
        "var of integers",
        lambda torch: torch.arange(3).var(),
        RuntimeError,
        "std and var only support floating point and complex dtypes",
    ),
    Mistake(
        "mm of float and double",
        lambda torch: torch.mm(torch.zeros(2, 3), torch.zeros(3, 2, dtype=torch.float64)),
        RuntimeError,
        "expected m1 and m2 to have the same dtype, but got: float != double",
    ),
    Mistake(
        "linear of float and double",
        lambda torch: torch.nn.functional.linear(torch.zeros(2, 3), torch.zeros(5, 3, dtype=torch.float64)),
        RuntimeError,
        "expected m1 and m2 to have the same dtype, but got: float != double",
        ("to have the same dtype", "float", "double"),
    ),
    Mistake(
        "dot of float and double",
        lambda torch: torch.dot(torch.zeros(3), torch.zeros(3, dtype=torch.float64)),
        RuntimeError,
        "dot : expected both vectors to have same dtype, but found Float and Double",
        ("expected both vectors to have same dtype, but found Float and Double",),
    ),
    Mistake(
        "adding a float to integers in place",
        lambda torch: torch.zeros(3, dtype=torch.int64).add_(1.5),
        RuntimeError,
        "result type Float can't be cast to the desired output type Long",
    ),
    Mistake(
        "where by numbers",
        lambda torch: torch.where(torch.zeros(2), torch.zeros(2), torch.zeros(2)),
        RuntimeError,
        "where expected condition to be a boolean tensor, but got a tensor with dtype Float",
    ),
    Mistake(
        "masked_fill by numbers",
        lambda torch: torch.zeros(3).masked_fill(torch.zeros(3), 1.0),
        RuntimeError,
        "masked_fill_ only supports boolean masks, but got mask with dtype float",
        ("only supports boolean masks, but got mask with dtype float",),
    ),
    Mistake(
        "scatter of doubles",
        lambda torch: torch.zeros(3).scatter(0, torch.tensor([0]), torch.zeros(1, dtype=torch.float64)),
        RuntimeError,
        "scatter(): Expected self.dtype to be equal to src.dtype",
    ),
    Mistake(
        "gather with floats",
        lambda torch: torch.zeros(3).gather(0, torch.zeros(2)),
        RuntimeError,
        "gather(): Expected dtype int32/int64 for index",
    ),
    Mistake(
        "subtraction of truth values",
        lambda torch: torch.tensor([True]) - torch.tensor([False]),
        RuntimeError,
        "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` "
        "operator instead.",
    ),
    Mistake(
        "bits of floats",
        lambda torch: torch.zeros(2) & torch.zeros(2),
        RuntimeError,
        "\"bitwise_and_cpu\" not implemented for 'Float'",
        ("bitwise_and", "not implemented for 'Float'"),
    ),
]

RANGES = [
    Mistake(
        "an index", lambda torch: torch.zeros(3)[3], IndexError, "index 3 is out of bounds for dimension 0 with size 3"
    ),
    Mistake(
        "a negative index",
        lambda torch: torch.zeros(2, 3)[0, -4],
        IndexError,
        "index -4 is out of bounds for dimension 1 with size 3",
    ),
    Mistake(
        "a tensor of indices",
        lambda torch: torch.zeros(3)[torch.tensor([3])],
        IndexError,
        "index 3 is out of bounds for dimension 0 with size 3",
    ),
    Mistake(
        "too many indices", lambda torch: torch.zeros(3)[0, 0], IndexError, "too many indices for tensor of dimension 1"
    ),
    Mistake(
        "an index of a number",
        lambda torch: torch.zeros(())[0],
        IndexError,
        "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a "
        "0-dim tensor to a number",
        ("invalid index of a 0-dim tensor. Use `tensor.item()`",),
    ),
    Mistake(
        "a mask of another size",
        lambda torch: torch.zeros(3)[torch.tensor([True, False])],
        IndexError,
        "The shape of the mask [2] at index 0 does not match the shape of the indexed tensor [3] at index 0",
    ),
    Mistake(
        "an index of a wrong type",
        lambda torch: torch.zeros(3)[1.5],
        IndexError,
        "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got float)",
        ("only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices",),
    ),
    Mistake(
        "floats as indices",
        lambda torch: torch.zeros(3)[torch.zeros(2)],
        IndexError,
        "tensors used as indices must be long, int, byte or bool tensors",
    ),
    Mistake("a step backwards", lambda torch: torch.zeros(3)[::-1], ValueError, "step must be greater than zero"),
    Mistake(
        "indices that do not broadcast",
        lambda torch: torch.zeros(3, 3)[[0, 1], [0, 1, 2]],
        IndexError,
        "shape mismatch: indexing tensors could not be broadcast together with shapes [2], [3]",
    ),
    Mistake(
        "writing another shape",
        lambda torch: torch.zeros(2, 3).__setitem__([0, 1], torch.zeros(2)),
        RuntimeError,
        "shape mismatch: value tensor of shape [2] cannot be broadcast to indexing result of shape [2, 3]",
    ),
    Mistake(
        "select",
        lambda torch: torch.zeros(3).select(0, 3),
        IndexError,
        "select(): index 3 out of range for tensor of size [3] at dimension 0",
    ),
    Mistake(
        "gather",
        lambda torch: torch.zeros(3).gather(0, torch.tensor([3])),
        RuntimeError,
        "index 3 is out of bounds for dimension 0 with size 3",
    ),
    Mistake(
        "embedding",
        lambda torch: torch.nn.functional.embedding(torch.tensor([5]), torch.zeros(5, 3)),
        IndexError,
        "index out of range in self",
    ),
    Mistake(
        "a class",
        lambda torch: torch.nn.functional.nll_loss(torch.zeros(2, 3), torch.tensor([0, 3])),
        IndexError,
        "Target 3 is out of bounds.",
    ),
    Mistake(
        "a batch of classes",
        lambda torch: torch.nn.functional.cross_entropy(torch.zeros(2, 3), torch.tensor([0, 1, 2])),
        ValueError,
        "Expected input batch_size (2) to match target batch_size (3).",
    ),
    Mistake("topk", lambda torch: torch.zeros(3).topk(4), RuntimeError, "selected index k out of range"),
    Mistake(
        "one_hot",
        lambda torch: torch.nn.functional.one_hot(torch.tensor([3]), 2),
        RuntimeError,
        "Class values must be smaller than num_classes.",
    ),
    Mistake(
        "a probability",
        lambda torch: torch.nn.functional.dropout(torch.zeros(3), 1.5),
        ValueError,
        "dropout probability has to be between 0 and 1, but got 1.5",
    ),
    Mistake(
        "division of integers by zero",
        lambda torch: torch.tensor([1]) // torch.tensor([0]),
        RuntimeError,
        "ZeroDivisionError",
    ),
    Mistake(
        "integers to a negative power",
        lambda torch: torch.tensor([2]) ** -1,
        RuntimeError,
        "Integers to negative integer powers are not allowed.",
    ),
]

MISTAKES = DTYPES + RANGES

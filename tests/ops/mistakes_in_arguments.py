"""More than one value where one is wanted, and arguments that mean nothing."""

from __future__ import annotations

from tests.ops.mistake import Mistake

NUMBERS = [
    Mistake(
        "item",
        lambda torch: torch.zeros(2).item(),
        RuntimeError,
        "a Tensor with 2 elements cannot be converted to Scalar",
    ),
    Mistake(
        "bool",
        lambda torch: bool(torch.zeros(2)),
        RuntimeError,
        "Boolean value of Tensor with more than one value is ambiguous",
    ),
    Mistake(
        "bool of nothing",
        lambda torch: bool(torch.zeros(0)),
        RuntimeError,
        "Boolean value of Tensor with no values is ambiguous",
    ),
    Mistake(
        "float",
        lambda torch: float(torch.zeros(2)),
        ValueError,
        "only one element tensors can be converted to Python scalars",
    ),
    Mistake("len", lambda torch: len(torch.zeros(())), TypeError, "len() of a 0-d tensor"),
    Mistake("iter", lambda torch: iter(torch.zeros(())), TypeError, "iteration over a 0-d tensor"),
]

ARGUMENTS = [
    Mistake(
        "a ragged list",
        lambda torch: torch.tensor([[1, 2], [3]]),
        ValueError,
        "expected sequence of length 2 at dim 1 (got 1)",
    ),
    Mistake("a list of None", lambda torch: torch.tensor([None]), RuntimeError, "Could not infer dtype of NoneType"),
    Mistake("a list of strings", lambda torch: torch.tensor(["a"]), ValueError, "too many dimensions 'str'"),
    Mistake(
        "an unknown keyword",
        lambda torch: torch.zeros(2, foo=1),
        TypeError,
        "zeros() got an unexpected keyword argument 'foo'",
        ("unexpected keyword argument 'foo'",),
    ),
    Mistake(
        "adding a string",
        lambda torch: torch.zeros(2) + "a",
        TypeError,
        "unsupported operand type(s) for +: 'Tensor' and 'str'",
        ("unsupported operand type(s) for +: ", "Tensor' and 'str'"),
    ),
    Mistake(
        "an argument of a wrong type",
        lambda torch: torch.add(torch.zeros(2), "a"),
        TypeError,
        "add(): argument 'other' (position 2) must be Tensor, not str",
        ("'other'", "must be Tensor, not str"),
    ),
    Mistake(
        "an unknown attribute",
        lambda torch: torch.zeros(2).foo,
        AttributeError,
        "'Tensor' object has no attribute 'foo'",
        ("Tensor' object has no attribute 'foo'",),
    ),
    Mistake(
        "arange",
        lambda torch: torch.arange(0, 5, -1),
        RuntimeError,
        "upper bound and lower bound inconsistent with step sign",
    ),
    Mistake(
        "rounding_mode",
        lambda torch: torch.div(torch.zeros(2), torch.zeros(2), rounding_mode="up"),
        RuntimeError,
        "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found 'up'",
    ),
    Mistake(
        "approximate",
        lambda torch: torch.nn.functional.gelu(torch.zeros(2), approximate="fast"),
        RuntimeError,
        "approximate argument must be either none or tanh.",
    ),
    Mistake(
        "reduction",
        lambda torch: torch.nn.functional.mse_loss(torch.zeros(2), torch.zeros(2), reduction="avg"),
        ValueError,
        "avg is not a valid value for reduction",
    ),
    Mistake(
        "clamp without bounds",
        lambda torch: torch.zeros(2).clamp(),
        RuntimeError,
        "torch.clamp: At least one of 'min' or 'max' must not be None",
        ("At least one of 'min' or 'max' must not be None",),
    ),
]

MISTAKES = NUMBERS + ARGUMENTS

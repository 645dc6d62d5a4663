"""Runs a case with a library: its results, their gradients, and the gradients of those."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.ops.spec import Data, Name, T, t

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.ops.op import Case


@dataclass(frozen=True)
class Inputs:
    """The arguments of a call, the tensors that own their memory, and those that gradients are taken for."""

    args: list[Any]
    kwargs: dict[str, Any]
    bases: list[Any]
    leaves: list[Any]


def build(
    lib: Any,
    case: Case,
    *,
    data: Sequence[Data] | None = None,
    grad: bool = False,
    fresh: bool = False,
    device: str = "cpu",
) -> Inputs:
    """Make the tensors of a case. `fresh` ones are copies of the leaves, to be changed in place."""
    remaining = iter(case.data() if data is None else data)
    bases: list[Any] = []
    leaves: list[Any] = []

    def make(value: Any) -> Any:
        if isinstance(value, T):
            one = next(remaining)
            base = one.tensor(lib, device)
            bases.append(base)
            if grad and one.differentiable:
                leaves.append(base.requires_grad_())
            return value.view_of(base.clone() if fresh else base)
        if isinstance(value, (list, tuple)):
            return type(value)(make(element) for element in value)
        return getattr(lib, value.name) if isinstance(value, Name) else value

    args = [make(arg) for arg in case.sample.args]
    return Inputs(args, {name: make(value) for name, value in case.sample.kwargs.items()}, bases, leaves)


def call(lib: Any, case: Case, inputs: Inputs) -> Any:
    """The result of the first form that the operator has."""
    return next(iter(case.op.forms(lib, inputs.args, inputs.kwargs).values()))()


def call_inplace(case: Case, inputs: Inputs) -> Any:
    changed = getattr(inputs.args[0], f"{case.op.last_name}_")(*inputs.args[1:], **inputs.kwargs)
    assert changed is inputs.args[0], "an in-place form returns its tensor"
    return changed


def weighted_sum(lib: Any, results: Any, seed: str) -> Any:
    """A scalar that depends on every element of the results by a factor of its own, or None without such elements."""
    rng = random.Random(seed)
    total: Any = None
    for result in tensors_in(results):
        if not (result.requires_grad and result.is_floating_point()):
            continue
        weights = t(*result.shape).data(dtype_name(result), rng).tensor(lib, str(result.device))
        term = (result * weights).sum()
        total = term if total is None else total + term.to(total.dtype)
    return total


def gradients(lib: Any, case: Case, inputs: Inputs, results: Any) -> list[Any]:
    """What `backward` leaves at each of the leaves: a tensor or None."""
    total = weighted_sum(lib, results, f"weights of {case.op.name}")
    if total is not None:
        total.backward()
    return [leaf.grad for leaf in inputs.leaves]


def first_gradients(lib: Any, case: Case, inputs: Inputs, results: Any) -> list[Any]:
    """The gradients again, as results that have gradients themselves."""
    total = weighted_sum(lib, results, f"weights of {case.op.name}")
    if total is None:
        return [None] * len(inputs.leaves)
    return list(lib.autograd.grad(total, inputs.leaves, create_graph=True, allow_unused=True))


def double_gradients(lib: Any, case: Case, inputs: Inputs, results: Any) -> list[Any]:
    """The gradients of a weighted sum of the gradients, for each of the leaves.

    Nothing is zero: which rules say so by a tensor is no one's concern.
    """
    first = first_gradients(lib, case, inputs, results)
    total = weighted_sum(lib, first, f"second weights of {case.op.name}")
    if total is None:
        return [lib.zeros_like(leaf) for leaf in inputs.leaves]
    second = lib.autograd.grad(total, inputs.leaves, allow_unused=True)
    pairs = zip(inputs.leaves, second, strict=True)
    # Torch has zeros without memory, which no one can read; a copy can be read.
    return [(lib.zeros_like(leaf) if grad is None else grad).clone() for leaf, grad in pairs]


def tensors_in(value: Any) -> Iterator[Any]:
    if hasattr(value, "requires_grad"):
        yield value
    elif isinstance(value, (list, tuple)):
        for element in value:
            yield from tensors_in(element)


def dtype_name(tensor: Any) -> str:
    return str(tensor.dtype).rsplit(".", 1)[-1]

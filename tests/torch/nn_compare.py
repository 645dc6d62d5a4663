"""Two libraries that are given the same weights and inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

import mindtorch_v2

if TYPE_CHECKING:
    from collections.abc import Callable

ours: Any = mindtorch_v2


def numbers(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(shape).astype(np.float32))


def integers(limit: int, *shape: int) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(0).integers(0, limit, shape))


def to_ours(tensor: torch.Tensor) -> Any:
    dtype = getattr(ours, str(tensor.dtype).removeprefix("torch."))
    return ours.tensor(tensor.tolist(), dtype=dtype).reshape(list(tensor.shape))


def plain(value: Any) -> Any:
    """Lists and numbers instead of tensors, which are of one library or the other."""
    if isinstance(value, (torch.Tensor, ours.Tensor)):
        return value.tolist()
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, (tuple, list)) else value


def check(found: Any, expected: Any, tolerance: float = 2e-5) -> None:
    assert tuple(found.shape) == tuple(expected.shape)
    assert str(found.dtype) == str(expected.dtype)
    np.testing.assert_allclose(
        np.array(plain(found)), np.array(plain(expected)), rtol=tolerance, atol=tolerance, strict=True
    )


def differentiable(tensor: Any) -> Any:
    return tensor.requires_grad_() if tensor.dtype.is_floating_point else tensor


def backward(lib: Any, outputs: Any) -> None:
    """Go back from a sum in which each element has another weight."""
    total = None
    for output in outputs if isinstance(outputs, tuple) else (outputs,):
        if output is not None and output.requires_grad:
            weights = lib.linspace(0.5, 1.5, output.numel()).reshape(output.shape).to(output.dtype)
            part = (output * weights).sum()
            total = part if total is None else total + part
    if total is not None:
        total.backward()


def check_same(call: Callable[[Any, list[Any]], Any], inputs: list[torch.Tensor], tolerance: float = 2e-5) -> None:
    """Compare what a function of either library makes of inputs, and the gradients of these."""
    mine = [differentiable(to_ours(tensor)) for tensor in inputs]
    theirs = [differentiable(tensor.clone()) for tensor in inputs]
    found, expected = call(ours, mine), call(torch, theirs)
    for one, other in zip(*(out if isinstance(out, tuple) else (out,) for out in (found, expected)), strict=True):
        if other is None:
            assert one is None
        else:
            check(one, other, tolerance)
    backward(ours, found)
    backward(torch, expected)
    for one, other in zip(mine, theirs, strict=True):
        assert (one.grad is None) == (other.grad is None)
        if other.grad is not None:
            check(one.grad, other.grad, tolerance)


def pair(build: Any, mode: bool) -> tuple[Any, Any]:
    """The layer of both libraries, with the same weights."""
    mine, theirs = build(ours.nn), build(torch.nn)
    for number, param in enumerate(theirs.parameters()):
        param.data = param.data + 0.1 * numbers(*param.shape, seed=number).to(param.dtype)
    mine.load_state_dict({name: to_ours(value) for name, value in theirs.state_dict().items()})
    return mine.train(mode), theirs.train(mode)


def check_parameters(mine: Any, theirs: Any, tolerance: float = 2e-5) -> None:
    assert list(mine.state_dict()) == list(theirs.state_dict())
    for found, expected in zip(mine.state_dict().values(), theirs.state_dict().values(), strict=True):
        check(found, expected, tolerance)
    assert [name for name, _ in mine.named_parameters()] == [name for name, _ in theirs.named_parameters()]
    for found, expected in zip(mine.parameters(), theirs.parameters(), strict=True):
        assert (found.grad is None) == (expected.grad is None)
        if expected.grad is not None:
            check(found.grad, expected.grad, tolerance)

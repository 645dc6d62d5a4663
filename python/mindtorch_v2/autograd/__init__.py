"""Gradients: ``backward``, ``grad``, and the switches that say what becomes part of the graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindtorch_v2 import _core
from mindtorch_v2.autograd.function import Function, FunctionCtx, once_differentiable
from mindtorch_v2.autograd.grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindtorch_v2._core import Tensor

__all__ = [
    "Function",
    "FunctionCtx",
    "backward",
    "enable_grad",
    "grad",
    "inference_mode",
    "no_grad",
    "once_differentiable",
    "set_grad_enabled",
]


def _tuple(tensors: Tensor | Sequence[Tensor] | None) -> tuple[Tensor, ...]:
    if tensors is None:
        return ()
    return (tensors,) if isinstance(tensors, _core.Tensor) else tuple(tensors)


def _weights(grads: Tensor | Sequence[Tensor | None] | None, roots: tuple[Tensor, ...]) -> tuple[Tensor | None, ...]:
    if grads is None:
        return (None,) * len(roots)
    weights = (grads,) if isinstance(grads, _core.Tensor) else tuple(grads)
    if len(weights) != len(roots):
        raise RuntimeError(f"got {len(roots)} tensors and {len(weights)} gradients")
    return weights


def backward(
    tensors: Tensor | Sequence[Tensor],
    grad_tensors: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Tensor | Sequence[Tensor] | None = None,
) -> None:
    """Compute the gradients of ``tensors`` and add them to the leaves; only to ``inputs``, if given."""
    roots = _tuple(tensors)
    if inputs is not None and not _tuple(inputs):
        raise RuntimeError("`inputs` argument to `backward` cannot be empty.")
    _core._backward(roots, _weights(grad_tensors, roots), _tuple(inputs), retain_graph, create_graph)


def grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]:
    """Compute the gradients of ``outputs`` with respect to ``inputs``, and add them to nothing."""
    if is_grads_batched:
        raise NotImplementedError("is_grads_batched is not supported; call grad once for each gradient")
    if materialize_grads and allow_unused is False:
        raise ValueError("Expected allow_unused to be True or not passed when materialize_grads=True")
    roots, wanted = _tuple(outputs), _tuple(inputs)
    results = _core._grad(roots, _weights(grad_outputs, roots), wanted, retain_graph, create_graph)
    if materialize_grads:
        return tuple(
            _core.zeros_like(value) if grad is None else grad for value, grad in zip(wanted, results, strict=True)
        )
    if not allow_unused and any(grad is None for grad in results):
        raise RuntimeError(
            "One of the differentiated Tensors appears to not have been used in the graph. "
            "Set allow_unused=True if this is the desired behavior."
        )
    return results

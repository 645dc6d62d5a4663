"""Limiting gradients before a step."""

from __future__ import annotations

import types
import warnings
from typing import TYPE_CHECKING

import mindtorch_v2 as torch

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mindtorch_v2 import Tensor

__all__ = ["clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm"]


def get_total_norm(
    tensors: Tensor | Iterable[Tensor],
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Return the norm of all tensors together, as if they were one vector."""
    tensors = _listed(tensors)
    if not tensors:
        return torch.tensor(0.0)
    _check_foreach(foreach, tensors)
    with torch.no_grad():
        device = tensors[0].device
        norms = torch.stack([tensor.norm(float(norm_type)).to(device) for tensor in tensors])
        total = norms.norm(float(norm_type))
    if error_if_nonfinite and not bool(total.isfinite()):
        raise RuntimeError(
            f"The total norm of order {float(norm_type)} for gradients from `parameters` is non-finite, so it cannot "
            "be clipped. To disable this error and scale the gradients by the non-finite norm anyway, set "
            "`error_if_nonfinite=False`"
        )
    return total


def clip_grads_with_norm_(
    parameters: Tensor | Iterable[Tensor], max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Scale the gradients so that their norm, which is given, becomes ``max_norm`` if it is greater."""
    grads = _grads(_listed(parameters))
    _check_foreach(foreach, grads)
    with torch.no_grad():
        # A factor of one changes nothing, and to ask whether it is one would be to wait for the device.
        factor = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
        for grad in grads:
            grad.mul_(factor.to(grad.device))


def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale the gradients so that their norm together is at most ``max_norm``, and return what it was."""
    listed = _listed(parameters)
    if not listed and isinstance(parameters, types.GeneratorType):
        warnings.warn("`parameters` is an empty generator, no gradient clipping will occur.", stacklevel=2)
    total_norm = get_total_norm(_grads(listed), norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(listed, max_norm, total_norm, foreach)
    return total_norm


def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None) -> None:
    """Bring each element of the gradients within ``-clip_value`` and ``clip_value``."""
    grads = _grads(_listed(parameters))
    _check_foreach(foreach, grads)
    with torch.no_grad():
        for grad in grads:
            grad.clamp_(min=-float(clip_value), max=float(clip_value))


def _listed(tensors: Tensor | Iterable[Tensor]) -> list[Tensor]:
    return [tensors] if isinstance(tensors, torch.Tensor) else list(tensors)


def _grads(parameters: Sequence[Tensor]) -> list[Tensor]:
    return [parameter.grad for parameter in parameters if parameter.grad is not None]


def _check_foreach(foreach: bool | None, tensors: Sequence[Tensor]) -> None:
    if foreach and tensors:
        raise RuntimeError(
            f"foreach=True was passed, but can't use the foreach API on {tensors[0].device.type} tensors"
        )

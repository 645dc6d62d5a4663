"""Parameters as one vector."""

from __future__ import annotations

from typing import TYPE_CHECKING

import mindtorch_v2 as torch
from mindtorch_v2.nn._typename import typename

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mindtorch_v2 import Tensor

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """Return the elements of all parameters, one parameter after another."""
    return torch.cat([parameter.view(-1) for parameter in _on_one_device(parameters)])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Make each parameter a part of the vector, in the order in which ``parameters_to_vector`` reads them."""
    if not isinstance(vec, torch.Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {typename(vec)}")
    start = 0
    for parameter in _on_one_device(parameters):
        count = parameter.numel()
        parameter.data = vec[start : start + count].view(parameter.shape).data
        start += count


def _on_one_device(parameters: Iterable[Tensor]) -> list[Tensor]:
    listed = list(parameters)
    if any(parameter.device != listed[0].device for parameter in listed):
        raise TypeError("Found two parameters on different devices, this is currently not supported.")
    return listed

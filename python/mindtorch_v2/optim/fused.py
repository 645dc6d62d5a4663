"""Optimisers whose step is one operation for all parameters of a kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2.optim.per_parameter import PerParameter

if TYPE_CHECKING:
    Group = dict[str, Any]
    Bucket = tuple[torch.device, torch.dtype]

_DTYPES = frozenset((torch.float32, torch.float64))


class Fused(PerParameter):
    """An optimiser with an operation that updates many parameters at once.

    It is used wherever there is one, unless ``fused=False`` or ``foreach=False`` asks for the loop over the parameters.
    """

    def _step_group(self, group: Group) -> None:
        if not _may_fuse(group):
            self._step_each(group, group["params"])
            return
        buckets: dict[Bucket, list[torch.Tensor]] = {}
        for param in group["params"]:
            if param.grad is not None:
                buckets.setdefault((param.device, param.dtype), []).append(param)
        for (device, dtype), bucket in buckets.items():
            if dtype in _DTYPES:
                self._step_fused(group, bucket)
            elif group["fused"]:
                raise RuntimeError(
                    f"`fused=True` requires all the params to be float32 or float64 Tensors, but there are {dtype} "
                    f"ones on {device}"
                )
            else:
                self._step_each(group, bucket)

    def _step_fused(self, group: Group, params: list[torch.Tensor]) -> None:
        """Update parameters that share their device and dtype, and have gradients."""
        raise NotImplementedError

    def _keeps_step_beside(self, group: Group, param: torch.Tensor) -> bool:
        return _may_fuse(group) and param.dtype in _DTYPES


def _may_fuse(group: Group) -> bool:
    fused: bool | None = group["fused"]
    return group["foreach"] is not False if fused is None else fused

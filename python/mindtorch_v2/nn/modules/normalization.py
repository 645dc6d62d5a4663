"""Normalisation of each sample by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindtorch_v2.nn import functional, init
from mindtorch_v2.nn.modules.module import Module
from mindtorch_v2.nn.modules.utils import empty_parameter, ntuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    import mindtorch_v2 as torch
    from mindtorch_v2 import Tensor
    from mindtorch_v2.nn.parameter import Parameter

__all__ = ["GroupNorm", "LayerNorm", "RMSNorm"]


class _Norm(Module):
    """What has a weight of ones and a bias of zeros, or lacks one or both."""

    weight: Parameter | None
    bias: Parameter | None

    def reset_parameters(self) -> None:
        """Make the weight one and the bias zero."""
        for name, fill in (("weight", init.ones_), ("bias", init.zeros_)):
            param = self._parameters.get(name)
            if param is not None:
                fill(param)


class LayerNorm(_Norm):
    """Normalises over the last dimensions, which are of ``normalized_shape``."""

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = ntuple(normalized_shape, 1)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        shape = self.normalized_shape if elementwise_affine else None
        self.register_parameter("weight", empty_parameter(shape, device, dtype))
        self.register_parameter("bias", empty_parameter(shape if bias else None, device, dtype))
        self.reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        """Return the normalised input, times the weight, plus the bias."""
        return functional.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """Say over what it normalises."""
        affine = f"elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"
        return f"{self.normalized_shape}, eps={self.eps}, {affine}"


class GroupNorm(_Norm):
    """Normalises each of ``num_groups`` groups of channels."""

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups != 0:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        shape = (num_channels,) if affine else None
        self.register_parameter("weight", empty_parameter(shape, device, dtype))
        self.register_parameter("bias", empty_parameter(shape if bias else None, device, dtype))
        self.reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        """Return the normalised input, times the weight, plus the bias."""
        return functional.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """Say the groups and the channels."""
        affine = f"affine={self.affine}, bias={self.bias is not None}"
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, {affine}"


class RMSNorm(_Norm):
    """Divides by the root of the mean square over the last dimensions, which are of ``normalized_shape``."""

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = ntuple(normalized_shape, 1)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        shape = self.normalized_shape if elementwise_affine else None
        self.register_parameter("weight", empty_parameter(shape, device, dtype))
        self.reset_parameters()

    def forward(self, x: Tensor) -> Tensor:
        """Return the normalised input, times the weight."""
        return functional.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        """Say over what it normalises."""
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"

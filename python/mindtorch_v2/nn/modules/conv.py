"""Convolutions."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import mindtorch_v2 as torch
from mindtorch_v2 import _core
from mindtorch_v2.nn import functional
from mindtorch_v2.nn.modules.linear import init_weight_and_bias
from mindtorch_v2.nn.modules.module import Module
from mindtorch_v2.nn.modules.utils import empty_parameter, ntuple
from mindtorch_v2.nn.parameter import Parameter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mindtorch_v2 import Tensor

__all__ = ["Conv1d", "Conv2d"]

_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class _ConvNd(Module):
    """What convolutions over any number of dimensions have in common."""

    _dims: ClassVar[int]
    _function: ClassVar[Callable[..., Tensor]]

    weight: Parameter
    bias: Parameter | None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] | str = 0,
        dilation: int | Sequence[int] = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = ntuple(kernel_size, self._dims)
        self.stride = ntuple(stride, self._dims)
        self.padding = padding if isinstance(padding, str) else ntuple(padding, self._dims)
        self.dilation = ntuple(dilation, self._dims)
        self.transposed = False
        self.output_padding = (0,) * self._dims
        self.groups = groups
        self.padding_mode = padding_mode
        _check(self)
        shape = (out_channels, in_channels // groups, *self.kernel_size)
        self.weight = Parameter(torch.empty(shape, device=device, dtype=dtype))
        self.register_parameter("bias", empty_parameter((out_channels,) if bias else None, device, dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias evenly from within ``1 / sqrt(fan_in)`` of zero."""
        init_weight_and_bias(self.weight, self.bias)

    def forward(self, input: Tensor) -> Tensor:
        """Return the convolution of the input."""
        return self._conv_forward(input, self.weight, self.bias)

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        padding = self.padding
        if self.padding_mode != "zeros":
            input = functional.pad(input, _padding_by_dimension(self), mode=self.padding_mode)
            padding = (0,) * self._dims
        return type(self)._function(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    def extra_repr(self) -> str:
        """Say the channels, the size of the kernel, and what else is not the default."""
        parts = [str(self.in_channels), str(self.out_channels)]
        parts += [f"kernel_size={self.kernel_size}", f"stride={self.stride}"]
        if self.padding != (0,) * self._dims:
            parts.append(f"padding={self.padding}")
        if self.dilation != (1,) * self._dims:
            parts.append(f"dilation={self.dilation}")
        if self.groups != 1:
            parts.append(f"groups={self.groups}")
        if self.bias is None:
            parts.append("bias=False")
        if self.padding_mode != "zeros":
            parts.append(f"padding_mode={self.padding_mode}")
        return ", ".join(parts)


# Functions, not methods: a module's methods are for its subclasses to name.


def _check(conv: _ConvNd) -> None:
    if conv.groups <= 0:
        raise ValueError("groups must be a positive integer")
    if conv.in_channels % conv.groups != 0:
        raise ValueError("in_channels must be divisible by groups")
    if conv.out_channels % conv.groups != 0:
        raise ValueError("out_channels must be divisible by groups")
    if isinstance(conv.padding, str):
        if conv.padding not in ("same", "valid"):
            raise ValueError(f"Invalid padding string {conv.padding!r}, should be one of {{'same', 'valid'}}")
        if conv.padding == "same" and any(step != 1 for step in conv.stride):
            raise ValueError("padding='same' is not supported for strided convolutions")
    if conv.padding_mode not in _PADDING_MODES:
        raise ValueError(f"padding_mode must be one of {_PADDING_MODES}, but got padding_mode='{conv.padding_mode}'")


def _padding_by_dimension(conv: _ConvNd) -> list[int]:
    """Return the padding before and after each dimension, from the last on."""
    pairs = []
    for dim in reversed(range(conv._dims)):
        if conv.padding == "valid":
            pairs += [0, 0]
        elif conv.padding == "same":
            total = conv.dilation[dim] * (conv.kernel_size[dim] - 1)
            pairs += [total // 2, total - total // 2]
        else:
            pairs += [int(conv.padding[dim])] * 2
    return pairs


class Conv1d(_ConvNd):
    """Convolves over one dimension, of ``(N, C, L)`` or ``(C, L)``."""

    _dims = 1
    _function = staticmethod(_core.conv1d)


class Conv2d(_ConvNd):
    """Convolves over two dimensions, of ``(N, C, H, W)`` or ``(C, H, W)``."""

    _dims = 2
    _function = staticmethod(_core.conv2d)

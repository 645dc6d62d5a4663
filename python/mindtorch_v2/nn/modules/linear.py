"""Linear layers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2.nn import functional, init
from mindtorch_v2.nn.modules.module import Module
from mindtorch_v2.nn.modules.utils import empty_parameter
from mindtorch_v2.nn.parameter import Parameter

if TYPE_CHECKING:
    from mindtorch_v2 import Tensor

__all__ = ["Identity", "Linear"]


class Identity(Module):
    """Gives back what it gets; takes any arguments, so that it can stand where another layer would."""

    def __init__(self, *_args: Any, **_kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        """Return the input."""
        return input


class Linear(Module):
    """Multiplies by a matrix and adds a bias."""

    in_features: int
    out_features: int
    weight: Parameter
    bias: Parameter | None

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.weight = Parameter(torch.empty((out_features, in_features), device=device, dtype=dtype))
        self.register_parameter("bias", empty_parameter((out_features,) if bias else None, device, dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias evenly from within ``1 / sqrt(in_features)`` of zero."""
        init_weight_and_bias(self.weight, self.bias)

    def forward(self, input: Tensor) -> Tensor:
        """Return ``input @ weight.T + bias``."""
        return functional.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Say how many features go in and come out."""
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


def init_weight_and_bias(weight: Parameter, bias: Parameter | None) -> None:
    """Fill the parameters of a layer as torch's layers do."""
    # This slope makes the bound 1 / sqrt(fan_in), for the weight as for the bias.
    init.kaiming_uniform_(weight, a=math.sqrt(5))
    if bias is not None:
        fan_in, _ = init._calculate_fan_in_and_fan_out(weight)
        bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0
        init.uniform_(bias, -bound, bound)

"""Activation functions.

Those that the core does not have are composed of what it has. A ``where`` before a function that overflows keeps from
it what a ``where`` after it would not choose: its gradient would be no gradient times infinity, which is not a number.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import mindtorch_v2 as torch
from mindtorch_v2 import _core

if TYPE_CHECKING:
    from collections.abc import Callable

    from mindtorch_v2 import Tensor

_SELU_ALPHA = 1.6732632423543772848170429916717
_SELU_SCALE = 1.0507009873554804934193349852946

gelu = _core.gelu
relu_ = _core.relu_


def in_place(input: Tensor, function: Callable[[Tensor], Tensor]) -> Tensor:
    """Write the result of a function over its input, which the function's own gradient may still need: it is copied."""
    return input.copy_(function(input.clone()))


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """Return the greater of zero and the input."""
    return _core.relu_(input) if inplace else _core.relu(input)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """Return ``input * sigmoid(input)``."""
    return _core.silu_(input) if inplace else _core.silu(input)


def sigmoid(input: Tensor) -> Tensor:
    """Return ``1 / (1 + exp(-input))``."""
    return input.sigmoid()


def tanh(input: Tensor) -> Tensor:
    """Return the hyperbolic tangent."""
    return input.tanh()


def tanhshrink(input: Tensor) -> Tensor:
    """Return ``input - tanh(input)``."""
    return input - input.tanh()


def softsign(input: Tensor) -> Tensor:
    """Return ``input / (1 + |input|)``."""
    return input / (input.abs() + 1)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """Return the input within two limits, at which the gradient is zero already."""
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")

    def clamp(x: Tensor) -> Tensor:
        return torch.where((x > min_val) & (x < max_val), x, x.detach().clamp(min_val, max_val))

    return in_place(input, clamp) if inplace else clamp(input)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """Return the input within zero and six."""
    return hardtanh(input, 0.0, 6.0, inplace)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """Return ``relu6(input + 3) / 6``."""

    def compute(x: Tensor) -> Tensor:
        return relu6(x + 3) / 6

    return in_place(input, compute) if inplace else compute(input)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """Return ``input * relu6(input + 3) / 6``."""

    def compute(x: Tensor) -> Tensor:
        middle = torch.where((x > -3) & (x < 3), x, 0.0)
        return torch.where(x <= -3, 0.0, torch.where(x < 3, middle * (middle + 3) / 6, x))

    return in_place(input, compute) if inplace else compute(input)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """Return the input where it is positive, and the input times the slope elsewhere."""

    def compute(x: Tensor) -> Tensor:
        return torch.where(x > 0, x, x * negative_slope)

    return in_place(input, compute) if inplace else compute(input)


def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """Return ``leaky_relu`` with slopes that are learned: one for all, or one for each channel."""
    if weight.numel() != 1:
        channels = input.shape[1] if input.dim() > 1 else 1
        if weight.numel() != channels:
            raise RuntimeError(
                "Mismatch of parameter numbers and input channel size. Found parameter numbers = "
                f"{weight.numel()} and channel size = {channels}."
            )
        weight = weight.reshape([1, -1] + [1] * (input.dim() - 2))
    return torch.where(input > 0, input, input * weight)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """Return the input where it is positive, and ``alpha * (exp(input) - 1)`` elsewhere."""

    def compute(x: Tensor) -> Tensor:
        return torch.where(x > 0, x, torch.where(x > 0, 0.0, x).expm1() * alpha)

    return in_place(input, compute) if inplace else compute(input)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """Return ``elu`` with the alpha and the scale that keep mean and variance."""

    def compute(x: Tensor) -> Tensor:
        return elu(x, _SELU_ALPHA) * _SELU_SCALE

    return in_place(input, compute) if inplace else compute(input)


def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """Return ``log(1 + exp(beta * input)) / beta``, which above the threshold is the input itself."""
    scaled = input * beta
    is_linear = scaled > threshold
    return torch.where(is_linear, input, torch.where(is_linear, 0.0, scaled).exp().log1p() / beta)


def logsigmoid(input: Tensor) -> Tensor:
    """Return ``log(sigmoid(input))``."""
    is_positive = input >= 0
    return torch.where(is_positive, 0.0, input) - torch.where(is_positive, -input, input).exp().log1p()


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """Return ``input * tanh(softplus(input))``."""

    def compute(x: Tensor) -> Tensor:
        return x * softplus(x).tanh()

    return in_place(input, compute) if inplace else compute(input)


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: torch.dtype | None = None) -> Tensor:
    """Return the exponentials along a dimension, divided by their sum."""
    return _core.softmax(input, _softmax_dim("softmax", input, dim, _stacklevel), dtype)


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: torch.dtype | None = None) -> Tensor:
    """Return the softmax of the negative input."""
    return _core.softmax(-input, _softmax_dim("softmin", input, dim, _stacklevel), dtype)


def log_softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: torch.dtype | None = None
) -> Tensor:
    """Return the logarithm of the softmax."""
    return _core.log_softmax(input, _softmax_dim("log_softmax", input, dim, _stacklevel), dtype)


def _softmax_dim(name: str, input: Tensor, dim: int | None, stacklevel: int) -> int:
    if dim is not None:
        return dim
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
        stacklevel=stacklevel,
    )
    return 0 if input.dim() in (0, 1, 3) else 1

"""Activations."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import mindtorch_v2 as torch
from mindtorch_v2.nn import functional
from mindtorch_v2.nn.modules.module import Module
from mindtorch_v2.nn.parameter import Parameter

if TYPE_CHECKING:
    from mindtorch_v2 import Tensor

__all__ = [
    "ELU",
    "GELU",
    "SELU",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "LeakyReLU",
    "LogSigmoid",
    "LogSoftmax",
    "Mish",
    "PReLU",
    "ReLU",
    "ReLU6",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Softplus",
    "Softsign",
    "Tanh",
    "Tanhshrink",
]


class _InPlace(Module):
    """An activation whose one option is to write its result over its input."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def extra_repr(self) -> str:
        """Say whether the input is overwritten."""
        return "inplace=True" if self.inplace else ""


class ReLU(_InPlace):
    """Takes the greater of zero and the input."""

    def forward(self, input: Tensor) -> Tensor:
        """Return ``relu(input)``."""
        return functional.relu(input, self.inplace)


class SELU(_InPlace):
    """Is ``elu`` with the alpha and the scale that keep mean and variance."""

    def forward(self, input: Tensor) -> Tensor:
        """Return ``selu(input)``."""
        return functional.selu(input, self.inplace)


class SiLU(_InPlace):
    """Multiplies the input by its sigmoid."""

    def forward(self, input: Tensor) -> Tensor:
        """Return ``silu(input)``."""
        return functional.silu(input, self.inplace)


class Mish(_InPlace):
    """Multiplies the input by ``tanh(softplus(input))``."""

    def forward(self, input: Tensor) -> Tensor:
        """Return ``mish(input)``."""
        return functional.mish(input, self.inplace)


class Hardswish(Module):
    """Multiplies the input by ``relu6(input + 3) / 6``."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """Return ``hardswish(input)``."""
        return functional.hardswish(input, self.inplace)


class Hardsigmoid(Module):
    """Is ``relu6(input + 3) / 6``."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """Return ``hardsigmoid(input)``."""
        return functional.hardsigmoid(input, self.inplace)


class Hardtanh(Module):
    """Keeps the input within two limits."""

    def __init__(
        self,
        min_val: float = -1.0,
        max_val: float = 1.0,
        inplace: bool = False,
        min_value: float | None = None,
        max_value: float | None = None,
    ) -> None:
        super().__init__()
        if min_value is not None:
            warnings.warn(
                "keyword argument `min_value` is deprecated and rename to `min_val`", FutureWarning, stacklevel=2
            )
            min_val = min_value
        if max_value is not None:
            warnings.warn(
                "keyword argument `max_value` is deprecated and rename to `max_val`", FutureWarning, stacklevel=2
            )
            max_val = max_value
        if min_val >= max_val:
            raise AssertionError(f"max_val ({max_val}) must be greater than min_val ({min_val})")
        self.min_val = min_val
        self.max_val = max_val
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """Return ``hardtanh(input)``."""
        return functional.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        """Say the limits."""
        return f"min_val={self.min_val}, max_val={self.max_val}" + (", inplace=True" if self.inplace else "")


class ReLU6(Hardtanh):
    """Keeps the input within zero and six."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        """Say whether the input is overwritten."""
        return "inplace=True" if self.inplace else ""


class LeakyReLU(Module):
    """Multiplies what is negative by a slope."""

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope = negative_slope
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """Return ``leaky_relu(input)``."""
        return functional.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self) -> str:
        """Say the slope."""
        return f"negative_slope={self.negative_slope}" + (", inplace=True" if self.inplace else "")


class PReLU(Module):
    """Multiplies what is negative by slopes that are learned: one for all, or one for each channel."""

    weight: Parameter

    def __init__(
        self,
        num_parameters: int = 1,
        init: float = 0.25,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(torch.empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Make every slope the initial one."""
        with torch.no_grad():
            self.weight.fill_(self.init)

    def forward(self, input: Tensor) -> Tensor:
        """Return ``prelu(input)``."""
        return functional.prelu(input, self.weight)

    def extra_repr(self) -> str:
        """Say the number of slopes."""
        return f"num_parameters={self.num_parameters}"


class ELU(Module):
    """Is ``alpha * (exp(input) - 1)`` where the input is negative."""

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """Return ``elu(input)``."""
        return functional.elu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        """Say alpha."""
        return f"alpha={self.alpha}" + (", inplace=True" if self.inplace else "")


class GELU(Module):
    """Multiplies the input by the normal distribution function of it, or by the ``tanh`` that approximates it."""

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        """Return ``gelu(input)``."""
        return functional.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        """Say whether it is approximated."""
        return f"approximate={self.approximate!r}"


class Softplus(Module):
    """Is ``log(1 + exp(beta * input)) / beta``, and above the threshold the input itself."""

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input: Tensor) -> Tensor:
        """Return ``softplus(input)``."""
        return functional.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        """Say beta and the threshold."""
        return f"beta={self.beta}, threshold={self.threshold}"


class Sigmoid(Module):
    """Is ``1 / (1 + exp(-input))``."""

    def forward(self, input: Tensor) -> Tensor:
        """Return ``sigmoid(input)``."""
        return functional.sigmoid(input)


class LogSigmoid(Module):
    """Is the logarithm of the sigmoid."""

    def forward(self, input: Tensor) -> Tensor:
        """Return ``logsigmoid(input)``."""
        return functional.logsigmoid(input)


class Tanh(Module):
    """Is the hyperbolic tangent."""

    def forward(self, input: Tensor) -> Tensor:
        """Return ``tanh(input)``."""
        return functional.tanh(input)


class Tanhshrink(Module):
    """Takes the hyperbolic tangent away from the input."""

    def forward(self, input: Tensor) -> Tensor:
        """Return ``tanhshrink(input)``."""
        return functional.tanhshrink(input)


class Softsign(Module):
    """Divides the input by one more than its absolute value."""

    def forward(self, input: Tensor) -> Tensor:
        """Return ``softsign(input)``."""
        return functional.softsign(input)


class Softmax(Module):
    """Makes the values along a dimension positive, and their sum one."""

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        """Return ``softmax(input)``."""
        return functional.softmax(input, self.dim, _stacklevel=5)

    def extra_repr(self) -> str:
        """Say the dimension."""
        return f"dim={self.dim}"


class LogSoftmax(Module):
    """Is the logarithm of the softmax."""

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        """Return ``log_softmax(input)``."""
        return functional.log_softmax(input, self.dim, _stacklevel=5)

    def extra_repr(self) -> str:
        """Say the dimension."""
        return f"dim={self.dim}"

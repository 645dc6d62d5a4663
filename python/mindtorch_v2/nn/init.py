"""Initialisers: functions that fill a tensor, in place, and draw the random numbers that torch's draw."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING

import mindtorch_v2 as torch

if TYPE_CHECKING:
    from mindtorch_v2 import Generator, Tensor

__all__ = [
    "calculate_gain",
    "constant_",
    "dirac_",
    "eye_",
    "kaiming_normal_",
    "kaiming_uniform_",
    "normal_",
    "ones_",
    "orthogonal_",
    "sparse_",
    "trunc_normal_",
    "uniform_",
    "xavier_normal_",
    "xavier_uniform_",
    "zeros_",
]

_GAINS = {
    **dict.fromkeys(("linear", "conv1d", "conv2d", "conv3d"), 1.0),
    **dict.fromkeys(("conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "sigmoid"), 1.0),
    "tanh": 5.0 / 3,
    "relu": math.sqrt(2.0),
    "selu": 3.0 / 4,
}


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """Return the gain that is recommended for what follows a layer; ``param`` is the slope of a ``leaky_relu``."""
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        if isinstance(slope, bool) or not isinstance(slope, (int, float)):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + slope**2))
    if nonlinearity not in _GAINS:
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    return _GAINS[nonlinearity]


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill with numbers drawn evenly from ``a`` to ``b``."""
    with torch.no_grad():
        return tensor.uniform_(a, b, generator=generator)


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill with numbers drawn from a normal distribution."""
    with torch.no_grad():
        return tensor.normal_(mean, std, generator=generator)


def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Generator | None = None,
) -> Tensor:
    """Fill with numbers drawn from the part of a normal distribution that is from ``a`` to ``b``."""
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be "
            "incorrect.",
            stacklevel=2,
        )
    accepted = _normal_cdf((b - mean) / std) - _normal_cdf((a - mean) / std)
    with torch.no_grad():
        if accepted > 0.3:
            _redraw_outside(tensor, mean, std, a, b, generator)
        else:
            _accept_uniform(tensor, mean, std, a, b, generator)
    return tensor


def _normal_cdf(x: float) -> float:
    return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0


def _redraw_outside(tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Generator | None) -> None:
    """Draw from the whole distribution, and again what is outside of the limits."""
    # The limits as the tensor would hold them.
    low, high = (torch.tensor(limit, dtype=tensor.dtype).item() for limit in (a, b))
    result = tensor.normal_(mean, std, generator=generator)
    while bool((outside := (result < low) | (result > high)).any()):
        again = torch.empty_like(result).normal_(mean, std, generator=generator)
        result = torch.where(outside, again, result)
    if result is not tensor:
        tensor.copy_(result)


def _accept_uniform(tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Generator | None) -> None:
    """Draw evenly between the limits, and accept each number as often as its density is to the greatest there."""
    log_peak = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2

    def rejected(candidates: Tensor) -> Tensor:
        log_density = ((candidates - mean) / std) ** 2 * -0.5 - log_peak
        return torch.empty_like(candidates).uniform_(generator=generator).log() > log_density

    result = tensor.uniform_(a, b, generator=generator)
    pending = rejected(result)
    while bool(pending.any()):
        candidates = torch.empty_like(result).uniform_(a, b, generator=generator)
        result = torch.where(pending, candidates, result)
        pending = pending & rejected(candidates)
    if result is not tensor:
        tensor.copy_(result)


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill with one number."""
    with torch.no_grad():
        return tensor.fill_(val)


def ones_(tensor: Tensor) -> Tensor:
    """Fill with ones."""
    return constant_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Fill with zeros."""
    with torch.no_grad():
        return tensor.zero_()


def eye_(tensor: Tensor) -> Tensor:
    """Fill a matrix with the identity."""
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    with torch.no_grad():
        return tensor.copy_(torch.eye(rows, columns, dtype=tensor.dtype, device=tensor.device))


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fill the weight of a convolution so that it gives its input back, in as many channels as there are."""
    if tensor.dim() not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if tensor.shape[0] % groups != 0:
        raise ValueError("dim 0 must be divisible by groups")
    group_size = tensor.shape[0] // groups
    centre = [size // 2 for size in tensor.shape[2:]]
    with torch.no_grad():
        tensor.zero_()
        for group in range(groups):
            for channel in range(min(group_size, tensor.shape[1])):
                tensor[(group * group_size + channel, channel, *centre)] = 1
    return tensor


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill evenly, so that the variance stays in both directions, as Glorot and Bengio describe."""
    bound = math.sqrt(3.0) * (gain * math.sqrt(2.0 / sum(_calculate_fan_in_and_fan_out(tensor))))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill normally, so that the variance stays in both directions, as Glorot and Bengio describe."""
    std = gain * math.sqrt(2.0 / sum(_calculate_fan_in_and_fan_out(tensor)))
    return normal_(tensor, 0.0, std, generator)


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Fill evenly, so that the variance stays through rectifiers, as He and others describe."""
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=2)
        return tensor
    bound = math.sqrt(3.0) * _kaiming_std(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Fill normally, so that the variance stays through rectifiers, as He and others describe."""
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=2)
        return tensor
    return normal_(tensor, 0.0, _kaiming_std(tensor, a, mode, nonlinearity), generator)


def _kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    modes = ["fan_in", "fan_out"]
    if mode.lower() not in modes:
        raise ValueError(f"Mode {mode.lower()} not supported, please use one of {modes}")
    fan = _calculate_fan_in_and_fan_out(tensor)[modes.index(mode.lower())]
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """Return how many numbers go into one result of a weight, and into how many results one number goes."""
    if tensor.dim() < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Generator | None = None) -> Tensor:
    """Fill with a matrix whose rows, or columns if they are fewer, are orthogonal and of length ``gain``.

    The dimensions after the first are taken as one.
    """
    if tensor.dim() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    with torch.no_grad():
        shape = (tensor.shape[0], tensor.numel() // tensor.shape[0])
        drawn = torch.empty(shape, dtype=tensor.dtype, device=tensor.device).normal_(0, 1, generator=generator)
        tall = drawn.t() if shape[0] < shape[1] else drawn
        orthogonal = _orthonormalise(tall.to("cpu", torch.float64))
        orthogonal = orthogonal.t() if shape[0] < shape[1] else orthogonal
        tensor.copy_(orthogonal.reshape(tensor.shape))
        return tensor.mul_(gain)


def _orthonormalise(matrix: Tensor) -> Tensor:
    """Return the Q of the decomposition QR in which the diagonal of R is positive: there is only one."""
    basis = torch.zeros_like(matrix)
    for place in range(matrix.shape[1]):
        column = matrix.narrow(1, place, 1)
        done = basis.narrow(1, 0, place)
        # A second time takes away what rounding has left of the first.
        for _ in range(2 if place else 0):
            column = column - done @ (done.t() @ column)
        basis.narrow(1, place, 1).copy_(column / column.norm())
    return basis


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Generator | None = None) -> Tensor:
    """Fill a matrix normally, but for the part of each column that ``sparsity`` says, which is zero."""
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    with torch.no_grad():
        tensor.normal_(0, std, generator=generator)
        places = torch.stack([torch.randperm(rows).narrow(0, 0, zeros) for _ in range(columns)], 1)
        return tensor.scatter_(0, places.to(tensor.device), 0.0)

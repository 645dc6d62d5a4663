"""Pooling."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mindtorch_v2 import _core

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindtorch_v2 import Tensor

    Size2 = int | Sequence[int]


def max_pool2d(
    input: Tensor,
    kernel_size: Size2,
    stride: Size2 | None = None,
    padding: Size2 = 0,
    dilation: Size2 = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """Return the greatest value in each window, which moves by its own size unless a stride is given.

    With ``return_indices``, return also where each is in its plane.
    """
    stride = kernel_size if stride is None else stride
    function = _core.max_pool2d_with_indices if return_indices else _core.max_pool2d
    return function(input, kernel_size, stride, padding, dilation, ceil_mode)


def avg_pool2d(
    input: Tensor,
    kernel_size: Size2,
    stride: Size2 | None = None,
    padding: Size2 = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """Return the mean of each window, which moves by its own size unless a stride is given."""
    stride = kernel_size if stride is None else stride
    return _core.avg_pool2d(input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def adaptive_avg_pool2d(input: Tensor, output_size: int | Sequence[int | None] | None) -> Tensor:
    """Return the means of as many windows as the output is to have; ``None`` keeps the input's size."""
    sizes = (output_size, output_size) if output_size is None or isinstance(output_size, int) else output_size
    full = input.shape[-2:]
    return _core.adaptive_avg_pool2d(
        input, [own if size is None else size for size, own in zip(sizes, full, strict=True)]
    )

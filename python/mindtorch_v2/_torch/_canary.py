"""A look at operators that are known, before anything that the bridge says is believed."""

from __future__ import annotations

from functools import partial
from typing import Any

from mindtorch_v2 import _core


class CanaryError(Exception):
    """What the bridge says of operators that are known is wrong."""


def check(torch: Any) -> None:
    """See that the bridge reads PyTorch's tensors as they are.

    Raises:
        CanaryError: it does not.
    """
    with torch.no_grad():
        one = torch.ones((3, 5), dtype=torch.float64).t()
        other = torch.ones((5, 1), dtype=torch.float64)
        seen = _core._torch_canary(partial(torch.add, one, other, alpha=3))
    expected = ("aten::add", [("double", [5, 3], [1, 5]), ("double", [5, 1], [1, 1]), ("Scalar 3", [], [])])
    if not seen or seen[0] != expected:
        raise CanaryError(f"of an operator that is {expected}, it reads {seen[:1]}")

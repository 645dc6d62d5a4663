"""What the optimisers demand of their arguments, in torch's words."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch


def check_lr(lr: float | torch.Tensor) -> None:
    """Refuse a learning rate that is negative, not a number, or more than one."""
    if isinstance(lr, torch.Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    if not lr >= 0.0:
        raise ValueError(f"Invalid learning rate: {lr}")


def check_not_negative(**values: float | torch.Tensor) -> None:
    """Refuse values that are negative or not a number, naming the first."""
    for name, value in values.items():
        if not value >= 0.0:
            raise ValueError(f"Invalid {name} value: {value}")


def check_betas(betas: tuple[Any, Any]) -> None:
    """Refuse decay rates outside of [0, 1)."""
    for index, beta in enumerate(betas[:2]):
        if not 0.0 <= beta < 1.0:
            raise ValueError(f"Invalid beta parameter at index {index}: {beta}")


def check_group(group: dict[str, Any]) -> None:
    """Refuse options of torch that have no counterpart here, rather than ignore them."""
    if group.get("capturable"):
        raise ValueError("capturable=True is not supported: there are no graphs to capture; leave it False")
    if group.get("differentiable"):
        raise ValueError("differentiable=True is not supported: step() runs without autograd; leave it False")
    if group.get("fused") and group.get("foreach"):
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")

"""The momentum of an optimiser, which it may call beta1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mindtorch_v2.optim.optimizer import Optimizer


def uses_beta1(optimizer: Optimizer) -> bool:
    """Say whether the momentum is the first of the betas; an optimiser that has none is an error."""
    if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
        raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
    return "betas" in optimizer.defaults


def set_momentum(group: dict[str, Any], momentum: float, use_beta1: bool) -> None:
    """Set the momentum of a group."""
    if use_beta1:
        group["betas"] = (momentum, *group["betas"][1:])
    else:
        group["momentum"] = momentum


def begin_cycle(optimizer: Optimizer, base: list[float], top: list[float], use_beta1: bool) -> None:
    """Give each group the range of its momentum, and the top of it to begin with."""
    for group, low, high in zip(optimizer.param_groups, base, top, strict=True):
        set_momentum(group, high, use_beta1)
        group["max_momentum"] = high
        group["base_momentum"] = low

"""A schedule that goes up and down again and again."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from mindtorch_v2.optim.lr_scheduler.lambdas import attributes_of
from mindtorch_v2.optim.lr_scheduler.momentum import begin_cycle, set_momentum, uses_beta1
from mindtorch_v2.optim.lr_scheduler.scheduler import LRScheduler, check_optimizer, for_each_group, set_group_value

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal

    from mindtorch_v2.optim.optimizer import Optimizer

__all__ = ["CyclicLR"]


class CyclicLR(LRScheduler):
    """From ``base_lr`` to ``max_lr`` and back, in cycles; the momentum goes the other way.

    Args:
        optimizer: whose learning rates to set.
        base_lr: the lowest learning rate, of all groups or of each.
        max_lr: the highest.
        step_size_up: how many steps go up.
        step_size_down: how many go down; as many as go up if not given.
        mode: ``"triangular"`` cycles are alike, ``"triangular2"`` halves each, ``"exp_range"`` scales by
            ``gamma ** step``.
        gamma: the base of ``"exp_range"``.
        scale_fn: how high to go, instead of a mode.
        scale_mode: whether ``scale_fn`` is a function of the cycle or of the step (``"iterations"``).
        cycle_momentum: whether to set the momentum too.
        base_momentum: the lowest momentum.
        max_momentum: the highest.
        last_epoch: the last step that was run, when training goes on; -1 begins.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: Literal["triangular", "triangular2", "exp_range"] = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: Literal["cycle", "iterations"] = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.8,
        max_momentum: float | list[float] = 0.9,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        base_lrs = for_each_group("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for group, rate in zip(optimizer.param_groups, base_lrs, strict=True):
                set_group_value(group, "lr", rate)
        self.max_lrs = for_each_group("max_lr", optimizer, max_lr)
        self.total_size = float(step_size_up + (step_size_up if step_size_down is None else step_size_down))
        self.step_ratio = step_size_up / self.total_size
        if scale_fn is None and mode not in ("triangular", "triangular2", "exp_range"):
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode
        if scale_fn is None:
            self.scale_mode = "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1 = uses_beta1(optimizer)
            self.base_momentums = for_each_group("base_momentum", optimizer, base_momentum)
            self.max_momentums = for_each_group("max_momentum", optimizer, max_momentum)
            if last_epoch == -1:
                begin_cycle(optimizer, self.base_momentums, self.max_momentums, self.use_beta1)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x: float) -> float:
        """Return how high to go, as a part of the range, in cycle or step ``x``."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "triangular2":
            return 1 / math.pow(2.0, x - 1)
        return math.pow(self.gamma, x) if self.mode == "exp_range" else 1.0

    def get_lr(self) -> list[Any]:
        """Compute the next learning rates, and set the momentum."""
        self._warn_outside_step()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        part = 1.0 + self.last_epoch / self.total_size - cycle
        height = part / self.step_ratio if part <= self.step_ratio else (part - 1) / (self.step_ratio - 1)
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            ranges = zip(self.optimizer.param_groups, self.base_momentums, self.max_momentums, strict=True)
            for group, low, high in ranges:
                set_momentum(group, high - (high - low) * height * scale, self.use_beta1)
        return [low + (high - low) * height * scale for low, high in zip(self.base_lrs, self.max_lrs, strict=True)]

    def state_dict(self) -> dict[str, Any]:
        """Return the scheduler's attributes; of a ``scale_fn`` only the attributes, if it is an object."""
        state = super().state_dict()
        state["_scale_fn_custom"] = attributes_of(self._scale_fn_custom)
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what ``state_dict()`` returned; the ``scale_fn`` stays."""
        super().load_state_dict({key: value for key, value in state_dict.items() if key != "_scale_fn_custom"})
        attributes = state_dict["_scale_fn_custom"]
        if attributes is not None:
            vars(self._scale_fn_custom).update(attributes)

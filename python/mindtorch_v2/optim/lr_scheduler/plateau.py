"""A schedule that follows a measure of success."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING

from mindtorch_v2.optim.lr_scheduler.scheduler import (
    EPOCH_DEPRECATION_WARNING,
    LRScheduler,
    check_optimizer,
    group_values,
    set_group_value,
)

if TYPE_CHECKING:
    from typing import Literal, SupportsFloat

    from mindtorch_v2.optim.optimizer import Optimizer

__all__ = ["ReduceLROnPlateau"]


class ReduceLROnPlateau(LRScheduler):
    """Times ``factor`` whenever a metric has not become better for more than ``patience`` epochs.

    Args:
        optimizer: whose learning rates to set.
        mode: whether a smaller metric is better (``"min"``) or a greater (``"max"``).
        factor: what to multiply the learning rates by, less than 1.
        patience: how many epochs may pass without becoming better.
        threshold: by how much a metric must be better to count.
        threshold_mode: whether that is a part of the best so far (``"rel"``) or a difference (``"abs"``).
        cooldown: how many epochs to wait after a change before counting again.
        min_lr: how low learning rates may go, of all groups or of each.
        eps: changes that are not greater than this are not made.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: Literal["min", "max"] = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: Literal["rel", "abs"] = "rel",
        cooldown: int = 0,
        min_lr: list[float] | float = 0,
        eps: float = 1e-8,
    ) -> None:
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        check_optimizer(optimizer)
        if mode not in ("min", "max"):
            raise ValueError(f"mode {mode} is unknown!")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"threshold mode {threshold_mode} is unknown!")
        groups = len(optimizer.param_groups)
        self.default_min_lr: float | None = None
        if isinstance(min_lr, (list, tuple)):
            if len(min_lr) != groups:
                raise ValueError(f"expected {groups} min_lrs, got {len(min_lr)}")
            self.min_lrs = list(min_lr)
        else:
            self.default_min_lr = min_lr
            self.min_lrs = [min_lr] * groups
        self.optimizer = optimizer
        self.factor = factor
        self.mode = mode
        self.threshold = threshold
        self.threshold_mode = threshold_mode
        self.patience = patience
        self.cooldown = cooldown
        self.eps = eps
        self.last_epoch = 0
        self.mode_worse = math.inf if mode == "min" else -math.inf
        self.best = self.mode_worse
        self.cooldown_counter = 0
        self.num_bad_epochs = 0
        self._last_lr = group_values(optimizer, "lr")

    def step(self, metrics: SupportsFloat, epoch: int | None = None) -> None:  # type: ignore[override]
        """Look at the metric of an epoch, and lower the learning rates if it is time to."""
        current = float(metrics)
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self._is_better(current):
            self.best = current
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce_lr()
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
        self._last_lr = group_values(self.optimizer, "lr")

    @property
    def in_cooldown(self) -> bool:
        """Whether a change was made so recently that epochs are not counted."""
        return self.cooldown_counter > 0

    def _is_better(self, current: float) -> bool:
        if self.threshold_mode == "rel":
            margin = self.best * (1.0 - self.threshold if self.mode == "min" else 1.0 + self.threshold)
        else:
            margin = self.best - self.threshold if self.mode == "min" else self.best + self.threshold
        return current < margin if self.mode == "min" else current > margin

    def _reduce_lr(self) -> None:
        groups = self.optimizer.param_groups
        if len(groups) != len(self.min_lrs):
            if self.default_min_lr is None:
                raise RuntimeError(
                    f"The number of param groups in the `optimizer` ({len(groups)}) differs from when "
                    f"`ReduceLROnPlateau` was initialized ({len(self.min_lrs)}), usually due to a new param group "
                    "being added to the optimizer. Please modify the `min_lrs` field to match the length of the "
                    "`optimizer` param groups."
                )
            self.min_lrs = [self.default_min_lr] * len(groups)
        for group, lowest in zip(groups, self.min_lrs, strict=True):
            old = float(group["lr"])
            new = max(old * self.factor, lowest)
            if old - new > self.eps:
                set_group_value(group, "lr", new)
